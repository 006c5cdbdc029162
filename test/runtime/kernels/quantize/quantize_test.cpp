// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/quantize/quantize.h>

#include <algorithm>
#include <cmath>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// The element of a scale that is for element `at` of a tensor of this shape.
size_t block_of(const Index& at, const Shape& shape, const Shape& scale) {
  size_t offset = 0;
  for (size_t axis = 0; axis < scale.rank; ++axis) {
    offset = offset * scale[axis] + at[axis] / (shape[axis] / scale[axis]);
  }
  return offset;
}

Tensor zero_points(const Shape& shape) {
  Tensor tensor(DType::Int32, shape);
  for (size_t i = 0; i < tensor.numel(); ++i) {
    tensor.data<int32_t>()[i] = static_cast<int32_t>(i % 7) - 3;
  }
  return tensor;
}

template <typename T>
void check_quantize(DType dtype, const Tensor& x, const Shape& scale_shape, int32_t min, int32_t max) {
  const Tensor scale = random_floats(scale_shape, 0.01f, 0.05f);
  const Tensor zero_point = zero_points(scale_shape);
  Tensor expected(dtype, x.shape());
  Index at(x.shape());
  for (size_t i = 0; i < x.numel(); ++i, at.next()) {
    const size_t k = block_of(at, x.shape(), scale_shape);
    const float inverse = 1.0f / scale.data<float>()[k];
    const float moved =
        std::nearbyint(x.data<float>()[i] * inverse) + static_cast<float>(zero_point.data<int32_t>()[k]);
    const float clamped = std::min(std::max(moved, static_cast<float>(min)), static_cast<float>(max));
    expected.data<T>()[i] = std::isnan(moved) ? T(0) : static_cast<T>(clamped);
  }
  const QuantizeTensorParameters parameters{dtype, min, max, x.shape(), scale_shape};
  check_kernel(plain_case<QuantizeTensor>(parameters, {x, scale, zero_point}, {expected.type}), expected);
}

template <typename T>
void check_dequantize(const Tensor& x, const Shape& scale_shape) {
  const Tensor scale = random_floats(scale_shape, 0.01f, 0.05f);
  const Tensor zero_point = zero_points(scale_shape);
  Tensor expected(DType::Float32, x.shape());
  Index at(x.shape());
  for (size_t i = 0; i < x.numel(); ++i, at.next()) {
    const size_t k = block_of(at, x.shape(), scale_shape);
    const float moved = static_cast<float>(x.data<T>()[i]) - static_cast<float>(zero_point.data<int32_t>()[k]);
    expected.data<float>()[i] = moved * scale.data<float>()[k];
  }
  const DequantizeTensorParameters parameters{x.type.dtype, x.shape(), scale_shape};
  check_kernel(plain_case<DequantizeTensor>(parameters, {x, scale, zero_point}, {expected.type}), expected);
}

struct Blocks {
  Shape x, scale;
};
const Blocks kBlocks[] = {
    {{}, {}},
    {{1}, {}},
    {{3, 37}, {}},
    {{5, 7}, {5, 1}},
    {{5, 7}, {1, 7}},
    {{2, 5, 3, 4}, {1, 5, 1, 1}},
    {{2, 5, 3, 4}, {2, 1, 3, 1}},
    {{3, 64}, {3, 2}},
    {{6, 8, 5}, {3, 2, 1}},
    {{6, 8, 5}, {2, 8, 5}},
    {{0, 4}, {}},
    {{3, 0}, {3, 1}},
    {{300, 400}, {}},
    {{300, 400}, {300, 1}},
};

TEST(QuantizeTensor, Blocks) {
  for (const Blocks& blocks : kBlocks) {
    SCOPED_TRACE(blocks.x.to_string() + " by " + blocks.scale.to_string());
    check_quantize<int8_t>(DType::Int8, random_floats(blocks.x, -4, 4), blocks.scale, -128, 127);
    check_quantize<uint8_t>(DType::UInt8, random_floats(blocks.x, -2, 6), blocks.scale, 0, 255);
    check_quantize<int8_t>(DType::Int8, random_floats(blocks.x, -4, 4), blocks.scale, -7, 8);
  }
}

TEST(QuantizeTensor, Special) {
  const Tensor x = repeated({101}, {0.0f, -0.0f, kNaN, kInfinity, -kInfinity, 1e30f, -1e30f, 0.5f});
  check_quantize<int8_t>(DType::Int8, x, {}, -128, 127);
  check_quantize<uint8_t>(DType::UInt8, x, {}, 3, 255);
}

TEST(QuantizeTensor, RoundsHalfToEven) {
  Tensor x(DType::Float32, {100}), expected(DType::Int8, {100});
  for (int i = 0; i < 100; ++i) {
    x.data<float>()[i] = 0.25f * (static_cast<float>(i - 50) + 0.5f);
    expected.data<int8_t>()[i] = static_cast<int8_t>(std::nearbyint(static_cast<float>(i - 50) + 0.5f));
  }
  Tensor zero_point(DType::Int32, {});
  const QuantizeTensorParameters parameters{DType::Int8, -128, 127, {100}, {}};
  check_kernel(plain_case<QuantizeTensor>(parameters, {x, floats({}, {0.25f}), zero_point}, {expected.type}), expected);
}

TEST(DequantizeTensor, Blocks) {
  for (const Blocks& blocks : kBlocks) {
    SCOPED_TRACE(blocks.x.to_string() + " by " + blocks.scale.to_string());
    check_dequantize<int8_t>(iota(DType::Int8, blocks.x), blocks.scale);
    check_dequantize<uint8_t>(iota(DType::UInt8, blocks.x), blocks.scale);
    check_dequantize<int32_t>(iota(DType::Int32, blocks.x), blocks.scale);
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
