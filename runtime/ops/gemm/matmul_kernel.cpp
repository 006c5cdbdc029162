// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "matmul_kernel.h"

#include "low_precision_weight.h"
#include "runtime/ops/common/common.h"
#include "runtime/ops/common/dequantized.h"
#include "runtime/ops/common/int8_parameters.h"

namespace executorch::backends::et_xnnpack {
MatrixProduct linear_parameters(const NodeContext& node) {
  const Shape& x = node.input(0).shape;
  const auto* clamp = node.attributes<schema::Linear>().clamp();
  MatrixProduct product;
  product.rows = x.numel(0, x.rank - 1);
  product.depth = x.last();
  product.columns = node.input(1).shape[0];
  product.a_stride = product.b_stride = product.depth;
  product.b_transposed = true;
  product.c_stride = product.columns;
  product.min = clamp_min(clamp);
  product.max = clamp_max(clamp);
  return product;
}

namespace {

LowPrecisionMatMulParameters constant_linear_parameters(const NodeContext& node) {
  const Shape& x = node.input(0).shape;
  const TensorType& weight = node.input(1);
  const auto* clamp = node.attributes<schema::Linear>().clamp();
  LowPrecisionMatMulParameters parameters;
  parameters.rows = x.numel(0, x.rank - 1);
  parameters.depth = weight.shape[1];
  parameters.columns = weight.shape[0];
  parameters.b_transposed = true;
  parameters.min = clamp_min(clamp);
  parameters.max = clamp_max(clamp);
  return parameters;
}

} // namespace

LowPrecisionMatMulParameters low_precision_linear_parameters(const NodeContext& node) {
  LowPrecisionMatMulParameters parameters = constant_linear_parameters(node);
  parameters.precision = precision_of(node);
  parameters.precision.fixed_point = true;
  parameters.scales = weight_scales(node.input(1));
  return parameters;
}

LowPrecisionMatMulParameters block_linear_parameters(const NodeContext& node) {
  LowPrecisionMatMulParameters parameters = constant_linear_parameters(node);
  parameters.precision = {DType::Float32};
  parameters.precision.in_blocks = true;
  return parameters;
}

Int8ConvParameters int8_linear_parameters(const NodeContext& node) {
  const Shape& x = node.input(0).shape;
  const size_t rows = x.numel(0, x.rank - 1), columns = node.input(1).shape[0];
  Int8ConvParameters parameters = int8_parameters(node, node.attributes<schema::Linear>().clamp());
  parameters.input = {1, 1, rows, x.last()};
  parameters.weight = {columns, 1, 1, x.last()};
  parameters.output = {1, 1, rows, columns};
  return parameters;
}

MatrixProduct batch_matmul_parameters(const NodeContext& node) {
  const Shape& a = node.input(0).shape;
  const Shape& b = node.input(1).shape;
  MatrixProduct product;
  product.batch = a.numel(0, a.rank - 2);
  product.rows = a[a.rank - 2];
  product.depth = a.last();
  product.b_transposed = node.attributes<schema::BatchMatMul>().transpose_b();
  product.columns = product.b_transposed ? b[b.rank - 2] : b.last();
  product.a_stride = product.depth;
  product.b_stride = b.last();
  product.c_stride = product.columns;
  product.a_batch = product.rows * product.depth;
  product.b_batch = product.depth * product.columns;
  product.c_batch = product.rows * product.columns;
  return product;
}

LowPrecisionMatMulParameters low_precision_batch_matmul_parameters(const NodeContext& node) {
  const MatrixProduct product = batch_matmul_parameters(node);
  LowPrecisionMatMulParameters parameters;
  parameters.batch = product.batch;
  parameters.rows = product.rows;
  parameters.depth = product.depth;
  parameters.columns = product.columns;
  parameters.b_transposed = product.b_transposed;
  parameters.precision = precision_of(node);
  return parameters;
}

Float64MatMulParameters float64_linear_parameters(const NodeContext& node) {
  const MatrixProduct product = linear_parameters(node);
  return {1, product.rows, product.depth, product.columns, /*b_transposed=*/true};
}

Float64MatMulParameters float64_batch_matmul_parameters(const NodeContext& node) {
  const MatrixProduct product = batch_matmul_parameters(node);
  return {product.batch, product.rows, product.depth, product.columns, product.b_transposed};
}

ConvParameters bfloat16_linear_parameters(const NodeContext& node) {
  const Shape &x = node.input(0).shape, &weight = node.input(1).shape;
  const auto* clamp = node.attributes<schema::Linear>().clamp();
  const size_t rows = x.numel(0, x.rank - 1);
  ConvParameters parameters;
  parameters.input = {1, rows, 1, x.last()};
  parameters.input_type = node.input(0).dtype;
  parameters.weight = {weight[0], 1, 1, weight[1]};
  parameters.output = {1, rows, 1, weight[0]};
  parameters.precision = kInBFloat16;
  parameters.min = clamp_min(clamp);
  parameters.max = clamp_max(clamp);
  return parameters;
}

LowPrecisionMatMulParameters bfloat16_batch_matmul_parameters(const NodeContext& node) {
  LowPrecisionMatMulParameters parameters = low_precision_batch_matmul_parameters(node);
  parameters.precision = kInBFloat16;
  return parameters;
}

} // namespace executorch::backends::et_xnnpack
