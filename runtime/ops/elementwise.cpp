// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <cmath>
#include <limits>

#include "../subgraph_builder.h"
#include "op.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Status check_clamp(const schema::Clamp* clamp) {
  ETX_CHECK(
      clamp == nullptr || clamp->min() <= clamp->max(), // also false for NaN
      InvalidProgram,
      "clamps to [%g, %g]",
      static_cast<double>(clamp->min()),
      static_cast<double>(clamp->max()));
  return {};
}

Status infer_unary(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1));
  const auto& attributes = node.attributes<schema::Unary>();
  ETX_CHECK(
      attributes.kind() <= schema::UnaryKind::MAX, InvalidProgram, "unknown kind %d", static_cast<int>(attributes.kind()));
  if (attributes.kind() != schema::UnaryKind::Copy) {
    ETX_RETURN_IF_ERROR(node.check_float());
  }
  const bool clamps = attributes.kind() == schema::UnaryKind::Clamp;
  ETX_CHECK(clamps == (attributes.clamp() != nullptr), InvalidProgram, "kind and clamp disagree");
  ETX_RETURN_IF_ERROR(check_clamp(attributes.clamp()));
  ETX_CHECK(std::isfinite(attributes.alpha()), InvalidProgram, "alpha is not finite");
  outputs[0] = node.input(0);
  return {};
}

// TODO-OWNER: runtime ops engineer completes this family.

} // namespace
} // namespace executorch::backends::et_xnnpack
