/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#pragma once

/*
 * Other microkernels for rows that are rounded to 8 bits, by weights of 4 or 8 bits: for one row those that read weights
 * as fast as memory gives them, for many rows by 4-bit weights in groups one that multiplies faster. And packing of these
 * weights, to the same bytes, sooner. XnnpackParts.cmake has the compiler read this before XNNPACK's fully connected layers.
 */

#include <stddef.h>

#include "src/xnnpack/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What XNNPACK has chosen for such weights, with microkernels of ours where there are any. Null stays null. */
const struct xnn_gemm_config* et_xnnpack_qb4w_config(const struct xnn_gemm_config* config);
const struct xnn_gemm_config* et_xnnpack_qc4w_config(const struct xnn_gemm_config* config);
const struct xnn_gemm_config* et_xnnpack_qc8w_config(const struct xnn_gemm_config* config);

/*
 * Packs 4-bit weights in groups as xnn_pack_qs8_qb4w_gemm_goi_w does for tiles that are 8 deep, and what the version of
 * XNNPACK wants of a function in its place: the bias, and for the newer one scales. `depth` is a multiple of 32, `groups`
 * and `shuffled` are 1.
 */
void et_xnnpack_pack_groups(
    size_t groups,
    size_t columns,
    size_t depth,
    size_t tile,
    size_t deep,
    size_t shuffled,
    size_t block,
    const void* weights,
    const void* bias,
    const void* scales,
    void* packed,
    size_t extra_block_bytes,
    size_t extra_column_bytes,
    const void* parameters);

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
