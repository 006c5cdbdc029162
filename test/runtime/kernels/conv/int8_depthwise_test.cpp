// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/conv/int8_depthwise.h>

#include <algorithm>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

struct Case {
  Shape input; // [N, H, W, C]
  size_t rows, columns; // of the window
  Int8DepthwiseParameters::Axis height, width; // as much padding behind the image as before
};

Tensor random_integers(DType dtype, const Shape& shape, int low, int high) {
  static std::mt19937 generator(7);
  std::uniform_int_distribution<int> distribution(low, high);
  Tensor tensor(dtype, shape);
  for (size_t i = 0; i < tensor.numel(); ++i) {
    if (dtype == DType::Int8) {
      tensor.data<int8_t>()[i] = static_cast<int8_t>(distribution(generator));
    } else {
      tensor.data<int32_t>()[i] = distribution(generator);
    }
  }
  return tensor;
}

Tensor reference(const Int8DepthwiseParameters& p, const Tensor& x, const Tensor& w, const Tensor* bias) {
  Tensor y(DType::Int8, p.output);
  Index at(p.output);
  for (size_t i = 0; i < y.numel(); ++i, at.next()) {
    const size_t channel = at[3];
    int64_t sum = bias == nullptr ? 0 : bias->data<int32_t>()[channel];
    for (size_t r = 0; r < p.weight[1]; ++r) {
      for (size_t k = 0; k < p.weight[2]; ++k) {
        const size_t row = at[1] * p.height.stride + r - p.height.padding;
        const size_t column = at[2] * p.width.stride + k - p.width.padding;
        if (row < p.input[1] && column < p.input[2]) {
          const size_t pixel = (at[0] * p.input[1] + row) * p.input[2] + column;
          sum += (x.data<int8_t>()[pixel * p.input[3] + channel] - p.input_zero_point) *
              w.data<int8_t>()[(channel * p.weight[1] + r) * p.weight[2] + k];
        }
      }
    }
    const float scale = p.input_scale * p.weight_scale[p.weight_scale.size() == 1 ? 0 : channel] / p.output_scale;
    const float q = std::nearbyint(static_cast<float>(sum) * scale) + p.output_zero_point;
    y.data<int8_t>()[i] = static_cast<int8_t>(std::clamp<float>(q, p.min, p.max));
  }
  return y;
}

void check(const Case& c, bool by_channel = true, bool has_bias = true) {
  const size_t channels = c.input[3];
  const auto size = [](size_t input, size_t kernel, const Int8DepthwiseParameters::Axis& axis) {
    return (input + 2 * axis.padding - kernel) / axis.stride + 1;
  };
  std::vector<float> scale(by_channel ? channels : 1, 0.02f);
  for (size_t i = 0; i < scale.size(); ++i) {
    scale[i] += 0.001f * static_cast<float>(i % 50);
  }
  Int8DepthwiseParameters p;
  p.input = c.input;
  p.weight = {channels, c.rows, c.columns, 1};
  p.output = {c.input[0], size(c.input[1], c.rows, c.height), size(c.input[2], c.columns, c.width), channels};
  p.height = c.height;
  p.width = c.width;
  p.input_scale = 0.05f;
  p.output_scale = 0.3f;
  p.input_zero_point = -11;
  p.output_zero_point = 20;
  p.weight_scale = {scale.data(), scale.size()};
  p.min = -100;
  p.max = 90;
  const Tensor x = random_integers(DType::Int8, p.input, -128, 127),
               w = random_integers(DType::Int8, p.weight, -128, 127);
  const Tensor bias = random_integers(DType::Int32, {channels}, -9999, 9999);
  const Tensor y = reference(p, x, w, has_bias ? &bias : nullptr);
  std::vector<std::optional<Tensor>> inputs{x, w};
  std::vector<size_t> constants{1};
  if (has_bias) {
    inputs.emplace_back(bias);
    constants.push_back(2);
  }
  SCOPED_TRACE(x.type.to_string() + " by " + w.type.to_string());
  check_kernel(plain_case<Int8DepthwiseConv>(p, inputs, {y.type}, constants), y, {}, Isas::WithVnni);
}

TEST(Int8DepthwiseConv, Windows) { // input, window, stride and padding of height and of width
  check({{2, 9, 11, 64}, 3, 3, {1, 1}, {1, 1}});
  check({{1, 12, 13, 64}, 3, 3, {2, 1}, {2, 1}});
  check({{1, 9, 10, 64}, 5, 5, {1, 2}, {1, 2}});
  check({{1, 12, 17, 64}, 5, 5, {2, 2}, {2, 2}});
  check({{1, 9, 8, 32}, 4, 3, {3, 0}, {1, 0}});
  check({{1, 12, 8, 32}, 8, 5, {1, 3}, {2, 1}});
  check({{1, 9, 8, 32}, 3, 5, {1, 0}, {1, 4}});
}

TEST(Int8DepthwiseConv, Channels) {
  for (const size_t channels : {1u, 15u, 16u, 17u, 40u, 96u, 113u, 144u, 255u}) {
    check({{1, 5, 6, channels}, 3, 3, {1, 1}, {1, 1}});
  }
  check({{1, 5, 6, 100}, 5, 5, {1, 2}, {1, 2}}, /*by_channel=*/false, /*has_bias=*/false);
}

TEST(Int8DepthwiseConv, SmallImages) {
  check({{3, 1, 1, 72}, 3, 3, {1, 1}, {1, 1}});
  check({{1, 2, 3, 72}, 3, 3, {2, 1}, {2, 1}});
  check({{1, 3, 2, 20}, 5, 5, {1, 2}, {1, 2}});
  check({{1, 1, 1, 20}, 3, 3, {1, 3}, {1, 3}}); // windows beside the image
}

TEST(Int8DepthwiseConv, SumsAtBothEndsOfTheRange) {
  Int8DepthwiseParameters p;
  p.input = p.output = {1, 4, 4, 16};
  p.weight = {16, 3, 3, 1};
  p.height = p.width = {1, 1};
  const float scale[] = {1e9f};
  p.weight_scale = {scale, 1};
  for (const int8_t of_x : {int8_t{-128}, int8_t{127}}) {
    Tensor x(DType::Int8, p.input), w(DType::Int8, p.weight);
    std::fill_n(x.data<int8_t>(), x.numel(), of_x);
    std::fill_n(w.data<int8_t>(), w.numel(), int8_t{-128});
    const Tensor y = reference(p, x, w, nullptr);
    check_kernel(plain_case<Int8DepthwiseConv>(p, {x, w}, {y.type}, {1}), y, {}, Isas::WithVnni);
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
