// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "pool_kernel.h"

#include "runtime/ops/op.h"

namespace executorch::backends::et_xnnpack {
namespace {

// What does not depend on attributes.
PoolParameters image_parameters(const NodeContext& node) {
  const Shape& x = node.input(0).shape;
  const Shape& y = node.output().shape;
  PoolParameters parameters;
  parameters.images = x[0];
  parameters.channels = x[3];
  parameters.height.input = x[1];
  parameters.height.output = y[1];
  parameters.width.input = x[2];
  parameters.width.output = y[2];
  return parameters;
}

template <typename Attributes>
PoolParameters window_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<Attributes>();
  PoolParameters parameters = image_parameters(node);
  parameters.height.kernel = attributes.kernel()->height();
  parameters.height.stride = attributes.stride()->height();
  parameters.height.padding = attributes.padding()->top();
  parameters.width.kernel = attributes.kernel()->width();
  parameters.width.stride = attributes.stride()->width();
  parameters.width.padding = attributes.padding()->left();
  return parameters;
}

PoolOp to_pool_op(schema::AdaptivePoolKind kind) {
  switch (kind) {
    case schema::AdaptivePoolKind::Average:
      return PoolOp::Average;
    case schema::AdaptivePoolKind::Max:
      break;
  }
  return PoolOp::Max;
}

} // namespace

PoolParameters avg_pool2d_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::AvgPool2d>();
  PoolParameters parameters = window_parameters<schema::AvgPool2d>(node);
  parameters.op = PoolOp::Average;
  parameters.height.counted_before = attributes.padding_counted()->top();
  parameters.height.counted_after = attributes.padding_counted()->bottom();
  parameters.width.counted_before = attributes.padding_counted()->left();
  parameters.width.counted_after = attributes.padding_counted()->right();
  parameters.divisor = attributes.divisor_override();
  return parameters;
}

PoolParameters max_pool2d_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::MaxPool2d>();
  PoolParameters parameters = window_parameters<schema::MaxPool2d>(node);
  parameters.op = PoolOp::Max;
  parameters.height.dilation = attributes.dilation()->height();
  parameters.width.dilation = attributes.dilation()->width();
  return parameters;
}

PoolParameters adaptive_pool2d_parameters(const NodeContext& node) {
  PoolParameters parameters = image_parameters(node);
  parameters.op = to_pool_op(node.attributes<schema::AdaptivePool2d>().kind());
  parameters.height.adaptive = parameters.width.adaptive = true;
  return parameters;
}

MaxPoolIndicesParameters max_pool_indices_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::MaxPoolIndices>();
  const Shape& x = node.input(0).shape;
  MaxPoolIndicesParameters parameters;
  parameters.images = x[0];
  parameters.channels = x[4];
  for (uint32_t i = 0; i < 3; ++i) {
    const auto get = [i](const flatbuffers::Vector<uint32_t>* sizes, size_t missing) {
      return sizes == nullptr ? missing : size_t{sizes->Get(i)};
    };
    PoolAxis& axis = parameters.axes[i];
    axis.input = x[i + 1];
    axis.output = node.output().shape[i + 1];
    axis.adaptive = attributes.output() != nullptr;
    axis.kernel = get(attributes.kernel(), 1);
    axis.stride = get(attributes.stride(), 1);
    axis.padding = get(attributes.before(), 0);
    axis.dilation = get(attributes.dilation(), 1);
  }
  return parameters;
}

} // namespace executorch::backends::et_xnnpack
