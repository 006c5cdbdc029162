// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/elementwise/binary.h>

#include <algorithm>

#include "row_test.h"
#include "some_numbers.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

template <typename T>
T result(BinaryFunction function, T a, T b) {
  const auto p = static_cast<uint64_t>(a), q = static_cast<uint64_t>(b);
  const auto floored = [&] {
    const T quotient = static_cast<T>(a / b);
    return static_cast<T>(quotient - (static_cast<T>(quotient * b) != a && (a < 0) != (b < 0) ? 1 : 0));
  };
  switch (function) {
    case BinaryFunction::Add:
      return static_cast<T>(p + q);
    case BinaryFunction::Sub:
      return static_cast<T>(p - q);
    case BinaryFunction::Mul:
      return static_cast<T>(p * q);
    case BinaryFunction::Maximum:
      return std::max(a, b);
    case BinaryFunction::Minimum:
      return std::min(a, b);
    case BinaryFunction::BitAnd:
      return static_cast<T>(a & b);
    case BinaryFunction::BitOr:
      return static_cast<T>(a | b);
    case BinaryFunction::BitXor:
      return static_cast<T>(a ^ b);
    case BinaryFunction::FloorDiv:
      return floored();
    case BinaryFunction::Remainder:
      return static_cast<T>(p - static_cast<uint64_t>(floored()) * q);
    default:
      return static_cast<T>(a % b);
  }
}

constexpr BinaryFunction kFunctions[] = {
    BinaryFunction::Add,
    BinaryFunction::Sub,
    BinaryFunction::Mul,
    BinaryFunction::Maximum,
    BinaryFunction::Minimum,
    BinaryFunction::BitAnd,
    BinaryFunction::BitOr,
    BinaryFunction::BitXor,
    BinaryFunction::FloorDiv,
    BinaryFunction::Remainder,
    BinaryFunction::Fmod};

TEST(IntegerRow, EveryFunction) {
  for (const DType dtype : {DType::Int32, DType::Int64, DType::Int8, DType::UInt8}) {
    for (const BinaryFunction function : kFunctions) {
      const bool divides = function == BinaryFunction::FloorDiv || function == BinaryFunction::Remainder ||
          function == BinaryFunction::Fmod;
      for (const Shapes& shapes : kShapes) {
        SCOPED_TRACE(
            "function " + std::to_string(static_cast<int>(function)) + " of " +
            numbers(dtype, shapes.y, 0).type.to_string());
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
              y.data<T>()[i] = result<T>(function, a.data<T>()[index.in(shapes.a)], b.data<T>()[index.in(shapes.b)]);
            }
          }
        });
        check_row([=] { return integer_row(function, dtype); }, {a, b}, y);
      }
    }
  }
}

TEST(IntegerRow, DivisionsByZeroFail) {
  for (const DType dtype : {DType::Int32, DType::Int64, DType::Int8, DType::UInt8}) {
    for (const BinaryFunction function : {BinaryFunction::FloorDiv, BinaryFunction::Remainder, BinaryFunction::Fmod}) {
      const std::unique_ptr<Row> row = integer_row(function, dtype);
      const Tensor a = iota(dtype, {100});
      Tensor b(dtype, {100}), y(dtype, {100});
      const RowOperand operands[] = {{a.bytes.data(), true}, {b.bytes.data(), true}};
      row->run(operands, y.bytes.data(), 99);
      EXPECT_STREQ(row->take_failure(), "an integer is divided by zero");
      EXPECT_EQ(row->take_failure(), nullptr) << "what has been said is said";
      std::fill(b.bytes.begin(), b.bytes.end(), uint8_t{1});
      row->run(operands, y.bytes.data(), 100);
      EXPECT_EQ(row->take_failure(), nullptr);
    }
  }
}

TEST(IntegerRow, IsOfIntegersOnly) {
  EXPECT_EQ(integer_row(BinaryFunction::Add, DType::Float32), nullptr);
  EXPECT_EQ(integer_row(BinaryFunction::Add, DType::BFloat16), nullptr);
  EXPECT_EQ(integer_row(BinaryFunction::Fmod, DType::Float16), nullptr);
  EXPECT_EQ(integer_row(BinaryFunction::Div, DType::Int64), nullptr);
  EXPECT_EQ(integer_row(BinaryFunction::Pow, DType::Int32), nullptr);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
