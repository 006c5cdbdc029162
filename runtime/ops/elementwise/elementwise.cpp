// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <cmath>

#include "row_kernel.h"
#include "xnnpack_elementwise.h"
#include "runtime/program/quantization.h"
#include "runtime/ops/common/choose.h"

namespace executorch::backends::et_xnnpack {
namespace {

using schema::BinaryKind;
using schema::UnaryKind;

bool has_parameters(UnaryKind kind) {
  return kind == UnaryKind::Clamp || kind == UnaryKind::Elu || kind == UnaryKind::LeakyRelu;
}

Status infer_unary(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1));
  const auto& attributes = node.attributes<schema::Unary>();
  if (attributes.kind() != UnaryKind::Copy) {
    ETX_ASSIGN_OR_RETURN(const DType dtype, node.check_wide_float());
    ETX_CHECK(
        dtype == DType::Float32 || !has_parameters(attributes.kind()),
        InvalidProgram,
        "%s does not take Float64, as its parameters are Float32",
        schema::EnumNameUnaryKind(attributes.kind()));
  }
  const bool clamps = attributes.kind() == UnaryKind::Clamp;
  ETX_CHECK(
      clamps == (attributes.clamp() != nullptr), InvalidProgram, "it must have limits if it clamps, and only then");
  ETX_RETURN_IF_ERROR(check_clamp(attributes.clamp()));
  ETX_CHECK(std::isfinite(attributes.alpha()), InvalidProgram, "its alpha is not finite");
  return set_output(outputs, node.input(0).dtype, node.input(0).shape);
}

// Why XNNPACK does not compute a kind.
Limit unary_limit(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::Rsqrt:
    case UnaryKind::Sqrt:
      return "XNNPACK's root is NaN where it should be 0 or infinite.";
    case UnaryKind::Cos:
    case UnaryKind::Exp:
    case UnaryKind::Log:
    case UnaryKind::Sign:
    case UnaryKind::Sin:
      return "XNNPACK computes one number at a time, our row a vector.";
    case UnaryKind::GeluTanh:
    case UnaryKind::HardSigmoid:
    case UnaryKind::Silu:
      return "XNNPACK needs several passes over memory, our row one.";
    default:
      return has_xnnpack_unary(kind) ? nullptr : kNoOperator;
  }
}

bool takes(BinaryKind kind, DType dtype) {
  switch (kind) {
    case BinaryKind::BitAnd:
    case BinaryKind::BitOr:
    case BinaryKind::BitXor:
      return !is_float(dtype);
    case BinaryKind::Add:
    case BinaryKind::Sub:
    case BinaryKind::Mul:
    case BinaryKind::Maximum:
    case BinaryKind::Minimum:
    case BinaryKind::FloorDiv:
    case BinaryKind::Remainder:
    case BinaryKind::Fmod:
      return is_number(dtype);
    case BinaryKind::Div:
    case BinaryKind::Pow:
    case BinaryKind::Prelu:
    case BinaryKind::SquaredDifference:
    case BinaryKind::Atan2:
    case BinaryKind::Copysign:
      return dtype == DType::Float32 || dtype == DType::Float64;
  }
  return false;
}

Status infer_binary(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(2));
  const auto& attributes = node.attributes<schema::Binary>();
  const DType dtype = node.input(0).dtype;
  ETX_CHECK(
      dtype == node.input(1).dtype && takes(attributes.kind(), dtype),
      InvalidProgram,
      "%s does not take operands of type %s and %s",
      schema::EnumNameBinaryKind(attributes.kind()),
      name_of(dtype),
      name_of(node.input(1).dtype));
  ETX_RETURN_IF_ERROR(check_clamp(attributes.clamp()));
  ETX_CHECK(
      attributes.clamp() == nullptr || dtype == DType::Float32,
      InvalidProgram,
      "it limits %s, but only Float32 can be limited",
      name_of(dtype));
  ETX_ASSIGN_OR_RETURN(const Shape shape, broadcast(node.input(0).shape, node.input(1).shape));
  return set_output(outputs, dtype, shape);
}

Limit binary_limit(const NodeContext& node) {
  switch (node.attributes<schema::Binary>().kind()) {
    case BinaryKind::Maximum:
    case BinaryKind::Minimum:
      return "XNNPACK's maximum and minimum drop a NaN in one of the operands.";
    default:
      break;
  }
  return !has_xnnpack_binary(node.attributes<schema::Binary>().kind()) ? kNoOperator : operand_limit(node);
}

