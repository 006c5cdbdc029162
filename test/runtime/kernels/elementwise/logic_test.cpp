// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/elementwise/logic.h>
#include <runtime/kernels/common/with_type.h>

#include <algorithm>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BinaryKind;
using schema::CompareKind;

constexpr DType kDTypes[] = {DType::Float32, DType::Int32, DType::Int64, DType::Int8, DType::UInt8, DType::Bool};

struct Shapes {
  Shape a, b, y;
};
const Shapes kShapes[] = {
    {{}, {}, {}},
    {{1}, {1}, {1}},
    {{0}, {0}, {0}},
    {{7}, {7}, {7}},
    {{259}, {259}, {259}},
    {{3, 131}, {131}, {3, 131}},
    {{3, 1}, {3, 131}, {3, 131}},
    {{5, 1}, {1, 67}, {5, 67}},
    {{300, 331}, {}, {300, 331}},
};

// Small numbers, so that many are equal, and the extremes.
template <typename T>
T number(size_t i) {
  constexpr auto kMost = std::numeric_limits<T>::max(), kLeast = std::numeric_limits<T>::lowest();
  switch (i * 7919 % 13) {
    case 0:
      return kMost;
    case 1:
      return kLeast;
    case 2:
      return std::is_floating_point_v<T> ? std::numeric_limits<T>::quiet_NaN() : T(1);
    case 3:
      return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : T(2);
    default:
      return static_cast<T>(static_cast<int>(i * 31 % 7) - (std::is_signed_v<T> ? 3 : 0));
  }
}

Tensor numbers(DType dtype, const Shape& shape, size_t seed) {
  Tensor x(dtype, shape);
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < x.numel(); ++i) {
      x.data<T>()[i] = dtype == DType::Bool ? static_cast<T>((i + seed) * 31 % 7 > 3) : number<T>(i * 5 + seed);
    }
  });
  return x;
}

template <typename T>
bool holds(CompareKind kind, T a, T b) {
  switch (kind) {
    case CompareKind::Equal:
      return a == b;
    case CompareKind::NotEqual:
      return a != b;
    case CompareKind::Less:
      return a < b;
    case CompareKind::LessEqual:
      return a <= b;
    case CompareKind::Greater:
      return a > b;
    case CompareKind::GreaterEqual:
      break;
  }
  return a >= b;
}

TEST(LogicKernel, Compares) {
  for (const DType dtype : kDTypes) {
    for (const CompareKind kind : schema::EnumValuesCompareKind()) {
      for (const Shapes& shapes : kShapes) {
        SCOPED_TRACE(
            std::string(schema::EnumNameCompareKind(kind)) + " of " + numbers(dtype, shapes.y, 0).type.to_string());
        const Tensor a = numbers(dtype, shapes.a, 1), b = numbers(dtype, shapes.b, 2);
        Tensor y(DType::Bool, shapes.y);
        with_type(dtype, [&](auto zero) {
          using T = decltype(zero);
          Index index(shapes.y);
          for (size_t i = 0; i < y.numel(); ++i, index.next()) {
            y.data<uint8_t>()[i] =
                holds(kind, a.data<T>()[index.in(shapes.a)], b.data<T>()[index.in(shapes.b)]) ? 1 : 0;
          }
        });
        check_kernel(
            {make_compare,
             schema::Attributes::Compare,
             [=](auto& builder) { return schema::CreateCompare(builder, kind).Union(); },
             {a, b},
             y.type},
            y);
      }
    }
  }
}

