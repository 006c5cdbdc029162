// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <cmath>
#include <limits>

#include "ops/op_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::AdaptivePoolKind;
using schema::Padding2D;
using schema::Size2D;

constexpr uint32_t kHuge = UINT32_MAX;

struct PoolAttributes {
  std::optional<Size2D> kernel = Size2D(3, 2);
  std::optional<Size2D> stride = Size2D(1, 1);
  std::optional<Padding2D> padding = Padding2D(0, 0, 0, 0);
  std::optional<Padding2D> counted = Padding2D(0, 0, 0, 0); // AvgPool2d only
  std::optional<Size2D> dilation = Size2D(1, 1); // MaxPool2d only
  uint32_t divisor = 0; // AvgPool2d only
  bool ceil_mode = false;
};

template <typename T>
const T* pointer(const std::optional<T>& value) {
  return value ? &*value : nullptr;
}

OpCase average(const PoolAttributes& a, std::vector<Operand> operands) {
  const auto attributes = [&](Builder& builder) {
    return schema::CreateAvgPool2d(
        builder, pointer(a.kernel), pointer(a.stride), pointer(a.padding), pointer(a.counted), a.divisor, a.ceil_mode);
  };
  return OpCase(attributes, std::move(operands));
}

OpCase maximum(const PoolAttributes& a, std::vector<Operand> operands) {
  const auto attributes = [&](Builder& builder) {
    return schema::CreateMaxPool2d(
        builder, pointer(a.kernel), pointer(a.stride), pointer(a.padding), pointer(a.dilation), a.ceil_mode);
  };
  return OpCase(attributes, std::move(operands));
}

OpCase adaptive(AdaptivePoolKind kind, std::optional<Size2D> output, Operand x) {
  const auto attributes = [&](Builder& builder) {
    return schema::CreateAdaptivePool2d(builder, kind, pointer(output));
  };
  return OpCase(attributes, {std::move(x)});
}

OpCase adaptive_to_shape(AdaptivePoolKind kind, const std::vector<schema::Size>& shape, Operand x) {
  const auto attributes = [&](Builder& builder) {
    return schema::CreateAdaptivePool2dDirect(builder, kind, nullptr, &shape);
  };
  return OpCase(attributes, {std::move(x)});
}

PoolAttributes kernel(uint32_t height, uint32_t width) {
  PoolAttributes attributes;
  attributes.kernel = Size2D(height, width);
  return attributes;
}
PoolAttributes stride(uint32_t height, uint32_t width) {
  PoolAttributes attributes;
  attributes.stride = Size2D(height, width);
  return attributes;
}
PoolAttributes padding(uint32_t top, uint32_t right, uint32_t bottom, uint32_t left) {
  PoolAttributes attributes;
  attributes.padding = Padding2D(top, right, bottom, left);
  return attributes;
}

const Operand kImage = tensor({2, 9, 8, 5});

template <typename Make>
void expect_pool_shapes(const Make& make) {
  expect_shape(make({}, {kImage}), {2, 7, 7, 5});
  expect_shape(make(stride(2, 3), {kImage}), {2, 4, 3, 5});
  expect_shape(make(padding(2, 1, 1, 0), {kImage}), {2, 10, 8, 5});
  expect_shape(make(kernel(9, 8), {kImage}), {2, 1, 1, 5});
  expect_shape(make({}, {tensor({0, 9, 8, 5})}), {0, 7, 7, 5});
}

// Sizes that PyTorch's pools have with ceil_mode=True.
template <typename Make>
void expect_ceil_mode_shapes(const Make& make) {
  PoolAttributes a = kernel(3, 2);
  a.ceil_mode = true;
  a.stride = Size2D(2, 4);
  expect_shape(make(a, {tensor({1, 8, 7, 3})}), {1, 4, 2, 3});
  expect_shape(make(a, {tensor({1, 7, 9, 3})}), {1, 3, 3, 3}); // the third column begins at the last pixel
  expect_shape(make(a, {tensor({1, 2, 8, 3})}), {1, 1, 2, 3}); // a window higher than the image
  a.padding = Padding2D(1, 1, 1, 1);
  expect_shape(make(a, {tensor({1, 8, 7, 3})}), {1, 5, 2, 3}); // a third column would begin in the padding
  expect_shape(make(a, {tensor({1, 7, 8, 3})}), {1, 4, 3, 3});
  a.stride = Size2D(1, 1);
  expect_shape(make(a, {tensor({1, 8, 7, 3})}), {1, 8, 8, 3});
}

