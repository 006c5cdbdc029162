// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

// Dense rows of Float32, each normalized over its whole length.
struct RowNormParameters {
  size_t rows = 0, length = 0;
  float epsilon = 0;
};

// Inputs: x [rows, length], weight [length] or absent, bias [length] or absent. Outputs: y [rows, length], or that
// with the mean and 1 / sqrt(variance + epsilon) of each row: 0 and NaN if rows are empty.
class LayerNorm {
 public:
  size_t reshape(const RowNormParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments) const;

 private:
  RowNormParameters parameters_;
};

// Inputs: x [rows, length], weight [length] or absent. Output: x / sqrt(mean(x^2) + epsilon) * weight.
class RmsNorm {
 public:
  size_t reshape(const RowNormParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments) const;

 private:
  RowNormParameters parameters_;
};

} // namespace executorch::backends::et_xnnpack
