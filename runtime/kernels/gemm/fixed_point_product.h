// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

#include <pthreadpool.h>

#include "panel_product.h"

namespace executorch::backends::et_xnnpack {

// Products by instructions that multiply bytes: rows are converted to fixed point, and weights are multiplied by each
// of their digits. Sums are exact within a block, so that errors are mostly smaller than those of sums of floats.

// Whether kernels made now have these instructions, and products of floats are slower: of more than `few` rows they are
// faster on CPUs of Intel with AVX-512.
bool fixed_point_pays(size_t rows, size_t few);

// Bytes of scratch memory that multiply_fixed_point() needs for these sizes.
size_t fixed_point_product_scratch(const PanelProduct& product);

// False, with nothing done, if rows of x have numbers that fixed point does not hold well enough: its own are then to
// be multiplied. `scratch` is 64-byte aligned. REQUIRES: has_byte_dot()
bool multiply_fixed_point(const PanelProduct& product, void* scratch, pthreadpool_t pool);

} // namespace executorch::backends::et_xnnpack
