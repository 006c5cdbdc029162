// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/norm/layer_norm.h>

#include <cmath>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

Tensor reference(const PlainCase& kernel_case, size_t rows, float epsilon) {
  const Tensor& x = *kernel_case.inputs[0];
  Tensor y(DType::Float32, x.shape());
  const size_t length = rows == 0 ? 0 : x.numel() / rows;
  for (size_t row = 0; row < rows; ++row) {
    const float* in = x.data<float>() + row * length;
    double mean = 0, variance = 0;
    for (size_t i = 0; i < length; ++i) {
      mean += in[i] / static_cast<double>(length);
    }
    for (size_t i = 0; i < length; ++i) {
      variance += (in[i] - mean) * (in[i] - mean) / static_cast<double>(length);
    }
    for (size_t i = 0; i < length; ++i) {
      const double weight = kernel_case.inputs[1] ? kernel_case.inputs[1]->data<float>()[i] : 1;
      const double bias = kernel_case.inputs[2] ? kernel_case.inputs[2]->data<float>()[i] : 0;
      y.data<float>()[row * length + i] =
          static_cast<float>((in[i] - mean) / std::sqrt(variance + epsilon) * weight + bias);
    }
  }
  return y;
}

void check(const Tensor& x, uint8_t axes, bool weight, bool bias, float epsilon, Tolerance tolerance) {
  Shape shape;
  for (size_t axis = x.shape().rank - axes; axis < x.shape().rank; ++axis) {
    shape.append(x.shape()[axis]);
  }
  const size_t rows = x.shape().numel(0, x.shape().rank - axes), length = shape.numel();
  PlainCase kernel_case{
      plain_kernel<LayerNorm>(RowNormParameters{rows, length, epsilon}), {x, std::nullopt, std::nullopt}, {x.type}};
  if (weight) {
    kernel_case.inputs[1] = random_floats(shape);
  }
  if (bias) {
    kernel_case.inputs[2] = random_floats(shape);
  }
  check_kernel(kernel_case, reference(kernel_case, rows, epsilon), tolerance);
}

TEST(LayerNormKernel, Lengths) {
  for (const size_t length : {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 63, 64, 65, 100, 127, 384, 385}) {
    SCOPED_TRACE(length);
    check(random_floats({5, length}), 1, true, true, 1e-5f, {2e-6f, 2e-6f});
  }
}

TEST(LayerNormKernel, OptionalOperands) {
  for (const bool weight : {false, true}) {
    for (const bool bias : {false, true}) {
      check(random_floats({3, 37}), 1, weight, bias, 1e-5f, {2e-6f, 2e-6f});
    }
  }
}

TEST(LayerNormKernel, SeveralAxes) {
  check(random_floats({2, 3, 5, 7}), 2, true, true, 1e-5f, {2e-6f, 2e-6f});
  check(random_floats({2, 3, 5, 7}), 4, true, true, 1e-5f, {2e-6f, 2e-6f});
}

TEST(LayerNormKernel, Empty) {
  check(random_floats({0, 8}), 1, true, true, 1e-5f, {});
  check(random_floats({4, 0}), 1, true, true, 1e-5f, {});
}

TEST(LayerNormKernel, StatisticsOfEmptyRows) {
  PlainCase kernel_case{
      plain_kernel<LayerNorm>(RowNormParameters{3, 0, 1e-5f}),
      {Tensor(DType::Float32, {3, 0}), std::nullopt, std::nullopt},
      {{DType::Float32, {3, 0}}, {DType::Float32, {3}}, {DType::Float32, {3}}}};
  kernel_case.checked = 1;
  check_kernel(kernel_case, floats({3}, {0, 0, 0}));
  kernel_case.checked = 2;
  check_kernel(kernel_case, floats({3}, {kNaN, kNaN, kNaN}));
}

TEST(LayerNormKernel, ManyRows) {
  check(random_floats({301, 96}), 1, true, true, 1e-5f, {2e-6f, 2e-6f});
}

TEST(LayerNormKernel, LongRows) {
  check(random_floats({2, 70001}), 1, true, true, 1e-5f, {2e-6f, 2e-6f});
}

TEST(LayerNormKernel, LargeMean) {
  check(random_floats({4, 1000}, 9999, 10001), 1, false, false, 1e-5f, {2e-6f, 2e-6f});
  check(random_floats({4, 1000}, -4e6f, -3.9e6f), 1, false, false, 1e-5f, {2e-6f, 2e-6f});
}

TEST(LayerNormKernel, ConstantRow) {
  check(repeated({3, 21}, {0.1f}), 1, true, true, 1e-5f, {1e-5f, 1e-5f});
}

TEST(LayerNormKernel, NotANumberStaysInItsRow) {
  Tensor x = random_floats({3, 20});
  x.data<float>()[25] = kNaN;
  check(x, 1, true, true, 1e-5f, {2e-6f, 2e-6f});
  x.data<float>()[25] = kInfinity;
  check(x, 1, true, true, 1e-5f, {2e-6f, 2e-6f});
}

TEST(LayerNormKernel, Statistics) {
  PlainCase kernel_case{
      plain_kernel<LayerNorm>(RowNormParameters{300, 70, 0.5f}),
      {random_floats({300, 70}), std::nullopt, std::nullopt},
      {{DType::Float32, {300, 70}}, {DType::Float32, {300, 1}}, {DType::Float32, {300, 1}}}};
  Tensor mean(DType::Float32, {300, 1}), rstd(DType::Float32, {300, 1});
  for (size_t row = 0; row < 300; ++row) {
    const float* x = kernel_case.inputs[0]->data<float>() + row * 70;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < 70; ++i) {
      sum += static_cast<double>(x[i]);
      squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    }
    mean.data<float>()[row] = static_cast<float>(sum / 70);
    rstd.data<float>()[row] = static_cast<float>(1 / std::sqrt(squares / 70 - sum / 70 * sum / 70 + 0.5));
  }
  kernel_case.checked = 1;
  check_kernel(kernel_case, mean, {2e-6f, 2e-6f});
  kernel_case.checked = 2;
  check_kernel(kernel_case, rstd, {2e-6f, 2e-6f});
}

TEST(RmsNormKernel, Lengths) {
  for (const size_t length : {1, 2, 7, 16, 17, 65, 100, 385, 9001}) {
    SCOPED_TRACE(length);
    const PlainCase kernel_case{
        plain_kernel<RmsNorm>(RowNormParameters{5, length, 1e-5f}),
        {random_floats({5, length}), random_floats({length})},
        {{DType::Float32, {5, length}}}};
    Tensor expected(DType::Float32, {5, length});
    for (size_t row = 0; row < 5; ++row) {
      const float* x = kernel_case.inputs[0]->data<float>() + row * length;
      double squares = 0;
      for (size_t i = 0; i < length; ++i) {
        squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
      }
      const double scale = 1 / std::sqrt(squares / static_cast<double>(length) + 1e-5);
      for (size_t i = 0; i < length; ++i) {
        const double weight = static_cast<double>(kernel_case.inputs[1]->data<float>()[i]);
        expected.data<float>()[row * length + i] = static_cast<float>(static_cast<double>(x[i]) * scale * weight);
      }
    }
    check_kernel(kernel_case, expected, {2e-6f, 2e-6f});
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
