// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/reduce/reduce.h>

#include <algorithm>
#include <limits>
#include <random>

#include "reduce_values.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

template <typename T>
T join(ReduceOp op, T a, T b) {
  switch (op) {
    case ReduceOp::Max:
      return a != a || a > b ? a : b;
    case ReduceOp::Min:
      return a != a || a < b ? a : b;
    case ReduceOp::Prod:
      if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      } else {
        return a * b;
      }
    case ReduceOp::Any:
      return static_cast<T>(a != 0 || b != 0);
    case ReduceOp::All:
      return static_cast<T>(a != 0 && b != 0);
    default:
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
}

template <typename T>
T nothing(ReduceOp op) {
  using Limits = std::numeric_limits<T>;
  switch (op) {
    case ReduceOp::Max:
      return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case ReduceOp::Min:
      return Limits::has_infinity ? Limits::infinity() : Limits::max();
    default:
      return op == ReduceOp::Prod || op == ReduceOp::All;
  }
}

template <typename T>
void check_reduce(ReduceOp op, const Tensor& x, const std::vector<size_t>& axes, Tolerance tolerance = {}) {
  SCOPED_TRACE(
      "operation " + std::to_string(static_cast<int>(op)) + " of " + x.type.to_string() + " over " +
      ::testing::PrintToString(axes));
  ReduceParameters parameters{op, x.type.dtype, x.shape(), {}};
  Shape kept = x.shape();
  for (const size_t axis : axes) {
    kept[axis] = 1;
    parameters.is_reduced[axis] = true;
  }
  Tensor y(x.type.dtype, kept);
  std::fill_n(y.data<T>(), y.numel(), nothing<T>(op));
  Index at(x.shape());
  for (size_t i = 0; i < x.numel(); ++i, at.next()) {
    T& to = y.data<T>()[at.in(kept)];
    to = join(op, to, x.data<T>()[i]);
  }
  check_kernel(plain_case<Reduce>(parameters, {x}, {y.type}), y, tolerance);
}

template <typename T>
void check_numbers(DType dtype) {
  for (const ReduceOp op : {ReduceOp::Max, ReduceOp::Min, ReduceOp::Prod, ReduceOp::Sum}) {
    if (dtype == DType::Float32 && (op == ReduceOp::Prod || op == ReduceOp::Sum)) {
      continue; // rounds
    }
    for (const size_t size : {0, 1, 3, 15, 16, 17, 63, 64, 65, 255, 257, 2500}) {
      check_reduce<T>(op, few<T>(dtype, {3, size}), {1});
      check_reduce<T>(op, few<T>(dtype, {5, size}), {0});
      check_reduce<T>(op, few<T>(dtype, {2, size, 3}), {1});
    }
    check_reduce<T>(op, few<T>(dtype, {300, 129}), {0});
    check_reduce<T>(op, few<T>(dtype, {300, 129}), {0, 1});
  }
}

TEST(Reduce, Floats) {
  check_numbers<float>(DType::Float32);
}

TEST(Reduce, Integers) {
  check_numbers<int32_t>(DType::Int32);
  check_numbers<int64_t>(DType::Int64);
  check_numbers<int8_t>(DType::Int8);
  check_numbers<uint8_t>(DType::UInt8);
}

TEST(Reduce, EverySubsetOfAxes) {
  const Tensor x = few<float>(DType::Float32, {3, 4, 1, 5, 7});
  for (unsigned set = 1; set < 32; ++set) {
    std::vector<size_t> axes;
    for (size_t axis = 0; axis < 5; ++axis) {
      if ((set >> axis & 1) != 0) {
        axes.push_back(axis);
      }
    }
    check_reduce<float>(ReduceOp::Max, x, axes);
    check_reduce<float>(ReduceOp::Min, x, axes);
  }
}

TEST(Reduce, Products) {
  for (const size_t size : {0, 1, 15, 17, 64, 65, 200}) {
    check_reduce<float>(ReduceOp::Prod, random_floats({3, size}, 0.8f, 1.2f), {1}, {0, 1e-4f});
    check_reduce<float>(ReduceOp::Prod, random_floats({size, 131}, 0.8f, 1.2f), {0}, {0, 1e-4f});
  }
}

TEST(Reduce, Booleans) {
  for (const size_t size : {0, 1, 5, 16, 17, 64, 65, 129, 300, 1000}) {
    for (const unsigned part : {0, 1, 999, 1000}) { // of 1000 are true
      for (const size_t axis : {0, 1}) {
        Tensor x(DType::Bool, axis == 0 ? Shape{size, 70} : Shape{7, size});
        std::minstd_rand random(part + 1);
        std::generate(x.bytes.begin(), x.bytes.end(), [&] { return random() % 1000 < part; });
        check_reduce<uint8_t>(ReduceOp::Any, x, {axis});
        check_reduce<uint8_t>(ReduceOp::All, x, {axis});
      }
    }
  }
}

TEST(Reduce, SpecialValues) {
  for (const float special : {kNaN, kInfinity, -kInfinity}) {
    in_every_place(special, [](const Tensor& x) {
      for (const size_t axis : {0, 1}) {
        check_reduce<float>(ReduceOp::Max, x, {axis});
        check_reduce<float>(ReduceOp::Min, x, {axis});
        check_reduce<float>(ReduceOp::Prod, x, {axis}, {1e-6f, 1e-4f});
      }
    });
  }
  for (const float all : {kNaN, kInfinity, -kInfinity}) {
    check_reduce<float>(ReduceOp::Max, repeated({3, 100}, {all}), {1});
    check_reduce<float>(ReduceOp::Min, repeated({3, 100}, {all}), {0});
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
