// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

#include "runtime/base/shape.h"
#include "runtime/kernels/common/arguments.h"
#include "runtime/kernels/common/broadcast.h"

namespace executorch::backends::et_xnnpack {

struct RotaryEmbeddingParameters {
  Shape x; // its last axis is even
  Shape cos, sin; // have x's last axis and broadcast to x
  // Whether neighbours of the last axis are rotated together; else element i of its first half with that of its
  // second.
  bool interleaved = false;
};

// Inputs: x, cos and sin of the angles, all of Float32. Output: x cos + rotated(x) sin, of x's shape.
class RotaryEmbedding {
 public:
  size_t reshape(const RotaryEmbeddingParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments) const;

 private:
  bool interleaved_ = false;
  size_t size_ = 0;
  Broadcast<2> broadcast_;
};

} // namespace executorch::backends::et_xnnpack
