// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch::backends::et_xnnpack {

// y[i] = x[i] rounded to the nearest bfloat16, of two the even one, by an instruction of the CPU's. Returns whether
// that is so: on x86 denormal numbers count as zero, and where there is one among x some of y may be wrong.
// REQUIRES: bfloat16_isa() is not None
bool round_to_bfloat16(const float* x, uint16_t* y, size_t count);

} // namespace executorch::backends::et_xnnpack
