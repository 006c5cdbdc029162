// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/pool/max_pool_indices.h>

#include <array>
#include <cmath>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using Three = std::array<size_t, 3>;

void check(const Tensor& x, const Three& kernel, const Three& stride, const Three& padding, const Three& dilation) {
  const Shape& in = x.shape();
  Shape out = in;
  for (size_t axis = 0; axis < 3; ++axis) {
    const size_t span = (kernel[axis] - 1) * dilation[axis] + 1;
    out[axis + 1] = (in[axis + 1] + 2 * padding[axis] - span) / stride[axis] + 1;
  }
  Tensor values(DType::Float32, out), indices(DType::Int64, out);
  Index at(out);
  for (size_t i = 0; i < values.numel(); ++i, at.next()) {
    float best = -kInfinity;
    int64_t place = -1;
    Index tap({kernel[0], kernel[1], kernel[2]});
    for (size_t k = 0; k < kernel[0] * kernel[1] * kernel[2]; ++k, tap.next()) {
      size_t offset = at[0], where = 0;
      bool inside = true;
      for (size_t axis = 0; axis < 3; ++axis) {
        const size_t shifted = at[axis + 1] * stride[axis] + tap[axis] * dilation[axis];
        inside = inside && shifted >= padding[axis] && shifted - padding[axis] < in[axis + 1];
        where = where * in[axis + 1] + shifted - padding[axis];
        offset = offset * in[axis + 1] + shifted - padding[axis];
      }
      if (!inside) {
        continue;
      }
      const float value = x.data<float>()[offset * in[4] + at[4]];
      if (place < 0 || value > best || std::isnan(value)) {
        best = value;
        place = static_cast<int64_t>(where);
      }
    }
    values.data<float>()[i] = best;
    indices.data<int64_t>()[i] = place;
  }
  MaxPoolIndicesParameters p;
  p.images = in[0];
  p.channels = in[4];
  for (size_t i = 0; i < 3; ++i) {
    p.axes[i] = {in[i + 1], out[i + 1], false, kernel[i], stride[i], padding[i], dilation[i]};
  }
  PlainCase kernel_case = plain_case<MaxPoolIndices>(p, {x}, {values.type, indices.type});
  check_kernel(kernel_case, values);
  kernel_case.checked = 1;
  check_kernel(kernel_case, indices);
}

TEST(MaxPoolIndices, Windows) {
  const Three ones{1, 1, 1}, zeros{0, 0, 0};
  check(random_floats({2, 1, 7, 6, 5}), {1, 2, 2}, {1, 2, 2}, zeros, ones);
  check(random_floats({2, 4, 7, 6, 3}), {2, 3, 3}, {1, 2, 3}, {1, 1, 1}, ones);
  check(random_floats({1, 6, 7, 6, 17}), {2, 3, 2}, ones, {1, 2, 1}, {2, 2, 3});
  check(random_floats({3, 1, 90, 80, 4}), {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, ones);
}

TEST(MaxPoolIndices, Ties) {
  check(repeated({1, 2, 5, 6, 2}, {1}), {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1});
  check(repeated({1, 1, 5, 6, 2}, {-kInfinity}), {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, {1, 1, 1});
}

TEST(MaxPoolIndices, NotANumber) {
  Tensor x = random_floats({1, 1, 6, 6, 2});
  x.data<float>()[14] = x.data<float>()[16] = kNaN;
  check(x, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1});
}

TEST(MaxPoolIndices, AdaptiveWindows) {
  const Tensor x = iota(DType::Float32, {1, 1, 5, 7, 1}); // the last element of a window is the largest
  MaxPoolIndicesParameters p;
  p.images = p.channels = 1;
  p.axes = {PoolAxis{1, 1, true}, PoolAxis{5, 2, true}, PoolAxis{7, 3, true}};
  Tensor indices(DType::Int64, {1, 1, 2, 3, 1});
  const int64_t rows[] = {2, 4}, columns[] = {2, 4, 6};
  for (size_t i = 0; i < 6; ++i) {
    indices.data<int64_t>()[i] = rows[i / 3] * 7 + columns[i % 3];
  }
  PlainCase kernel_case =
      plain_case<MaxPoolIndices>(p, {x}, {{DType::Float32, indices.shape()}, {DType::Int64, indices.shape()}});
  kernel_case.checked = 1;
  check_kernel(kernel_case, indices);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
