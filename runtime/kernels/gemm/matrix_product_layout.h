// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <algorithm>

#include "matrix_product.h"
#include "runtime/base/round_up.h"

namespace executorch::backends::et_xnnpack {

// A block of c is summed up from products of kDepth.
constexpr size_t kBlockRows = 120, kBlockColumns = 128, kDepth = 256;
// Of b where it is not packed: rows of a at most, and the columns of one piece of work.
constexpr size_t kMaxUnpackedRows = 16, kUnpackedColumns = 64;

// Parts of one thread's scratch memory, in floats, the same for every instruction set. First
// the packed rows of a.
struct MatrixProductLayout {
  explicit MatrixProductLayout(const MatrixProduct& p) {
    constexpr size_t kSlack = 16; // what packing may write too much
    constexpr size_t kPanel = 24, kTiles = 32; // multiples of every register tile
    const size_t rows = std::min(kBlockRows, round_up(p.rows, kPanel));
    const size_t columns = std::min(kBlockColumns, round_up(p.columns, kTiles));
    const size_t depth = std::min(kDepth, p.depth);
    packed_b = round_up(rows * depth + kSlack, 16);
    sums = packed_b + round_up(columns * depth + kSlack, 16);
    end = sums + rows * kBlockColumns;
  }
  size_t packed_b, sums, end;
};

} // namespace executorch::backends::et_xnnpack
