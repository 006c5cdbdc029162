// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>

#include "resize_blend.h"
#include "runtime/base/memory.h"
#include "runtime/base/shape.h"
#include "runtime/base/status.h"
#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

// As in PyTorch's interpolate.
enum class ResizeMethod : uint8_t { Nearest, NearestExact, Bilinear, Bicubic };

struct Resize2dParameters {
  Shape x; // [images, height, width, channels], height and width not 0
  Shape y; // the same with another height and width
  ResizeMethod method = ResizeMethod::Nearest;
  bool align_corners = false;
  double scale_height = 0, scale_width = 0; // input pixels for one of the output; 0: what the sizes say
  bool whole_steps = false; // of Nearest: the sizes say it, too, where an axis keeps or doubles its size
};

// Input: x of Float32. Output: y of Float32.
class Resize2d {
 public:
  // Fails if there is no memory for its tables.
  StatusOr<size_t> reshape(const Resize2dParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments) const;

 private:
  void compute_row(const float* image, const Taps& row, float* y) const;

  Shape x_, y_;
  size_t num_taps_ = 1;
  bool separates_ = false; // rows are blended before columns
  size_t row_floats_ = 0; // of scratch memory, by thread
  Blend blend_{};
  Array<Taps> rows_, columns_; // by output position
};

} // namespace executorch::backends::et_xnnpack
