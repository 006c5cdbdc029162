// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace executorch::backends::et_xnnpack {

// y[i] = x[i] for `count` elements of a 16-bit float type. REQUIRES: is_reduced_float(from)
void widen(DType from, const void* x, float* y, size_t count);

// y[i] = x[i] rounded to the nearest number of a 16-bit float type, of two the even one.
// REQUIRES: is_reduced_float(to)
void narrow(DType to, const float* x, void* y, size_t count);

} // namespace executorch::backends::et_xnnpack
