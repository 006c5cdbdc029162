// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "norm_kernel.h"

#include "runtime/ops/op.h"

namespace executorch::backends::et_xnnpack {
namespace {

// Over the last axes.
template <typename Attributes>
RowNormParameters row_norm_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<Attributes>();
  const Shape& x = node.input(0).shape;
  const size_t split = x.rank - attributes.axes();
  return {x.numel(0, split), x.numel(split, x.rank), attributes.epsilon()};
}

} // namespace

RowNormParameters layer_norm_parameters(const NodeContext& node) {
  return row_norm_parameters<schema::LayerNorm>(node);
}

RowNormParameters rms_norm_parameters(const NodeContext& node) {
  return row_norm_parameters<schema::RmsNorm>(node);
}

GroupNormParameters group_norm_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::GroupNorm>();
  const Shape& x = node.input(0).shape;
  const size_t axis = attributes.axis();
  GroupNormParameters parameters;
  parameters.images = x[0];
  parameters.outer = x.numel(1, axis);
  parameters.channels = x[axis];
  parameters.inner = x.numel(axis + 1, x.rank);
  parameters.groups = attributes.groups();
  parameters.epsilon = attributes.epsilon();
  parameters.channels_last = axis == x.rank - 1;
  return parameters;
}

} // namespace executorch::backends::et_xnnpack
