// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <pthreadpool.h>

#include "runtime/base/memory.h"
#include "runtime/base/mutex.h"

namespace executorch::backends::et_xnnpack {

// What a file says of its bytes. Nobody may compute with them before somebody has verified it.
struct Seal {
  explicit Seal(uint64_t sum) : checksum(sum) {}

  const uint64_t checksum;
  std::atomic<bool> is_verified{false};
};

// Weights in the layout that a kernel reads. Never change.
struct PackedBytes {
  const void* data = nullptr;
  size_t size = 0;
  // Whether XNNPACK packs weights of this kind before it asks whether that is needed.
  bool is_packed_first = false;
  std::shared_ptr<const void> memory; // what `data` points into
  std::shared_ptr<Seal> seal = nullptr; // null: not from a file

  bool is_unverified() const {
    return seal != nullptr && !seal->is_verified;
  }
};
using PackedPtr = std::shared_ptr<const PackedBytes>;

// Packed weights by key.
using PackedByKey = std::map<std::string, PackedPtr>;

// The keys of those that are not as their file says; the others are verified from then on. The
// threads of `pool` share the work; null: the calling thread.
std::vector<std::string> find_damaged(const PackedByKey& packed, pthreadpool_t pool);

// The packed weights of a process: each is there once, for all kernels, methods and programs,
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

  // From now on nobody gets these, who has them keeps them.
  void forget(const std::string& key, const PackedPtr& packed);

  size_t count() const;
  size_t bytes() const;

 private:
  struct Entry {
    bool reserved = false; // by a thread that packs
    std::weak_ptr<const PackedBytes> packed;
  };

  struct Shared;

  void remove_if_unused(const std::string& key);

  mutable TableMutex mutex_;
  std::condition_variable_any ready_;
  std::unordered_map<std::string, Entry> entries_;
};

} // namespace executorch::backends::et_xnnpack
