// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <string>

#include <pthreadpool.h>

namespace executorch::backends::et_xnnpack {

struct LowPrecisionProduct;

// Products of rows that are rounded to bfloat16 with a weight of bfloat16, by what bfloat16_tile() has. For
// low_precision_product.h, which says what these do; bfloat16_panels.h packs.
// REQUIRES, of all of them: has_bfloat16_product()

bool has_bfloat16_product();

std::string bfloat16_layout();
size_t bfloat16_product_scratch(const LowPrecisionProduct& product);
void multiply_bfloat16(const LowPrecisionProduct& product, void* scratch, pthreadpool_t pool);

} // namespace executorch::backends::et_xnnpack
