// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/conv/conv.h>
#include <runtime/kernels/simd/half.h>

#include <algorithm>

#include "kernels/gemm/quantized.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

struct Options {
  bool transposed = false;
  schema::Size2D stride{1, 1};
  schema::Padding2D padding{0, 0, 0, 0};
  schema::Size2D dilation{1, 1};
  schema::Size2D output_padding{0, 0};
  uint32_t groups = 1;
  bool bias = true;
  std::optional<schema::Clamp> clamp;
};

// Every input pixel times every tap, added where the definition says.
Tensor reference(
    const Tensor& x, const Tensor& w, const std::optional<Tensor>& bias, const Options& o, const Shape& shape) {
  std::vector<double> sums(shape.numel());
  const size_t inputs = w.shape()[3], outputs = w.shape()[0] / o.groups;
  const auto value = [](const Tensor& t, size_t i) { return static_cast<double>(t.data<float>()[i]); };
  for (size_t n = 0; n < shape[0]; ++n) {
    for (int64_t h = 0; h < static_cast<int64_t>(x.shape()[1]); ++h) {
      for (int64_t v = 0; v < static_cast<int64_t>(x.shape()[2]); ++v) {
        for (size_t kh = 0; kh < w.shape()[1]; ++kh) {
          for (size_t kw = 0; kw < w.shape()[2]; ++kw) {
            int64_t row, column;
            if (o.transposed) {
              row = h * o.stride.height() + static_cast<int64_t>(kh * o.dilation.height()) - o.padding.top();
              column = v * o.stride.width() + static_cast<int64_t>(kw * o.dilation.width()) - o.padding.left();
            } else {
              row = h + o.padding.top() - static_cast<int64_t>(kh * o.dilation.height());
              column = v + o.padding.left() - static_cast<int64_t>(kw * o.dilation.width());
              if (row % o.stride.height() != 0 || column % o.stride.width() != 0) {
                continue;
              }
              row /= o.stride.height();
              column /= o.stride.width();
            }
            if (row < 0 || column < 0 || row >= static_cast<int64_t>(shape[1]) ||
                column >= static_cast<int64_t>(shape[2])) {
              continue;
            }
            for (size_t oc = 0; oc < shape[3]; ++oc) {
              const size_t at =
                  ((n * x.shape()[1] + static_cast<size_t>(h)) * x.shape()[2] + static_cast<size_t>(v)) * x.shape()[3] +
                  oc / outputs * inputs;
              const size_t tap = ((oc * w.shape()[1] + kh) * w.shape()[2] + kw) * inputs;
              double& sum = sums
                  [((n * shape[1] + static_cast<size_t>(row)) * shape[2] + static_cast<size_t>(column)) * shape[3] +
                   oc];
              for (size_t c = 0; c < inputs; ++c) {
                sum += value(x, at + c) * value(w, tap + c);
              }
            }
          }
        }
      }
    }
  }
  Tensor y(DType::Float32, shape);
  for (size_t i = 0; i < y.numel(); ++i) {
    double sum = sums[i] + (bias ? value(*bias, i % shape[3]) : 0);
    if (o.clamp) {
      sum = std::min(std::max(sum, static_cast<double>(o.clamp->min())), static_cast<double>(o.clamp->max()));
    }
    y.data<float>()[i] = static_cast<float>(sum);
  }
  return y;
}

