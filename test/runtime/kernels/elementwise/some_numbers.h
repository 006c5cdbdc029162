// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <runtime/kernels/common/with_type.h>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {

// Of two operands and their result.
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

inline Tensor numbers(DType dtype, const Shape& shape, size_t seed) {
  Tensor x(dtype, shape);
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < x.numel(); ++i) {
      x.data<T>()[i] = dtype == DType::Bool ? static_cast<T>((i + seed) * 31 % 7 > 3) : number<T>(i * 5 + seed);
    }
  });
  return x;
}

} // namespace executorch::backends::et_xnnpack::testing
