/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#pragma once

/*
 * Other microkernels for one row that is rounded to 8 bits, by weights of 4 or 8 bits, which read weights as
 * fast as memory gives them. XnnpackParts.cmake has the compiler read this before XNNPACK's fully connected layers.
 */

#include "src/xnnpack/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What XNNPACK has chosen for such weights, with another microkernel for one row if there is one. Null stays null. */
const struct xnn_gemm_config* et_xnnpack_qb4w_config(const struct xnn_gemm_config* config);
const struct xnn_gemm_config* et_xnnpack_qc4w_config(const struct xnn_gemm_config* config);
const struct xnn_gemm_config* et_xnnpack_qc8w_config(const struct xnn_gemm_config* config);

#ifdef __cplusplus
}
#endif

#ifdef ET_XNNPACK_ROWS_qd8
#define xnn_init_qd8_f32_qb4w_gemm_config() et_xnnpack_qb4w_config(xnn_init_qd8_f32_qb4w_gemm_config())
#define xnn_init_qd8_f32_qc4w_gemm_config() et_xnnpack_qc4w_config(xnn_init_qd8_f32_qc4w_gemm_config())
#define xnn_init_qd8_f32_qc8w_gemm_config() et_xnnpack_qc8w_config(xnn_init_qd8_f32_qc8w_gemm_config())
#endif
#ifdef ET_XNNPACK_ROWS_qdu8
#define xnn_init_qdu8_f32_qb4w_gemm_config() et_xnnpack_qb4w_config(xnn_init_qdu8_f32_qb4w_gemm_config())
#define xnn_init_qdu8_f32_qc4w_gemm_config() et_xnnpack_qc4w_config(xnn_init_qdu8_f32_qc4w_gemm_config())
#endif