// x [N, H, W, C], weight [OC, KH, KW, IC]
void check(const Shape& x_shape, const Shape& w_shape, const Options& o = {}) {
  SCOPED_TRACE(x_shape.to_string() + " by " + w_shape.to_string());
  Tensor x = random_floats(x_shape);
  const Tensor w = random_floats(w_shape);
  if (o.clamp) {
    x.data<float>()[x.numel() / 2] = kNaN; // which limits must not hide
  }
  const std::optional<Tensor> bias = o.bias ? std::optional(random_floats({w_shape[0]})) : std::nullopt;
  const auto size = [&](size_t in, size_t kernel, size_t stride, size_t padding, size_t dilation, size_t more) {
    const size_t reach = (kernel - 1) * dilation + 1;
    return o.transposed ? (in - 1) * stride + reach + more - padding : (in + padding - reach) / stride + 1;
  };
  const Shape shape{
      x_shape[0],
      size(
          x_shape[1],
          w_shape[1],
          o.stride.height(),
          o.padding.top() + o.padding.bottom(),
          o.dilation.height(),
          o.output_padding.height()),
      size(
          x_shape[2],
          w_shape[2],
          o.stride.width(),
          o.padding.left() + o.padding.right(),
          o.dilation.width(),
          o.output_padding.width()),
      w_shape[0]};
  const Tensor y = reference(x, w, bias, o, shape);
  const schema::Clamp* clamp = o.clamp ? &*o.clamp : nullptr;
  KernelCase kernel_case{
      o.transposed ? make_conv_transpose2d : make_conv2d,
      o.transposed ? schema::Attributes::ConvTranspose2d : schema::Attributes::Conv2d,
      [&](auto& builder) {
        return o.transposed
            ? schema::CreateConvTranspose2d(
                  builder, &o.stride, &o.padding, &o.output_padding, &o.dilation, o.groups, clamp)
                  .Union()
            : schema::CreateConv2d(builder, &o.stride, &o.padding, &o.dilation, o.groups, clamp).Union();
      },
      {x, w, bias},
      y.type};
  const Tolerance tolerance{2e-6f * static_cast<float>(w_shape.numel(1, 4) + 10), 1e-6f};
  check_kernel(kernel_case, y, tolerance);
  kernel_case.constants = {1};
  check_kernel(kernel_case, y, tolerance);

  // Weights of fewer bits, which stay so.
  const bool depthwise = !o.transposed && w_shape[3] == 1 && w_shape[0] == x_shape[3];
  kernel_case.make = o.transposed ? make_narrow_conv_transpose2d
      : depthwise                 ? make_narrow_depthwise
                                  : make_narrow_conv2d;
  for (const DType stored : {DType::Float16, DType::BFloat16}) {
    Tensor rounded = w;
    rounded.type.stored = stored;
    std::vector<uint16_t> halves(w.numel());
    narrow(stored, w.data<float>(), halves.data(), halves.size());
    widen(stored, halves.data(), rounded.data<float>(), halves.size());
    kernel_case.inputs[1] = rounded;
    check_kernel(kernel_case, reference(x, rounded, bias, o, shape), tolerance);
  }
  std::vector<float> scales(w_shape[0]);
  std::vector<int32_t> zero_points(w_shape[0]);
  for (size_t i = 0; i < w_shape[0]; ++i) {
    scales[i] = 0.01f + 0.001f * static_cast<float>(i % 11);
    zero_points[i] = i % 3 == 0 ? 0 : static_cast<int32_t>(i * 7 % 200) - 100;
  }
  const Quantized by_tensor(DType::Int8, 0.02f, -3), by_channel(DType::Int8, scales, zero_points, 0);
  for (const Quantized* quantized : {&by_tensor, &by_channel}) {
    const Tensor integers = quantized->every(w_shape);
    kernel_case.inputs[1] = integers;
    const Tensor expected = reference(x, floats(w_shape, quantized->numbers(integers)), bias, o, shape);
    check_kernel(kernel_case, expected, {2 * tolerance.absolute, 2e-6f});
  }
}

Options options(uint32_t stride, uint32_t padding, uint32_t dilation, uint32_t groups = 1) {
  Options o;
  o.stride = {stride, stride};
  o.padding = {padding, padding, padding, padding};
  o.dilation = {dilation, dilation};
  o.groups = groups;
  return o;
}

TEST(Conv2dKernel, Windows) {
  check({2, 7, 9, 5}, {6, 1, 1, 5});
  check({2, 7, 9, 5}, {6, 3, 3, 5});
  check({1, 7, 9, 5}, {6, 3, 2, 5}, options(2, 1, 1));
  check({1, 11, 9, 4}, {3, 3, 3, 4}, options(1, 2, 2));
  check({1, 3, 3, 4}, {3, 3, 3, 4}, options(3, 5, 1));
  Options o;
  o.padding = {1, 0, 2, 3};
  o.stride = {2, 1};
  o.bias = false;
  o.clamp = schema::Clamp(-0.5f, 2);
  check({1, 8, 8, 3}, {5, 3, 3, 3}, o);
}

