// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/pool/pool.h>

#include <algorithm>
#include <cmath>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

struct Size {
  size_t height = 1, width = 1;
};

struct Padding {
  size_t top = 0, right = 0, bottom = 0, left = 0;
};

struct Options {
  Size kernel{2, 2};
  Size stride;
  Padding padding;
  Padding counted;
  Size dilation;
  size_t divisor = 0;
};

size_t positions(size_t size, size_t padding, size_t kernel, size_t stride, size_t dilation) {
  return (size + padding - (kernel - 1) * dilation - 1) / stride + 1;
}

// Visits every tap of every window as the definition says: pads, and asks for each tap where it lies.
Tensor reference(const Tensor& x, const Options& o, bool maximum) {
  const int64_t height = static_cast<int64_t>(x.shape()[1]), width = static_cast<int64_t>(x.shape()[2]);
  const Shape shape{
      x.shape()[0],
      positions(x.shape()[1], o.padding.top + o.padding.bottom, o.kernel.height, o.stride.height, o.dilation.height),
      positions(x.shape()[2], o.padding.left + o.padding.right, o.kernel.width, o.stride.width, o.dilation.width),
      x.shape()[3]};
  Tensor y(DType::Float32, shape);
  Index at(shape);
  for (size_t i = 0; i < y.numel(); ++i, at.next()) {
    double sum = 0, highest = -kInfinity;
    size_t counted = 0;
    bool nan = false;
    const auto of = [](size_t number) { return static_cast<int64_t>(number); };
    for (size_t kh = 0; kh < o.kernel.height; ++kh) {
      for (size_t kw = 0; kw < o.kernel.width; ++kw) {
        const int64_t h = of(at[1] * o.stride.height + kh * o.dilation.height) - of(o.padding.top);
        const int64_t w = of(at[2] * o.stride.width + kw * o.dilation.width) - of(o.padding.left);
        counted += h >= -of(o.counted.top) && h < height + of(o.counted.bottom) && w >= -of(o.counted.left) &&
            w < width + of(o.counted.right);
        if (h >= 0 && h < height && w >= 0 && w < width) {
          const size_t offset =
              ((at[0] * x.shape()[1] + static_cast<size_t>(h)) * x.shape()[2] + static_cast<size_t>(w)) * x.shape()[3] +
              at[3];
          const double value = static_cast<double>(x.data<float>()[offset]);
          sum += value;
          nan = nan || std::isnan(value);
          highest = std::max(highest, value);
        }
      }
    }
    const double divisor = static_cast<double>(o.divisor > 0 ? o.divisor : counted);
    y.data<float>()[i] = static_cast<float>(!maximum ? sum / divisor : nan ? static_cast<double>(kNaN) : highest);
  }
  return y;
}

PoolParameters parameters_of(PoolOp op, const Shape& x, const Shape& y, const Options& o) {
  PoolParameters p;
  p.op = op;
  p.images = x[0];
  p.channels = x[3];
  p.height = {
      x[1],
      y[1],
      false,
      o.kernel.height,
      o.stride.height,
      o.padding.top,
      o.dilation.height,
      o.counted.top,
      o.counted.bottom};
  p.width = {
      x[2],
      y[2],
      false,
      o.kernel.width,
      o.stride.width,
      o.padding.left,
      o.dilation.width,
      o.counted.left,
      o.counted.right};
  p.divisor = o.divisor;
  return p;
}

void check_average(const Shape& shape, const Options& o) {
  SCOPED_TRACE(shape.to_string());
  const Tensor x = random_floats(shape);
  const Tensor y = reference(x, o, false);
  check_kernel(plain_case<Pool>(parameters_of(PoolOp::Average, shape, y.shape(), o), {x}, {y.type}), y, {1e-6f, 1e-6f});
}

void check_maximum(const Tensor& x, const Options& o) {
  SCOPED_TRACE(x.type.to_string());
  const Tensor y = reference(x, o, true);
  check_kernel(plain_case<Pool>(parameters_of(PoolOp::Max, x.shape(), y.shape(), o), {x}, {y.type}), y);
}

