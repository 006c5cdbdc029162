// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "matmul_kernel.h"
#include "xnnpack_linear.h"
#include "low_precision_weight.h"
#include "runtime/kernels/gemm/block_product.h"
#include "runtime/ops/common/choose.h"

namespace executorch::backends::et_xnnpack {
namespace {

Status infer_linear(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(2, 1));
  ETX_ASSIGN_OR_RETURN(const DType dtype, node.check_wide_float());
  const auto* clamp = node.attributes<schema::Linear>().clamp();
  ETX_RETURN_IF_ERROR(check_clamp(clamp));
  ETX_CHECK(
      clamp == nullptr || dtype == DType::Float32,
      InvalidProgram,
      "it limits Float64, but only Float32 can be limited");
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
  return set_output(outputs, dtype, shape);
}

bool is_constant(const NodeContext& node) {
  return node.is_constant(1) && (!node.has_input(2) || node.is_constant(2));
}

// Whether our kernels take operand 1 as the program has it, in 16 or 8 bits, which XNNPACK would widen to 32.
bool linear_has_low_precision_weight(const NodeContext& node) {
  return node.is_constant(1) && is_low_precision(node.input(1));
}

bool is_large_matrix(const TensorType& b) {
  return b.shape.numel(b.shape.rank - 2, b.shape.rank) >= kMinLowPrecisionElements;
}

bool batch_matmul_has_low_precision_weight(const NodeContext& node) {
  const TensorType& b = node.input(1);
  return node.is_constant(1) && b.quantization == nullptr && is_low_precision(b) && is_large_matrix(b);
}

// Why XNNPACK does not multiply by so many columns.
Limit product_limit(const NodeContext& node, size_t columns) {
  const Limit limit = operand_limit(node);
  return limit != nullptr ? limit : nan_limit(Limited::Linear, /*float16=*/false, columns);
}

constexpr const char* kUnpacked = "XNNPACK packs a matrix for many products of each number, and there are few.";

// Whether our kernel, which reads the matrices where they lie, is faster than XNNPACK.
bool has_few_products(
    const NodeContext& node, const Cpu& cpu, const ChoiceOptions& options, const MatrixProduct& product) {
  const size_t rows = product.columns == 1 ? 1 : product.rows;
  const bool packs_in_each_call = !is_constant(node) || product.columns == 1;
  return !options.float16 && packs_in_each_call && rows <= cpu.unpacked_rows;
}

Limit linear_float16_limit(const NodeContext& node) {
  if (!is_constant(node)) {
    return "In Float16 it takes constant weights only.";
  }
  const Limit limit = float16_clamp_limit(node.attributes<schema::Linear>().clamp());
  return limit != nullptr ? limit : nan_limit(Limited::Linear, /*float16=*/true, node.input(1).shape[0]);
}

Limit batch_matmul_float16_limit(const NodeContext& node) {
  return node.is_constant(1) ? "It packs a constant operand in Float32 only."
                             : nan_limit(Limited::Linear, /*float16=*/true, node.output().shape.last());
}

Choice choose_linear(const NodeContext& node, const Cpu& cpu, const ChoiceOptions& options) {
  if (node.input(0).dtype == DType::Float64) {
    return Choice::kernel(make_float64_linear, kFloat64);
  }
  if (is_in_bfloat16(node, cpu, options)) {
    return Choice::kernel(make_bfloat16_linear, options.bfloat16 ? kForcedBFloat16 : kLowPrecision)
        .in_bfloat16()
        .leading()
        .reading({0}, {DType::BFloat16});
  }
  const bool is_low_precision = linear_has_low_precision_weight(node);
  if (!node.is_quantized()) {
    if (!is_low_precision && has_few_products(node, cpu, options, linear_parameters(node))) {
      return Choice::kernel(make_linear, kUnpacked);
    }
    Choice choice = choose_xnnpack_or_kernel(
        node,
        options,
        product_limit(node, node.input(1).shape[0]),
        make_xnnpack_linear,
        make_linear,
        options.float16 ? linear_float16_limit(node) : nullptr);
    if (is_low_precision && !keeps_weight(choice, node.input(1))) {
      return Choice::kernel(make_low_precision_linear, kLowPrecision);
    }
    // Whatever the rows, so that methods of one and of many rows share a packed weight.
    const bool in_blocks = choice.kind == Choice::Kind::Xnnpack && !choice.float16 && is_constant(node) &&
        node.input(1).shape.numel() * sizeof(float) >= cpu.blocks.float32_linear &&
        node.input(1).shape[1] >= kMinBlockDepth;
    return in_blocks ? Choice::kernel(make_block_linear, kInBlocks) : choice;
  }
  Limit limit = integer_product_limit(node, node.attributes<schema::Linear>().clamp());
  limit = limit != nullptr ? limit : operand_limit(node);
  if (!is_low_precision || (limit == nullptr && options.xnnpack)) {
    const Choice choice = choose_xnnpack_or_kernel(node, options, limit, make_xnnpack_linear, make_linear);
    const bool in_blocks =
        choice.kind == Choice::Kind::Xnnpack && node.input(1).shape.numel() >= cpu.blocks.int8_linear;
    return in_blocks ? Choice::kernel(make_int8_block_linear, kInt8Blocks) : choice;
  }
  return choose_dequantized_but_weight(make_low_precision_linear, limit);
}

Status infer_batch_matmul(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(2));
  ETX_ASSIGN_OR_RETURN(const DType dtype, node.check_wide_float());
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
  return set_output(outputs, dtype, shape);
}

Choice choose_batch_matmul(const NodeContext& node, const Cpu& cpu, const ChoiceOptions& options) {
  if (node.input(0).dtype == DType::Float64) {
    return Choice::kernel(make_float64_batch_matmul, kFloat64);
  }
  if (options.bfloat16 && is_large_matrix(node.input(1)) && is_in_bfloat16(node, cpu, options)) {
    return Choice::kernel(make_bfloat16_batch_matmul, kForcedBFloat16).in_bfloat16();
  }
  if (!node.is_quantized() && batch_matmul_has_low_precision_weight(node)) {
    return Choice::kernel(make_low_precision_batch_matmul, kLowPrecision)
        .in_bfloat16(is_in_bfloat16(node, cpu, options));
  }
  if (!node.is_quantized() && has_few_products(node, cpu, options, batch_matmul_parameters(node))) {
    return Choice::kernel(make_batch_matmul, kUnpacked);
  }
  return choose_xnnpack_or_kernel(
      node,
      options,
      node.is_quantized() ? "XNNPACK multiplies batches of Float32 matrices."
                          : product_limit(node, node.output().shape.last()),
      make_xnnpack_batch_matmul,
      make_batch_matmul,
      options.float16 ? batch_matmul_float16_limit(node) : nullptr);
}

} // namespace

const OpImpl kLinearOp{infer_linear, choose_linear};
const OpImpl kBatchMatMulOp{infer_batch_matmul, choose_batch_matmul};

} // namespace executorch::backends::et_xnnpack
