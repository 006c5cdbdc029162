// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cmath>
#include <cstddef>

namespace executorch::backends::et_xnnpack {

// What the instruction-set variants of binary functions share.

// An operand that moves has an element for each one of the result, else one for all.
struct BinaryOperand {
  const float* data;
  bool moves;
};
using BinaryLoop =
    void (*)(const BinaryOperand& a, const BinaryOperand& b, float* y, size_t count, float low, float high);

// With the sign of b.
template <typename T>
T remainder(T a, T b) {
  const T rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// The largest integer not above a / b, without the rounding error of that quotient.
template <typename T>
T floor_div(T a, T b) {
  if (b == 0) {
    return a / b;
  }
  const T rest = std::fmod(a, b);
  T quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) {
    quotient -= 1;
  }
  if (quotient == 0) {
    return std::copysign(T(0), a / b);
  }
  const T floored = std::floor(quotient);
  return quotient - floored > T(0.5) ? floored + 1 : floored;
}

// For functions that are not vectorised.
template <float (*kFunction)(float, float)>
void scalar_loop(const BinaryOperand& a, const BinaryOperand& b, float* y, size_t count, float low, float high) {
  for (size_t i = 0; i < count; ++i) {
    const float x = kFunction(a.data[a.moves ? i : 0], b.data[b.moves ? i : 0]);
    const float raised = x < low ? low : x; // keeps NaN
    y[i] = raised > high ? high : raised;
  }
}

} // namespace executorch::backends::et_xnnpack
