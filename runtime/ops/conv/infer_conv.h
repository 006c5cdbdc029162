// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/ops/common/common.h"

namespace executorch::backends::et_xnnpack {

// Both ops: x [N, H, W, groups * IC], weight [groups * OC, KH, KW, IC], bias [groups * OC]?
Status infer_conv2d(const NodeContext& node, Span<TensorType> outputs);
Status infer_conv_transpose2d(const NodeContext& node, Span<TensorType> outputs);

// `Attributes` are those of the op. REQUIRES: the node has a stride, padding and dilation
template <typename Attributes>
Window window_height(const NodeContext& node) {
  const auto& attributes = node.attributes<Attributes>();
  return {
      static_cast<uint32_t>(node.input(1).shape[1]),
      attributes.stride()->height(),
      attributes.dilation()->height(),
      attributes.padding()->top(),
      attributes.padding()->bottom()};
}

template <typename Attributes>
Window window_width(const NodeContext& node) {
  const auto& attributes = node.attributes<Attributes>();
  return {
      static_cast<uint32_t>(node.input(1).shape[2]),
      attributes.stride()->width(),
      attributes.dilation()->width(),
      attributes.padding()->left(),
      attributes.padding()->right()};
}

} // namespace executorch::backends::et_xnnpack
