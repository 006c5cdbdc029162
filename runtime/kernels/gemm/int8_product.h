// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <pthreadpool.h>

namespace executorch::backends::et_xnnpack {

struct LowPrecisionProduct;

// Products of rows in fixed point with a weight of Int8. For low_precision_product.h, which says what these do.
// REQUIRES, of all of them: has_byte_dot()

std::string int8_layout();
size_t int8_panels_bytes(size_t columns, size_t depth);
void pack_int8(const int8_t* weight, size_t columns, size_t depth, void* panels);
size_t int8_product_scratch(const LowPrecisionProduct& product, size_t num_threads);
void multiply_int8(const LowPrecisionProduct& product, void* scratch, pthreadpool_t pool);

} // namespace executorch::backends::et_xnnpack
