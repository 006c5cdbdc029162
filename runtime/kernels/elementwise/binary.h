// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "runtime/base/dtype.h"
#include "row.h"

namespace executorch::backends::et_xnnpack {

// Functions of two numbers of one type. FloorDiv and Remainder round towards minus infinity, Fmod towards zero.
// clang-format off
#define ETX_BINARY_FUNCTIONS(X) \
  X(Add) X(Sub) X(Mul) X(Div) X(Maximum) X(Minimum) X(Pow) X(Prelu) X(SquaredDifference) X(Atan2) \
  X(Copysign) X(FloorDiv) X(Remainder) X(Fmod) X(BitAnd) X(BitOr) X(BitXor)
// clang-format on

enum class BinaryFunction : uint8_t {
#define ETX_MEMBER(name) name,
  ETX_BINARY_FUNCTIONS(ETX_MEMBER)
#undef ETX_MEMBER
};

struct BinaryParameters {
  BinaryFunction function = BinaryFunction::Add;
  // Results are limited to these.
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
};

// Float32 and Float32 to Float32, with the instructions of this CPU. REQUIRES: no function of bits
std::unique_ptr<Row> binary_row(const BinaryParameters& parameters);

// The same for integers of `dtype`; Bool counts as UInt8. Sums and products wrap. A division by zero fails.
// Null if there is no such function of integers, or `dtype` is a float.
std::unique_ptr<Row> integer_row(BinaryFunction function, DType dtype);

} // namespace executorch::backends::et_xnnpack
