// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// NaN stays NaN whatever limits there are, in XNNPACK as in our kernels, on every CPU. Elementwise operators have
// this in elementwise_test.cpp, softmax in reduce_test.cpp.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <runtime/kernels/conv/depthwise_row.h>
#include <runtime/kernels/simd/isa.h>

#include "op_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::Clamp;

constexpr float kInf = std::numeric_limits<float>::infinity();

// Small numbers, among them a NaN and an infinity.
Operand with_nan(const Shape& shape) {
  std::vector<float> data(shape.numel());
  for (size_t i = 0; i < data.size(); ++i) {
    data[i] = (static_cast<float>(i * 37 % 19) - 9) / 4;
  }
  data[data.size() / 2] = std::numeric_limits<float>::quiet_NaN();
  data[data.size() - 1] = kInf;
  return tensor(shape, data);
}

std::vector<bool> nan_places(const std::vector<float>& numbers) {
  std::vector<bool> places;
  for (const float x : numbers) {
    places.push_back(std::isnan(x));
  }
  return places;
}

// `make` makes the operator with these limits. `is_ours`: XNNPACK runs it in float16 alone.
void expect_nan_stays(const std::function<OpCase(const Clamp*)>& make, bool is_ours = false) {
  const OpCase unlimited = make(nullptr);
  const std::vector<bool> expected = nan_places(unlimited.run_kernel());
  ASSERT_NE(std::count(expected.begin(), expected.end(), true), 0);
  for (const Clamp& clamp : {Clamp(0, kInf), Clamp(-1, 1), Clamp(-kInf, 6), Clamp(-kInf, kInf)}) {
    SCOPED_TRACE("limits " + std::to_string(clamp.min()) + " and " + std::to_string(clamp.max()));
    const OpCase limited = make(&clamp);
    is_ours ? expect_agreement_in_float16(limited) : expect_agreement(limited);
    EXPECT_EQ(nan_places(limited.run_kernel()), expected);
    if (limited.in_float16()) {
      EXPECT_EQ(nan_places(limited.run_in_xnnpack(/*float16=*/true)), expected) << "in float16";
    }
  }
}

TEST(NaN, StaysInLinear) {
  for (size_t rows = 1; rows <= 17; ++rows) {
    for (const size_t columns : {1, 2, 4, 5, 16, 17, 33}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
      expect_nan_stays([&](const Clamp* clamp) {
        return OpCase(
            [clamp](Builder& builder) { return schema::CreateLinear(builder, clamp); },
            {with_nan({rows, 17}), weight({columns, 17}), weight({columns})});
      });
    }
  }
}

void expect_nan_stays_in_conv(const Shape& weight_shape, uint32_t groups, uint32_t stride = 1) {
  SCOPED_TRACE(weight_shape.to_string() + " in " + std::to_string(groups) + " groups");
  const bool is_ours = groups == weight_shape[0] && loads_pixels_once({0, 0, weight_shape[2], stride, 0, 1});
  const auto make = [&](const Clamp* clamp) {
    const auto attributes = [=](Builder& builder) {
      const schema::Size2D strides(stride, stride), dilation(1, 1);
      const schema::Padding2D padding(1, 1, 1, 1);
      return schema::CreateConv2d(builder, &strides, &padding, &dilation, groups, clamp);
    };
    return OpCase(attributes, {with_nan({1, 7, 9, 8}), weight(weight_shape), weight({weight_shape[0]})});
  };
  expect_nan_stays(make, is_ours);
}

TEST(NaN, StaysInConvolutions) {
  for (const size_t columns : {2, 5, 16, 24, 33}) {
    expect_nan_stays_in_conv({columns, 3, 3, 8}, 1);
    expect_nan_stays_in_conv({columns, 3, 3, 8}, 1, 2);
    expect_nan_stays_in_conv({columns, 1, 1, 8}, 1);
  }
  expect_nan_stays_in_conv({6, 3, 3, 4}, 2);
  for (const size_t window : {2, 3, 5}) {
    expect_nan_stays_in_conv({8, window, window, 1}, 8);
  }
}

TEST(NaN, StaysInTransposedConvolutions) {
  for (const size_t columns : {2, 5, 16, 33}) {
    for (const uint32_t stride : {1, 2}) {
      SCOPED_TRACE(std::to_string(columns) + " with stride " + std::to_string(stride));
      const auto make = [&](const Clamp* clamp) {
        const auto attributes = [=](Builder& builder) {
          const schema::Size2D strides(stride, stride), dilation(1, 1), more(0, 0);
          const schema::Padding2D padding(1, 1, 1, 1);
          return schema::CreateConvTranspose2d(builder, &strides, &padding, &more, &dilation, 1, clamp);
        };
        return OpCase(attributes, {with_nan({1, 5, 6, 4}), weight({columns, 3, 3, 4}), weight({columns})});
      };
      expect_nan_stays(make, /*is_ours=*/stride > 1 && columns >= 16 && float_lanes() >= 8);
    }
  }
}

// Which has limits in XNNPACK although it has none in the program.
TEST(NaN, StaysInAveragePools) { // Robustness: I5
  for (const size_t channels : {1, 3, 4, 17, 32}) {
    for (const uint32_t window : {2, 3, 4}) {
      SCOPED_TRACE(std::to_string(channels) + " channels, window " + std::to_string(window));
      const auto attributes = [=](Builder& builder) {
        const schema::Size2D kernel(window, window), stride(2, 2);
        const schema::Padding2D padding(0, 0, 0, 0);
        return schema::CreateAvgPool2d(builder, &kernel, &stride, &padding, &padding);
      };
      const OpCase op(attributes, {with_nan({1, 9, 9, channels})});
      expect_agreement(op);
      const std::vector<bool> places = nan_places(op.lacks_part() ? op.run_kernel() : op.run_in_xnnpack());
      EXPECT_NE(std::count(places.begin(), places.end(), true), 0);
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