TEST(AvgPool, Channels) {
  for (const size_t channels : {0, 1, 3, 4, 15, 16, 17, 64, 83}) {
    check_average({2, 5, 6, channels}, {});
  }
}

TEST(AvgPool, Padding) {
  Options o;
  o.kernel = {3, 3};
  o.stride = {2, 2};
  o.padding = {1, 1, 1, 1};
  check_average({1, 7, 8, 5}, o);
  o.counted = o.padding;
  check_average({1, 7, 8, 5}, o);
  o.padding = {1, 2, 2, 1}; // ceil_mode adds to the right and below without counting
  check_average({1, 7, 8, 5}, o);
  o.divisor = 7;
  check_average({1, 7, 8, 5}, o);
}

TEST(AvgPool, WholeImage) {
  Options o;
  o.kernel = {50, 60};
  check_average({2, 50, 60, 20}, o);
}

TEST(AvgPool, Empty) {
  check_average({0, 5, 6, 4}, {});
}

TEST(MaxPool, Windows) {
  for (const size_t channels : {1, 3, 16, 17, 64, 83}) {
    check_maximum(random_floats({2, 5, 6, channels}), {});
  }
  Options o;
  o.kernel = {3, 3};
  o.stride = {2, 2};
  o.padding = {1, 1, 1, 1};
  check_maximum(random_floats({1, 40, 50, 24}), o);
  o.padding = {1, 2, 0, 1};
  check_maximum(random_floats({1, 9, 10, 5}), o);
}

TEST(MaxPool, Dilation) {
  Options o;
  o.kernel = {3, 2};
  o.dilation = {2, 3};
  check_maximum(random_floats({1, 9, 10, 5}), o);
  o.padding = {1, 1, 1, 1};
  o.stride = {1, 2};
  check_maximum(random_floats({1, 9, 10, 5}), o);
}

TEST(MaxPool, NotANumberWins) {
  Tensor x = random_floats({1, 6, 6, 20});
  x.data<float>()[100] = kNaN;
  x.data<float>()[300] = kInfinity;
  x.data<float>()[400] = -kInfinity;
  check_maximum(x, {});
  check_maximum(repeated({1, 4, 4, 17}, {-kInfinity}), {});
}

void check_adaptive(const Shape& shape, size_t height, size_t width) {
  SCOPED_TRACE(shape.to_string() + " to " + std::to_string(height) + " x " + std::to_string(width));
  const Tensor x = random_floats(shape);
  for (const PoolOp op : {PoolOp::Average, PoolOp::Max}) {
    Tensor y(DType::Float32, {shape[0], height, width, shape[3]});
    Index at(y.shape());
    for (size_t i = 0; i < y.numel(); ++i, at.next()) {
      const size_t h1 = (at[1] + 1) * shape[1], w1 = (at[2] + 1) * shape[2];
      double sum = 0, highest = -kInfinity;
      size_t count = 0;
      for (size_t h = at[1] * shape[1] / height; h * height < h1; ++h) {
        for (size_t w = at[2] * shape[2] / width; w * width < w1; ++w, ++count) {
          const double value =
              static_cast<double>(x.data<float>()[((at[0] * shape[1] + h) * shape[2] + w) * shape[3] + at[3]]);
          sum += value;
          highest = std::max(highest, value);
        }
      }
      const bool average = op == PoolOp::Average;
      y.data<float>()[i] = static_cast<float>(average ? sum / static_cast<double>(count) : highest);
    }
    PoolParameters p = parameters_of(op, shape, y.shape(), {});
    p.height.adaptive = p.width.adaptive = true;
    check_kernel(plain_case<Pool>(p, {x}, {y.type}), y, {1e-6f, 1e-6f});
  }
}

TEST(AdaptivePool, Sizes) {
  check_adaptive({2, 7, 7, 33}, 1, 1);
  check_adaptive({1, 7, 9, 5}, 3, 4);
  check_adaptive({1, 3, 4, 5}, 7, 9); // larger than the input
  check_adaptive({1, 10, 13, 16}, 10, 13);
  check_adaptive({1, 112, 112, 8}, 1, 2);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
