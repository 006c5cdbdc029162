/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#include "xnnpack_tiles.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/xnnpack/common.h"
#include "src/xnnpack/gemm.h"
#include "src/xnnpack/igemm.h"
#include "src/xnnpack/init-once.h"
#include "src/xnnpack/microparams-init.h"
#include "src/xnnpack/pack.h"
#include "src/xnnpack/packw.h"

#if (XNN_ARCH_X86 || XNN_ARCH_X86_64) && XNN_ENABLE_AVX512F

#include <immintrin.h>

enum { kWide = 32, kNarrow = 16, kRows = 8 }; // the wide tile is XNNPACK's

// A fully connected layer multiplies so many rows by a panel of kWide columns before it goes on to the next
// panel: it stays in the cache, and the rows divide into tiles without a small rest. Meanwhile the next panel is fetched
// into the second-level cache; each tile fetches its share.
enum { kBlockRows = 32 };

#define WIDE_TILE(rows) (xnn_gemm_ukernel_fn) xnn_f32_gemm_minmax_ukernel_##rows##x32__avx512f_broadcast

#ifdef __clang__ // unrolls these loops by itself
#define UNROLL
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

// What XNNPACK's wide tile does for so many rows and all of its columns. For each number of a row it fetches what lies
// `stride` bytes further, from `next` on.
static inline __attribute__((always_inline, target("avx512f"))) void multiply_and_fetch(
    size_t rows,
    size_t depth_bytes,
    const char* a,
    size_t a_stride,
    const float* w,
    char* c,
    size_t c_stride,
    const union xnn_f32_minmax_params* params,
    const char* next,
    size_t stride) {
  const float* row[kRows];
  __m512 sum[kRows][2];
  UNROLL for (size_t r = 0; r < rows; ++r) {
    row[r] = (const float*)(a + r * a_stride);
    sum[r][0] = _mm512_loadu_ps(w); // the bias
    sum[r][1] = _mm512_loadu_ps(w + kNarrow);
  }
  for (size_t k = 0; k < depth_bytes / sizeof(float); ++k) {
    w += kWide;
    const __m512 low = _mm512_loadu_ps(w), high = _mm512_loadu_ps(w + kNarrow);
    _mm_prefetch(next, _MM_HINT_T1);
    next += stride;
    UNROLL for (size_t r = 0; r < rows; ++r) {
      const __m512 factor = _mm512_set1_ps(row[r][k]);
      sum[r][0] = _mm512_fmadd_ps(factor, low, sum[r][0]);
      sum[r][1] = _mm512_fmadd_ps(factor, high, sum[r][1]);
    }
  }
  const __m512 min = _mm512_set1_ps(params->scalar.min), max = _mm512_set1_ps(params->scalar.max);
  UNROLL for (size_t r = 0; r < rows; ++r) {
    float* const to = (float*)(c + r * c_stride);
    // The limits come first: of a number and NaN these give the second.
    _mm512_storeu_ps(to, _mm512_min_ps(max, _mm512_max_ps(min, sum[r][0])));
    _mm512_storeu_ps(to + kNarrow, _mm512_min_ps(max, _mm512_max_ps(min, sum[r][1])));
  }
}

typedef void (*fetching_tile)(
    size_t, const char*, size_t, const float*, char*, size_t, const union xnn_f32_minmax_params*, const char*, size_t);

#define FETCHING_TILE(rows)                                                                   \
  static __attribute__((target("avx512f"))) void multiply_##rows##_and_fetch(                 \
      size_t depth_bytes,                                                                     \
      const char* a,                                                                          \
      size_t a_stride,                                                                        \
      const float* w,                                                                         \
      char* c,                                                                                \
      size_t c_stride,                                                                        \
      const union xnn_f32_minmax_params* params,                                              \
      const char* next,                                                                       \
      size_t stride) {                                                                        \
    multiply_and_fetch(rows, depth_bytes, a, a_stride, w, c, c_stride, params, next, stride); \
  }
FETCHING_TILE(4)
FETCHING_TILE(5)
FETCHING_TILE(6)
FETCHING_TILE(7)
FETCHING_TILE(8)

static void multiply_block(
    size_t rows,
    size_t columns,
    size_t depth_bytes,
    const void* a,
    size_t a_stride,
    const void* w,
    void* c,
    size_t c_stride,
    size_t c_panel_stride,
    const void* params) {
  static const xnn_gemm_ukernel_fn kTiles[kRows] = {
      WIDE_TILE(1), WIDE_TILE(4), WIDE_TILE(4), WIDE_TILE(4), WIDE_TILE(5), WIDE_TILE(6), WIDE_TILE(7), WIDE_TILE(8)};
  // More than one tile has at least 4 rows each.
  static const fetching_tile kFetchingTiles[] = {
      multiply_4_and_fetch, multiply_5_and_fetch, multiply_6_and_fetch, multiply_7_and_fetch, multiply_8_and_fetch};
  const size_t num_tiles = (rows + kRows - 1) / kRows;
  const size_t least = rows / num_tiles;
  const size_t num_larger = rows % num_tiles; // tiles of one row more
  const size_t fetched = kWide * sizeof(float) / num_tiles; // by a tile for each number of a row
  for (; columns > 0; columns -= columns < kWide ? columns : kWide) {
    const char* const next_panel = (const char*)w + kWide * (sizeof(float) + depth_bytes);
    const char* next = next_panel;
    const char* tile_a = a;
    char* tile_c = c;
    for (size_t i = 0; i < num_tiles; ++i) {
      const size_t tile_rows = least + (i < num_larger);
      if (num_tiles > 1 && columns > kWide) {
        kFetchingTiles[tile_rows - 4](depth_bytes, tile_a, a_stride, w, tile_c, c_stride, params, next, fetched);
        next += depth_bytes / sizeof(float) * fetched;
      } else {
        kTiles[tile_rows - 1](
            tile_rows,
            columns < kWide ? columns : kWide,
            depth_bytes,
            tile_a,
            a_stride,
            w,
            tile_c,
            c_stride,
            c_panel_stride,
            params);
      }
      tile_a += tile_rows * a_stride;
      tile_c += tile_rows * c_stride;
    }
    w = next_panel;
    c = (char*)c + c_panel_stride;
  }
}

