/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#pragma once

/*
 * Lets XNNPACK of 2026 choose between wide and narrow tiles of AVX-512 by how much of their work is padding. It takes
 * narrow ones for convolutions only below 32 output channels, and for fully connected layers as soon as they save 1 %.
 * XnnpackParts.cmake has the compiler read this before these two operators, in which `context` is what is created.
 */

#include <stddef.h>

#include "src/xnnpack/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The tiles for a float32 convolution with so many output channels in a group; `config` without AVX-512. */
const struct xnn_gemm_config* et_xnnpack_f32_conv_tiles(size_t columns, const struct xnn_gemm_config* config);

/* The same for a fully connected layer. */
const struct xnn_gemm_config* et_xnnpack_f32_linear_tiles(size_t columns, const struct xnn_gemm_config* config);

#ifdef __cplusplus
}
#endif

/* XNNPACK's own rule then finds the same tiles in both configurations. */
#ifdef ET_XNNPACK_CONV_TILES
#define xnn_init_f32_igemm_config() \
  et_xnnpack_f32_conv_tiles(context->group_output_channels, xnn_init_f32_igemm_config())
#define xnn_init_f32_gemm_nr2_config(flags) \
  et_xnnpack_f32_conv_tiles(context->group_output_channels, xnn_init_f32_gemm_nr2_config(flags))
#endif
#ifdef ET_XNNPACK_LINEAR_TILES
#define xnn_init_f32_gemm_config(flags) \
  et_xnnpack_f32_linear_tiles(context->output_channels, xnn_init_f32_gemm_config(flags))
#define xnn_init_f32_gemm_nr2_config(flags) \
  et_xnnpack_f32_linear_tiles(context->output_channels, xnn_init_f32_gemm_nr2_config(flags))
#endif
