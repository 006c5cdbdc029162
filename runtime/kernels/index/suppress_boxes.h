// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace executorch::backends::et_xnnpack {

constexpr size_t kBoxPadding = 64; // boxes behind the last one that may be read and marked

// Boxes in the order of their scores. `dropped` is 0 for those that stay.
template <typename T>
struct Boxes {
  const T *x1, *y1, *x2, *y2, *area;
  std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>* dropped;
};

} // namespace executorch::backends::et_xnnpack
