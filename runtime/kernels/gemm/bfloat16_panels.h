// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <pthreadpool.h>

#include "bfloat16_tile.h"
#include "runtime/base/round_up.h"
#include "runtime/kernels/common/parallel.h"
#include "runtime/kernels/common/tail.h"

namespace executorch::backends::et_xnnpack {

// Numbers from one rounded row to the next: an odd number of cache lines, so that the rows of a tile do not compete for
// the same places of a cache.
inline size_t bfloat16_row_stride(size_t depth) {
  constexpr size_t kLine = 64 / sizeof(uint16_t);
  return depth < 8 * kLine ? depth : (round_up(depth, kLine) / kLine | 1) * kLine;
}

// Bytes of a matrix of this depth in panels. The depth is a multiple of bfloat16_tile()->depth_multiple.
size_t bfloat16_panels_bytes(size_t columns, size_t depth);

// Writes panels of a BFloat16 matrix with `stride` numbers from one column to the next, each of `taps` runs of `run`,
// of which tap t begins at taps[t] * run. A run is `padded_run` numbers in the panels, and what all runs have together
// is padded to a multiple of bfloat16_tile()->depth_multiple.
void pack_bfloat16(
    const uint16_t* weight,
    size_t columns,
    size_t stride,
    Span<const size_t> taps,
    size_t run,
    size_t padded_run,
    void* panels);

// Writes the sums of `rows` rows, kBFloat16Columns apart, and one panel, the columns from `column` on.
using FinishBFloat16 =
    void (*)(const BFloat16Output& output, const float* sums, const size_t* offsets, size_t rows, size_t column);
FinishBFloat16 bfloat16_finish();

// Multiplies a strip of rows by a panel, the columns from `column` on. `finish` is bfloat16_finish().
inline void multiply_bfloat16_strip(
    const BFloat16Tile& tile,
    FinishBFloat16 finish,
    const BFloat16Output& output,
    const size_t* offsets,
    size_t column,
    const BFloat16Rows& x,
    const uint16_t* panel) {
  if (tile.multiply_into != nullptr) {
    tile.multiply_into(output, offsets, column, x, panel);
    return;
  }
  alignas(64) float sums[kBFloat16Rows * kBFloat16Columns];
  tile.multiply(x, panel, bfloat16_panel_width(output.columns - column), sums, kBFloat16Columns);
  finish(output, sums, offsets, tile.rows(x), column);
}

// Sets strip `i` of `count` rows that lie x->stride apart, and returns where its rows go: row r of all at offset_of(r).
template <typename OffsetOf>
const size_t* set_strip(
    const uint16_t* rows,
    size_t count,
    size_t i,
    const OffsetOf& offset_of,
    BFloat16Rows* x,
    BFloat16Offsets* offsets) {
  const size_t first = i * kBFloat16Rows, left = std::min(kBFloat16Rows, count - first);
  bfloat16_tile()->set_rows(rows + first * x->stride, left, x);
  for (size_t r = 0; r < kBFloat16Rows; ++r) {
    (*offsets)[r] = r < left ? offset_of(first + r) : kNoRow;
  }
  return offsets->data();
}

// Multiplies `count` strips of kBFloat16Rows rows by all panels, `block` strips at a time, which should stay in a cache
// of the second level. rows(i, x, room) sets what changes from strip to strip, the groups of x, and returns the offsets
// of their rows, for which there is room.
template <typename Rows>
void multiply_bfloat16_panels(
    const void* panels,
    const BFloat16Output& output,
    const BFloat16Rows& x,
    size_t count,
    size_t block,
    const Rows& rows,
    pthreadpool_t pool) {
  constexpr size_t kGrain = 1 << 18; // multiplications
  const BFloat16Tile& tile = *bfloat16_tile();
  const FinishBFloat16 finish = bfloat16_finish();
  const size_t depth = tile.depth(x);
  const size_t num_panels = divide_up(output.columns, kBFloat16Columns);
  // Fewer strips in a block if there are too few for the threads.
  const size_t threads = threads_of(pool);
  block = std::max<size_t>(1, std::min({block, count, threads == 1 ? count : count * num_panels / (4 * threads)}));
  const size_t num_blocks = divide_up(count, block);
  const size_t work = kBFloat16Rows * block * (depth + 1) * kBFloat16Columns;
  parallel_for(pool, num_blocks * num_panels, kGrain / work + 1, [&](size_t begin, size_t end) {
    BFloat16Rows strip = x;
    BFloat16Offsets room;
    tile.begin();
    for (size_t i = begin; i < end; ++i) {
      const size_t column = i % num_panels * kBFloat16Columns;
      const uint16_t* const panel = static_cast<const uint16_t*>(panels) + column * depth;
      const size_t last = std::min(count, (i / num_panels + 1) * block);
      for (size_t s = i / num_panels * block; s < last; ++s) {
        const size_t* const offsets = rows(s, &strip, &room);
        multiply_bfloat16_strip(tile, finish, output, offsets, column, strip, panel);
      }
    }
    tile.end();
  });
}

// The same for a tail, which takes the whole rows of a block at once. Each thread of the pool has `block_bytes` of
// `blocks` for them. REQUIRES: the rows of a block that go somewhere are neighbours in y, in this order
template <typename Rows>
void multiply_bfloat16_into(
    const Tail& tail,
    char* blocks,
    size_t block_bytes,
    const void* panels,
    const BFloat16Output& output,
    const BFloat16Rows& x,
    size_t count,
    size_t block,
    const Rows& rows,
    pthreadpool_t pool) {
  const BFloat16Tile& tile = *bfloat16_tile();
  const FinishBFloat16 finish = bfloat16_finish();
  const size_t depth = tile.depth(x), columns = output.columns;
  parallel_for_with_thread(pool, divide_up(count, block), [&](size_t thread, size_t i) {
    BFloat16Output part = output;
    part.y = reinterpret_cast<float*>(blocks + thread * block_bytes);
    BFloat16Rows strip = x;
    BFloat16Offsets room, offsets;
    size_t first = 0, size = 0; // of the rows of the block, in y
    tile.begin();
    for (size_t column = 0; column < columns; column += kBFloat16Columns) {
      const uint16_t* const panel = static_cast<const uint16_t*>(panels) + column * depth;
      size = 0;
      for (size_t s = i * block; s < std::min(count, (i + 1) * block); ++s) {
        const size_t* const from = rows(s, &strip, &room);
        const size_t used = tile.rows(strip);
        for (size_t r = 0; r < used; ++r) {
          offsets[r] = from[r] == kNoRow ? kNoRow : size;
          first = from[r] != kNoRow && size == 0 ? from[r] : first;
          size += from[r] == kNoRow ? 0 : columns;
        }
        multiply_bfloat16_strip(tile, finish, part, offsets.data(), column, strip, panel);
      }
    }
    tile.end();
    if (size > 0) {
      tail.take(thread, first, size, part.y);
    }
  });
}

} // namespace executorch::backends::et_xnnpack
