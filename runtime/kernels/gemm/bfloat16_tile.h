// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/span.h>

#include "runtime/base/round_up.h"

namespace executorch::backends::et_xnnpack {

using executorch::runtime::Span;

// Panels of columns of a matrix of bfloat16. They have kBFloat16Columns columns, but the last one has half of them if that
// is enough, and are zero where the matrix has ended. A panel has for every two rows of the matrix both numbers of each
// column, one beside the other.
constexpr size_t kBFloat16Columns = 32;

inline size_t bfloat16_panel_width(size_t columns) {
  return columns > kBFloat16Columns / 2 ? kBFloat16Columns : kBFloat16Columns / 2;
}

// Rows of x are multiplied in groups of so many.
constexpr size_t kBFloat16Rows = 16;

// Rows of bfloat16, in one or two groups.
struct BFloat16Rows {
  const uint16_t* groups[2]; // the first row of each; all kBFloat16Rows of them must be readable
  size_t count;
  size_t stride; // numbers from one row to the next
  // What a row has in the depth of the product: runs of `run` numbers that begin so far behind the row.
  Span<const size_t> taps;
  size_t run;
};

// A product of rows with a panel, by instructions of the CPU that sum up in float32. They take denormal numbers for zero.
struct BFloat16Tile {
  size_t depth_multiple; // runs are padded with zeros to a multiple of this
  // Between these two a thread multiplies.
  void (*begin)();
  void (*end)();
  // sums[(g * kBFloat16Rows + r) * kBFloat16Columns + j] = sum over k of row r of group g [k] * panel[k][j], for each column of
  // a panel of `width`.
  void (*multiply)(const BFloat16Rows& x, const uint16_t* panel, size_t width, float* sums);
};

// What kernels made now use; null if the CPU has no such instructions (isa.h).
const BFloat16Tile* bfloat16_tile();

} // namespace executorch::backends::et_xnnpack
