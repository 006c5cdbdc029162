// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// What tests of convolutions between integers share.

#include <algorithm>
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

// reference(p, x, w, bias) is the result, without a bias if that is null.
template <typename Conv, typename Reference>
void check_int8_conv(const Int8ConvParameters& p, bool has_bias, const Reference& reference) {
  const Tensor x = random_integers(DType::Int8, p.input, -128, 127),
               w = random_integers(DType::Int8, p.weight, -128, 127);
  const Tensor bias = random_integers(DType::Int32, {p.weight[0]}, -9999, 9999);
  const Tensor y = reference(p, x, w, has_bias ? &bias : nullptr);
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
template <typename Conv, typename Reference>
void check_ends_of_range(Int8ConvParameters p, const Reference& reference) {
  const float scale[] = {1e9f};
  p.weight_scale = {scale, 1};
  for (const int8_t of_x : {int8_t{-128}, int8_t{127}}) {
    Tensor x(DType::Int8, p.input), w(DType::Int8, p.weight);
    std::fill_n(x.data<int8_t>(), x.numel(), of_x);
    std::fill_n(w.data<int8_t>(), w.numel(), int8_t{-128});
    const Tensor y = reference(p, x, w, nullptr);
    check_kernel(plain_case<Conv>(p, {x, w}, {y.type}, {1}), y, {}, Isas::WithoutByteDot);
  }
}

} // namespace executorch::backends::et_xnnpack::testing
