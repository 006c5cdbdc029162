// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "matmul.h"

namespace executorch::backends::et_xnnpack {
namespace {

size_t matrix_bytes(const LowPrecisionMatMulParameters& p) {
  return low_precision_panels_bytes(p.precision, p.columns, p.depth);
}

} // namespace

size_t MatMul::reshape(const MatrixProduct& parameters, size_t num_threads) {
  product_ = parameters;
  return matrix_product_scratch(product_, num_threads);
}

void MatMul::run(const KernelArguments& arguments) {
  product_.a = arguments.input<float>(0);
  product_.b = arguments.input<float>(1);
  product_.bias = arguments.input<float>(2);
  product_.c = arguments.output<float>(0);
  multiply_matrices(product_, arguments.scratch, arguments.pool);
}

std::optional<std::string> LowPrecisionMatMul::packed_layout(const LowPrecisionMatMulParameters& p, size_t i) {
  if (i != 1) {
    return std::nullopt;
  }
  return low_precision_layout(p.precision) + (p.b_transposed ? " of rows" : " of columns");
}

size_t LowPrecisionMatMul::packed_bytes(const LowPrecisionMatMulParameters& p, size_t /*i*/) {
  return p.batch * matrix_bytes(p);
}

Status LowPrecisionMatMul::pack(
    const LowPrecisionMatMulParameters& p, size_t /*i*/, const void* original, void* packed) {
  Array<size_t> taps;
  ETX_RETURN_IF_ERROR(taps.assign(p.b_transposed ? 1 : p.depth));
  for (size_t k = 0; k < taps.size(); ++k) {
    taps[k] = k * p.columns;
  }
  const size_t stride = p.b_transposed ? p.depth : 1, run = p.b_transposed ? p.depth : 1;
  const size_t original_bytes = p.depth * p.columns * element_size(p.precision.type);
  for (size_t i = 0; i < p.batch; ++i) {
    pack_low_precision(
        p.precision,
        static_cast<const char*>(original) + i * original_bytes,
        p.columns,
        stride,
        {taps.data(), taps.size()},
        run,
        static_cast<char*>(packed) + i * matrix_bytes(p));
  }
  return {};
}

StatusOr<size_t> LowPrecisionMatMul::reshape(const LowPrecisionMatMulParameters& p, size_t num_threads) {
  batch_ = p.batch;
  matrix_bytes_ = matrix_bytes(p);
  has_scale_input_ = p.has_scale_input;
  ETX_RETURN_IF_ERROR(scales_.assign(p.scales, p.columns));
  product_ = {};
  product_.precision = p.precision;
  product_.scale = scales_.scale();
  product_.zero_point = scales_.zero_point();
  product_.rows = p.rows;
  product_.depth = product_.x_stride = p.depth;
  product_.columns = product_.y_stride = p.columns;
  product_.min = p.min;
  product_.max = p.max;
  return low_precision_product_scratch(product_, num_threads);
}

void LowPrecisionMatMul::run(const KernelArguments& arguments) {
  LowPrecisionProduct product = product_;
  if (has_scale_input_) {
    product.scale = arguments.input<float>(2);
  }
  product.bias = arguments.input<float>(has_scale_input_ ? 3 : 2);
  for (size_t i = 0; i < batch_; ++i) {
    product.x = arguments.input<float>(0) + i * product.rows * product.depth;
    product.panels = arguments.input<char>(1) + i * matrix_bytes_;
    product.y = arguments.output<float>(0) + i * product.rows * product.columns;
    multiply_low_precision(product, arguments.scratch, arguments.pool);
  }
}

} // namespace executorch::backends::et_xnnpack
