/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#pragma once

/*
 * Lets XNNPACK multiply 8-bit weights of -128 exactly on ARM without dot products. Its microkernels there add two
 * products of 16 bits before they widen them, and 2 * -128 * -128 does not fit. XnnpackParts.cmake has the compiler
 * read this, with ET_XNNPACK_EXACT_SUMS defined, before the operators that choose among those microkernels.
 */

#include "src/xnnpack/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* XNNPACK's microkernels if they are exact, else others of its that widen each product. */
const struct xnn_gemm_config* et_xnnpack_qs8_gemm_config(void);
const struct xnn_gemm_config* et_xnnpack_qd8_gemm_config(void);

#ifdef __cplusplus
}
#endif

#ifdef ET_XNNPACK_EXACT_SUMS
#define xnn_init_qs8_qc8w_gemm_config() et_xnnpack_qs8_gemm_config()
#define xnn_init_qd8_f32_qc8w_gemm_config() et_xnnpack_qd8_gemm_config()
#endif
