// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "common.h"

#include <cinttypes>

#include "runtime/program/quantization.h"

namespace executorch::backends::et_xnnpack {

Status check_clamp(const schema::Clamp* clamp) {
  ETX_CHECK(
      clamp == nullptr || clamp->min() <= clamp->max(), // also false for NaN
      InvalidProgram,
      "it clamps to [%g, %g], which is not a range",
      static_cast<double>(clamp->min()),
      static_cast<double>(clamp->max()));
  return {};
}

Status check_rank(const NodeContext& node, size_t i, size_t rank) {
  ETX_CHECK(
      node.input(i).shape.rank == rank,
      InvalidProgram,
      "input %zu is %s, but must have rank %zu",
      i,
      node.input(i).to_string().c_str(),
      rank);
  return {};
}

Status check_axis(const NodeContext& node, size_t axis) {
  const Shape& x = node.input(0).shape;
  ETX_CHECK(axis < x.rank, InvalidProgram, "axis %zu is not below rank %zu", axis, x.rank);
  return {};
}

Status check_slice(const NodeContext& node, size_t axis, int64_t start, int64_t size, int64_t step) {
  const TensorType& x = node.input(0);
  int64_t end = 0; // behind the last element
  const bool overflow =
      size > 0 && (__builtin_mul_overflow(size - 1, step, &end) || __builtin_add_overflow(end, 1, &end));
  ETX_CHECK(
      start >= 0 && size >= 0 && step >= 1 && !overflow && !__builtin_add_overflow(start, end, &end) &&
          static_cast<uint64_t>(end) <= x.shape[axis],
      InvalidProgram,
      "%" PRId64 " elements from %" PRId64 " by %" PRId64 " are not inside axis %zu of %s",
      size,
      start,
      step,
      axis,
      x.to_string().c_str());
  return {};
}

Status check_shape(const NodeContext& node, size_t i, const Shape& shape) {
  ETX_CHECK(
      node.input(i).shape == shape,
      InvalidProgram,
      "input %zu is %s, but must have shape %s",
      i,
      node.input(i).to_string().c_str(),
      shape.to_string().c_str());
  return {};
}

Status check_bias(const NodeContext& node, size_t i, size_t size) {
  return node.has_input(i) ? check_shape(node, i, {size}) : Status();
}

bool has_one_quantization(const NodeContext& node) {
  const TensorType& y = node.output();
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (node.has_input(i) &&
        (node.input(i).storage() != y.storage() || !is_same(node.input(i).quantization, y.quantization))) {
      return false;
    }
  }
  return y.quantization == nullptr || y.quantization->scale()->size() == 1;
}

StatusOr<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.rank >= b.rank ? a : b;
  const Shape& shorter = a.rank >= b.rank ? b : a;
  Shape result = longer;
  const size_t offset = longer.rank - shorter.rank;
  for (size_t axis = 0; axis < shorter.rank; ++axis) {
    const size_t x = longer[offset + axis];
    const size_t y = shorter[axis];
    ETX_CHECK(
        x == y || x == 1 || y == 1,
        InvalidProgram,
        "shapes %s and %s do not broadcast",
        a.to_string().c_str(),
        b.to_string().c_str());
    result[offset + axis] = x == 1 ? y : x;
  }
  return result;
}

Status set_output(Span<TensorType> outputs, DType dtype, const Shape& shape, size_t i) {
  outputs[i] = {dtype, shape};
  return check_size(outputs[i]);
}

Status check_window(const Window& window) {
  ETX_CHECK(
      window.kernel != 0 && window.stride != 0 && window.dilation != 0,
      InvalidProgram,
      "none of kernel %u, stride %u and dilation %u may be 0",
      window.kernel,
      window.stride,
      window.dilation);
  return {};
}

StatusOr<size_t> count_positions(const Window& window, size_t size) {
  const uint64_t padded = uint64_t{size} + window.before + window.after;
  const uint64_t beyond = window.ceil_mode ? window.stride - 1 : 0;
  ETX_CHECK(
      window.span() <= padded + beyond,
      InvalidProgram,
      "a window over %llu elements does not fit into %zu and a padding of %u and %u",
      static_cast<unsigned long long>(window.span()),
      size,
      window.before,
      window.after);
  const uint64_t last = (padded + beyond - window.span()) / window.stride;
  const bool begins_in_padding = window.ceil_mode && last * window.stride >= uint64_t{size} + window.before;
  return static_cast<size_t>(begins_in_padding ? last : last + 1);
}

Status check_window_table(const Shape& positions, const Window& height, const Window& width) {
  Shape entries{positions[1], positions[2], height.kernel, width.kernel};
  return check_size({DType::Int64, entries}).in("its table of windows");
}

} // namespace executorch::backends::et_xnnpack
