// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/reduce/reduce.h>

#include <algorithm>
#include <cmath>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

void check_reduce(const Tensor& x, const std::vector<uint8_t>& axes, Tolerance tolerance = {1e-6f, 1e-6f}) {
  SCOPED_TRACE(x.type.to_string() + " over " + ::testing::PrintToString(axes));
  for (const auto kind : {schema::ReduceKind::Sum, schema::ReduceKind::Mean}) {
    for (const bool keep_dims : {false, true}) {
      Shape kept = x.shape(), shape;
      size_t count = 1;
      for (size_t axis = 0; axis < x.shape().rank; ++axis) {
        if (std::find(axes.begin(), axes.end(), axis) != axes.end()) {
          count *= x.shape()[axis];
          kept[axis] = 1;
        } else {
          shape.append(x.shape()[axis]);
        }
      }
      std::vector<double> sums(kept.numel()), magnitudes(kept.numel());
      Index at(x.shape());
      for (size_t i = 0; i < x.numel(); ++i, at.next()) {
        sums[at.in(kept)] += static_cast<double>(x.data<float>()[i]);
        magnitudes[at.in(kept)] += std::fabs(static_cast<double>(x.data<float>()[i]));
      }
      // One rounding at the size of what is added up, however much of it cancels.
      const double largest = magnitudes.empty() ? 0 : *std::max_element(magnitudes.begin(), magnitudes.end());
      const double rounding =
          std::ldexp(largest, -24) / (kind == schema::ReduceKind::Mean ? static_cast<double>(count) : 1);
      const Tolerance allowed{tolerance.absolute + static_cast<float>(rounding), tolerance.relative};
      Tensor y(DType::Float32, keep_dims ? kept : shape);
      for (size_t i = 0; i < y.numel(); ++i) {
        const bool mean = kind == schema::ReduceKind::Mean;
        y.data<float>()[i] = static_cast<float>(mean ? sums[i] / static_cast<double>(count) : sums[i]);
      }
      check_kernel(
          {make_reduce,
           schema::Attributes::Reduce,
           [&](auto& builder) { return schema::CreateReduceDirect(builder, kind, &axes, keep_dims).Union(); },
           {x},
           y.type},
          y,
          allowed);
    }
  }
}

TEST(ReduceKernel, Rows) {
  for (const size_t size : {1, 3, 4, 15, 16, 17, 64, 65, 1000, 9001}) {
    check_reduce(random_floats({3, size}), {1}, {1e-5f, 1e-6f});
  }
}

TEST(ReduceKernel, Columns) {
  for (const size_t rows : {1, 2, 127, 128, 129, 700}) {
    for (const size_t columns : {1, 3, 16, 17, 64, 100, 128, 129, 300}) {
      check_reduce(random_floats({rows, columns}), {0}, {3e-5f, 1e-6f});
    }
  }
}

TEST(ReduceKernel, EverySubsetOfAxes) {
  const Tensor x = random_floats({3, 4, 1, 5, 7});
  for (unsigned set = 1; set < 32; ++set) {
    std::vector<uint8_t> axes;
    for (uint8_t axis = 0; axis < 5; ++axis) {
      if ((set >> axis & 1) != 0) {
        axes.push_back(axis);
      }
    }
    check_reduce(x, axes, {1e-5f, 1e-6f});
  }
}

TEST(ReduceKernel, Rank8) {
  check_reduce(random_floats({2, 3, 2, 3, 2, 3, 2, 3}), {0, 2, 4, 6}, {1e-5f, 1e-6f});
  check_reduce(random_floats({2, 3, 2, 3, 2, 3, 2, 3}), {1, 3, 5, 7}, {1e-5f, 1e-6f});
}

TEST(ReduceKernel, Empty) {
  check_reduce(random_floats({3, 0}), {1});
  check_reduce(random_floats({0, 3}), {1});
  check_reduce(random_floats({3, 0, 5}), {1});
  check_reduce(random_floats({3, 0, 5}), {0});
}

TEST(ReduceKernel, StaysAccurate) {
  check_reduce(random_floats({1, 3000001}, 0.9f, 1.1f), {1}, {0, 1e-7f});
  check_reduce(random_floats({300001, 3}, 0.9f, 1.1f), {0}, {0, 3e-7f});
  check_reduce(random_floats({1, 3001, 100}, 0.9f, 1.1f), {1}, {0, 3e-7f});
}

TEST(ReduceKernel, SpecialValues) {
  const Tensor x = floats({2, 3}, {kInfinity, 1, kNaN, kInfinity, -kInfinity, 2});
  check_reduce(x, {0});
  check_reduce(x, {1});
}

// And its logarithm.
void check_softmax(
    const Tensor& x, uint8_t axis, Tolerance tolerance = {1e-9f, 2e-6f}, Tolerance of_log = {2e-6f, 2e-6f}) {
  const size_t size = x.shape()[axis];
  const size_t inner = x.shape().numel(axis + 1u, x.shape().rank);
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
        {make_softmax,
         schema::Attributes::Softmax,
         [=](auto& builder) { return schema::CreateSoftmax(builder, axis, log).Union(); },
         {x},
         y.type},
        y,
        log ? of_log : tolerance);
  }
}

TEST(SoftmaxKernel, Rows) {
  for (const size_t size : {0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 100, 1000, 9001}) {
    check_softmax(random_floats({5, size}, -10, 10), 1);
  }
  check_softmax(random_floats({700, 64}), 1);
}

TEST(SoftmaxKernel, EveryAxis) {
  for (uint8_t axis = 0; axis < 4; ++axis) {
    check_softmax(random_floats({3, 7, 5, 21}, -10, 10), axis);
    check_softmax(random_floats({2, 9, 300, 1}, -10, 10), axis);
  }
}

TEST(SoftmaxKernel, LargeValues) {
  check_softmax(random_floats({20, 50}, -1000, 1000), 1, {1e-9f, 2e-4f});
  check_softmax(random_floats({20, 50}, -1000, 1000), 0, {1e-9f, 2e-4f});
}

TEST(SoftmaxKernel, SpecialValues) {
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
TEST(SoftmaxKernel, LogarithmsOfNothing) {
  for (const size_t size : {2, 3, 16, 50}) {
    Tensor x = repeated({2, size}, {-200});
    x.data<float>()[0] = 0;
    x.data<float>()[2 * size - 1] = 1e30f;
    check_softmax(x, 1);
    check_softmax(x, 0);
  }
}

TEST(SoftmaxKernel, StaysAccurate) {
  check_softmax(random_floats({1, 300001}, 0.9f, 1.1f), 1);
  check_softmax(random_floats({30001, 3}, 0.9f, 1.1f), 0);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
