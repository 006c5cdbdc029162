// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "packed_weights.h"
#include "runtime/base/status.h"

namespace executorch::backends::et_xnnpack {

// The file in which processes keep packed weights for later ones; serialization/packed_cache.md
// describes it. Whatever is there, what find_damaged() lets pass is right, and nothing is
// written over a file that is not such a one. Only header and index are read, not what they point
// to. For one load; only find() may be called by several threads.
class PackedFile {
 public:
  // Opens what is there. `identity` says what packed bytes depend on but the keys.
  explicit PackedFile(std::string path, std::string identity = packing_identity());

  // The same for a file of which find_damaged() has found something: nothing is found in it, and
  // finish() replaces it.
  static PackedFile damaged(std::string path, std::string identity = packing_identity());

  // Mapped from the file, sealed. Lives as long as it is used, whatever becomes of the file.
  std::optional<PackedBytes> find(const std::string& key) const;

  // Puts what the file lacks of `used` into it, but nothing damaged.
  void finish(const PackedByKey& used);

  // What went wrong until now; empty if nothing did.
  const std::string& problem() const {
    return problem_;
  }

  // The builds and the CPU.
  static const std::string& packing_identity();

 private:
  struct Contents;
  struct Damaged {};

  PackedFile(std::string path, std::string identity, Damaged);

  // Null, with the reason, if there is nothing of use.
  StatusOr<std::shared_ptr<const Contents>> read() const;
  Status write(const PackedByKey& entries) const;
  void note(const std::string& problem);

  const std::string path_;
  const std::string identity_;
  std::shared_ptr<const Contents> contents_; // null: none of use
  bool is_foreign_ = false; // must not be written over
  bool is_damaged_ = false; // has to be written anew
  std::string problem_;
};

} // namespace executorch::backends::et_xnnpack
