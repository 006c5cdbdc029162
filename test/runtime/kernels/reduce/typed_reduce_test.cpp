// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/reduce/typed_reduce.h>

#include <algorithm>
#include <limits>
#include <random>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::ArgReduceKind;
using schema::ReduceKind;

// Few different numbers, so that there are ties; the ends of the type among them.
template <typename T>
Tensor few(DType dtype, const Shape& shape) {
  Tensor x(dtype, shape);
  std::minstd_rand random(static_cast<unsigned>(x.numel()));
  for (size_t i = 0; i < x.numel(); ++i) {
    const unsigned k = random() % 1000;
    x.data<T>()[i] = k == 0 ? std::numeric_limits<T>::max()
        : k == 1            ? std::numeric_limits<T>::lowest()
                            : static_cast<T>(k % 23);
  }
  return x;
}

template <typename T>
T join(ReduceKind kind, T a, T b) {
  switch (kind) {
    case ReduceKind::Max:
      return a != a || a > b ? a : b;
    case ReduceKind::Min:
      return a != a || a < b ? a : b;
    case ReduceKind::Prod:
      if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      } else {
        return a * b;
      }
    case ReduceKind::Any:
      return static_cast<T>(a != 0 || b != 0);
    case ReduceKind::All:
      return static_cast<T>(a != 0 && b != 0);
    default:
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
}

template <typename T>
T nothing(ReduceKind kind) {
  using Limits = std::numeric_limits<T>;
  switch (kind) {
    case ReduceKind::Max:
      return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case ReduceKind::Min:
      return Limits::has_infinity ? Limits::infinity() : Limits::max();
    default:
      return kind == ReduceKind::Prod || kind == ReduceKind::All;
  }
}

template <typename T>
void check_reduce(ReduceKind kind, const Tensor& x, const std::vector<uint8_t>& axes, Tolerance tolerance = {}) {
  SCOPED_TRACE(
      std::string(EnumNameReduceKind(kind)) + " " + x.type.to_string() + " over " + ::testing::PrintToString(axes));
  Shape kept = x.shape();
  for (const uint8_t axis : axes) {
    kept[axis] = 1;
  }
  Tensor y(x.type.dtype, kept);
  std::fill_n(y.data<T>(), y.numel(), nothing<T>(kind));
  Index at(x.shape());
  for (size_t i = 0; i < x.numel(); ++i, at.next()) {
    T& to = y.data<T>()[at.in(kept)];
    to = join(kind, to, x.data<T>()[i]);
  }
  check_kernel(
      {make_typed_reduce,
       schema::Attributes::Reduce,
       [&](auto& builder) { return schema::CreateReduceDirect(builder, kind, &axes, true).Union(); },
       {x},
       y.type},
      y,
      tolerance);
}

template <typename T>
void check_numbers(DType dtype) {
  for (const ReduceKind kind : {ReduceKind::Max, ReduceKind::Min, ReduceKind::Prod, ReduceKind::Sum}) {
    if (dtype == DType::Float32 && (kind == ReduceKind::Prod || kind == ReduceKind::Sum)) {
      continue; // rounds
    }
    for (const size_t size : {0, 1, 3, 15, 16, 17, 63, 64, 65, 255, 257, 2500}) {
      check_reduce<T>(kind, few<T>(dtype, {3, size}), {1});
      check_reduce<T>(kind, few<T>(dtype, {5, size}), {0});
      check_reduce<T>(kind, few<T>(dtype, {2, size, 3}), {1});
    }
    check_reduce<T>(kind, few<T>(dtype, {300, 129}), {0});
    check_reduce<T>(kind, few<T>(dtype, {300, 129}), {0, 1});
  }
}

TEST(TypedReduceKernel, Floats) {
  check_numbers<float>(DType::Float32);
}

TEST(TypedReduceKernel, Integers) {
  check_numbers<int32_t>(DType::Int32);
  check_numbers<int64_t>(DType::Int64);
  check_numbers<int8_t>(DType::Int8);
  check_numbers<uint8_t>(DType::UInt8);
}

TEST(TypedReduceKernel, EverySubsetOfAxes) {
  const Tensor x = few<float>(DType::Float32, {3, 4, 1, 5, 7});
  for (unsigned set = 1; set < 32; ++set) {
    std::vector<uint8_t> axes;
    for (uint8_t axis = 0; axis < 5; ++axis) {
      if ((set >> axis & 1) != 0) {
        axes.push_back(axis);
      }
    }
    check_reduce<float>(ReduceKind::Max, x, axes);
    check_reduce<float>(ReduceKind::Min, x, axes);
  }
}

TEST(TypedReduceKernel, Products) {
  for (const size_t size : {0, 1, 15, 17, 64, 65, 200}) {
    check_reduce<float>(ReduceKind::Prod, random_floats({3, size}, 0.8f, 1.2f), {1}, {0, 1e-4f});
    check_reduce<float>(ReduceKind::Prod, random_floats({size, 131}, 0.8f, 1.2f), {0}, {0, 1e-4f});
  }
}

