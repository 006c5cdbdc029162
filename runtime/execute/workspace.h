// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

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
  char* arena() const {
    return arena_.data();
  }
  size_t bytes() const {
    return arena_.size();
  }

  // Makes the arena that large at least. Its content is lost.
  Status reserve(size_t bytes);
  // Gives all memory back.
  void release() {
    arena_ = Buffer();
  }

 private:
  Mutex<LockLevel::Workspace> mutex_;
  Buffer arena_;
};

} // namespace executorch::backends::et_xnnpack