template <typename Make>
void expect_pool_refusals(const Make& make) {
  PoolAttributes none;
  none.kernel.reset();
  expect_refused(make(none, {kImage}), "has no kernel, stride, padding");
  none = {};
  none.stride.reset();
  expect_refused(make(none, {kImage}), "has no kernel, stride, padding");
  none = {};
  none.padding.reset();
  expect_refused(make(none, {kImage}), "has no kernel, stride, padding");
  expect_refused(make(kernel(0, 2), {kImage}), "kernel 0");
  expect_refused(make(kernel(2, 0), {kImage}), "kernel 0");
  expect_refused(make(stride(0, 1), {kImage}), "stride 0");
  expect_refused(make(stride(1, 0), {kImage}), "stride 0");
  expect_refused(make(padding(3, 0, 0, 0), {kImage}), "a padding of 3 and 0 is as large as the window");
  expect_refused(make(padding(0, 2, 0, 0), {kImage}), "a padding of 0 and 2 is as large as the window");
  expect_refused(make(padding(kHuge, kHuge, kHuge, kHuge), {kImage}), "as large as the window");
  expect_refused(make(kernel(10, 2), {kImage}), "a window over 10 elements does not fit into 9");
  expect_refused(make(kernel(kHuge, kHuge), {kImage}), "does not fit");
  expect_refused(make({}, {tensor({9, 8, 5})}), "must have rank 4");
  expect_refused(make({}, {tensor({2, 0, 8, 5})}), "is empty");
  expect_refused(make({}, {typed(DType::Int64, {2, 9, 8, 5})}), "must be Float32");
  expect_refused(make({}, {kImage, kImage}), "has 2 inputs");
  PoolAttributes huge = kernel(1 << 30, 1 << 30);
  huge.padding = Padding2D((1 << 30) - 1, (1 << 30) - 1, (1 << 30) - 1, (1 << 30) - 1);
  expect_refused(make(huge, {kImage}), "table of windows");
}

TEST(AvgPool2d, HasOnePixelForEachPosition) {
  expect_pool_shapes(average);
  expect_ceil_mode_shapes(average);
}

TEST(AvgPool2d, Refuses) { // Robustness: N14
  expect_pool_refusals(average);
  PoolAttributes attributes;
  attributes.counted.reset();
  expect_refused(average(attributes, {kImage}), "or counted padding");
  attributes.counted = Padding2D(1, 0, 0, 0);
  expect_refused(average(attributes, {kImage}), "counts more padding than there is");
  attributes.counted = Padding2D(0, 0, 0, 1);
  expect_refused(average(attributes, {kImage}), "counts more padding than there is");
}

TEST(AvgPool2d, XnnpackAgrees) {
  expect_agreement(average({}, {kImage}));
  expect_agreement(average(stride(2, 3), {kImage}));
  expect_agreement(average(stride(4, 5), {kImage}));
  expect_agreement(average(padding(2, 1, 1, 0), {kImage}));
  expect_agreement(average(kernel(9, 8), {kImage}));
  expect_agreement(average(kernel(1, 8), {tensor({1, 1, 8, 1})}));
  expect_agreement(average(kernel(2, 1), {tensor({3, 2, 1, 70})}));
  PoolAttributes large = kernel(5, 5);
  large.padding = Padding2D(2, 2, 2, 2);
  large.stride = Size2D(2, 2);
  expect_agreement(average(large, {kImage}));
  large.counted = large.padding;
  expect_agreement(average(large, {kImage}));
}