// Beyond these ratios of scales XNNPACK computes something else.
bool is_in_range(BinaryKind kind, float a, float b, float y) {
  const auto is_between = [](float low, float ratio, float high) { return ratio >= low && ratio < high; };
  switch (kind) {
    case BinaryKind::Add:
    case BinaryKind::Sub:
      return is_between(0x1p-10f, a / y, 0x1p8f) && is_between(0x1p-10f, b / y, 0x1p8f);
    case BinaryKind::Mul:
      return is_between(0x1p-16f, a * b / y, 0x1p8f);
    default:
      return false;
  }
}

Limit quantized_binary_limit(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::Binary>();
  const TensorType& a = node.input(0);
  const TensorType& b = node.input(1);
  const TensorType& y = node.output();
  if (!is_per_tensor(a, DType::Int8) || !is_per_tensor(b, DType::Int8) || !is_per_tensor(y, DType::Int8)) {
    return "XNNPACK adds, subtracts and multiplies Int8 with one scale for each tensor.";
  }
  if (!is_in_range(attributes.kind(), scale_of(a), scale_of(b), scale_of(y))) {
    return "XNNPACK has no such operator of integers, or takes no such ratio of their scales.";
  }
  return attributes.clamp() != nullptr ? "XNNPACK takes no clamp here." : operand_limit(node);
}

Choice choose_unary(const NodeContext& node, const Cpu&, const ChoiceOptions& options) {
  if (node.is_quantized()) {
    const bool has_row = make_quantized_unary_row(node) != nullptr;
    const bool copies = node.attributes<schema::Unary>().kind() == UnaryKind::Copy;
    if (has_row || (copies && has_one_quantization(node))) {
      return Choice::elementwise(
          has_row ? make_quantized_unary_row : nullptr,
          make_quantized_unary,
          "The result for each of 256 integers is looked up in a table.");
    }
    return choose_kernel(node, make_unary, "XNNPACK has no such operator of these integers.");
  }
  const UnaryKind kind = node.attributes<schema::Unary>().kind();
  const Limit float16_limit = kind == UnaryKind::Gelu ? "In Float16 it computes one number at a time." : nullptr;
  Limit limit = unary_limit(kind) != nullptr ? unary_limit(kind) : operand_limit(node);
  if (limit == nullptr && kind != UnaryKind::Copy) {
    limit = denormal_limit();
  }
  const MakeRow row = make_unary_row(node) == nullptr ? nullptr : make_unary_row;
  if (row != nullptr && (limit != nullptr || !options.xnnpack)) {
    return Choice::elementwise(row, make_unary, limit != nullptr ? limit : kEmpty);
  }
  return choose_xnnpack_or_kernel(node, options, limit, make_xnnpack_unary, make_unary, float16_limit).or_row(row);
}

Choice choose_binary(const NodeContext& node, const Cpu& cpu, const ChoiceOptions& options) {
  if (node.is_quantized()) {
    const Limit limit = quantized_binary_limit(node);
    if ((limit != nullptr || !options.xnnpack) && make_quantized_binary_row(node) != nullptr) {
      return Choice::elementwise(
          make_quantized_binary_row, make_kernel_of_row<make_quantized_binary_row>, limit != nullptr ? limit : kEmpty);
    }
    if (limit == nullptr && cpu.int8_arithmetic_in_rows) {
      return Choice::elementwise(
          make_quantized_arithmetic_row,
          make_kernel_of_row<make_quantized_arithmetic_row>,
          "XNNPACK multiplies integers of 32 bits, or goes row by row, which takes long on this CPU.");
    }
    return choose_xnnpack_or_kernel(node, options, limit, make_xnnpack_binary, make_binary);
  }
  const bool copies_sign = node.attributes<schema::Binary>().kind() == BinaryKind::Copysign;
  const Limit float16_limit = copies_sign ? "It has this in Float32 only." : nullptr;
  Limit limit = binary_limit(node);
  limit = limit != nullptr ? limit : denormal_limit();
  const MakeRow row = make_binary_row(node) == nullptr ? nullptr : make_binary_row;
  if (row != nullptr && (limit != nullptr || !options.xnnpack)) {
    return Choice::elementwise(row, make_binary, limit != nullptr ? limit : kEmpty);
  }
  return choose_xnnpack_or_kernel(node, options, limit, make_xnnpack_binary, make_binary, float16_limit).or_row(row);
}

} // namespace

const OpImpl kUnaryOp{infer_unary, choose_unary};
const OpImpl kBinaryOp{infer_binary, choose_binary};

} // namespace executorch::backends::et_xnnpack
