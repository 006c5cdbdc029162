// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

namespace executorch::backends::et_xnnpack {

// The weight of an element at distance 0 <= x < 2 in cubic interpolation, for a = -0.75.
inline float cubic(float x) {
  constexpr float kA = -0.75f;
  return x <= 1 ? ((kA + 2) * x - (kA + 3)) * x * x + 1 : ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA;
}

} // namespace executorch::backends::et_xnnpack
