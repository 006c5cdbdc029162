// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/elementwise/logic.h>

#include <cstring>

#include "row_test.h"
#include "some_numbers.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr DType kDTypes[] = {
    DType::Float32, DType::Int32, DType::Int64, DType::Int8, DType::UInt8, DType::Bool, DType::Float64};
constexpr Comparison kComparisons[] = {
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessEqual,
    Comparison::Greater,
    Comparison::GreaterEqual};

template <typename T>
bool holds(Comparison comparison, T a, T b) {
  switch (comparison) {
    case Comparison::Equal:
      return a == b;
    case Comparison::NotEqual:
      return a != b;
    case Comparison::Less:
      return a < b;
    case Comparison::LessEqual:
      return a <= b;
    case Comparison::Greater:
      return a > b;
    case Comparison::GreaterEqual:
      break;
  }
  return a >= b;
}

TEST(LogicRow, Compares) {
  for (const DType dtype : kDTypes) {
    for (const Comparison comparison : kComparisons) {
      for (const Shapes& shapes : kShapes) {
        SCOPED_TRACE(
            "comparison " + std::to_string(static_cast<int>(comparison)) + " of " +
            numbers(dtype, shapes.y, 0).type.to_string());
        const Tensor a = numbers(dtype, shapes.a, 1), b = numbers(dtype, shapes.b, 2);
        Tensor y(DType::Bool, shapes.y);
        with_type(dtype, [&](auto zero) {
          using T = decltype(zero);
          Index index(shapes.y);
          for (size_t i = 0; i < y.numel(); ++i, index.next()) {
            y.data<uint8_t>()[i] =
                holds(comparison, a.data<T>()[index.in(shapes.a)], b.data<T>()[index.in(shapes.b)]) ? 1 : 0;
          }
        });
        check_row([=] { return compare_row(comparison, dtype); }, {a, b}, y);
      }
    }
  }
}

TEST(LogicRow, Chooses) {
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
        check_row([=] { return where_row(size); }, {c, a, b}, y);
      }
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
