// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "block_product.h"

#include <algorithm>
#include <utility>

#include "low_precision_product.h"
#include "runtime/base/caches.h"
#include "runtime/base/round_up.h"
#include "runtime/kernels/common/parallel.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/gemm/block_product.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "product-inl.h"

#ifndef ET_XNNPACK_PRODUCT_BLOCK_H
#define ET_XNNPACK_PRODUCT_BLOCK_H
namespace executorch::backends::et_xnnpack {

// Some rows, some of the depth and some panels.
struct ProductBlock {
  const float* x; // of the first row, at the first number of the depth
  size_t x_stride; // floats from one row to the next
  size_t lines = 1, line_stride = 0; // as in multiply_lines()
  size_t row, end_row;
  size_t depth, end_depth;
  size_t panel, end_panel;
  bool fetches_weights; // of the next panel
};

} // namespace executorch::backends::et_xnnpack
#endif // ET_XNNPACK_PRODUCT_BLOCK_H

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// The rows of a tile and where they go.
struct TileRows {
  const float* x;
  size_t x_stride, lines, line_stride;
  float* y[kRows];
};

// What is fetched meanwhile.
struct Fetch {
  bool next_columns; // where the same rows go next
  const char* weights; // into the second-level cache, `stride` bytes for every two numbers of the depth
  size_t stride;
};

// How the sums of a tile begin and end.
struct TileSums {
  const float* bias; // of the first column; may be null
  bool continues; // from what is in y
  bool ends; // are limited
  Vector min, max;
  size_t columns; // of all vectors
};

template <size_t R, size_t N, bool kFetchesWeights>
HWY_NOINLINE void multiply_tile(
    const TileRows& rows, const float* HWY_RESTRICT w, size_t line_depth, const TileSums& sums, const Fetch& fetch) {
  // All loops over `sum` are unrolled, so that it stays in registers.
  Vector sum[R][N];
  size_t columns[N]; // of each vector
  HWY_UNROLL(2)
  for (size_t n = 0; n < N; ++n) {
    columns[n] = std::min(kLanes, sums.columns - n * kLanes);
  }
  if (sums.continues) {
    HWY_UNROLL(16)
    for (size_t r = 0; r < R; ++r) {
      HWY_UNROLL(2)
      for (size_t n = 0; n < N; ++n) {
        sum[r][n] = hn::LoadN(kFloats, rows.y[r] + n * kLanes, columns[n]);
      }
    }
  } else {
    HWY_UNROLL(2)
    for (size_t n = 0; n < N; ++n) {
      const Vector bias =
          sums.bias == nullptr ? hn::Zero(kFloats) : hn::LoadN(kFloats, sums.bias + n * kLanes, columns[n]);
      HWY_UNROLL(16)
      for (size_t r = 0; r < R; ++r) {
        sum[r][n] = bias;
      }
    }
  }
  if (fetch.next_columns) {
    HWY_UNROLL(16)
    for (size_t r = 0; r < R; ++r) {
      __builtin_prefetch(rows.y[r] + N * kLanes, 1, 3);
      __builtin_prefetch(rows.y[r] + (2 * N - 1) * kLanes, 1, 3);
    }
  }
  const float* HWY_RESTRICT x = nullptr;
  const size_t x_stride = rows.x_stride;
  const auto add = [&]() HWY_ATTR {
    Vector weights[N];
    HWY_UNROLL(2)
    for (size_t n = 0; n < N; ++n) {
      weights[n] = hn::LoadU(kFloats, w + n * kLanes);
    }
    w += N * kLanes;
    add_products(x, x_stride, weights, sum);
    ++x;
  };
  const char* next = fetch.weights;
  for (size_t line = 0; line < rows.lines; ++line) {
    x = rows.x + line * rows.line_stride;
    size_t k = 0;
    if constexpr (kFetchesWeights) {
      for (; k + 2 <= line_depth; k += 2) {
        __builtin_prefetch(next, 0, 2);
        next += fetch.stride;
        add();
        add();
      }
    }
    for (; k < line_depth; ++k) {
      add();
    }
  }
  if (sums.ends) {
    HWY_UNROLL(16)
    for (auto& row : sum) {
      HWY_UNROLL(2)
      for (Vector& v : row) {
        v = clamped(v, sums.min, sums.max);
      }
    }
  }
  if (sums.columns == N * kLanes) {
    HWY_UNROLL(16)
    for (size_t r = 0; r < R; ++r) {
      HWY_UNROLL(2)
      for (size_t n = 0; n < N; ++n) {
        hn::StoreU(sum[r][n], kFloats, rows.y[r] + n * kLanes);
      }
    }
    return;
  }
  HWY_UNROLL(16)
  for (size_t r = 0; r < R; ++r) {
    HWY_UNROLL(2)
    for (size_t n = 0; n < N; ++n) {
      hn::StoreN(sum[r][n], kFloats, rows.y[r] + n * kLanes, columns[n]);
    }
  }
}

