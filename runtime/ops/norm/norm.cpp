// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <cmath>

#include "norm_kernel.h"
#include "runtime/ops/common/choose.h"

namespace executorch::backends::et_xnnpack {
namespace {

Status check_epsilon(float epsilon) {
  ETX_CHECK(
      std::isfinite(epsilon) && epsilon >= 0,
      InvalidProgram,
      "epsilon is %g, but must be a number that is not negative",
      static_cast<double>(epsilon));
  return {};
}

// One output, or three with mean and rstd.
Status check_norm_operands(const NodeContext& node) {
  ETX_RETURN_IF_ERROR(node.check_operands(1, 2, node.num_outputs() == 3 ? 3 : 1));
  return node.check_float();
}

Status check_last_axes(const NodeContext& node, size_t axes) {
  const Shape& x = node.input(0).shape;
  ETX_CHECK(axes >= 1 && axes <= x.rank, InvalidProgram, "it cannot normalize over %zu of %zu axes", axes, x.rank);
  Shape normalized;
  for (size_t axis = x.rank - axes; axis < x.rank; ++axis) {
    normalized.append(x[axis]);
  }
  for (size_t i = 1; i < node.num_inputs(); ++i) {
    if (node.has_input(i)) {
      ETX_RETURN_IF_ERROR(check_shape(node, i, normalized));
    }
  }
  return {};
}

Status infer_layer_norm(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(check_norm_operands(node));
  const auto& attributes = node.attributes<schema::LayerNorm>();
  ETX_RETURN_IF_ERROR(check_last_axes(node, attributes.axes()));
  ETX_RETURN_IF_ERROR(check_epsilon(attributes.epsilon()));
  const Shape& x = node.input(0).shape;
  Shape statistics = x;
  for (size_t axis = x.rank - attributes.axes(); axis < x.rank; ++axis) {
    statistics[axis] = 1;
  }
  for (size_t i = 1; i < outputs.size(); ++i) {
    ETX_RETURN_IF_ERROR(set_output(outputs, DType::Float32, statistics, i));
  }
  return set_output(outputs, DType::Float32, x);
}

Status infer_rms_norm(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(1, 1));
  ETX_RETURN_IF_ERROR(node.check_float());
  const auto& attributes = node.attributes<schema::RmsNorm>();
  ETX_RETURN_IF_ERROR(check_last_axes(node, attributes.axes()));
  ETX_RETURN_IF_ERROR(check_epsilon(attributes.epsilon()));
  return set_output(outputs, DType::Float32, node.input(0).shape);
}

Status infer_group_norm(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(check_norm_operands(node));
  const auto& attributes = node.attributes<schema::GroupNorm>();
  const Shape& x = node.input(0).shape;
  const size_t axis = attributes.axis(), groups = attributes.groups();
  ETX_CHECK(
      axis >= 1 && axis < x.rank && groups != 0 && x[axis] % groups == 0,
      InvalidProgram,
      "it cannot normalize %zu groups on axis %zu of %s",
      groups,
      axis,
      x.to_string().c_str());
  ETX_RETURN_IF_ERROR(check_epsilon(attributes.epsilon()));
  ETX_RETURN_IF_ERROR(check_bias(node, 1, x[axis]));
  ETX_RETURN_IF_ERROR(check_bias(node, 2, x[axis]));
  for (size_t i = 1; i < outputs.size(); ++i) {
    ETX_RETURN_IF_ERROR(set_output(outputs, DType::Float32, {x[0], groups}, i));
  }
  return set_output(outputs, DType::Float32, x);
}

} // namespace

const OpImpl kLayerNormOp{infer_layer_norm, choose_only_kernel<make_layer_norm>};
const OpImpl kRmsNormOp{infer_rms_norm, choose_only_kernel<make_rms_norm>};
const OpImpl kGroupNormOp{infer_group_norm, choose_only_kernel<make_group_norm>};

} // namespace executorch::backends::et_xnnpack
