// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

// How scale and zero point follow from the smallest and the largest number; 0 is among the numbers.
enum class QParamsRule {
  Asymmetric, // scale (high - low) / (max - min), zero point min - round(low / scale)
  Symmetric, // scale max(-low, high) * 2 / (max - min), zero point (min + max + 1) / 2
  Nearest, // as Asymmetric, but the zero point is rounded last, from the end with the smaller error
};

struct QParamsRange {
  float min = 0, max = 0; // of integers
  QParamsRule rule = QParamsRule::Nearest;
  float epsilon = 0; // the smallest scale
};

struct QParams {
  float scale, zero_point;
};

// For `count` numbers. The scale is NaN if one of them is; then, and next to infinity, the zero point may be, too.
QParams choose_qparams(const QParamsRange& range, const float* x, size_t count);

// y[i] = x[i] rounded to Int8 with a scale and a zero point for all `count` numbers, and back.
void fake_quantize_to_int8(const float* x, float* y, size_t count);

struct ChooseQParamsParameters {
  size_t rows = 0, size = 0;
  QParamsRange range;
};

// Input 0 Float32 [rows, size] -> outputs 0 Float32 [rows], scales, and 1 Int32 [rows], zero points.
class ChooseQParams {
 public:
  size_t reshape(const ChooseQParamsParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  ChooseQParamsParameters parameters_;
};

} // namespace executorch::backends::et_xnnpack
