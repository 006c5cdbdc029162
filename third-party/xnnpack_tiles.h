/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#pragma once

/*
 * Lets XNNPACK choose a microkernel by the number of output channels. XnnpackParts.cmake has the
 * compiler read this before those operators of XNNPACK that ET_XNNPACK_COLUMNS is defined for.
 */

#include <stddef.h>

#include "src/xnnpack/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The microkernels for a float32 convolution with `columns` output channels in a group: XNNPACK's, or
 * a narrower tile of its if the last one would mostly be padding. Null if the CPU is not supported.
 */
const struct xnn_gemm_config* et_xnnpack_f32_conv_config(size_t columns);

/* The same for a fully connected layer, which with wide tiles goes through its weights in blocks, and fetches ahead. */
const struct xnn_gemm_config* et_xnnpack_f32_gemm_config(size_t columns);

/* XNNPACK's tile of 2 columns for up to 4 of them, else null. */
const struct xnn_gemm_config* et_xnnpack_f32_gemm_nr2_config(size_t columns);

#ifdef __cplusplus
}
#endif

#ifdef ET_XNNPACK_CONV_COLUMNS
#define xnn_init_f32_gemm_config() et_xnnpack_f32_conv_config(ET_XNNPACK_CONV_COLUMNS)
#endif
#ifdef ET_XNNPACK_COLUMNS
#define xnn_init_f32_gemm_config() et_xnnpack_f32_gemm_config(ET_XNNPACK_COLUMNS)
#endif
#ifdef ET_XNNPACK_NR2_COLUMNS
#define xnn_init_f32_gemm_nr2_config() et_xnnpack_f32_gemm_nr2_config(ET_XNNPACK_NR2_COLUMNS)
#endif
