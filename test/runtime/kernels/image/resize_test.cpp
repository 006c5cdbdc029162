// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/image/resize.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

double cubic(double x) {
  constexpr double kA = -0.75;
  return x <= 1 ? ((kA + 2) * x - (kA + 3)) * x * x + 1 : ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA;
}

// Calls function(position, weight) for what output position i of an axis is made of.
template <typename Function>
void for_each_tap(ResizeMethod method, size_t in, size_t out, size_t i, const Function& function) {
  double x = (static_cast<double>(i) + 0.5) * static_cast<double>(in) / static_cast<double>(out) - 0.5;
  x = method == ResizeMethod::Bilinear ? std::max(x, 0.0) : x;
  const double first = std::floor(x), t = x - first;
  const auto tap = [&](double at, double weight) {
    function(static_cast<size_t>(std::clamp(at, 0.0, static_cast<double>(in - 1))), weight);
  };
  if (method == ResizeMethod::Bilinear) {
    tap(first, 1 - t);
    tap(in == out ? first : first + 1, t);
  } else {
    for (int k = -1; k < 3; ++k) {
      tap(first + k, cubic(std::fabs(t - k)));
    }
  }
}

PlainCase resize(ResizeMethod method, const Tensor& x, const Shape& y, double scale) {
  const Resize2dParameters parameters{x.shape(), y, method, false, scale, scale};
  return {plain_kernel<Resize2d>(parameters), {x}, {{DType::Float32, y}}};
}

void check(ResizeMethod method, const Tensor& x, size_t height, size_t width) {
  SCOPED_TRACE(
      "method " + std::to_string(static_cast<int>(method)) + " of " + x.type.to_string() + " to " +
      std::to_string(height) + " x " + std::to_string(width));
  const Shape& from = x.shape();
  Tensor y(DType::Float32, {from[0], height, width, from[3]});
  Index at(y.shape());
  for (size_t i = 0; i < y.numel(); ++i, at.next()) {
    double sum = 0;
    for_each_tap(method, from[1], height, at[1], [&](size_t row, double row_weight) {
      for_each_tap(method, from[2], width, at[2], [&](size_t column, double weight) {
        const double value = x.data<float>()[((at[0] * from[1] + row) * from[2] + column) * from[3] + at[3]];
        sum += row_weight * weight * value;
      });
    });
    y.data<float>()[i] = static_cast<float>(sum);
  }
  check_kernel(resize(method, x, y.shape(), 0), y, {2e-5f, 2e-5f});
}

TEST(ResizeKernel, Interpolates) {
  for (const ResizeMethod method : {ResizeMethod::Bilinear, ResizeMethod::Bicubic}) {
    for (const size_t channels : {1, 2, 3, 4, 5, 7, 8, 13, 16, 37, 64}) {
      check(method, random_floats({2, 4, 8, channels}), 8, 16);
      check(method, random_floats({1, 5, 3, channels}), 7, 11);
      check(method, random_floats({1, 6, 7, channels}), 4, 5);
    }
    check(method, random_floats({1, 9, 40, 3}), 4, 5); // much narrower
    check(method, random_floats({1, 1, 1, 1}), 1, 1);
    check(method, random_floats({1, 1, 1, 3}), 2, 7);
    check(method, random_floats({0, 2, 2, 3}), 4, 4);
    check(method, random_floats({1, 24, 24, 64}), 48, 48);
  }
}

// A program may have any scale. Far outside of the image is its last pixel.
TEST(ResizeKernel, TakesAnyScale) {
  const Tensor x = random_floats({1, 3, 4, 2});
  for (const double scale : {1e20, 1e38, static_cast<double>(std::numeric_limits<float>::max())}) {
    for (const ResizeMethod method :
         {ResizeMethod::Nearest, ResizeMethod::NearestExact, ResizeMethod::Bilinear, ResizeMethod::Bicubic}) {
      Tensor y(DType::Float32, {1, 5, 6, 2});
      for (size_t i = 0; i < y.numel(); ++i) {
        const bool is_first_row = method == ResizeMethod::Nearest && i / 12 == 0;
        const bool is_first_column = method == ResizeMethod::Nearest && i / 2 % 6 == 0;
        y.data<float>()[i] = x.data<float>()[((is_first_row ? 0 : 2) * 4 + (is_first_column ? 0 : 3)) * 2 + i % 2];
      }
      check_kernel(resize(method, x, y.shape(), scale), y, {1e-6f, 1e-6f});
    }
  }
}

// Where an output position is an input position, 0 times its neighbours counts as in PyTorch.
TEST(ResizeKernel, TakesNeighboursWithoutWeight) {
  for (const size_t channels : {1, 3, 9, 17}) {
    Tensor x = random_floats({1, 4, 4, channels});
    x.data<float>()[5 * channels] = kInfinity;
    x.data<float>()[10 * channels] = kNaN;
    for (const ResizeMethod method : {ResizeMethod::Bilinear, ResizeMethod::Bicubic}) {
      check(method, x, 4, 4);
      check(method, x, 12, 4);
      check(method, x, 4, 12);
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
