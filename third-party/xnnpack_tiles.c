/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#include "xnnpack_tiles.h"

#include <stdbool.h>
#include <stdint.h>

#include "xnnpack/common.h"
#include "xnnpack/gemm.h"
#include "xnnpack/igemm.h"
#include "xnnpack/init-once.h"
#include "xnnpack/microparams-init.h"
#include "xnnpack/pack.h"
#include "xnnpack/packw.h"

#if (XNN_ARCH_X86 || XNN_ARCH_X86_64) && XNN_ENABLE_AVX512F

enum { kWide = 32, kNarrow = 16, kRows = 8 };  // the wide tile is XNNPACK's

static struct xnn_gemm_config narrow_config = {0};

XNN_INIT_ONCE_GUARD(narrow);

static void set(size_t rows, xnn_gemm_ukernel_fn gemm, xnn_igemm_ukernel_fn igemm) {
  for (size_t i = 0; i < XNN_MAX_UARCH_TYPES; ++i) {
    narrow_config.minmax.gemm[rows - 1].function[i] = gemm;
    narrow_config.minmax.igemm[rows - 1].function[i] = igemm;
  }
}

static void init_narrow_config(void) {
  set(1, (xnn_gemm_ukernel_fn)xnn_f32_gemm_minmax_ukernel_1x16__avx512f_broadcast,
      (xnn_igemm_ukernel_fn)xnn_f32_igemm_minmax_ukernel_1x16__avx512f_broadcast);
  set(kRows, (xnn_gemm_ukernel_fn)xnn_f32_gemm_minmax_ukernel_8x16__avx512f_broadcast,
      (xnn_igemm_ukernel_fn)xnn_f32_igemm_minmax_ukernel_8x16__avx512f_broadcast);
  narrow_config.init.f32 = xnn_init_f32_minmax_scalar_params;
  narrow_config.pack_gemm_gio = (xnn_packw_gemm_gio_ukernel_fn)xnn_pack_f32_gemm_gio_w;
  narrow_config.pack_gemm_goi = (xnn_packw_gemm_goi_ukernel_fn)xnn_x32_packw_gemm_goi_ukernel_x16__avx512f_u4_prfm;
  narrow_config.mr = kRows;
  narrow_config.nr = kNarrow;
}

static size_t padded(size_t columns, size_t tile) { return (columns + tile - 1) / tile * tile; }

// Saves an eighth of the work or more; below that the wide tile, which reads each number of the other
// operand half as often, is the faster one.
static bool is_narrow(size_t columns) { return 8 * padded(columns, kNarrow) <= 7 * padded(columns, kWide); }

const struct xnn_gemm_config* et_xnnpack_f32_gemm_config(size_t columns) {
  const struct xnn_gemm_config* config = xnn_init_f32_gemm_config();
  if (config == NULL || config->nr != kWide || columns > SIZE_MAX / 16 || !is_narrow(columns)) {
    return config;
  }
  XNN_INIT_ONCE(narrow);
  return &narrow_config;
}

#else

const struct xnn_gemm_config* et_xnnpack_f32_gemm_config(size_t columns) {
  (void)columns;
  return xnn_init_f32_gemm_config();
}

#endif

const struct xnn_gemm_config* et_xnnpack_f32_gemm_nr2_config(size_t columns) {
  return columns <= 4 ? xnn_init_f32_gemm_nr2_config() : NULL;
}
