// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <executorch/runtime/core/span.h>

#include "runtime/base/round_up.h"

namespace executorch::backends::et_xnnpack {

using executorch::runtime::Span;

// Panels of columns of a matrix of bfloat16. They have kBFloat16Columns columns, but the last one has half of them if
// that is enough, and are zero where the matrix has ended. A panel has for every two rows of the matrix both numbers of
// each column, one beside the other.
constexpr size_t kBFloat16Columns = 32;

inline size_t bfloat16_panel_width(size_t columns) {
  return columns > kBFloat16Columns / 2 ? kBFloat16Columns : kBFloat16Columns / 2;
}

// So many rows of x are multiplied at a time, in groups of BFloat16Tile::group_rows.
constexpr size_t kBFloat16Rows = 32;

// Rows of bfloat16, in groups of rows that lie equally far apart.
struct BFloat16Rows {
  static constexpr size_t kMaxGroups = 4;

  std::array<const uint16_t*, kMaxGroups> groups; // the first row of each
  std::array<size_t, kMaxGroups> counts; // the rows of each; 0 behind the last one
  size_t stride; // numbers from one row of a group to the next
  // What a row has in the depth of the product: runs of `run` numbers that begin so far behind the row.
  Span<const size_t> taps;
  size_t run;

  void set_group(size_t group, const uint16_t* first, size_t count) {
    groups[group] = first;
    counts[group] = count;
  }
};

// Where a product goes: y[offsets[r] + j] = clamp(sum of row r and column j + bias[j]).
struct BFloat16Output {
  float* y = nullptr;
  size_t columns = 0;
  const float* bias = nullptr; // may be null
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();
};
constexpr size_t kNoRow = std::numeric_limits<size_t>::max(); // the offset of a row that goes nowhere
using BFloat16Offsets = std::array<size_t, kBFloat16Rows>;

// A product of rows with a panel, by instructions of the CPU that sum up in float32. They take denormal numbers for
// zero.
struct BFloat16Tile {
  size_t depth_multiple; // panels have runs that are padded with zeros to a multiple of this
  size_t run_multiple; // of numbers in a run of x
  size_t group_rows; // at most
  bool whole_groups; // as many rows of a group are read and take time, whatever its count
  size_t speed; // how many times as many products as vectors of float32 have in the same time
  // Between these two a thread multiplies.
  void (*begin)();
  void (*end)();
  // sums[(g * group_rows + r) * stride + j] = sum over k of row r of group g [k] * panel[k][j], for each column of a
  // panel of `width`. May write anything to the other columns of kBFloat16Columns.
  void (*multiply)(const BFloat16Rows& x, const uint16_t* panel, size_t width, float* sums, size_t stride);
  // The same for the output's columns from `column` on, without memory for sums; null if there is no such way. Row r of
  // group g has number g * group_rows + r of the offsets.
  void (*multiply_into)(
      const BFloat16Output& output, const size_t* offsets, size_t column, const BFloat16Rows& x, const uint16_t* panel);

  size_t groups() const { // that are multiplied at a time
    return kBFloat16Rows / group_rows;
  }
  // Rows of `sums` up to the last one of x.
  size_t rows(const BFloat16Rows& x) const {
    size_t last = groups() - 1;
    for (; last > 0 && x.counts[last] == 0; --last) {
    }
    return last * group_rows + x.counts[last];
  }
  size_t padded(size_t run) const { // in a panel
    return round_up(run, depth_multiple);
  }
  // Rows of a panel for a row of x.
  size_t depth(const BFloat16Rows& x) const {
    return x.taps.size() * padded(x.run);
  }
  // Makes groups of `count` rows, no more than kBFloat16Rows, that lie x->stride apart.
  void set_rows(const uint16_t* first, size_t count, BFloat16Rows* x) const {
    for (size_t r = 0; r < kBFloat16Rows; r += group_rows) {
      x->set_group(r / group_rows, first + r * x->stride, std::min(group_rows, count - std::min(count, r)));
    }
  }
};

// What kernels made now use; null if the CPU has no such instructions (isa.h).
const BFloat16Tile* bfloat16_tile();

} // namespace executorch::backends::et_xnnpack
