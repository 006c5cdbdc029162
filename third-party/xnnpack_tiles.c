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

enum { kWide = 32, kNarrow = 16, kRows = 8 }; // the wide tile is XNNPACK's

// A fully connected layer multiplies so many rows by a panel of kWide columns before it goes on to the next
// panel: it stays in the cache, and the rows divide into tiles without a small rest.
enum { kBlockRows = 32 };

#define WIDE_TILE(rows) (xnn_gemm_ukernel_fn) xnn_f32_gemm_minmax_ukernel_##rows##x32__avx512f_broadcast

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
  const size_t num_tiles = (rows + kRows - 1) / kRows;
  const size_t least = rows / num_tiles;
  const size_t num_larger = rows % num_tiles; // tiles of one row more
  for (; columns > 0; columns -= columns < kWide ? columns : kWide) {
    const char* tile_a = a;
    char* tile_c = c;
    for (size_t i = 0; i < num_tiles; ++i) {
      const size_t tile_rows = least + (i < num_larger);
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
      tile_a += tile_rows * a_stride;
      tile_c += tile_rows * c_stride;
    }
    w = (const char*)w + kWide * (sizeof(float) + depth_bytes);
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