TEST(TypedReduceKernel, Booleans) {
  for (const size_t size : {0, 1, 5, 16, 17, 64, 65, 129, 300, 1000}) {
    for (const unsigned part : {0, 1, 999, 1000}) { // of 1000 are true
      for (const uint8_t axis : {0, 1}) {
        Tensor x(DType::Bool, axis == 0 ? Shape{size, 70} : Shape{7, size});
        std::minstd_rand random(part + 1);
        std::generate(x.bytes.begin(), x.bytes.end(), [&] { return random() % 1000 < part; });
        check_reduce<uint8_t>(ReduceKind::Any, x, {axis});
        check_reduce<uint8_t>(ReduceKind::All, x, {axis});
      }
    }
  }
}

// A number that is special in every place of a row, and of a column.
template <typename Check>
void in_every_place(float special, const Check& check) {
  for (const size_t size : {1, 2, 7, 16, 33, 66, 130}) {
    Tensor rows = random_floats({size, size});
    for (size_t i = 0; i < size; ++i) {
      rows.data<float>()[i * size + i] = special;
    }
    check(rows);
  }
}

TEST(TypedReduceKernel, SpecialValues) {
  for (const float special : {kNaN, kInfinity, -kInfinity}) {
    in_every_place(special, [](const Tensor& x) {
      for (const uint8_t axis : {0, 1}) {
        check_reduce<float>(ReduceKind::Max, x, {axis});
        check_reduce<float>(ReduceKind::Min, x, {axis});
        check_reduce<float>(ReduceKind::Prod, x, {axis}, {1e-6f, 1e-4f});
      }
    });
  }
  for (const float all : {kNaN, kInfinity, -kInfinity}) {
    check_reduce<float>(ReduceKind::Max, repeated({3, 100}, {all}), {1});
    check_reduce<float>(ReduceKind::Min, repeated({3, 100}, {all}), {0});
  }
}

template <typename T>
void check_arg_reduce(const Tensor& x, uint8_t axis) {
  for (const ArgReduceKind kind : {ArgReduceKind::Max, ArgReduceKind::Min}) {
    SCOPED_TRACE(
        std::string(EnumNameArgReduceKind(kind)) + " " + x.type.to_string() + " along " + std::to_string(axis));
    Shape shape;
    for (size_t i = 0; i < x.shape().rank; ++i) {
      if (i != axis) {
        shape.append(x.shape()[i]);
      }
    }
    const size_t size = x.shape()[axis];
    const size_t inner = x.shape().numel(axis + 1u, x.shape().rank);
    Tensor y(DType::Int64, shape);
    for (size_t i = 0; i < y.numel(); ++i) {
      const T* const from = x.data<T>() + i / inner * size * inner + i % inner;
      size_t best = 0;
      for (size_t k = 1; k < size; ++k) {
        const T value = from[best * inner], next = from[k * inner];
        if (value == value && (next != next || (kind == ArgReduceKind::Max ? next > value : next < value))) {
          best = k;
        }
      }
      y.data<int64_t>()[i] = static_cast<int64_t>(best);
    }
    check_kernel(
        {make_arg_reduce,
         schema::Attributes::ArgReduce,
         [=](auto& builder) { return schema::CreateArgReduce(builder, kind, axis).Union(); },
         {x},
         y.type},
        y);
  }
}

template <typename T>
void check_arg_reduces(DType dtype) {
  for (const size_t size : {1, 2, 15, 16, 17, 64, 65, 300, 2047, 2048, 2049, 5000}) {
    check_arg_reduce<T>(few<T>(dtype, {3, size}), 1);
    check_arg_reduce<T>(few<T>(dtype, {7, size}), 0);
    check_arg_reduce<T>(few<T>(dtype, {2, size, 3}), 1);
  }
  check_arg_reduce<T>(few<T>(dtype, {300, 131}), 0);
  check_arg_reduce<T>(few<T>(dtype, {0, 5}), 1);
}

TEST(ArgReduceKernel, Floats) {
  check_arg_reduces<float>(DType::Float32);
  check_arg_reduce<float>(random_floats({5, 9000}), 1);
  check_arg_reduce<float>(random_floats({9000, 5}), 0);
}

TEST(ArgReduceKernel, Integers) {
  check_arg_reduces<int32_t>(DType::Int32);
  check_arg_reduces<int64_t>(DType::Int64);
  check_arg_reduces<int8_t>(DType::Int8);
  check_arg_reduces<uint8_t>(DType::UInt8);
}

TEST(ArgReduceKernel, SpecialValues) {
  for (const float special : {kNaN, kInfinity, -kInfinity}) {
    in_every_place(special, [](const Tensor& x) {
      check_arg_reduce<float>(x, 0);
      check_arg_reduce<float>(x, 1);
    });
  }
  Tensor x = random_floats({3, 5000});
  for (const size_t place : {2500, 4999, 5000 + 4999, 5000 + 2049, 10000}) {
    x.data<float>()[place] = kNaN;
  }
  check_arg_reduce<float>(x, 1);
  check_arg_reduce<float>(repeated({3, 100}, {-kInfinity}), 1);
  check_arg_reduce<float>(repeated({3, 100}, {kInfinity}), 0);
  check_arg_reduce<float>(repeated({3, 99}, {0.f, -0.f}), 1);
  check_arg_reduce<float>(repeated({99, 3}, {0.f, -0.f}), 0);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
