// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

#include "unary.h"

namespace executorch::backends::et_xnnpack {

// What the instruction-set variants of unary functions share.
using UnaryLoop = void (*)(const float* x, float* y, size_t count, const UnaryParameters& parameters);

// For functions that are not vectorised.
template <float (*kFunction)(float)>
void scalar_loop(const float* x, float* y, size_t count, const UnaryParameters&) {
  for (size_t i = 0; i < count; ++i) {
    y[i] = kFunction(x[i]);
  }
}

} // namespace executorch::backends::et_xnnpack
