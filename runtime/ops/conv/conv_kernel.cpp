// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "conv_kernel.h"

#include <type_traits>

#include "runtime/ops/choice.h"
#include "runtime/ops/common/common.h"
#include "runtime/ops/common/int8_parameters.h"
#include "runtime/ops/gemm/low_precision_weight.h"

namespace executorch::backends::et_xnnpack {
namespace {

template <typename Attributes>
ConvParameters conv_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<Attributes>();
  const auto &stride = *attributes.stride(), &dilation = *attributes.dilation();
  const auto& padding = *attributes.padding();
  ConvParameters parameters;
  parameters.input = node.input(0).shape;
  parameters.input_type = node.input(0).dtype;
  parameters.weight = node.input(1).shape;
  parameters.output = node.output().shape;
  parameters.height = {stride.height(), padding.top(), dilation.height()};
  parameters.width = {stride.width(), padding.left(), dilation.width()};
  parameters.groups = attributes.groups();
  parameters.transposed = std::is_same_v<Attributes, schema::ConvTranspose2d>;
  parameters.min = clamp_min(attributes.clamp());
  parameters.max = clamp_max(attributes.clamp());
  parameters.packs_weight = node.is_constant(1);
  parameters.precision.in_blocks = Cpu::get().blocks.float32_conv != Cpu::Blocks::kNever;
  return parameters;
}

template <typename Attributes>
ConvParameters low_precision_parameters(const NodeContext& node) {
  ConvParameters parameters = conv_parameters<Attributes>(node);
  parameters.precision = precision_of(node);
  parameters.weight_scales = weight_scales(node.input(1));
  return parameters;
}

template <typename Attributes>
ConvParameters bfloat16_parameters(const NodeContext& node) {
  ConvParameters parameters = conv_parameters<Attributes>(node);
  parameters.precision = kInBFloat16;
  return parameters;
}

} // namespace

ConvParameters conv2d_parameters(const NodeContext& node) {
  return conv_parameters<schema::Conv2d>(node);
}

ConvParameters conv2d_parameters_by_tap(const NodeContext& node) {
  ConvParameters parameters = conv2d_parameters(node);
  parameters.by_tap = true;
  return parameters;
}

ConvParameters conv_transpose2d_parameters(const NodeContext& node) {
  return conv_parameters<schema::ConvTranspose2d>(node);
}

ConvParameters low_precision_conv2d_parameters(const NodeContext& node) {
  return low_precision_parameters<schema::Conv2d>(node);
}

ConvParameters low_precision_conv_transpose2d_parameters(const NodeContext& node) {
  return low_precision_parameters<schema::ConvTranspose2d>(node);
}

ConvParameters bfloat16_conv2d_parameters(const NodeContext& node) {
  return bfloat16_parameters<schema::Conv2d>(node);
}

ConvParameters bfloat16_conv_transpose2d_parameters(const NodeContext& node) {
  return bfloat16_parameters<schema::ConvTranspose2d>(node);
}

Int8ConvParameters int8_conv2d_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::Conv2d>();
  Int8ConvParameters parameters = int8_parameters(node, attributes.clamp());
  parameters.input = node.input(0).shape;
  parameters.weight = node.input(1).shape;
  parameters.output = node.output().shape;
  parameters.height = {attributes.stride()->height(), attributes.padding()->top()};
  parameters.width = {attributes.stride()->width(), attributes.padding()->left()};
  return parameters;
}

bool is_depthwise(const NodeContext& node) {
  const Shape& weight = node.input(1).shape;
  return weight[3] == 1 && weight[0] == node.input(0).shape[3];
}

bool is_multiplied_depthwise(const NodeContext& node) {
  const Shape& weight = node.input(1).shape;
  return weight[3] == 1 && weight[0] > node.input(0).shape[3] && node.input(0).shape[3] > 1;
}

} // namespace executorch::backends::et_xnnpack
