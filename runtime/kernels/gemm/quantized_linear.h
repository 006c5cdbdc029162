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

// The product with weights that write_panel() makes floats, a panel at a time.
LowPrecisionProduct product_in_floats(
    const QuantizedLinearParameters& parameters, decltype(LowPrecisionProduct::write_panel) write_panel);

// Rounds each of `rows` rows as dynamic quantization does, and back.
void fake_quantize_rows(const float* x, float* y, size_t rows, size_t depth, pthreadpool_t pool);

// Inputs 0, x, Float32 [rows, depth]; 1, the weight, Int8 [columns, depth]; 2, scales, Float32 [columns,
// groups]; 3, an optional bias, Float32 [columns]; 4, optional zero points, Int32 [columns, groups]. Output 0 is
// Float32 [rows, columns].
class QuantizedLinear {
 public:
  size_t reshape(const QuantizedLinearParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  QuantizedLinearParameters parameters_;
  QuantizedProduct product_;
  bool few_rows_ = false;
  size_t rows_bytes_ = 0; // of scratch memory
};

} // namespace executorch::backends::et_xnnpack
