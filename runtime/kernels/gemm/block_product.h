// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

#include <pthreadpool.h>

namespace executorch::backends::et_xnnpack {

struct LowPrecisionProduct;

// Products with a weight of Float32 in blocks of rows and of depth that stay in the second-level cache while all panels
// of the weight meet them, in tiles of as many rows as there are registers for. For low_precision_product.h, which says
// what these do and packs the panels. Not for `packed_rows`, `write_panel` and `scale`; `backward` does not count.
// Sums begin with the bias and go on in the order of the depth, as XNNPACK's do, so each row is to the last bit what it
// is alone. Where they are faster than XNNPACK's tiles: Cpu::Blocks::of_this_process(), in runtime/ops/choice.cpp.

// The sums of shallower products are written so soon after they began that XNNPACK's tiles are as fast or faster.
constexpr size_t kMinBlockDepth = 192;

size_t block_product_scratch(const LowPrecisionProduct& product);
void multiply_in_blocks(const LowPrecisionProduct& product, void* scratch, pthreadpool_t pool);

// The same on the calling thread, all at once. The numbers of a row are in `lines` runs of as many each, which begin
// `line_stride` floats from each other; rows may overlap.
void multiply_lines(const LowPrecisionProduct& product, size_t lines, size_t line_stride);

} // namespace executorch::backends::et_xnnpack
