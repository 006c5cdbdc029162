// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

namespace executorch::backends::et_xnnpack {

// What the instruction-set variants of elementwise share.
struct UnaryParameters {
  float alpha = 1, low = 0, high = 0;
};
using UnaryRow = void (*)(const float* x, float* y, size_t count, const UnaryParameters& parameters);

// An operand that moves has an element for each one of the row, else one for all.
struct BinaryOperand {
  const float* data;
  bool moves;
};
using BinaryRow = void (*)(
    const BinaryOperand& a, const BinaryOperand& b, float* y, size_t count, float low, float high);

// For functions that are not vectorised.
template <float (*kFunction)(float, float)>
void scalar_row(const BinaryOperand& a, const BinaryOperand& b, float* y, size_t count, float low, float high) {
  for (size_t i = 0; i < count; ++i) {
    const float x = kFunction(a.data[a.moves ? i : 0], b.data[b.moves ? i : 0]);
    const float raised = x < low ? low : x; // keeps NaN
    y[i] = raised > high ? high : raised;
  }
}

} // namespace executorch::backends::et_xnnpack
