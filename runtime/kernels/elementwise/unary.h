// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>
#include <memory>

#include "row.h"

namespace executorch::backends::et_xnnpack {

// Every function of one Float32 that a row computes, by the names of the blob's vocabulary, which says what they
// mean: those for vectors, and those that compute one number at a time.
// clang-format off
#define ETX_VECTOR_FUNCTIONS(X) \
  X(Abs) X(Ceil) X(Clamp) X(Cos) X(Elu) X(Exp) X(Floor) X(Gelu) X(GeluTanh) X(HardSigmoid) X(HardSwish) \
  X(LeakyRelu) X(Log) X(Neg) X(Reciprocal) X(Round) X(Rsqrt) X(Sigmoid) X(Sign) X(Silu) X(Sin) X(Sqrt) \
  X(Square) X(Tanh) X(Acos) X(Acosh) X(Asin) X(Asinh) X(Atan) X(Atanh) X(Cosh) X(Erf) X(Exp2) X(Expm1) \
  X(Log10) X(Log1p) X(Log2) X(Sinh) X(Trunc)
// clang-format on
#define ETX_UNARY_FUNCTIONS(X) ETX_VECTOR_FUNCTIONS(X) X(Tan)

enum class UnaryFunction : uint8_t {
#define ETX_MEMBER(name) name,
  ETX_UNARY_FUNCTIONS(ETX_MEMBER)
#undef ETX_MEMBER
};

struct UnaryParameters {
  UnaryFunction function = UnaryFunction::Abs;
  float alpha = 1; // Elu: scale of the negative part; LeakyRelu: negative slope
  float low = 0, high = 0; // Clamp
};

// Float32 to Float32, with the instructions of this CPU. Its operand moves.
std::unique_ptr<Row> unary_row(const UnaryParameters& parameters);

} // namespace executorch::backends::et_xnnpack