TEST(Conv2dKernel, Groups) {
  check({1, 5, 6, 8}, {6, 3, 3, 4}, options(1, 1, 1, 2));
  check({2, 5, 6, 6}, {9, 1, 1, 2}, options(1, 0, 1, 3));
  check({1, 5, 6, 3}, {6, 3, 3, 1}, options(1, 1, 1, 3)); // two outputs for each channel
}

TEST(Conv2dKernel, ManyPixels) {
  check({1, 50, 60, 16}, {20, 5, 5, 16}, options(1, 2, 1));
}

TEST(Conv2dKernel, Empty) {
  check({0, 5, 5, 3}, {4, 3, 3, 3});
}

TEST(Conv2dKernel, Depthwise) {
  for (const size_t channels : {1, 3, 16, 17, 64, 83}) {
    const uint32_t groups = static_cast<uint32_t>(channels);
    check({2, 9, 30, channels}, {channels, 3, 3, 1}, options(1, 1, 1, groups));
    check({1, 9, 30, channels}, {channels, 7, 7, 1}, options(1, 3, 1, groups));
    check({1, 13, 31, channels}, {channels, 5, 5, 1}, options(2, 2, 1, groups));
    check({1, 13, 31, channels}, {channels, 3, 3, 1}, options(2, 4, 3, groups));
    check({1, 7, 7, channels}, {channels, 7, 7, 1}, options(1, 3, 1, groups));
    check({1, 2, 3, channels}, {channels, 5, 5, 1}, options(1, 4, 1, groups));
    check({1, 1, 1, channels}, {channels, 3, 3, 1}, options(2, 1, 1, groups));
    check({1, 4, 40, channels}, {channels, 1, 1, 1}, options(1, 0, 1, groups));
  }
  Options o = options(1, 1, 1, 20);
  o.bias = false;
  o.clamp = schema::Clamp(0, 1);
  check({1, 8, 40, 20}, {20, 3, 3, 1}, o);
}

TEST(ConvTranspose2dKernel, Windows) {
  Options o = options(2, 1, 1);
  o.transposed = true;
  check({2, 5, 6, 4}, {3, 3, 3, 4}, o);
  o.output_padding = {1, 1};
  check({1, 5, 6, 4}, {3, 3, 3, 4}, o);
  o.groups = 2;
  check({1, 5, 6, 8}, {6, 4, 2, 4}, o);
  o = options(1, 0, 2);
  o.transposed = true;
  check({1, 5, 6, 4}, {3, 3, 3, 4}, o);
  check({1, 5, 6, 4}, {3, 1, 1, 4}, o);
  o = options(3, 0, 1, 4);
  o.transposed = true;
  check({1, 5, 6, 4}, {4, 2, 2, 1}, o);
}

// Steps that share no tap, that have several, and that have none.
TEST(ConvTranspose2dKernel, Strides) {
  Options o;
  o.transposed = true;
  for (const uint32_t stride : {1, 2, 3, 4, 5}) {
    for (const uint32_t dilation : {1, 2, 3}) {
      for (const uint32_t padding : {0, 1, 2}) {
        o.stride = {stride, stride == 1 ? 2 : stride - 1};
        o.dilation = {dilation, 1};
        o.padding = {padding, 0, 1, padding};
        o.output_padding = {stride > 2 ? 1u : 0u, 0};
        o.clamp = stride == 3 ? std::optional(schema::Clamp(-1, 1)) : std::nullopt;
        check({1, 4, 5, 3}, {5, 4, 3, 3}, o);
      }
    }
  }
}

// As many pixels as the input has, but on other sides.
TEST(ConvTranspose2dKernel, OnePixelWindowThatMovesTheBorder) {
  Options o = options(1, 0, 3);
  o.transposed = true;
  o.output_padding = {2, 0};
  o.padding = {0, 2, 0, 0};
  check({1, 2, 4, 5}, {6, 1, 1, 5}, o);
}

TEST(ConvTranspose2dKernel, ManyPixels) {
  Options o = options(2, 1, 1);
  o.transposed = true;
  check({1, 30, 41, 12}, {20, 4, 4, 12}, o);
  check({0, 5, 6, 12}, {20, 4, 4, 12}, o);
}

TEST(Conv2dKernel, WideGroups) {
  check({1, 9, 10, 40}, {68, 3, 3, 20}, options(1, 1, 1, 2));
  check({2, 9, 10, 40}, {34, 1, 1, 20}, options(1, 0, 1, 2));
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