TEST(LogicKernel, Chooses) {
  for (const DType dtype : {DType::Float32, DType::Int64, DType::BFloat16, DType::Bool}) {
    for (const Shapes& shapes : kShapes) {
      for (const Shape& condition_shape : {shapes.y, shapes.a, Shape{}}) {
        const Tensor a = iota(dtype, shapes.a), b = iota(dtype, shapes.b);
        Tensor c = numbers(DType::Bool, condition_shape, 3);
        Tensor y(dtype, shapes.y);
        SCOPED_TRACE(c.type.to_string() + " for " + y.type.to_string());
        const size_t size = element_size(dtype);
        Index index(shapes.y);
        for (size_t i = 0; i < y.numel(); ++i, index.next()) {
          const bool first = c.data<uint8_t>()[index.in(condition_shape)] != 0;
          const uint8_t* const from = first ? &a.bytes[index.in(shapes.a) * size] : &b.bytes[index.in(shapes.b) * size];
          std::memcpy(&y.bytes[i * size], from, size);
        }
        check_kernel(
            {make_where,
             schema::Attributes::Where,
             [](auto& builder) { return schema::CreateWhere(builder).Union(); },
             {c, a, b},
             y.type},
            y);
      }
    }
  }
}

template <typename T>
T result(BinaryKind kind, T a, T b) {
  const auto p = static_cast<uint64_t>(a), q = static_cast<uint64_t>(b);
  const auto floored = [&] {
    const T quotient = static_cast<T>(a / b);
    return static_cast<T>(quotient - (static_cast<T>(quotient * b) != a && (a < 0) != (b < 0) ? 1 : 0));
  };
  switch (kind) {
    case BinaryKind::Add:
      return static_cast<T>(p + q);
    case BinaryKind::Sub:
      return static_cast<T>(p - q);
    case BinaryKind::Mul:
      return static_cast<T>(p * q);
    case BinaryKind::Maximum:
      return std::max(a, b);
    case BinaryKind::Minimum:
      return std::min(a, b);
    case BinaryKind::BitAnd:
      return static_cast<T>(a & b);
    case BinaryKind::BitOr:
      return static_cast<T>(a | b);
    case BinaryKind::BitXor:
      return static_cast<T>(a ^ b);
    case BinaryKind::FloorDiv:
      return floored();
    case BinaryKind::Remainder:
      return static_cast<T>(p - static_cast<uint64_t>(floored()) * q);
    default:
      return static_cast<T>(a % b);
  }
}

constexpr BinaryKind kIntegerKinds[] = {
    BinaryKind::Add,
    BinaryKind::Sub,
    BinaryKind::Mul,
    BinaryKind::Maximum,
    BinaryKind::Minimum,
    BinaryKind::BitAnd,
    BinaryKind::BitOr,
    BinaryKind::BitXor,
    BinaryKind::FloorDiv,
    BinaryKind::Remainder,
    BinaryKind::Fmod};

TEST(LogicKernel, ComputesWithIntegers) {
  for (const DType dtype : {DType::Int32, DType::Int64, DType::Int8, DType::UInt8}) {
    for (const BinaryKind kind : kIntegerKinds) {
      const bool divides = kind == BinaryKind::FloorDiv || kind == BinaryKind::Remainder || kind == BinaryKind::Fmod;
      for (const Shapes& shapes : kShapes) {
        SCOPED_TRACE(
            std::string(schema::EnumNameBinaryKind(kind)) + " of " + numbers(dtype, shapes.y, 0).type.to_string());
        Tensor a = numbers(dtype, shapes.a, 1), b = numbers(dtype, shapes.b, 2), y(dtype, shapes.y);
        with_type(dtype, [&](auto zero) {
          using T = decltype(zero);
          if constexpr (std::is_integral_v<T>) {
            for (size_t i = 0; divides && i < b.numel(); ++i) {
              T& divisor = b.data<T>()[i];
              divisor = divisor == 0 || divisor == T(-1) ? T(3) : divisor;
            }
            Index index(shapes.y);
            for (size_t i = 0; i < y.numel(); ++i, index.next()) {
              y.data<T>()[i] = result<T>(kind, a.data<T>()[index.in(shapes.a)], b.data<T>()[index.in(shapes.b)]);
            }
          }
        });
        check_kernel(
            {make_integer_binary,
             schema::Attributes::Binary,
             [=](auto& builder) { return schema::CreateBinary(builder, kind).Union(); },
             {a, b},
             y.type},
            y);
      }
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
