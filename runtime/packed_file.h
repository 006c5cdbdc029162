// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <pthreadpool.h>

#include "packed_weights.h"
#include "status.h"

namespace executorch::backends::et_xnnpack {

// Packed weights by key.
using PackedByKey = std::map<std::string, PackedPtr>;

// The file in which processes keep packed weights for later ones; serialization/packed_cache.md
// describes it. Whatever is there, reading gives right bytes or nothing, and nothing is written
// over a file that is not such a one. For one load; only find() may be called by several threads.
class PackedFile {
 public:
  // Opens what is there. `identity` says what packed bytes depend on but the keys.
  explicit PackedFile(std::string path, std::string identity = packing_identity());

  // Finds out on the threads of `pool` whether what the file has of these is intact, so that
  // find() need not.
  void verify(const std::vector<std::string>& keys, pthreadpool_t pool);

  // Mapped from the file, intact. Lives as long as it is used, whatever becomes of the file.
  std::optional<PackedBytes> find(const std::string& key);

  // Puts what the file lacks of `used` into it, and logs one line if anything was or went wrong.
  void finish(const PackedByKey& used);

  // What went wrong until now; empty if nothing did.
  const std::string& problem() const {
    return problem_;
  }

  // The builds and the CPU.
  static const std::string& packing_identity();

 private:
  struct Contents;

  // Null, with the reason, if there is nothing of use.
  StatusOr<std::shared_ptr<const Contents>> read() const;
  Status write(const PackedByKey& entries) const;
  void note(const std::string& problem);

  const std::string path_;
  const std::string identity_;
  std::shared_ptr<const Contents> contents_; // null: none of use
  std::unordered_map<std::string, bool> is_intact_; // if that was verified
  bool is_foreign_ = false; // must not be written over
  std::mutex mutex_; // guards what follows
  bool is_damaged_ = false; // has to be written anew
  std::string problem_;
};

} // namespace executorch::backends::et_xnnpack
