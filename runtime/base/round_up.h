// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

namespace executorch::backends::et_xnnpack {

constexpr size_t divide_up(size_t count, size_t divisor) {
  return (count + divisor - 1) / divisor;
}

// The least multiple that is not below `count`.
constexpr size_t round_up(size_t count, size_t multiple) {
  return divide_up(count, multiple) * multiple;
}

} // namespace executorch::backends::et_xnnpack
