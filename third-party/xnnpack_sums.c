/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#include "xnnpack_sums.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "xnnpack.h"

#include "src/xnnpack/gemm.h"
#include "src/xnnpack/hardware-config.h"
#include "src/xnnpack/igemm.h"
#include "src/xnnpack/init-once.h"

enum { kRows = 4, kColumns = 16 };

static struct xnn_gemm_config qs8_config = {0}, qd8_config = {0};

XNN_INIT_ONCE_GUARD(qs8);
XNN_INIT_ONCE_GUARD(qd8);

static void set_tile(
    struct xnn_gemm_config* config, size_t rows, xnn_gemm_ukernel_fn gemm, xnn_igemm_ukernel_fn igemm) {
  for (size_t i = 0; i < XNN_MAX_UARCH_TYPES; ++i) {
    config->minmax.gemm[rows - 1].function[i] = gemm;
    config->minmax.igemm[rows - 1].function[i] = igemm;
  }
}

/* Packing and parameters are the same for tiles of all sizes. */
static void init_config(struct xnn_gemm_config* config, const struct xnn_gemm_config* from) {
  *config = *from;
  memset(&config->minmax, 0, sizeof(config->minmax));
  config->mr = kRows;
  config->nr = kColumns;
  config->log2_kr = 0;
  config->log2_sr = 0;
}

static void init_qs8_config(void) {
  init_config(&qs8_config, xnn_init_qs8_qc8w_gemm_config());
  set_tile(
      &qs8_config,
      1,
      (xnn_gemm_ukernel_fn)xnn_qs8_qc8w_gemm_minmax_fp32_ukernel_1x16__neonv8_mlal_lane,
      (xnn_igemm_ukernel_fn)xnn_qs8_qc8w_igemm_minmax_fp32_ukernel_1x16__neonv8_mlal_lane);
  set_tile(
      &qs8_config,
      kRows,
      (xnn_gemm_ukernel_fn)xnn_qs8_qc8w_gemm_minmax_fp32_ukernel_4x16__neonv8_mlal_lane,
      (xnn_igemm_ukernel_fn)xnn_qs8_qc8w_igemm_minmax_fp32_ukernel_4x16__neonv8_mlal_lane);
}

static void init_qd8_config(void) {
  init_config(&qd8_config, xnn_init_qd8_f32_qc8w_gemm_config());
  set_tile(
      &qd8_config,
      1,
      (xnn_gemm_ukernel_fn)xnn_qd8_f32_qc8w_gemm_minmax_ukernel_1x16__neon_mlal_lane,
      (xnn_igemm_ukernel_fn)xnn_qd8_f32_qc8w_igemm_minmax_ukernel_1x16__neon_mlal_lane);
  set_tile(
      &qd8_config,
      kRows,
      (xnn_gemm_ukernel_fn)xnn_qd8_f32_qc8w_gemm_minmax_ukernel_4x16__neon_mlal_lane,
      (xnn_igemm_ukernel_fn)xnn_qd8_f32_qc8w_igemm_minmax_ukernel_4x16__neon_mlal_lane);
}

/* Sums of dot products have 32 bits. */
static bool has_dot_products(void) {
  const struct xnn_hardware_config* hardware = xnn_init_hardware_config();
#ifdef XNN_FLAG_NO_BROADCAST /* since 2025 */
  return (hardware->arch_flags & (xnn_arch_arm_neon_dot | xnn_arch_arm_neon_i8mm)) != 0;
#else
  return hardware->use_arm_neon_dot || hardware->use_arm_neon_i8mm;
#endif
}

/* Microkernels that take one number at a time widen its products. */
static bool is_exact(const struct xnn_gemm_config* config) {
  return config == NULL || config->log2_kr == 0 || has_dot_products();
}

const struct xnn_gemm_config* et_xnnpack_qs8_gemm_config(void) {
  const struct xnn_gemm_config* config = xnn_init_qs8_qc8w_gemm_config();
  if (is_exact(config)) {
    return config;
  }
  XNN_INIT_ONCE(qs8);
  return &qs8_config;
}

const struct xnn_gemm_config* et_xnnpack_qd8_gemm_config(void) {
  const struct xnn_gemm_config* config = xnn_init_qd8_f32_qc8w_gemm_config();
  if (is_exact(config)) {
    return config;
  }
  XNN_INIT_ONCE(qd8);
  return &qd8_config;
}