static struct xnn_gemm_config block_config = {0}, narrow_config = {0};

XNN_INIT_ONCE_GUARD(block);
XNN_INIT_ONCE_GUARD(narrow);

static void set_gemm(struct xnn_gemm_config* config, size_t rows, xnn_gemm_ukernel_fn gemm) {
  for (size_t i = 0; i < XNN_MAX_UARCH_TYPES; ++i) {
    config->minmax.gemm[rows - 1].function[i] = gemm;
  }
}

static void set_igemm(struct xnn_gemm_config* config, size_t rows, xnn_igemm_ukernel_fn igemm) {
  for (size_t i = 0; i < XNN_MAX_UARCH_TYPES; ++i) {
    config->minmax.igemm[rows - 1].function[i] = igemm;
  }
}

static void init_block_config(void) {
  block_config = *xnn_init_f32_gemm_config();
  set_gemm(&block_config, kBlockRows, multiply_block);
  block_config.mr = kBlockRows;
}

static void init_narrow_config(void) {
  set_gemm(&narrow_config, 1, (xnn_gemm_ukernel_fn)xnn_f32_gemm_minmax_ukernel_1x16__avx512f_broadcast);
  set_gemm(&narrow_config, kRows, (xnn_gemm_ukernel_fn)xnn_f32_gemm_minmax_ukernel_8x16__avx512f_broadcast);
  set_igemm(&narrow_config, 1, (xnn_igemm_ukernel_fn)xnn_f32_igemm_minmax_ukernel_1x16__avx512f_broadcast);
  set_igemm(&narrow_config, kRows, (xnn_igemm_ukernel_fn)xnn_f32_igemm_minmax_ukernel_8x16__avx512f_broadcast);
  narrow_config.init.f32 = xnn_init_f32_minmax_scalar_params;
  narrow_config.pack_gemm_gio = (xnn_packw_gemm_gio_ukernel_fn)xnn_pack_f32_gemm_gio_w;
  narrow_config.pack_gemm_goi = (xnn_packw_gemm_goi_ukernel_fn)xnn_x32_packw_gemm_goi_ukernel_x16__avx512f_u4_prfm;
  narrow_config.mr = kRows;
  narrow_config.nr = kNarrow;
}

static size_t padded(size_t columns, size_t tile) {
  return (columns + tile - 1) / tile * tile;
}

// Saves an eighth of the work or more; below that the wide tile, which reads each number of the other
// operand half as often, is the faster one.
static bool is_narrow(size_t columns) {
  return 8 * padded(columns, kNarrow) <= 7 * padded(columns, kWide);
}

static bool has_wide_tiles(void) {
  const struct xnn_gemm_config* config = xnn_init_f32_gemm_config();
  return config != NULL && config->nr == kWide;
}

static const struct xnn_gemm_config* narrow_if_better(size_t columns, const struct xnn_gemm_config* wide) {
  if (columns > SIZE_MAX / 16 || !is_narrow(columns)) {
    return wide;
  }
  XNN_INIT_ONCE(narrow);
  return &narrow_config;
}

const struct xnn_gemm_config* et_xnnpack_f32_conv_config(size_t columns) {
  const struct xnn_gemm_config* config = xnn_init_f32_gemm_config();
  return has_wide_tiles() ? narrow_if_better(columns, config) : config;
}

const struct xnn_gemm_config* et_xnnpack_f32_gemm_config(size_t columns) {
  if (!has_wide_tiles()) {
    return xnn_init_f32_gemm_config();
  }
  XNN_INIT_ONCE(block);
  return narrow_if_better(columns, &block_config);
}

#else

const struct xnn_gemm_config* et_xnnpack_f32_conv_config(size_t columns) {
  (void)columns;
  return xnn_init_f32_gemm_config();
}

const struct xnn_gemm_config* et_xnnpack_f32_gemm_config(size_t columns) {
  (void)columns;
  return xnn_init_f32_gemm_config();
}

#endif

const struct xnn_gemm_config* et_xnnpack_f32_gemm_nr2_config(size_t columns) {
  return columns <= 4 ? xnn_init_f32_gemm_nr2_config() : NULL;
}
