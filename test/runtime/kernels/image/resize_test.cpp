// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/image/resize.h>

#include <algorithm>
#include <limits>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::ResizeKind;

double cubic(double x) {
  constexpr double kA = -0.75;
  return x <= 1 ? ((kA + 2) * x - (kA + 3)) * x * x + 1 : ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA;
}

// Calls function(position, weight) for what output position i of an axis is made of.
template <typename Function>
void for_each_tap(ResizeKind kind, size_t in, size_t out, size_t i, const Function& function) {
  double x = (static_cast<double>(i) + 0.5) * static_cast<double>(in) / static_cast<double>(out) - 0.5;
  x = kind == ResizeKind::Bilinear ? std::max(x, 0.0) : x;
  const double first = std::floor(x), t = x - first;
  const auto tap = [&](double at, double weight) {
    if (weight != 0) {
      function(static_cast<size_t>(std::clamp(at, 0.0, static_cast<double>(in - 1))), weight);
    }
  };
  if (kind == ResizeKind::Bilinear) {
    tap(first, 1 - t);
    tap(first + 1, t);
  } else {
    for (int k = -1; k < 3; ++k) {
      tap(first + k, cubic(std::fabs(t - k)));
    }
  }
}

void check(ResizeKind kind, const Tensor& x, size_t height, size_t width) {
  SCOPED_TRACE(
      std::string(schema::EnumNameResizeKind(kind)) + " of " + x.type.to_string() + " to " + std::to_string(height) +
      " x " + std::to_string(width));
  const Shape& from = x.shape();
  Tensor y(DType::Float32, {from[0], height, width, from[3]});
  Index at(y.shape());
  for (size_t i = 0; i < y.numel(); ++i, at.next()) {
    double sum = 0;
    for_each_tap(kind, from[1], height, at[1], [&](size_t row, double row_weight) {
      for_each_tap(kind, from[2], width, at[2], [&](size_t column, double weight) {
        const double value = x.data<float>()[((at[0] * from[1] + row) * from[2] + column) * from[3] + at[3]];
        sum += row_weight * weight * value;
      });
    });
    y.data<float>()[i] = static_cast<float>(sum);
  }
  const std::vector<int64_t> sizes{static_cast<int64_t>(height), static_cast<int64_t>(width)};
  check_kernel(
      {make_resize2d,
       schema::Attributes::Resize2d,
       [=](auto& builder) { return schema::CreateResize2dDirect(builder, kind, &sizes).Union(); },
       {x},
       y.type},
      y,
      {2e-5f, 2e-5f});
}

TEST(ResizeKernel, Interpolates) {
  for (const ResizeKind kind : {ResizeKind::Bilinear, ResizeKind::Bicubic}) {
    for (const size_t channels : {1, 2, 3, 4, 5, 7, 8, 13, 16, 37, 64}) {
      check(kind, random_floats({2, 4, 8, channels}), 8, 16);
      check(kind, random_floats({1, 5, 3, channels}), 7, 11);
      check(kind, random_floats({1, 6, 7, channels}), 4, 5);
    }
    check(kind, random_floats({1, 9, 40, 3}), 4, 5); // much narrower
    check(kind, random_floats({1, 1, 1, 1}), 1, 1);
    check(kind, random_floats({1, 1, 1, 3}), 2, 7);
    check(kind, random_floats({0, 2, 2, 3}), 4, 4);
    check(kind, random_floats({1, 24, 24, 64}), 48, 48);
  }
}

// A program may have any scale. Far outside of the image is its last pixel.
TEST(ResizeKernel, TakesAnyScale) {
  const Tensor x = random_floats({1, 3, 4, 2});
  for (const double scale : {1e20, 1e38, static_cast<double>(std::numeric_limits<float>::max())}) {
    for (const ResizeKind kind :
         {ResizeKind::Nearest, ResizeKind::NearestExact, ResizeKind::Bilinear, ResizeKind::Bicubic}) {
      Tensor y(DType::Float32, {1, 5, 6, 2});
      for (size_t i = 0; i < y.numel(); ++i) {
        const bool is_first_row = kind == ResizeKind::Nearest && i / 12 == 0;
        const bool is_first_column = kind == ResizeKind::Nearest && i / 2 % 6 == 0;
        y.data<float>()[i] = x.data<float>()[((is_first_row ? 0 : 2) * 4 + (is_first_column ? 0 : 3)) * 2 + i % 2];
      }
      const std::vector<int64_t> sizes{5, 6};
      check_kernel(
          {make_resize2d,
           schema::Attributes::Resize2d,
           [=](auto& builder) {
             return schema::CreateResize2dDirect(builder, kind, &sizes, false, scale, scale).Union();
           },
           {x},
           y.type},
          y,
          {1e-6f, 1e-6f});
    }
  }
}

// Where an output position is an input position, its neighbours do not count.
TEST(ResizeKernel, KeepsInfinity) {
  for (const size_t channels : {1, 3, 9, 17}) {
    Tensor x = random_floats({1, 4, 4, channels});
    x.data<float>()[5 * channels] = kInfinity;
    x.data<float>()[10 * channels] = kNaN;
    check(ResizeKind::Bilinear, x, 4, 4);
    check(ResizeKind::Bicubic, x, 4, 4);
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
