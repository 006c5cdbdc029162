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
      if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      } else {
        return a + b;
      }
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
    const bool is_float = dtype == DType::Float32 || dtype == DType::Float64;
    if (is_float && (op == ReduceOp::Prod || op == ReduceOp::Sum)) {
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

TEST(Reduce, Float64) {
  check_numbers<double>(DType::Float64);
  for (const size_t size : {0, 1, 15, 16, 17, 100, 4095, 4096, 4097, 10000}) {
    Tensor x(DType::Float64, {3, size, 5}); // whole numbers, of which sums are exact
    for (size_t i = 0; i < x.numel(); ++i) {
      x.data<double>()[i] = static_cast<double>(i * i % 1013) * 0x1p20 + static_cast<double>(i % 7);
    }
    check_reduce<double>(ReduceOp::Sum, x, {1});
    check_reduce<double>(ReduceOp::Sum, x, {0, 2});
    check_reduce<double>(ReduceOp::Sum, x, {0, 1, 2});
  }
  Tensor signs(DType::Float64, {4, 50});
  for (size_t i = 0; i < signs.numel(); ++i) {
    signs.data<double>()[i] = i % 3 == 0 ? -2 : i % 3 == 1 ? 0.5 : 1;
  }
  check_reduce<double>(ReduceOp::Prod, signs, {0});
  check_reduce<double>(ReduceOp::Prod, signs, {1});
}

// A quotient, as in eager PyTorch, not a product with the reciprocal.
TEST(Reduce, MeansOfFloat64) {
  for (const size_t size : {0, 1, 3, 7, 49, 1000}) {
    Tensor x(DType::Float64, {size, 4}), y(DType::Float64, {4});
    for (size_t i = 0; i < x.numel(); ++i) {
      x.data<double>()[i] = static_cast<double>(i % 11);
      y.data<double>()[i % 4] += x.data<double>()[i];
    }
    for (size_t i = 0; i < 4; ++i) {
      y.data<double>()[i] /= static_cast<double>(size);
    }
    check_kernel(
        plain_case<Reduce>(ReduceParameters{ReduceOp::Mean, DType::Float64, x.shape(), {true}}, {x}, {y.type}), y);
  }
}

TEST(Reduce, NanOfFloat64) {
  for (const size_t size : {1, 2, 16, 17, 70}) {
    for (const ReduceOp op : {ReduceOp::Max, ReduceOp::Min}) {
      Tensor x = few<double>(DType::Float64, {size, size});
      for (size_t i = 0; i < size; i += 2) {
        x.data<double>()[i * size + i] = static_cast<double>(kNaN);
      }
      check_reduce<double>(op, x, {0});
      check_reduce<double>(op, x, {1});
    }
  }
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
