/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#include "xnnpack_narrow.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "src/xnnpack/common.h"
#include "src/xnnpack/gemm.h"
#include "src/xnnpack/igemm.h"
#include "src/xnnpack/init-once.h"

enum { kWide = 32, kNarrow = 16, kRows = 8 }; // the wide tile is XNNPACK's

static struct xnn_gemm_config narrow_config = {0};

XNN_INIT_ONCE_GUARD(narrow);

// XNNPACK's, but with 8 rows instead of 7: as many sums as multiply-adds are under way.
static void init_narrow_config(void) {
  narrow_config = *xnn_init_f32_gemm_nr2_config(0);
  memset(&narrow_config.minmax, 0, sizeof(narrow_config.minmax));
  for (size_t i = 0; i < XNN_MAX_UARCH_TYPES; ++i) {
    narrow_config.minmax.gemm[0].function[i] = (xnn_gemm_ukernel_fn)xnn_f32_gemm_minmax_ukernel_1x16__avx512f_broadcast;
    narrow_config.minmax.gemm[kRows - 1].function[i] =
        (xnn_gemm_ukernel_fn)xnn_f32_gemm_minmax_ukernel_8x16__avx512f_broadcast;
    narrow_config.minmax.igemm[0].function[i] =
        (xnn_igemm_ukernel_fn)xnn_f32_igemm_minmax_ukernel_1x16__avx512f_broadcast;
    narrow_config.minmax.igemm[kRows - 1].function[i] =
        (xnn_igemm_ukernel_fn)xnn_f32_igemm_minmax_ukernel_8x16__avx512f_broadcast;
  }
  narrow_config.mr = kRows;
}

static size_t padded(size_t columns, size_t tile) {
  return (columns + tile - 1) / tile * tile;
}

// Saves an eighth of the work or more; below that the wide tile, which reads each number of the other operand half as
// often, is the faster one.
static bool is_narrow(size_t columns) {
  return columns <= SIZE_MAX / 16 && 8 * padded(columns, kNarrow) <= 7 * padded(columns, kWide);
}

static const struct xnn_gemm_config* choose(
    size_t columns, const struct xnn_gemm_config* config, const struct xnn_gemm_config* wide) {
  const struct xnn_gemm_config* const narrow = xnn_init_f32_gemm_nr2_config(0);
  if (config == NULL || wide == NULL || wide->nr != kWide || narrow == NULL || narrow->nr != kNarrow) {
    return config;
  }
  if (!is_narrow(columns)) {
    return wide;
  }
  XNN_INIT_ONCE(narrow);
  return &narrow_config;
}

const struct xnn_gemm_config* et_xnnpack_f32_conv_tiles(size_t columns, const struct xnn_gemm_config* config) {
  return choose(columns, config, xnn_init_f32_igemm_config());
}

const struct xnn_gemm_config* et_xnnpack_f32_linear_tiles(size_t columns, const struct xnn_gemm_config* config) {
  return choose(columns, config, xnn_init_f32_gemm_config(0));
}
