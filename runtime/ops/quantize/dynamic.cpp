// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "dynamic_kernel.h"

#include <algorithm>
#include <cmath>

#include "runtime/ops/gemm/xnnpack_linear.h"
#include "runtime/ops/common/choose.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kSmallestGroup = 32; // that XNNPACK takes

Status check_type(const NodeContext& node, size_t i, DType dtype, const Shape& shape) {
  const TensorType type{dtype, shape};
  ETX_CHECK(
      node.input(i) == type,
      InvalidProgram,
      "input %zu is %s, but must be %s",
      i,
      node.input(i).to_string().c_str(),
      type.to_string().c_str());
  return {};
}

Status infer_quantized_linear(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(3, 2));
  const auto& attributes = node.attributes<schema::QuantizedLinear>();
  ETX_RETURN_IF_ERROR(check_clamp(attributes.clamp()));
  const bool is_4bit = attributes.bits() == 4;
  ETX_CHECK(
      is_4bit || attributes.bits() == 8,
      InvalidProgram,
      "there are no weights of %u bits, only of 4 or 8",
      unsigned{attributes.bits()});
  ETX_RETURN_IF_ERROR(check_rank(node, 1, 2));
  ETX_RETURN_IF_ERROR(check_rank(node, 2, 2));
  Shape y = node.input(0).shape;
  ETX_CHECK(
      y.rank >= 1 && y.last() >= 1,
      InvalidProgram,
      "input 0 is %s, but must have a last axis that is not empty",
      node.input(0).to_string().c_str());
  ETX_RETURN_IF_ERROR(check_type(node, 0, DType::Float32, y));
  const size_t columns = node.input(1).shape[0], depth = y.last(), groups = node.input(2).shape[1];
  const size_t unit = is_4bit ? 2 : 1; // weights in a byte
  ETX_CHECK(
      groups >= 1 && depth % groups == 0 && depth / groups % unit == 0,
      InvalidProgram,
      "%zu groups of %zu weights of %u bits cannot have whole bytes of the same number",
      groups,
      depth,
      unsigned{attributes.bits()});
  ETX_RETURN_IF_ERROR(check_type(node, 1, is_4bit ? DType::UInt8 : DType::Int8, {columns, depth / unit}));
  ETX_RETURN_IF_ERROR(check_type(node, 2, DType::Float32, {columns, groups}));
  if (node.has_input(3)) {
    ETX_RETURN_IF_ERROR(check_type(node, 3, DType::Float32, {columns}));
  }
  if (node.has_input(4)) {
    ETX_RETURN_IF_ERROR(check_type(node, 4, DType::Int32, {columns, groups}));
  }
  y[y.rank - 1] = columns;
  // What the kernel needs of scratch memory: x in another order, and widened weights.
  ETX_RETURN_IF_ERROR(check_size({DType::Float32, {depth, 128}}));
  return set_output(outputs, DType::Float32, y);
}

// Why XNNPACK does not round rows and multiply them.
Limit dynamic_linear_limit(const NodeContext& node, const Cpu& cpu) {
  const auto& attributes = node.attributes<schema::QuantizedLinear>();
  const Shape& x = node.input(0).shape;
  const size_t groups = node.input(2).shape[1];
  if (node.is_quantized()) {
    return "XNNPACK rounds and makes rows of Float32.";
  }
  if (const Limit limit = depth_limit(x.last() / groups / (attributes.bits() == 4 ? 16 : 1)); limit != nullptr) {
    return limit;
  }
  if (node.has_input(4)) {
    return "XNNPACK takes weights without zero points.";
  }
  if (x.rank > XNN_MAX_TENSOR_DIMS) {
    return kHighRank;
  }
  if (x.numel() == 0 || node.output().shape.numel() == 0) {
    return kEmpty;
  }
  for (size_t i = 1; i < node.num_inputs(); ++i) {
    if (node.has_input(i) && !node.is_constant(i)) {
      return "XNNPACK takes constant weights, scales and biases.";
    }
  }
  if (!cpu.dynamic_quantization) {
    return "This build of XNNPACK reads behind the scales of rows on this CPU.";
  }
  if (attributes.bits() == 8 && !xnnpack_has(Part::Sums)) {
    return kWrongSums;
  }
  if (groups == 1) {
    return nullptr;
  }
  if (attributes.bits() != 4) {
    return "XNNPACK takes groups for weights of 4 bits only.";
  }
  return x.last() / groups % kSmallestGroup == 0 ? nullptr : "XNNPACK takes groups of a multiple of 32 weights.";
}

Status infer_choose_qparams(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1, 0, 2));
  ETX_RETURN_IF_ERROR(node.check_float());
  const auto& attributes = node.attributes<schema::ChooseQParams>();
  Shape y = node.input(0).shape;
  ETX_CHECK(
      attributes.axes() <= y.rank,
      InvalidProgram,
      "it cannot work on %u axes of rank %zu",
      unsigned{attributes.axes()},
      y.rank);
  ETX_CHECK(
      attributes.min() < attributes.max() && attributes.min() >= INT16_MIN && attributes.max() <= UINT16_MAX,
      InvalidProgram,
      "a range of %d to %d is empty, or larger than 16 bits hold",
      attributes.min(),
      attributes.max());
  ETX_CHECK(
      attributes.epsilon() > 0 && std::isfinite(attributes.epsilon()),
      InvalidProgram,
      "epsilon is %g, but must be positive and finite",
      static_cast<double>(attributes.epsilon()));
  std::fill(y.dims.begin() + (y.rank - attributes.axes()), y.dims.begin() + y.rank, 1);
  ETX_RETURN_IF_ERROR(set_output(outputs, DType::Int32, y, 1));
  return set_output(outputs, DType::Float32, y);
}

// Whether a constant weight has 8 bits, one constant scale for each column and no zero points.
bool has_int8_columns(const NodeContext& node) {
  return node.attributes<schema::QuantizedLinear>().bits() == 8 && node.input(2).shape[1] == 1 && !node.has_input(4) &&
      node.is_constant(1) && node.is_constant(2);
}

// XNNPACK, too, multiplies floats by integers, but widens those anew for every few rows.
constexpr const char* kWeightOnly = "Our kernels widen the weights once for many rows.";

Choice choose_quantized_linear(const NodeContext& node, const Cpu& cpu, const ChoiceOptions& options) {
  const auto& attributes = node.attributes<schema::QuantizedLinear>();
  const auto make = attributes.bits() == 4 ? make_int4_linear : make_quantized_linear;
  if (!attributes.dynamic_quantization()) {
    return choose_kernel(node, has_int8_columns(node) ? make_weight_only_linear : make, kWeightOnly);
  }
  return choose_xnnpack_or_kernel(
      node,
      options,
      dynamic_linear_limit(node, cpu),
      [](const NodeContext& in_float32, bool) { return make_xnnpack_quantized_linear(in_float32); },
      make,
      "It takes these weights in Float32 only.");
}

} // namespace

const OpImpl kQuantizedLinearOp{infer_quantized_linear, choose_quantized_linear};
const OpImpl kChooseQParamsOp{infer_choose_qparams, choose_only_kernel<make_choose_qparams>};

} // namespace executorch::backends::et_xnnpack
