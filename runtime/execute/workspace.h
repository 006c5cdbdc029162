// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <vector>

#include "runtime/base/memory.h"
#include "runtime/base/mutex.h"

namespace executorch::backends::et_xnnpack {

// The memory that activations are in during a call. Executables may share one if they run one after the other.
class Workspace : GoesUnlocked<> {
 public:
  // Held while one of several executables that share this is loaded, runs or is destroyed.
  Mutex<LockLevel::Workspace>& mutex() {
    return mutex_;
  }
  // That of a wave (Waves).
  char* arena(size_t wave = 0) const {
    return wave < arenas_.size() ? arenas_[wave].data() : nullptr;
  }
  // Of all arenas.
  size_t bytes() const;

  // Makes the arena of a wave that large at least. Its content is lost, that of others stays.
  Status reserve(size_t bytes, size_t wave = 0);
  // Gives all memory back.
  void release() {
    arenas_.clear();
  }

 private:
  Mutex<LockLevel::Workspace> mutex_;
  std::vector<Buffer> arenas_;
};

} // namespace executorch::backends::et_xnnpack
