/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#pragma once

/*
 * Packs the weights of convolutions faster than XNNPACK, which copies them number by number.
 * XnnpackParts.cmake has the compiler read this before that operator of XNNPACK.
 */

#include <stddef.h>

#include "src/xnnpack/pack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What xnn_pack_f32_conv_goki_w does, with its arguments and its result. */
void et_xnnpack_pack_f32_conv_goki_w(
    size_t groups,
    size_t columns,
    size_t kernel_size,
    size_t channels,
    size_t nr,
    size_t kr,
    size_t sr,
    const float* kernel,
    const float* bias,
    const void* scale,
    float* packed,
    size_t extra_bytes,
    const void* params);

#ifdef __cplusplus
}
#endif

#ifdef ET_XNNPACK_FAST_PACKING
#define xnn_pack_f32_conv_goki_w et_xnnpack_pack_f32_conv_goki_w
#endif