TEST(AvgPool2d, XnnpackKeepsNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  std::vector<float> x(4 * 5 * 9, 1);
  x[20] = nan;
  x[71] = inf;
  x[75] = -inf;
  for (const uint32_t border : {0, 1}) {
    PoolAttributes attributes = kernel(3, 3);
    attributes.padding = Padding2D(border, border, border, border);
    expect_agreement(average(attributes, {tensor({1, 4, 5, 9}, x)}));
    attributes.kernel = Size2D(4, 4);
    expect_agreement(average(attributes, {tensor({1, 4, 5, 9}, x)}));
  }
}

TEST(AvgPool2d, KernelTakesOtherDivisors) {
  PoolAttributes counted = padding(1, 1, 1, 1);
  counted.counted = Padding2D(0, 1, 0, 0);
  EXPECT_FALSE(average(counted, {kImage}).in_xnnpack());
  PoolAttributes divided;
  divided.divisor = 4;
  EXPECT_FALSE(average(divided, {kImage}).in_xnnpack());
  EXPECT_FALSE(average(kernel(1, 1), {kImage}).in_xnnpack());
}

TEST(MaxPool2d, HasOnePixelForEachPosition) {
  expect_pool_shapes(maximum);
  expect_ceil_mode_shapes(maximum);
  PoolAttributes dilated;
  dilated.dilation = Size2D(3, 4);
  expect_shape(maximum(dilated, {kImage}), {2, 3, 4, 5});
}

TEST(MaxPool2d, Refuses) { // Robustness: N14
  expect_pool_refusals(maximum);
  PoolAttributes dilated;
  dilated.dilation.reset();
  expect_refused(maximum(dilated, {kImage}), "has no kernel, stride, padding or dilation");
  dilated.dilation = Size2D(0, 1);
  expect_refused(maximum(dilated, {kImage}), "dilation 0");
  dilated.dilation = Size2D(5, 1);
  expect_refused(maximum(dilated, {kImage}), "a window over 11 elements does not fit into 9");
}

TEST(MaxPool2d, LetsNaNWin) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> y = maximum(kernel(1, 2), {tensor({1, 1, 3, 1}, {nan, 1, 2})}).run_kernel();
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 2);
}

TEST(AdaptivePool2d, HasTheSizeAskedFor) {
  for (const AdaptivePoolKind kind : {AdaptivePoolKind::Average, AdaptivePoolKind::Max}) {
    expect_shape(adaptive(kind, Size2D(1, 1), kImage), {2, 1, 1, 5});
    expect_shape(adaptive(kind, Size2D(4, 20), kImage), {2, 4, 20, 5});
    expect_shape(adaptive_to_shape(kind, {schema::Size(4), schema::Size(20)}, kImage), {2, 4, 20, 5});
  }
}

TEST(AdaptivePool2d, Refuses) { // Robustness: N14
  const auto average_pool = AdaptivePoolKind::Average;
  expect_refused(adaptive(average_pool, std::nullopt, kImage), "has no output size");
  expect_refused(adaptive_to_shape(average_pool, {schema::Size(4)}, kImage), "has no output size");
  expect_refused(adaptive(average_pool, Size2D(1, 1), tensor({9, 8, 5})), "must have rank 4");
  expect_refused(adaptive(average_pool, Size2D(1, 1), tensor({2, 9, 0, 5})), "is empty");
  expect_refused(adaptive(average_pool, Size2D(kHuge, kHuge), kImage), "larger than 1 TiB");
}

TEST(AdaptivePool2d, XnnpackAgrees) {
  expect_agreement(adaptive(AdaptivePoolKind::Average, Size2D(1, 1), kImage));
  expect_agreement(adaptive(AdaptivePoolKind::Average, Size2D(1, 1), tensor({1, 1, 1, 1})));
  EXPECT_FALSE(adaptive(AdaptivePoolKind::Average, Size2D(1, 2), kImage).in_xnnpack());
  EXPECT_FALSE(adaptive(AdaptivePoolKind::Max, Size2D(1, 1), kImage).in_xnnpack());
  EXPECT_FALSE(adaptive_to_shape(AdaptivePoolKind::Average, {schema::Size(1), schema::Size(1)}, kImage).in_xnnpack());
}

