// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/reduce/softmax.h>

#include <algorithm>
#include <cmath>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// And its logarithm.
void check_softmax(
    const Tensor& x, size_t axis, Tolerance tolerance = {1e-9f, 2e-6f}, Tolerance of_log = {2e-6f, 2e-6f}) {
  const size_t size = x.shape()[axis];
  const size_t inner = x.shape().numel(axis + 1, x.shape().rank);
  for (const bool log : {false, true}) {
    SCOPED_TRACE(x.type.to_string() + " over " + std::to_string(axis) + (log ? ", logarithm" : ""));
    Tensor y(DType::Float32, x.shape());
    for (size_t i = 0; size > 0 && i < x.numel() / size; ++i) {
      const size_t begin = i / inner * size * inner + i % inner;
      const auto element = [&](size_t k) { return static_cast<double>(x.data<float>()[begin + k * inner]); };
      double highest = -kInfinity, sum = 0;
      for (size_t k = 0; k < size; ++k) {
        highest = std::max(highest, element(k));
      }
      for (size_t k = 0; k < size; ++k) {
        sum += std::exp(element(k) - highest);
      }
      for (size_t k = 0; k < size; ++k) {
        const double below = element(k) - highest;
        y.data<float>()[begin + k * inner] = static_cast<float>(log ? below - std::log(sum) : std::exp(below) / sum);
      }
    }
    check_kernel(
        plain_case<Softmax>(SoftmaxParameters{x.shape(), axis, log}, {x}, {y.type}), y, log ? of_log : tolerance);
  }
}

TEST(Softmax, Rows) {
  for (const size_t size : {0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 100, 1000, 9001}) {
    check_softmax(random_floats({5, size}, -10, 10), 1);
  }
  check_softmax(random_floats({700, 64}), 1);
}

TEST(Softmax, ShortRows) {
  for (size_t size = 1; size <= 34; ++size) {
    check_softmax(random_floats({67, size}, -10, 10), 1);
  }
  check_softmax(random_floats({9000, 5}, -10, 10), 1); // on several threads
}

TEST(Softmax, EveryAxis) {
  for (size_t axis = 0; axis < 4; ++axis) {
    check_softmax(random_floats({3, 7, 5, 21}, -10, 10), axis);
    check_softmax(random_floats({2, 9, 300, 1}, -10, 10), axis);
  }
}

TEST(Softmax, LargeValues) {
  check_softmax(random_floats({20, 50}, -1000, 1000), 1, {1e-9f, 2e-4f});
  check_softmax(random_floats({20, 50}, -1000, 1000), 0, {1e-9f, 2e-4f});
}

TEST(Softmax, SpecialValues) {
  const Tensor x = floats({5, 4}, {kNaN,       1,          2, 3, -kInfinity, 1, 2, 3, -kInfinity, -kInfinity,
                                   -kInfinity, -kInfinity, 1, 2, kInfinity,  3, 1, 2, 3,          4});
  check_softmax(x, 1);
  check_softmax(x, 0);
  for (const size_t size : {1, 2, 5, 16, 17, 40}) {
    check_softmax(repeated({3, size}, {-kInfinity}), 1);
    check_softmax(repeated({3, size}, {kInfinity}), 1);
    check_softmax(repeated({3, size}, {kNaN}), 1);
    for (const float special : {kNaN, kInfinity, -kInfinity, 3e38f, -3e38f}) {
      for (const size_t at : {size_t{0}, size / 2, size - 1}) {
        Tensor rows = random_floats({3, size});
        rows.data<float>()[size + at] = special;
        check_softmax(rows, 1);
        Tensor columns = random_floats({size, 3});
        columns.data<float>()[at * 3 + 1] = special;
        check_softmax(columns, 0);
      }
    }
  }
}

// An element that is 200 below the largest has a logarithm, though its share is nothing.
TEST(Softmax, LogarithmsOfNothing) {
  for (const size_t size : {2, 3, 16, 50}) {
    Tensor x = repeated({2, size}, {-200});
    x.data<float>()[0] = 0;
    x.data<float>()[2 * size - 1] = 1e30f;
    check_softmax(x, 1);
    check_softmax(x, 0);
  }
}

TEST(Softmax, StaysAccurate) {
  check_softmax(random_floats({1, 300001}, 0.9f, 1.1f), 1);
  check_softmax(random_floats({30001, 3}, 0.9f, 1.1f), 0);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
