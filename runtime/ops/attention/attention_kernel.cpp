// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "attention_kernel.h"

#include "runtime/ops/op.h"

namespace executorch::backends::et_xnnpack {

AttentionParameters attention_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::Attention>();
  AttentionParameters parameters;
  parameters.query = node.input(0).shape;
  parameters.key = node.input(1).shape;
  parameters.value = node.input(2).shape;
  if (node.has_input(3)) {
    parameters.mask = node.input(3).shape;
    parameters.mask_is_bool = node.input(3).dtype == DType::Bool;
  }
  parameters.scale = attributes.scale();
  parameters.causal = attributes.causal();
  parameters.start = static_cast<size_t>(node.sizes().resolve(attributes.start()));
  parameters.by_token = attributes.by_token();
  parameters.type = node.input(1).dtype;
  return parameters;
}

AttentionParameters bfloat16_attention_parameters(const NodeContext& node) {
  AttentionParameters parameters = attention_parameters(node);
  parameters.bfloat16 = true;
  return parameters;
}

RotaryEmbeddingParameters rotary_embedding_parameters(const NodeContext& node) {
  const bool interleaved = node.attributes<schema::RotaryEmbedding>().interleaved();
  return {node.input(0).shape, node.input(1).shape, node.input(2).shape, interleaved};
}

} // namespace executorch::backends::et_xnnpack