// XNNPACK counts the pixels of an axis in 31 bits.
TEST(AdaptivePool2d, KernelTakesHugeImages) {
  const size_t huge = size_t{1} << 31;
  EXPECT_TRUE(adaptive(AdaptivePoolKind::Average, Size2D(1, 1), tensor({1, 1 << 15, 1 << 15, 1})).in_xnnpack());
  EXPECT_FALSE(adaptive(AdaptivePoolKind::Average, Size2D(1, 1), tensor({1, 1 << 16, 1 << 15, 1})).in_xnnpack());
  EXPECT_FALSE(adaptive(AdaptivePoolKind::Average, Size2D(1, 1), tensor({1, 1, huge, 1})).in_xnnpack());
}

struct PoolSizes {
  std::vector<uint32_t> kernel, stride, before, after, dilation;
};

OpCase max_pool_indices(const PoolSizes& sizes, const Operand& x, size_t num_outputs = 2) {
  const auto attributes = [&](Builder& b) {
    return schema::CreateMaxPoolIndicesDirect(
        b, &sizes.kernel, &sizes.stride, &sizes.before, &sizes.after, &sizes.dilation);
  };
  return OpCase(attributes, {x}, {}, num_outputs);
}

OpCase adaptive_max_pool_indices(const std::vector<uint32_t>& output, const Operand& x) {
  const auto attributes = [&](Builder& b) {
    return schema::CreateMaxPoolIndicesDirect(b, nullptr, nullptr, nullptr, nullptr, nullptr, &output);
  };
  return OpCase(attributes, {x}, {}, 2);
}

const Operand kVolume = tensor({2, 4, 6, 5, 3});

TEST(MaxPoolIndices, Shapes) {
  expect_types(
      max_pool_indices({{2, 3, 1}, {2, 1, 1}, {0, 1, 0}, {0, 1, 0}, {1, 1, 1}}, kVolume),
      {"Float32[2, 2, 6, 5, 3]", "Int64[2, 2, 6, 5, 3]"});
  expect_types(adaptive_max_pool_indices({1, 7, 2}, kVolume), {"Float32[2, 1, 7, 2, 3]", "Int64[2, 1, 7, 2, 3]"});
  const auto nothing = [](Builder& b) { return schema::CreateMaxPoolIndices(b); };
  expect_types(OpCase(nothing, {kVolume}, {}, 2), {"Float32[2, 4, 6, 5, 3]", "Int64[2, 4, 6, 5, 3]"});
}

TEST(MaxPoolIndices, Refuses) { // Robustness: N16
  const std::vector<uint32_t> zeros{0, 0, 0}, ones{1, 1, 1};
  const PoolSizes good{{2, 2, 2}, ones, zeros, zeros, ones};
  expect_refused(max_pool_indices(good, tensor({2, 6, 5, 3})), "must have rank 5");
  expect_refused(max_pool_indices(good, tensor({2, 0, 6, 5, 3})), "is empty");
  expect_refused(max_pool_indices(good, typed(DType::Int32, {2, 4, 6, 5, 3})), "must be Float32");
  expect_refused(max_pool_indices(good, kVolume, 1), "has 1 outputs, but the operator makes 2");
  expect_refused(max_pool_indices({{2, 2}, ones, zeros, zeros, ones}, kVolume), "other than three");
  expect_refused(max_pool_indices({{0, 2, 2}, ones, zeros, zeros, ones}, kVolume), "kernel 0");
  expect_refused(max_pool_indices({{2, 2, 2}, zeros, zeros, zeros, ones}, kVolume), "stride 0");
  expect_refused(max_pool_indices({{2, 2, 2}, ones, zeros, zeros, zeros}, kVolume), "dilation 0");
  expect_refused(max_pool_indices({{2, 2, 2}, ones, {0, 2, 0}, zeros, ones}, kVolume), "as large as the window");
  expect_refused(max_pool_indices({{5, 2, 2}, ones, zeros, zeros, ones}, kVolume), "does not fit");
  expect_refused(adaptive_max_pool_indices({kHuge, kHuge, kHuge}, kVolume), "");
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
