// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/move/edge_pad.h>

#include <algorithm>
#include <cstring>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// The index of the element that stands at index `i`, counted from the first one of x.
size_t source_of(EdgePadding padding, int64_t i, size_t size) {
  const auto n = static_cast<int64_t>(size);
  switch (padding) {
    case EdgePadding::Reflect:
      i = i < 0 ? -i : i;
      return static_cast<size_t>(i >= n ? 2 * (n - 1) - i : i);
    case EdgePadding::Circular:
      return static_cast<size_t>((i + n) % n);
    case EdgePadding::Replicate:
      break;
  }
  return static_cast<size_t>(std::clamp<int64_t>(i, 0, n - 1));
}

void check(const Shape& x_shape, const std::vector<size_t>& before, const std::vector<size_t>& after) {
  for (const DType dtype : {DType::UInt8, DType::BFloat16, DType::Float32, DType::Int64}) {
    for (const EdgePadding padding : {EdgePadding::Reflect, EdgePadding::Replicate, EdgePadding::Circular}) {
      EdgePadParameters parameters;
      parameters.x = parameters.y = x_shape;
      parameters.padding = padding;
      parameters.element_size = element_size(dtype);
      for (size_t axis = 0; axis < x_shape.rank; ++axis) {
        parameters.y[axis] += before[axis] + after[axis];
        parameters.before[axis] = before[axis];
      }
      const Tensor x = iota(dtype, x_shape);
      Tensor y(dtype, parameters.y);
      Index at(parameters.y);
      for (size_t i = 0; i < y.numel(); ++i, at.next()) {
        size_t offset = 0;
        for (size_t axis = 0; axis < x_shape.rank; ++axis) {
          const int64_t index = static_cast<int64_t>(at[axis]) - static_cast<int64_t>(before[axis]);
          offset = offset * x_shape[axis] + source_of(padding, index, x_shape[axis]);
        }
        const size_t size = parameters.element_size;
        std::memcpy(y.bytes.data() + i * size, x.bytes.data() + offset * size, size);
      }
      SCOPED_TRACE(x.type.to_string() + " to " + y.type.to_string());
      check_kernel(PlainCase{plain_kernel<EdgePad>(parameters), {x}, {y.type}}, y);
    }
  }
}

TEST(EdgePad, OneAxis) {
  check({6}, {2}, {5});
  check({1}, {0}, {0});
  check({4, 3, 300}, {0, 2, 0}, {0, 1, 0});
}

TEST(EdgePad, SeveralAxes) {
  check({2, 5, 6, 3}, {1, 0, 2, 2}, {0, 2, 0, 1});
  check({3, 4, 2, 5, 7}, {2, 0, 1, 0, 3}, {0, 3, 0, 0, 6});
  check({8, 60, 61}, {0, 3, 3}, {0, 3, 3});
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
