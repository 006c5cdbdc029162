// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// What tests of convolutions between integers share.

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include <runtime/kernels/conv/int8_conv.h>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {

inline Tensor random_integers(DType dtype, const Shape& shape, int low, int high) {
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

// Of weights.
inline std::vector<float> some_scales(size_t count) {
  std::vector<float> scales(count, 0.02f);
  for (size_t i = 0; i < count; ++i) {
    scales[i] += 0.001f * static_cast<float>(i % 50);
  }
  return scales;
}

inline void set_quantization(Int8ConvParameters& p, const std::vector<float>& weight_scales) {
  p.input_scale = 0.05f;
  p.output_scale = 0.3f;
  p.input_zero_point = -11;
  p.output_zero_point = 20;
  p.weight_scale = {weight_scales.data(), weight_scales.size()};
  p.min = -100;
  p.max = 90;
}

// `bias` may be null.
inline Tensor int8_conv(const Int8ConvParameters& p, const Tensor& x, const Tensor& w, const Tensor* bias) {
  Tensor y(DType::Int8, p.output);
  Index at(p.output);
  const size_t depth = p.weight[3], of_group = p.weight[0] * depth / p.input[3]; // channels in and out
  for (size_t i = 0; i < y.numel(); ++i, at.next()) {
    const size_t channel = at[3];
    int64_t sum = bias == nullptr ? 0 : bias->data<int32_t>()[channel];
    for (size_t r = 0; r < p.weight[1]; ++r) {
      for (size_t c = 0; c < p.weight[2]; ++c) {
        const size_t row = at[1] * p.height.stride + r - p.height.padding; // these wrap below 0
        const size_t column = at[2] * p.width.stride + c - p.width.padding;
        if (row >= p.input[1] || column >= p.input[2]) {
          continue;
        }
        const size_t pixel_index = (at[0] * p.input[1] + row) * p.input[2] + column;
        const int8_t* const pixel = x.data<int8_t>() + pixel_index * p.input[3] + channel / of_group * depth;
        const int8_t* const tap = w.data<int8_t>() + ((channel * p.weight[1] + r) * p.weight[2] + c) * depth;
        for (size_t k = 0; k < depth; ++k) {
          sum += (pixel[k] - p.input_zero_point) * tap[k];
        }
      }
    }
    const float q = std::nearbyint(static_cast<float>(sum) * p.scale_of(channel)) + p.output_zero_point;
    y.data<int8_t>()[i] = static_cast<int8_t>(std::clamp<float>(q, p.min, p.max));
  }
  return y;
}

template <typename Conv>
void check_int8_conv(const Int8ConvParameters& p, bool has_bias) {
  const Tensor x = random_integers(DType::Int8, p.input, -128, 127),
               w = random_integers(DType::Int8, p.weight, -128, 127);
  const Tensor bias = random_integers(DType::Int32, {p.weight[0]}, -9999, 9999);
  const Tensor y = int8_conv(p, x, w, has_bias ? &bias : nullptr);
  std::vector<std::optional<Tensor>> inputs{x, w};
  std::vector<size_t> constants{1};
  if (has_bias) {
    inputs.emplace_back(bias);
    constants.push_back(2);
  }
  SCOPED_TRACE(x.type.to_string() + " by " + w.type.to_string());
  check_kernel(plain_case<Conv>(p, inputs, {y.type}, constants), y, {}, Isas::WithoutByteDot);
}

// Sums as small and as large as they get, of windows or pixels of `p`, which has sizes only.
template <typename Conv>
void check_ends_of_range(Int8ConvParameters p) {
  const float scale[] = {1e9f};
  p.weight_scale = {scale, 1};
  for (const int8_t of_x : {int8_t{-128}, int8_t{127}}) {
    Tensor x(DType::Int8, p.input), w(DType::Int8, p.weight);
    std::fill_n(x.data<int8_t>(), x.numel(), of_x);
    std::fill_n(w.data<int8_t>(), w.numel(), int8_t{-128});
    const Tensor y = int8_conv(p, x, w, nullptr);
    check_kernel(plain_case<Conv>(p, {x, w}, {y.type}, {1}), y, {}, Isas::WithoutByteDot);
  }
}

} // namespace executorch::backends::et_xnnpack::testing