using MultiplyTile = void (*)(const TileRows&, const float*, size_t, const TileSums&, const Fetch&);

template <size_t N, bool kFetchesWeights, size_t... kCounts>
const MultiplyTile* tiles_table(std::index_sequence<kCounts...>) {
  static constexpr MultiplyTile kTable[] = {multiply_tile<kCounts + 1, N, kFetchesWeights>...};
  return kTable;
}

// By number of rows less 1, up to kRows.
HWY_INLINE const MultiplyTile* tiles_table(bool is_wide, bool fetches_weights) {
  using Counts = std::make_index_sequence<kRows>;
  if (!is_wide) {
    return tiles_table<1, false>(Counts());
  }
  return fetches_weights ? tiles_table<kVectors, true>(Counts()) : tiles_table<kVectors, false>(Counts());
}

void multiply_block(const LowPrecisionProduct& p, const ProductBlock& block) {
  const size_t rows = block.end_row - block.row, depth = block.end_depth - block.depth;
  const size_t num_tiles = divide_up(rows, kRows);
  TileSums sums;
  sums.continues = p.adds || block.depth > 0;
  sums.ends = block.end_depth == p.depth;
  sums.min = hn::Set(kFloats, p.min);
  sums.max = hn::Set(kFloats, p.max);
  for (size_t panel = block.panel; panel < block.end_panel; ++panel) {
    const size_t column = panel * kTile;
    sums.columns = std::min(kTile, p.columns - column);
    sums.bias = p.bias == nullptr ? nullptr : p.bias + column;
    const bool is_wide = sums.columns > kLanes;
    const size_t width = is_wide ? kTile : kLanes;
    const float* const w = static_cast<const float*>(p.panels) + column * p.depth + block.depth * width;
    Fetch fetch;
    fetch.next_columns = panel + 1 < block.end_panel;
    fetch.weights = reinterpret_cast<const char*>(w + kTile * p.depth); // of the next panel; tiles share them
    fetch.stride = 2 * kTile * sizeof(float) / num_tiles;
    const bool fetches_weights = block.fetches_weights && num_tiles > 1 && p.columns > column + kTile + kLanes;
    const MultiplyTile* const multiply = tiles_table(is_wide, fetches_weights);
    for (size_t i = 0; i < num_tiles; ++i) {
      const size_t begin = rows * i / num_tiles, end = rows * (i + 1) / num_tiles;
      TileRows tile{block.x + begin * block.x_stride, block.x_stride, block.lines, block.line_stride, {}};
      for (size_t row = begin; row < end; ++row) {
        const size_t place = block.row + row;
        tile.y[row - begin] = p.y + column + (p.row_offsets == nullptr ? place * p.y_stride : p.row_offsets[place]);
      }
      multiply[end - begin - 1](tile, w, depth / block.lines, sums, fetch);
      fetch.weights += depth / 2 * fetch.stride;
    }
  }
}

