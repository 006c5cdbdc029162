/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#include "xnnpack_rounded_rows.h"

#include <stdbool.h>

#include "src/xnnpack/gemm.h"
#include "src/xnnpack/init-once.h"
#include "src/xnnpack/pack.h"
#include "xnnpack_grouped_weights.h"

#ifdef ET_XNNPACK_GROUPED_WEIGHTS

#ifdef ET_XNNPACK_NEWER
#define CONFIG(weights) xnn_init_qdu8_f32_##weights##_gemm_config()
#else
#define CONFIG(weights) xnn_init_qd8_f32_##weights##_gemm_config()
#endif

static bool has_for_one_row(const struct xnn_gemm_config* config, xnn_dqgemm_ukernel_fn microkernel) {
  return config->minmax.dqgemm[0].function[XNN_UARCH_DEFAULT] == microkernel;
}

static void set_for_rows(struct xnn_gemm_config* config, size_t rows, xnn_dqgemm_ukernel_fn microkernel) {
  for (size_t i = 0; i < XNN_MAX_UARCH_TYPES; ++i) {
    config->minmax.dqgemm[rows - 1].function[i] = microkernel;
  }
}

static struct xnn_gemm_config qb4w_config = {0};
XNN_INIT_ONCE_GUARD(qb4w);

// Whether our microkernels read weights as they are packed for XNNPACK's.
static bool has_our_layout(const struct xnn_gemm_config* config) {
  const xnn_dqgemm_ukernel_fn known[] = {
      (xnn_dqgemm_ukernel_fn)xnn_qd8_f32_qb4w_gemm_minmax_ukernel_1x16c8__avx512vnni_prfm,
#if XNN_ENABLE_AVX512VNNIGFNI
      (xnn_dqgemm_ukernel_fn)xnn_qd8_f32_qb4w_gemm_minmax_ukernel_1x16c8__avx512vnnigfni_prfm,
#endif
  };
  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); ++i) {
    if (has_for_one_row(config, known[i])) {
      return true;
    }
  }
  return false;
}

static bool is_packed_alike(const struct xnn_gemm_config* config) {
#ifdef ET_XNNPACK_NEWER
  if (config->pack_weights_and_biases != xnn_pack_qb4_weights_and_biases || config->pack_gemm_goi_bl != NULL) {
    return false;
  }
#else
  if (config->pack_gemm_goi_bl != (xnn_packw_gemm_goi_bl_ukernel_fn)xnn_pack_qs8_qb4w_gemm_goi_w) {
    return false;
  }
#endif
  return config->log2_kr == 3 && config->log2_sr == 0 && config->planes == 2;
}

static void init_qb4w_config(void) {
  qb4w_config = *CONFIG(qb4w);
  if (is_packed_alike(&qb4w_config)) {
    qb4w_config.pack_gemm_goi_bl = et_xnnpack_pack_groups;
  }
  if (has_our_layout(&qb4w_config)) {
    set_for_rows(&qb4w_config, 1, et_xnnpack_multiply_row);
    set_for_rows(&qb4w_config, kManyRows, et_xnnpack_multiply_rows);
    qb4w_config.mr = kManyRows;
  }
}

const struct xnn_gemm_config* et_xnnpack_qb4w_config(const struct xnn_gemm_config* config) {
  if (config == NULL) {
    return NULL;
  }
  XNN_INIT_ONCE(qb4w);
  return &qb4w_config;
}

// XNNPACK's own microkernels without fetching ahead.
#define DO_NOT_FETCH(weights)                                                                                         \
  static struct xnn_gemm_config weights##_config = {0};                                                               \
  XNN_INIT_ONCE_GUARD(weights);                                                                                       \
  static void init_##weights##_config(void) {                                                                         \
    weights##_config = *CONFIG(weights);                                                                              \
    set_for_rows(                                                                                                     \
        &weights##_config, 1, (xnn_dqgemm_ukernel_fn)xnn_qd8_f32_##weights##_gemm_minmax_ukernel_1x16c8__avx512vnni); \
  }                                                                                                                   \
  const struct xnn_gemm_config* et_xnnpack_##weights##_config(const struct xnn_gemm_config* config) {                 \
    const xnn_dqgemm_ukernel_fn known =                                                                               \
        (xnn_dqgemm_ukernel_fn)xnn_qd8_f32_##weights##_gemm_minmax_ukernel_1x16c8__avx512vnni_prfm;                   \
    if (config == NULL || !has_for_one_row(config, known)) {                                                          \
      return config;                                                                                                  \
    }                                                                                                                 \
    XNN_INIT_ONCE(weights);                                                                                           \
    return &weights##_config;                                                                                         \
  }
DO_NOT_FETCH(qc4w)
#ifndef ET_XNNPACK_NEWER // which has other microkernels for weights of 8 bits
DO_NOT_FETCH(qc8w)
#endif

#else

const struct xnn_gemm_config* et_xnnpack_qb4w_config(const struct xnn_gemm_config* config) {
  return config;
}

const struct xnn_gemm_config* et_xnnpack_qc4w_config(const struct xnn_gemm_config* config) {
  return config;
}

const struct xnn_gemm_config* et_xnnpack_qc8w_config(const struct xnn_gemm_config* config) {
  return config;
}

#endif
