// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/gemm/int4_linear.h>
#include <runtime/kernels/gemm/quantized_linear.h>

#include <algorithm>
#include <cmath>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

struct Size {
  size_t rows, depth, columns, groups;
};

struct Options {
  bool dynamic_quantization = false;
  bool has_bias = true;
  bool has_zero_point = false;
  bool clamps = false;
};

// The parameters of a row as of QParamsRule::Nearest for -128 to 127.
void quantize_row(const float* x, size_t count, std::vector<double>* y) {
  const float low = std::min(0.0f, *std::min_element(x, x + count));
  const float high = std::max(0.0f, *std::max_element(x, x + count));
  const float scale = std::max((high - low) / 255, 0x1p-23f);
  const bool from_low = (-128 + low / scale) + (127 + high / scale) > 0;
  const float zero_point = std::nearbyint(from_low ? -128 - low / scale : 127 - high / scale);
  for (size_t i = 0; i < count; ++i) {
    const float q = std::min(std::max(std::nearbyint(x[i] * (1 / scale)) + zero_point, -128.0f), 127.0f);
    y->push_back(static_cast<double>(q - zero_point) * static_cast<double>(scale));
  }
}

void check_product(bool is_4bit, const Size& s, const Options& options) {
  SCOPED_TRACE(std::to_string(is_4bit ? 4 : 8) + " bits, " + (Shape{s.rows, s.depth, s.columns, s.groups}).to_string());
  const Tensor x = random_floats({s.rows, s.depth}, -1, 3);
  const Tensor scale = random_floats({s.columns, s.groups}, 0.01f, 0.05f);
  const Tensor bias = random_floats({s.columns});
  Tensor zero_point(DType::Int32, {s.columns, s.groups});
  for (size_t i = 0; i < zero_point.numel(); ++i) {
    zero_point.data<int32_t>()[i] = static_cast<int32_t>(i % 5) - 2;
  }
  Tensor weight(is_4bit ? DType::UInt8 : DType::Int8, {s.columns, is_4bit ? s.depth / 2 : s.depth});
  for (size_t i = 0; i < weight.numel(); ++i) {
    weight.data<uint8_t>()[i] = static_cast<uint8_t>(i * 37 + i / 7);
  }
  const auto number = [&](size_t column, size_t k) {
    const size_t i = column * s.depth + k;
    if (!is_4bit) {
      return static_cast<int>(weight.data<int8_t>()[i]);
    }
    const int both = weight.data<uint8_t>()[i / 2];
    return (i % 2 == 0 ? both & 15 : both >> 4) - 8;
  };
  Tensor y(DType::Float32, {s.rows, s.columns});
  for (size_t row = 0; row < s.rows; ++row) {
    const float* const from = x.data<float>() + row * s.depth;
    std::vector<double> values;
    if (options.dynamic_quantization) {
      quantize_row(from, s.depth, &values);
    } else {
      values.assign(from, from + s.depth);
    }
    for (size_t column = 0; column < s.columns; ++column) {
      double sum = options.has_bias ? static_cast<double>(bias.data<float>()[column]) : 0;
      for (size_t k = 0; k < s.depth; ++k) {
        const size_t group = column * s.groups + k / (s.depth / s.groups);
        const int zero = options.has_zero_point ? zero_point.data<int32_t>()[group] : 0;
        sum += values[k] * (number(column, k) - zero) * static_cast<double>(scale.data<float>()[group]);
      }
      const double clamped = options.clamps ? std::min(std::max(sum, -1.0), 2.0) : sum;
      y.data<float>()[row * s.columns + column] = static_cast<float>(clamped);
    }
  }
  std::vector<std::optional<Tensor>> inputs{x, weight, scale};
  inputs.push_back(options.has_bias ? std::optional<Tensor>(bias) : std::nullopt);
  if (options.has_zero_point) {
    inputs.push_back(zero_point);
  }
  // Large enough numbers are added that single ones cancel.
  const float tolerance = 2e-5f * static_cast<float>(is_4bit ? s.depth : 10 * s.depth) + 1e-4f;
  QuantizedLinearParameters parameters{s.rows, s.depth, s.columns, s.groups, options.dynamic_quantization};
  if (options.clamps) {
    parameters.min = -1;
    parameters.max = 2;
  }
  if (!is_4bit) {
    check_kernel(plain_case<QuantizedLinear>(parameters, inputs, {y.type}), y, {tolerance * 0.1f, 1e-4f});
    return;
  }
  for (const std::vector<size_t>& constants : std::vector<std::vector<size_t>>{{}, {1, 2, 4}, {2}, {1, 4}}) {
    SCOPED_TRACE(std::to_string(constants.size()) + " constants");
    Int4LinearParameters int4{parameters, true, true, options.has_zero_point};
    std::vector<size_t> present;
    for (const size_t i : constants) {
      if (i < inputs.size()) {
        present.push_back(i);
        (i == 1 ? int4.packs_weight : i == 2 ? int4.packs_scale : int4.packs_zero_point) = false;
      }
    }
    check_kernel(
        plain_case<Int4Linear>(int4, inputs, {y.type}, present), y, {tolerance * 0.1f, 1e-4f}, Isas::WithoutByteDot);
  }
}

constexpr Size kSizes[] = {
    {1, 64, 9, 1},
    {1, 64, 8, 2},
    {1, 24, 200, 12},
    {2, 256, 100, 8},
    {7, 60, 129, 5},
    {3, 22, 5, 1},
    {4, 96, 7, 3},
    {5, 130, 70, 1},
    {16, 48, 33, 6},
    {17, 64, 130, 4},
    {40, 34, 3, 1},
    {50, 600, 70, 1},
    {66, 100, 40, 5},
    {61, 1040, 33, 2},
    {130, 640, 150, 20}};

TEST(QuantizedLinear, Sizes) {
  for (const bool is_4bit : {false, true}) {
    for (const Size& size : kSizes) {
      for (const bool dynamic_quantization : {false, true}) {
        check_product(is_4bit, size, {dynamic_quantization});
      }
      check_product(is_4bit, size, {false, false, true, true});
    }
  }
}

TEST(QuantizedLinear, OddGroupsOf8Bits) {
  check_product(false, {1, 33, 5, 3}, {});
  check_product(false, {2, 7, 4, 7}, {true});
  check_product(false, {20, 15, 5, 5}, {false, true, true});
}

TEST(QuantizedLinear, NoRows) {
  check_product(false, {0, 16, 5, 1}, {true});
  check_product(true, {0, 16, 5, 2}, {});
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