size_t block_tile_rows() {
  return kRows;
}
size_t block_tile_columns() {
  return kTile;
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {
namespace {

HWY_EXPORT(multiply_block);
HWY_EXPORT(block_tile_rows);
HWY_EXPORT(block_tile_columns);

constexpr size_t kMaxDepth = 768, kDepthStep = 16; // of a block
constexpr size_t kMaxTiles = 20; // of the rows of a block
// Rows that lie so far apart share one set of the first-level cache, which has places for 8 of them.
constexpr size_t kSharedSetFloats = 1024, kSpread = 16;
constexpr size_t kMinRowsToSpread = 4, kMinColumnsToSpread = 96;

bool spreads_rows(const LowPrecisionProduct& p) {
  return p.x_stride % kSharedSetFloats == 0 && p.rows >= kMinRowsToSpread && p.columns >= kMinColumnsToSpread;
}

size_t spread_stride(const LowPrecisionProduct& p) {
  return p.depth + kSpread;
}

struct BlockSizes {
  size_t rows = 0, depth = 0, panels = 0;
};

BlockSizes block_sizes(const LowPrecisionProduct& p, size_t num_threads) {
  const size_t tile_rows = ETX_DISPATCH(block_tile_rows)(), tile_columns = ETX_DISPATCH(block_tile_columns)();
  BlockSizes sizes;
  const size_t depth_blocks = divide_up(p.depth, kMaxDepth);
  sizes.depth = round_up(divide_up(p.depth, std::max<size_t>(depth_blocks, 1)), kDepthStep);
  const size_t room = Caches::get().l2 / 8 * 5 / (std::max<size_t>(sizes.depth, 1) * sizeof(float));
  const size_t largest = std::min(kMaxTiles, std::max<size_t>(room / tile_rows, 1)) * tile_rows;
  const size_t row_blocks = divide_up(p.rows, largest);
  sizes.rows = divide_up(p.rows, row_blocks);
  sizes.panels = divide_up(p.columns, tile_columns);
  if (num_threads > 1) {
    // Where sums go to memory and back, few panels would not be worth bringing rows into the cache again.
    const size_t wanted = (depth_blocks > 1 ? 2 : 4) * num_threads;
    const size_t groups = std::min(sizes.panels, divide_up(wanted, row_blocks));
    sizes.panels = divide_up(sizes.panels, groups);
  }
  return sizes;
}

} // namespace

void multiply_lines(const LowPrecisionProduct& p, size_t lines, size_t line_stride) {
  ProductBlock block{};
  block.x = p.x;
  block.x_stride = p.x_stride;
  block.lines = lines;
  block.line_stride = line_stride;
  block.end_row = p.rows;
  block.end_depth = p.depth;
  const size_t tile = ETX_DISPATCH(block_tile_columns)();
  block.end_panel = divide_up(p.columns, tile);
  ETX_DISPATCH(multiply_block)(p, block);
}

size_t block_product_scratch(const LowPrecisionProduct& p) {
  return spreads_rows(p) ? p.rows * spread_stride(p) * sizeof(float) : 0;
}

void multiply_in_blocks(const LowPrecisionProduct& p, void* scratch, pthreadpool_t pool) {
  constexpr size_t kGrain = 16384; // floats
  constexpr size_t kMinWork = 32768; // multiplications of a thread
  const float* x = p.x;
  size_t x_stride = p.x_stride;
  if (spreads_rows(p)) {
    float* const spread = static_cast<float*>(scratch);
    x_stride = spread_stride(p);
    parallel_for(pool, p.rows, kGrain / (p.depth + 1) + 1, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        std::copy_n(p.x + row * p.x_stride, p.depth, spread + row * x_stride);
      }
    });
    x = spread;
  }
  const BlockSizes sizes = block_sizes(p, threads_of(pool));
  const size_t tile = ETX_DISPATCH(block_tile_columns)();
  const size_t panels = divide_up(p.columns, tile), groups = divide_up(panels, sizes.panels);
  const bool fetches_weights = p.depth * p.columns * sizeof(float) > Caches::get().l2 / 4;
  const auto multiply = ETX_DISPATCH(multiply_block);
  const auto run = [&](size_t i) {
    ProductBlock block;
    block.row = i / groups * sizes.rows;
    block.end_row = std::min(p.rows, block.row + sizes.rows);
    block.panel = i % groups * sizes.panels;
    block.end_panel = std::min(panels, block.panel + sizes.panels);
    block.x_stride = x_stride;
    block.fetches_weights = fetches_weights;
    block.depth = 0;
    do {
      block.end_depth = std::min(p.depth, block.depth + sizes.depth);
      block.x = x + block.row * x_stride + block.depth;
      multiply(p, block);
      block.depth = block.end_depth;
    } while (block.depth < p.depth);
  };
  const size_t count = divide_up(p.rows, sizes.rows) * groups;
  const size_t work = sizes.rows * sizes.panels * tile * p.depth; // of one
  parallel_for(pool, count, kMinWork / (work + 1) + 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      run(i);
    }
  });
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
