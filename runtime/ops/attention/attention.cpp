// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <cinttypes>
#include <cmath>
#include <utility>

#include "attention_kernel.h"
#include "runtime/ops/common/choose.h"
#include "runtime/ops/gemm/low_precision_weight.h"

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

Status check_number(const NodeContext& node, size_t i, DType dtype) {
  ETX_CHECK(
      node.input(i).dtype == dtype,
      InvalidProgram,
      "input %zu is %s, but must be %s",
      i,
      node.input(i).to_string().c_str(),
      name_of(dtype));
  return {};
}

// That key and value are floats, or integers with a scale and a zero point for each row.
Status check_keys(const NodeContext& node) {
  const bool is_int8 = node.input(1).dtype == DType::Int8;
  for (size_t i = 1; i < 3; ++i) {
    ETX_RETURN_IF_ERROR(check_number(node, i, is_int8 ? DType::Int8 : DType::Float32));
  }
  for (size_t i = 4; i < 8; ++i) {
    ETX_CHECK(
        node.has_input(i) == is_int8,
        InvalidProgram,
        "input %zu, a scale or zero point, is %s",
        i,
        is_int8 ? "missing" : "not one of integers");
    if (is_int8) {
      ETX_RETURN_IF_ERROR(check_number(node, i, i % 2 == 0 ? DType::Float32 : DType::Int8));
      Shape rows = node.input(i < 6 ? 1 : 2).shape;
      ETX_CHECK(rows.rank > 0 && rows.last() > 0, InvalidProgram, "key and value are empty integers");
      rows[rows.rank - 1] = 1;
      ETX_RETURN_IF_ERROR(check_shape(node, i, rows));
    }
  }
  return {};
}

// That causal rows have a place among the keys.
Status check_start(const NodeContext& node, size_t rows, size_t keys) {
  const auto& attributes = node.attributes<schema::Attention>();
  const int64_t start = node.sizes().resolve(attributes.start());
  ETX_CHECK(
      start == 0 || (attributes.causal() && start > 0 && rows <= keys && static_cast<uint64_t>(start) <= keys - rows),
      InvalidProgram,
      "%zu rows from position %" PRId64 " are not among %zu keys, or not causal",
      rows,
      start,
      keys);
  return {};
}

Status infer_attention(const NodeContext& node, Span<TensorType> outputs) {
  ETX_RETURN_IF_ERROR(node.check_operands(3, 5));
  ETX_RETURN_IF_ERROR(check_number(node, 0, DType::Float32));
  ETX_RETURN_IF_ERROR(check_keys(node));
  const auto& attributes = node.attributes<schema::Attention>();
  const float scale = attributes.scale();
  ETX_CHECK(std::isfinite(scale), InvalidProgram, "the scale is %g, but must be finite", static_cast<double>(scale));
  const size_t rank = node.input(0).shape.rank;
  Shape shapes[3];
  for (size_t i = 0; i < 3; ++i) {
    shapes[i] = node.input(i).shape;
    const size_t axes = attributes.by_token() ? 3 : 2;
    ETX_CHECK(shapes[i].rank == rank && rank >= axes, InvalidProgram, "query, key and value do not match in rank");
    if (attributes.by_token()) {
      std::swap(shapes[i][rank - 2], shapes[i][rank - 3]);
    }
  }
  const Shape &query = shapes[0], &key = shapes[1], &value = shapes[2];
  ETX_CHECK(
      query[rank - 1] == key[rank - 1] && key[rank - 2] == value[rank - 2] && leading_axes_match(query, key, value),
      InvalidProgram,
      "query %s, key %s and value %s do not match",
      node.input(0).shape.to_string().c_str(),
      node.input(1).shape.to_string().c_str(),
      node.input(2).shape.to_string().c_str());
  ETX_RETURN_IF_ERROR(check_start(node, query[rank - 2], key[rank - 2]));
  Shape y = query;
  y[rank - 1] = key[rank - 2];
  ETX_RETURN_IF_ERROR(check_size({DType::Float32, y}));
  if (node.has_input(3)) {
    ETX_RETURN_IF_ERROR(check_mask(node.input(3), y));
  }
  y = node.input(0).shape;
  y[rank - 1] = value[rank - 1];
  return set_output(outputs, DType::Float32, y);
}

// Whether query, key and value are in BFloat16, and so is what becomes of the result.
bool is_of_bfloat16(const NodeContext& node, const ChoiceOptions& options) {
  const auto is_exact = [&](size_t i) { return node.input(i).exact_in == DType::BFloat16; };
  return is_exact(0) && is_exact(1) && is_exact(2) && options.rounds_result_to == DType::BFloat16;
}

Choice choose_attention(const NodeContext& node, const Cpu& cpu, const ChoiceOptions& options) {
  Choice choice = choose_only_kernel<make_attention>(node, cpu, options);
  if (node.is_quantized() || node.input(1).dtype == DType::Int8) {
    return choice;
  }
  if (cpu.bfloat16 && (options.bfloat16 || is_of_bfloat16(node, options))) {
    const char* const reason = options.bfloat16 ? kForcedBFloat16 : "Its operands and its result are in BFloat16.";
    choice = Choice::kernel(make_bfloat16_attention, reason).in_bfloat16();
  }
  return std::move(choice).reading({1, 2}, {DType::BFloat16, DType::Float16});
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

const OpImpl kAttentionOp{infer_attention, choose_attention};
const OpImpl kRotaryEmbeddingOp{infer_rotary_embedding, choose_only_kernel<make_rotary_embedding>};

} // namespace executorch::backends::et_xnnpack
