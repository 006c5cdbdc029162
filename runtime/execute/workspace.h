// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include <xnnpack.h>

#include "runtime/base/memory.h"

namespace executorch::backends::et_xnnpack {

// The memory that activations are in during a call: an arena of ours, and what XNNPACK takes
// for the inside of segments. Executables may share one if they run one after the other.
class Workspace {
 public:
  static StatusOr<std::shared_ptr<Workspace>> create();

  // Held while one of several executables that share this is loaded, runs or is destroyed.
  std::mutex& mutex() {
    return mutex_;
  }
  xnn_workspace_t xnnpack() const {
    return xnnpack_.get();
  }
  char* arena() const {
    return arena_.data();
  }
  size_t arena_bytes() const {
    return arena_.size();
  }
  size_t xnnpack_bytes() const;

  // Makes the arena that large at least. Its content is lost.
  Status reserve(size_t bytes);
  // Gives all memory back. Whoever has addresses in it has to plan anew, as the generation tells.
  void release();
  uint64_t generation() const {
    return generation_;
  }

 private:
  struct Release {
    void operator()(xnn_workspace_t workspace) const {
      xnn_release_workspace(workspace);
    }
  };

  Workspace() = default;

  std::mutex mutex_;
  std::unique_ptr<xnn_workspace, Release> xnnpack_;
  Buffer arena_;
  uint64_t generation_ = 0;
};

} // namespace executorch::backends::et_xnnpack
