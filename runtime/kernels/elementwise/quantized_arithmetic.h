// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "quantized_bytes.h"
#include "row.h"

namespace executorch::backends::et_xnnpack {

// Sums of two operands of Int8, or differences, in vectors: numbers are Float32 in registers only.
std::unique_ptr<Row> quantized_sum_row(
    const ByteQuantization& a, const ByteQuantization& b, const ByteQuantization& y, bool subtracts);
// Likewise products.
std::unique_ptr<Row> quantized_product_row(
    const ByteQuantization& a, const ByteQuantization& b, const ByteQuantization& y);

// Whether these were measured to be faster than XNNPACK's operators on CPUs like this one: with AVX-512.
bool has_fast_quantized_arithmetic();

} // namespace executorch::backends::et_xnnpack
