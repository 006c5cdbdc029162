// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/reduce/reduce.h>

#include <algorithm>
#include <cmath>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

void check_reduce(const Tensor& x, const std::vector<size_t>& axes, Tolerance tolerance = {1e-6f, 1e-6f}) {
  SCOPED_TRACE(x.type.to_string() + " over " + ::testing::PrintToString(axes));
  for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Mean}) {
    ReduceParameters parameters{op, DType::Float32, x.shape(), {}};
    Shape kept = x.shape();
    size_t count = 1;
    for (const size_t axis : axes) {
      count *= x.shape()[axis];
      kept[axis] = 1;
      parameters.is_reduced[axis] = true;
    }
    std::vector<double> sums(kept.numel()), magnitudes(kept.numel());
    Index at(x.shape());
    for (size_t i = 0; i < x.numel(); ++i, at.next()) {
      sums[at.in(kept)] += static_cast<double>(x.data<float>()[i]);
      magnitudes[at.in(kept)] += std::fabs(static_cast<double>(x.data<float>()[i]));
    }
    // One rounding at the size of what is added up, however much of it cancels.
    const double largest = magnitudes.empty() ? 0 : *std::max_element(magnitudes.begin(), magnitudes.end());
    const double rounding = std::ldexp(largest, -24) / (op == ReduceOp::Mean ? static_cast<double>(count) : 1);
    const Tolerance allowed{tolerance.absolute + static_cast<float>(rounding), tolerance.relative};
    Tensor y(DType::Float32, kept);
    for (size_t i = 0; i < y.numel(); ++i) {
      const bool mean = op == ReduceOp::Mean;
      y.data<float>()[i] = static_cast<float>(mean ? sums[i] / static_cast<double>(count) : sums[i]);
    }
    check_kernel(plain_case<SumFloats>(parameters, {x}, {y.type}), y, allowed);
  }
}

TEST(SumFloats, Rows) {
  for (const size_t size : {1, 3, 4, 15, 16, 17, 64, 65, 1000, 9001}) {
    check_reduce(random_floats({3, size}), {1}, {1e-5f, 1e-6f});
  }
}

TEST(SumFloats, Columns) {
  for (const size_t rows : {1, 2, 127, 128, 129, 700}) {
    for (const size_t columns : {1, 3, 16, 17, 64, 100, 128, 129, 300}) {
      check_reduce(random_floats({rows, columns}), {0}, {3e-5f, 1e-6f});
    }
  }
}

TEST(SumFloats, EverySubsetOfAxes) {
  const Tensor x = random_floats({3, 4, 1, 5, 7});
  for (unsigned set = 1; set < 32; ++set) {
    std::vector<size_t> axes;
    for (size_t axis = 0; axis < 5; ++axis) {
      if ((set >> axis & 1) != 0) {
        axes.push_back(axis);
      }
    }
    check_reduce(x, axes, {1e-5f, 1e-6f});
  }
}

TEST(SumFloats, Rank8) {
  check_reduce(random_floats({2, 3, 2, 3, 2, 3, 2, 3}), {0, 2, 4, 6}, {1e-5f, 1e-6f});
  check_reduce(random_floats({2, 3, 2, 3, 2, 3, 2, 3}), {1, 3, 5, 7}, {1e-5f, 1e-6f});
}

TEST(SumFloats, Empty) {
  check_reduce(random_floats({3, 0}), {1});
  check_reduce(random_floats({0, 3}), {1});
  check_reduce(random_floats({3, 0, 5}), {1});
  check_reduce(random_floats({3, 0, 5}), {0});
}

TEST(SumFloats, StaysAccurate) {
  check_reduce(random_floats({1, 3000001}, 0.9f, 1.1f), {1}, {0, 1e-7f});
  check_reduce(random_floats({300001, 3}, 0.9f, 1.1f), {0}, {0, 3e-7f});
  check_reduce(random_floats({1, 3001, 100}, 0.9f, 1.1f), {1}, {0, 3e-7f});
}

TEST(SumFloats, SpecialValues) {
  const Tensor x = floats({2, 3}, {kInfinity, 1, kNaN, kInfinity, -kInfinity, 2});
  check_reduce(x, {0});
  check_reduce(x, {1});
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
