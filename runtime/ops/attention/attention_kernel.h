// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/kernels/attention/attention.h"
#include "runtime/kernels/attention/rotary_embedding.h"
#include "runtime/ops/common/kernel_of.h"

namespace executorch::backends::et_xnnpack {

// What kernels must know of a node.
AttentionParameters attention_parameters(const NodeContext& node);
AttentionParameters bfloat16_attention_parameters(const NodeContext& node);
RotaryEmbeddingParameters rotary_embedding_parameters(const NodeContext& node);

inline constexpr auto make_attention = make_kernel_of<Attention, attention_parameters>;
// By products of BFloat16.
inline constexpr auto make_bfloat16_attention = make_kernel_of<Attention, bfloat16_attention_parameters>;
inline constexpr auto make_rotary_embedding = make_kernel_of<RotaryEmbedding, rotary_embedding_parameters>;

} // namespace executorch::backends::et_xnnpack
