// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "special.h"

#include <cstdint>
#include <cstring>

namespace executorch::backends::et_xnnpack {

bool has_special(const float* x, size_t count) {
  constexpr uint32_t kExponent = 0x7F800000;
  uint32_t found = 0;
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, x + i, sizeof(bits));
    found |= (bits & kExponent) == kExponent ? 1 : 0;
  }
  return found != 0;
}

} // namespace executorch::backends::et_xnnpack
