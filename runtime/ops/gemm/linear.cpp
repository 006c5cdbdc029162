// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "runtime/kernels/gemm/matmul.h"
#include "runtime/program/quantization.h"
#include "runtime/xnnpack/subgraph_builder.h"
#include "runtime/ops/common/common.h"

namespace executorch::backends::et_xnnpack {
namespace {

using Use = SubgraphBuilder::Use;

Status infer_linear(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(2, 1));
  ETX_RETURN_IF_ERROR(node.check_float());
  ETX_RETURN_IF_ERROR(check_clamp(node.attributes<schema::Linear>().clamp()));
  ETX_RETURN_IF_ERROR(check_rank(node, 1, 2));
  Shape shape = node.input(0).shape;
  const Shape& weight = node.input(1).shape;
  ETX_CHECK(
      shape.rank >= 1 && shape.last() == weight[1],
      InvalidProgram,
      "input %s does not match weight %s",
      shape.to_string().c_str(),
      weight.to_string().c_str());
  ETX_RETURN_IF_ERROR(check_bias(node, 2, weight[0]));
  shape[shape.rank - 1] = weight[0];
  return set_output(outputs, DType::Float32, shape);
}

bool is_constant(const NodeContext& node) {
  return node.is_constant(1) && (!node.has_input(2) || node.is_constant(2));
}

Status define_linear(const NodeContext& node, SubgraphBuilder& subgraph) {
  const schema::Clamp* clamp = node.attributes<schema::Linear>().clamp();
  const Use use = is_constant(node) ? Use::Packed : Use::Kept;
  ETX_ASSIGN_OR_RETURN(const uint32_t x, subgraph.input(0));
  ETX_ASSIGN_OR_RETURN(const uint32_t weight, subgraph.input(1, use));
  ETX_ASSIGN_OR_RETURN(const uint32_t bias, subgraph.input(2, use));
  ETX_ASSIGN_OR_RETURN(const uint32_t y, subgraph.output());
  return check_xnn(
      xnn_define_fully_connected(subgraph.get(), clamp_min(clamp), clamp_max(clamp), x, weight, bias, y, 0),
      "xnn_define_fully_connected");
}

// XNNPACK would widen the weight to 32 bits.
bool linear_in_xnnpack(const NodeContext& node) {
  return fits_xnnpack(node) && !keeps_linear_weight(node);
}

bool quantized_linear_in_xnnpack(const NodeContext& node) {
  return is_product_in_xnnpack(node, node.attributes<schema::Linear>().clamp()) && fits_xnnpack(node);
}

Status infer_batch_matmul(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(2));
  ETX_RETURN_IF_ERROR(node.check_float());
  Shape shape = node.input(0).shape;
  const Shape& b = node.input(1).shape;
  const size_t rank = shape.rank;
  const bool transpose = node.attributes<schema::BatchMatMul>().transpose_b();
  bool match = rank >= 2 && b.rank == rank && shape.last() == b[rank - (transpose ? 1 : 2)];
  for (size_t axis = 0; match && axis < rank - 2; ++axis) {
    match = shape[axis] == b[axis];
  }
  ETX_CHECK(
      match,
      InvalidProgram,
      "operands %s and %s%s do not match",
      shape.to_string().c_str(),
      b.to_string().c_str(),
      transpose ? " (transposed)" : "");
  shape[rank - 1] = b[rank - (transpose ? 2 : 1)];
  return set_output(outputs, DType::Float32, shape);
}

// XNNPACK would widen the constant to 32 bits.
bool batch_matmul_in_xnnpack(const NodeContext& node) {
  return fits_xnnpack(node) && !keeps_batch_matmul_weight(node);
}

Status define_batch_matmul(const NodeContext& node, SubgraphBuilder& subgraph) {
  ETX_ASSIGN_OR_RETURN(const uint32_t a, subgraph.input(0));
  ETX_ASSIGN_OR_RETURN(const uint32_t b, subgraph.input(1, node.is_constant(1) ? Use::Packed : Use::Kept));
  ETX_ASSIGN_OR_RETURN(const uint32_t y, subgraph.output());
  const uint32_t flags = node.attributes<schema::BatchMatMul>().transpose_b() ? XNN_FLAG_TRANSPOSE_B : 0;
  return check_xnn(
      xnn_define_batch_matrix_multiply(subgraph.get(), a, b, y, flags), "xnn_define_batch_matrix_multiply");
}

// XNNPACK packs a constant operand once in Float32 only.
bool batch_matmul_in_half(const NodeContext& node) {
  return !node.is_constant(1);
}

} // namespace

// With other operands XNNPACK gives zeros.
const OpImpl kLinearOp{
    infer_linear,
    linear_in_xnnpack,
    define_linear,
    make_linear,
    false,
    false,
    nullptr,
    quantized_linear_in_xnnpack,
    make_linear_of_integers,
    nullptr,
    is_constant};
const OpImpl kBatchMatMulOp{
    infer_batch_matmul,
    batch_matmul_in_xnnpack,
    define_batch_matmul,
    make_batch_matmul,
    false,
    false,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    batch_matmul_in_half};

} // namespace executorch::backends::et_xnnpack
