// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

#include "rounded_affine.h"

namespace executorch::backends::et_xnnpack {

// A RoundedAffine of `count` numbers, a multiple of kBFloat16AffineStep, each with a scale and a shift of its own.
// Returns whether that is what y holds: where there is a denormal number among those that are rounded some of it may be
// wrong (round_to_bfloat16()).
using BFloat16Affine =
    bool (*)(const float* x, const float* scale, const float* shift, void* y, size_t count, float min, float max);
constexpr size_t kBFloat16AffineStep = 32;

// By instructions of the CPU's; null if there are none.
BFloat16Affine bfloat16_affine(RoundedAffine::Result result);

} // namespace executorch::backends::et_xnnpack
