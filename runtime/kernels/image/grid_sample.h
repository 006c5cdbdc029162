// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/shape.h"
#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

enum class SampleMethod : uint8_t { Bilinear, Nearest, Bicubic };

// What stands beyond the edge of an image, as in PyTorch's grid_sample.
enum class GridPadding : uint8_t { Zeros, Border, Reflection };

struct GridSampleParameters {
  Shape x; // [images, height, width, channels], height and width not 0
  Shape y; // [images, grid height, grid width, channels]
  SampleMethod method = SampleMethod::Bilinear;
  GridPadding padding = GridPadding::Zeros;
  bool align_corners = false; // -1 and 1 are the middle of the first and the last pixel, else their outer edges
};

// Inputs: x and a grid of positions (x, y), [images, grid height, grid width, 2], all of Float32. Output: y.
class GridSample {
 public:
  size_t reshape(const GridSampleParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments) const;

 private:
  void sample(const float* image, float x, float y, float* out) const;

  GridSampleParameters parameters_;
};

} // namespace executorch::backends::et_xnnpack
