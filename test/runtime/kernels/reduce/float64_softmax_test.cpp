// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/reduce/float64_softmax.h>

#include <algorithm>
#include <cmath>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

void check_softmax(const Tensor& x, size_t axis) {
  const size_t size = x.shape()[axis];
  const size_t inner = x.shape().numel(axis + 1, x.shape().rank);
  for (const bool log : {false, true}) {
    SCOPED_TRACE(x.type.to_string() + " over " + std::to_string(axis) + (log ? ", logarithm" : ""));
    Tensor y(DType::Float64, x.shape());
    for (size_t i = 0; size > 0 && i < x.numel() / size; ++i) {
      const double* const from = x.data<double>() + i / inner * size * inner + i % inner;
      double highest = -static_cast<double>(kInfinity), sum = 0;
      for (size_t k = 0; k < size; ++k) {
        highest = std::max(highest, from[k * inner]);
      }
      for (size_t k = 0; k < size; ++k) {
        sum += std::exp(from[k * inner] - highest);
      }
      for (size_t k = 0; k < size; ++k) {
        const double below = from[k * inner] - highest;
        y.data<double>()[i / inner * size * inner + i % inner + k * inner] =
            log ? below - std::log(sum) : std::exp(below) / sum;
      }
    }
    check_kernel(
        plain_case<Float64Softmax>(SoftmaxParameters{x.shape(), axis, log}, {x}, {y.type}), y, {1e-15f, 1e-15f});
  }
}

Tensor doubles(const Shape& shape) {
  Tensor x(DType::Float64, shape);
  for (size_t i = 0; i < x.numel(); ++i) {
    x.data<double>()[i] = static_cast<double>(i * 7919 % 1009) / 101 - 5;
  }
  return x;
}

TEST(Float64Softmax, EveryAxis) {
  for (size_t axis = 0; axis < 3; ++axis) {
    check_softmax(doubles({3, 7, 5}), axis);
    check_softmax(doubles({2, 1, 37}), axis);
    check_softmax(doubles({0, 3, 2}), axis);
  }
  check_softmax(doubles({40, 3000}), 1);
  check_softmax(doubles({300, 70}), 0);
}

TEST(Float64Softmax, SpecialValues) {
  for (const float special : {kNaN, kInfinity, -kInfinity, 3e38f, -3e38f}) {
    for (const size_t at : {0, 7, 19}) {
      Tensor x = doubles({4, 5});
      x.data<double>()[at] = static_cast<double>(special);
      check_softmax(x, 0);
      check_softmax(x, 1);
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
