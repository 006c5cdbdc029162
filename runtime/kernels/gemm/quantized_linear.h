// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "low_precision_product.h"
#include "quantized_product.h"
#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

struct QuantizedLinearParameters {
  size_t rows = 0, depth = 0, columns = 0;
  size_t groups = 1; // of weights that share a scale, in each column
  bool dynamic_quantization = false; // each row of input 0 counts as if it were quantized to Int8
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();
};

// Inputs 0, x, Float32 [rows, depth]; 1, the weight, Int8 [columns, depth]; 2, scales, Float32 [columns,
// groups]; 3, an optional bias, Float32 [columns]; 4, optional zero points, Int32 [columns, groups]. Output 0 is Float32
// [rows, columns].
class QuantizedLinear {
 public:
  size_t reshape(const QuantizedLinearParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  LowPrecisionProduct in_floats() const;
  const float* prepared(const KernelArguments& arguments) const;

  QuantizedProduct product_;
  bool dynamic_quantization_ = false;
  bool few_rows_ = false;
  size_t rows_bytes_ = 0; // of scratch memory
};

} // namespace executorch::backends::et_xnnpack
