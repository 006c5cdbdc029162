// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// What tests of convolutions of Float32 share.

#include <algorithm>
#include <optional>
#include <vector>

#include <runtime/kernels/conv/conv.h>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {

struct Size {
  size_t height = 1, width = 1;
};

struct Padding {
  size_t top = 0, right = 0, bottom = 0, left = 0;
};

struct Clamp {
  float min, max;
};

struct Options {
  bool transposed = false;
  Size stride;
  Padding padding;
  Size dilation;
  Size output_padding{0, 0};
  size_t groups = 1;
  bool bias = true;
  std::optional<Clamp> clamp;
};

// Every input pixel times every tap, added where the definition says.
inline Tensor reference(
    const Tensor& x, const Tensor& w, const std::optional<Tensor>& bias, const Options& o, const Shape& shape) {
  std::vector<double> sums(shape.numel());
  const size_t inputs = w.shape()[3], outputs = w.shape()[0] / o.groups;
  const auto value = [](const Tensor& t, size_t i) { return static_cast<double>(t.data<float>()[i]); };
  for (size_t n = 0; n < shape[0]; ++n) {
    for (int64_t h = 0; h < static_cast<int64_t>(x.shape()[1]); ++h) {
      for (int64_t v = 0; v < static_cast<int64_t>(x.shape()[2]); ++v) {
        for (size_t kh = 0; kh < w.shape()[1]; ++kh) {
          for (size_t kw = 0; kw < w.shape()[2]; ++kw) {
            const auto of = [](size_t number) { return static_cast<int64_t>(number); };
            int64_t row, column;
            if (o.transposed) {
              row = h * of(o.stride.height) + of(kh * o.dilation.height) - of(o.padding.top);
              column = v * of(o.stride.width) + of(kw * o.dilation.width) - of(o.padding.left);
            } else {
              row = h + of(o.padding.top) - of(kh * o.dilation.height);
              column = v + of(o.padding.left) - of(kw * o.dilation.width);
              if (row % of(o.stride.height) != 0 || column % of(o.stride.width) != 0) {
                continue;
              }
              row /= of(o.stride.height);
              column /= of(o.stride.width);
            }
            if (row < 0 || column < 0 || row >= of(shape[1]) || column >= of(shape[2])) {
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
      sum = std::min(std::max(sum, static_cast<double>(o.clamp->min)), static_cast<double>(o.clamp->max));
    }
    y.data<float>()[i] = static_cast<float>(sum);
  }
  return y;
}

inline Options options(size_t stride, size_t padding, size_t dilation, size_t groups = 1) {
  Options o;
  o.stride = {stride, stride};
  o.padding = {padding, padding, padding, padding};
  o.dilation = {dilation, dilation};
  o.groups = groups;
  return o;
}

// Of images [N, H, W, C] and weights [OC, KH, KW, IC].
inline Shape output_shape(const Shape& x_shape, const Shape& w_shape, const Options& o) {
  const auto size = [&](size_t in, size_t kernel, size_t stride, size_t padding, size_t dilation, size_t more) {
    const size_t reach = (kernel - 1) * dilation + 1;
    return o.transposed ? (in - 1) * stride + reach + more - padding : (in + padding - reach) / stride + 1;
  };
  return {
      x_shape[0],
      size(
          x_shape[1],
          w_shape[1],
          o.stride.height,
          o.padding.top + o.padding.bottom,
          o.dilation.height,
          o.output_padding.height),
      size(
          x_shape[2],
          w_shape[2],
          o.stride.width,
          o.padding.left + o.padding.right,
          o.dilation.width,
          o.output_padding.width),
      w_shape[0]};
}

inline ConvParameters conv_parameters(const Shape& x_shape, const Shape& w_shape, const Options& o) {
  ConvParameters p;
  p.input = x_shape;
  p.weight = w_shape;
  p.output = output_shape(x_shape, w_shape, o);
  p.height = {o.stride.height, o.padding.top, o.dilation.height};
  p.width = {o.stride.width, o.padding.left, o.dilation.width};
  p.groups = o.groups;
  p.transposed = o.transposed;
  p.min = o.clamp ? o.clamp->min : -kInfinity;
  p.max = o.clamp ? o.clamp->max : kInfinity;
  return p;
}

inline Tolerance conv_tolerance(const Shape& w_shape) {
  return {2e-6f * static_cast<float>(w_shape.numel(1, 4) + 10), 1e-6f};
}

} // namespace executorch::backends::et_xnnpack::testing
