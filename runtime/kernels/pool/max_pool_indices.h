// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <array>
#include <cstdint>

#include "pool_window.h"
#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

struct MaxPoolIndicesParameters {
  size_t images = 0, channels = 0;
  std::array<PoolAxis, 3> axes; // depth, height, width
};

// Input 0 Float32 [N, D, H, W, C] -> outputs 0, the first largest of each window, and 1, its index in an image of one
// channel as Int64. NaN is larger than all.
class MaxPoolIndices {
 public:
  StatusOr<size_t> reshape(const MaxPoolIndicesParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  void pool_row(const float* x, size_t i, float* y, int64_t* index) const;
  void take_larger(const float* x, int64_t position, float* y, int64_t* index) const;

  MaxPoolIndicesParameters parameters_;
  std::array<Array<PoolWindow>, 3> windows_;
};

} // namespace executorch::backends::et_xnnpack
