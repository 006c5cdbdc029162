// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <cmath>

#include "attention_kernel.h"
#include "runtime/ops/common/choose.h"

namespace executorch::backends::et_xnnpack {
namespace {

// Axis -3 counts heads: those of key and value are shared by groups of query's.
bool leading_axes_match(const Shape& query, const Shape& key, const Shape& value) {
  for (size_t axis = 0; axis + 2 < query.rank; ++axis) {
    const bool is_head = axis + 3 == query.rank;
    const bool match = is_head && key[axis] != 0 ? query[axis] % key[axis] == 0 : query[axis] == key[axis];
    if (!match || key[axis] != value[axis]) {
      return false;
    }
  }
  return true;
}

Status check_mask(const TensorType& mask, const Shape& scores) {
  ETX_CHECK(
      mask.dtype == DType::Float32 || mask.dtype == DType::Bool,
      InvalidProgram,
      "the mask is %s, but must be Float32 or Bool",
      mask.to_string().c_str());
  StatusOr<Shape> masked = broadcast(mask.shape, scores);
  ETX_CHECK(
      masked.ok() && *masked == scores,
      InvalidProgram,
      "the mask %s does not broadcast to %s",
      mask.to_string().c_str(),
      scores.to_string().c_str());
  return {};
}

Status infer_attention(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(3, 1));
  for (size_t i = 0; i < 3; ++i) {
    ETX_CHECK(
        node.input(i).dtype == DType::Float32,
        InvalidProgram,
        "input %zu is %s, but must be Float32",
        i,
        node.input(i).to_string().c_str());
  }
  const float scale = node.attributes<schema::Attention>().scale();
  ETX_CHECK(std::isfinite(scale), InvalidProgram, "the scale is %g, but must be finite", static_cast<double>(scale));
  const Shape& query = node.input(0).shape;
  const Shape& key = node.input(1).shape;
  const Shape& value = node.input(2).shape;
  const size_t rank = query.rank;
  ETX_CHECK(
      rank >= 2 && key.rank == rank && value.rank == rank && query[rank - 1] == key[rank - 1] &&
          key[rank - 2] == value[rank - 2] && leading_axes_match(query, key, value),
      InvalidProgram,
      "query %s, key %s and value %s do not match",
      query.to_string().c_str(),
      key.to_string().c_str(),
      value.to_string().c_str());
  Shape y = query;
  y[rank - 1] = key[rank - 2];
  ETX_RETURN_IF_ERROR(check_size({DType::Float32, y}));
  if (node.has_input(3)) {
    ETX_RETURN_IF_ERROR(check_mask(node.input(3), y));
  }
  y[rank - 1] = value[rank - 1];
  return set_output(outputs, DType::Float32, y);
}

Status infer_rotary_embedding(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(3));
  ETX_RETURN_IF_ERROR(node.check_float());
  const Shape& x = node.input(0).shape;
  ETX_CHECK(
      x.rank >= 1 && x[x.rank - 1] % 2 == 0,
      InvalidProgram,
      "input 0 is %s, but its last axis must have an even size",
      node.input(0).to_string().c_str());
  for (size_t i = 1; i < 3; ++i) {
    const Shape& angles = node.input(i).shape;
    StatusOr<Shape> both = broadcast(angles, x);
    ETX_CHECK(
        angles.rank >= 1 && angles[angles.rank - 1] == x[x.rank - 1] && both.ok() && *both == x,
        InvalidProgram,
        "input %zu is %s, which does not fit input 0, %s",
        i,
        node.input(i).to_string().c_str(),
        node.input(0).to_string().c_str());
  }
  return set_output(outputs, DType::Float32, x);
}

} // namespace

const OpImpl kAttentionOp{infer_attention, choose_only_kernel<make_attention>};
const OpImpl kRotaryEmbeddingOp{infer_rotary_embedding, choose_only_kernel<make_rotary_embedding>};

} // namespace executorch::backends::et_xnnpack
