// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// Rules that several operators share.

#include <cstddef>
#include <cstdint>
#include <limits>

#include "runtime/ops/op.h"

namespace executorch::backends::et_xnnpack {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Fails unless the clamp is absent or a range.
Status check_clamp(const schema::Clamp* clamp);

inline float clamp_min(const schema::Clamp* clamp) {
  return clamp == nullptr ? -kInfinity : clamp->min();
}
inline float clamp_max(const schema::Clamp* clamp) {
  return clamp == nullptr ? kInfinity : clamp->max();
}

// Fails unless input i has this rank.
Status check_rank(const NodeContext& node, size_t i, size_t rank);

// Fails unless input 0 has this axis.
Status check_axis(const NodeContext& node, size_t axis);

// Fails unless these elements, every `step`th from `start` on, are inside an axis that input 0 has.
Status check_slice(const NodeContext& node, size_t axis, int64_t start, int64_t size, int64_t step);

// Fails unless input i has this shape.
Status check_shape(const NodeContext& node, size_t i, const Shape& shape);

// Fails unless input i is absent or a vector of `size` Float32.
Status check_bias(const NodeContext& node, size_t i, size_t size);

// Whether all operands and the result are stored as the same type with the same meaning.
bool has_one_quantization(const NodeContext& node);

// The shape that a and b broadcast to.
StatusOr<Shape> broadcast(const Shape& a, const Shape& b);

// Sets outputs[i], if that is not too large.
Status set_output(Span<TensorType> outputs, DType dtype, const Shape& shape, size_t i = 0);

// The positions of a convolution or pooling window along one image axis.
struct Window {
  uint32_t kernel;
  uint32_t stride;
  uint32_t dilation;
  uint32_t before; // padding
  uint32_t after;
  bool ceil_mode = false; // of pools: a last window may reach behind the padding, if it begins before it

  // Elements from the first to the last one that the window touches.
  uint64_t span() const {
    return (uint64_t{kernel} - 1) * dilation + 1;
  }
  // Whether each position sees the element at its place only.
  bool is_pointwise() const {
    return kernel == 1 && stride == 1 && before == 0 && after == 0;
  }
};

// Fails if the kernel, stride or dilation is zero.
Status check_window(const Window& window);

// How many positions there are on an axis of `size` elements.
// REQUIRES: check_window(window)
StatusOr<size_t> count_positions(const Window& window, size_t size);

// Fails if a table of one pointer for each element of each window would be too large.
Status check_window_table(const Shape& positions, const Window& height, const Window& width);

} // namespace executorch::backends::et_xnnpack
