// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "memory.h"

namespace executorch::backends::et_xnnpack {

// Weights in the layout that a kernel reads. Never change.
struct PackedBytes {
  const void* data = nullptr;
  size_t size = 0;
  // Whether XNNPACK packs the weights before it asks whether that is needed, so that it has to
  // be given the original in any case.
  bool needs_original = false;
  std::shared_ptr<const void> memory; // what `data` points into
};
using PackedPtr = std::shared_ptr<const PackedBytes>;

// The packed weights of a process: each is there once, for all segments, methods and programs,
// and goes with its last user. Thread-safe.
class PackedWeights {
 public:
  static PackedWeights& of_process();

  // The weights of this key, which says everything that their bytes depend on. If there are
  // none the caller has to pack them and call publish() or abandon(); until then every other
  // thread that asks waits.
  PackedPtr find_or_reserve(const std::string& key);

  // REQUIRES: find_or_reserve(key) gave null to this thread
  PackedPtr publish(const std::string& key, PackedBytes bytes);
  void abandon(const std::string& key);

  // Whether find_or_reserve() would give some; another thread may change that.
  bool contains(const std::string& key) const;
  size_t count() const;
  size_t bytes() const;

 private:
  struct Entry {
    bool reserved = false; // by a thread that packs
    std::weak_ptr<const PackedBytes> packed;
  };

  void remove_if_unused(const std::string& key);

  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::unordered_map<std::string, Entry> entries_;
};

} // namespace executorch::backends::et_xnnpack
