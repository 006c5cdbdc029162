// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <cmath>

#include "../kernels/elementwise.h"
#include "../subgraph_builder.h"
#include "common.h"

namespace executorch::backends::et_xnnpack {
namespace {

using schema::BinaryKind;
using schema::UnaryKind;

Status infer_unary(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1));
  const auto& attributes = node.attributes<schema::Unary>();
  ETX_CHECK(
      attributes.kind() <= UnaryKind::MAX, InvalidProgram, "unknown kind %d", static_cast<int>(attributes.kind()));
  if (attributes.kind() != UnaryKind::Copy) {
    ETX_RETURN_IF_ERROR(node.check_float());
  }
  const bool clamps = attributes.kind() == UnaryKind::Clamp;
  ETX_CHECK(clamps == (attributes.clamp() != nullptr), InvalidProgram, "kind and clamp disagree");
  ETX_RETURN_IF_ERROR(check_clamp(attributes.clamp()));
  ETX_CHECK(std::isfinite(attributes.alpha()), InvalidProgram, "alpha is not finite");
  return set_output(outputs, node.input(0).dtype, node.input(0).shape);
}

// The XNNPACK operator that computes a kind alone; invalid if there is none that is
// as exact and as fast as the in-tree kernel.
xnn_unary_operator unary_operator(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::Abs:
      return xnn_unary_abs;
    case UnaryKind::Ceil:
      return xnn_unary_ceiling;
    case UnaryKind::Clamp:
      return xnn_unary_clamp;
    case UnaryKind::Elu:
      return xnn_unary_elu;
    case UnaryKind::Exp:
      return xnn_unary_exp;
    case UnaryKind::Floor:
      return xnn_unary_floor;
    case UnaryKind::Gelu:
      return xnn_unary_gelu;
    case UnaryKind::HardSwish:
      return xnn_unary_hardswish;
    case UnaryKind::LeakyRelu:
      return xnn_unary_leaky_relu;
    case UnaryKind::Neg:
      return xnn_unary_negate;
    case UnaryKind::Round:
      return xnn_unary_bankers_rounding;
    case UnaryKind::Rsqrt:
      return xnn_unary_reciprocal_square_root;
    case UnaryKind::Sigmoid:
      return xnn_unary_sigmoid;
    case UnaryKind::Sqrt:
      return xnn_unary_square_root;
    case UnaryKind::Square:
      return xnn_unary_square;
    case UnaryKind::Tanh:
      return xnn_unary_tanh;
    case UnaryKind::Copy:
    case UnaryKind::Cos:
    case UnaryKind::GeluTanh:
    case UnaryKind::HardSigmoid:
    case UnaryKind::Log:
    case UnaryKind::Reciprocal:
    case UnaryKind::Sign:
    case UnaryKind::Silu:
    case UnaryKind::Sin:
      break;
  }
  return xnn_unary_invalid;
}

bool unary_in_xnnpack(const NodeContext& node) {
  const UnaryKind kind = node.attributes<schema::Unary>().kind();
  const bool known =
      kind == UnaryKind::Copy || kind == UnaryKind::Reciprocal || unary_operator(kind) != xnn_unary_invalid;
  return known && fits_xnnpack(node);
}

xnn_unary_params unary_params(const schema::Unary& attributes) {
  xnn_unary_params params{};
  switch (attributes.kind()) {
    case UnaryKind::Clamp:
      params.clamp.min = attributes.clamp()->min();
      params.clamp.max = attributes.clamp()->max();
      break;
    case UnaryKind::Elu:
      params.elu.alpha = attributes.alpha();
      break;
    case UnaryKind::LeakyRelu:
      params.leaky_relu.negative_slope = attributes.alpha();
      break;
    default:
      break;
  }
  return params;
}

Status define_unary(const NodeContext& node, SubgraphBuilder& subgraph) {
  const auto& attributes = node.attributes<schema::Unary>();
  ETX_ASSIGN_OR_RETURN(const uint32_t x, subgraph.input(0));
  ETX_ASSIGN_OR_RETURN(const uint32_t y, subgraph.output());
  if (attributes.kind() == UnaryKind::Copy) {
    return check_xnn(xnn_define_copy(subgraph.get(), x, y, 0), "xnn_define_copy");
  }
  if (attributes.kind() == UnaryKind::Reciprocal) {
    ETX_ASSIGN_OR_RETURN(const uint32_t one, subgraph.scalar(1));
    return check_xnn(
        xnn_define_binary(subgraph.get(), xnn_binary_divide, nullptr, one, x, y, 0), "xnn_define_binary");
  }
  const xnn_unary_params params = unary_params(attributes);
  return check_xnn(
      xnn_define_unary(subgraph.get(), unary_operator(attributes.kind()), &params, x, y, 0), "xnn_define_unary");
}

Status infer_binary(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(2));
  ETX_RETURN_IF_ERROR(node.check_float());
  const auto& attributes = node.attributes<schema::Binary>();
  ETX_CHECK(
      attributes.kind() <= BinaryKind::MAX, InvalidProgram, "unknown kind %d", static_cast<int>(attributes.kind()));
  ETX_RETURN_IF_ERROR(check_clamp(attributes.clamp()));
  ETX_ASSIGN_OR_RETURN(const Shape shape, broadcast(node.input(0).shape, node.input(1).shape));
  return set_output(outputs, DType::Float32, shape);
}

// XNNPACK's maximum and minimum drop a NaN in one of the operands.
xnn_binary_operator binary_operator(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::Add:
      return xnn_binary_add;
    case BinaryKind::Sub:
      return xnn_binary_subtract;
    case BinaryKind::Mul:
      return xnn_binary_multiply;
    case BinaryKind::Div:
      return xnn_binary_divide;
    case BinaryKind::Prelu:
      return xnn_binary_prelu;
    case BinaryKind::SquaredDifference:
      return xnn_binary_squared_difference;
    case BinaryKind::Copysign:
      return xnn_binary_copysign;
    case BinaryKind::Maximum:
    case BinaryKind::Minimum:
    case BinaryKind::Pow:
    case BinaryKind::Atan2:
      break;
  }
  return xnn_binary_invalid;
}

bool binary_in_xnnpack(const NodeContext& node) {
  return binary_operator(node.attributes<schema::Binary>().kind()) != xnn_binary_invalid && fits_xnnpack(node);
}

Status define_binary(const NodeContext& node, SubgraphBuilder& subgraph) {
  const auto& attributes = node.attributes<schema::Binary>();
  ETX_ASSIGN_OR_RETURN(const uint32_t a, subgraph.input(0));
  ETX_ASSIGN_OR_RETURN(const uint32_t b, subgraph.input(1));
  ETX_ASSIGN_OR_RETURN(const uint32_t y, subgraph.output());
  const xnn_binary_params params{clamp_min(attributes.clamp()), clamp_max(attributes.clamp())};
  return check_xnn(
      xnn_define_binary(subgraph.get(), binary_operator(attributes.kind()), &params, a, b, y, 0),
      "xnn_define_binary");
}

} // namespace

const OpImpl kUnaryOp{infer_unary, unary_in_xnnpack, define_unary, make_unary};
const OpImpl kBinaryOp{infer_binary, binary_in_xnnpack, define_binary, make_binary};

} // namespace executorch::backends::et_xnnpack
