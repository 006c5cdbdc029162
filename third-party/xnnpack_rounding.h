/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#pragma once

/*
 * A row, or an image, that is rounded to 8 bits at run time becomes NaN if one of its numbers is NaN or infinite, as
 * in PyTorch. XNNPACK looks for the least and the largest number, which drops NaN, and what it makes of infinity can be
 * any number. XnnpackParts.cmake has the compiler read this before the source that rounds.
 */

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "xnnpack/quantization.h"

static inline struct xnn_qd8_quantization_params et_xnnpack_choose_rounding(
    const void* row, size_t bytes, float min, float max) {
  struct xnn_qd8_quantization_params params = xnn_f32_qd8_asymmetric_quantization_params(min, max);
  const uint32_t exponent = UINT32_C(0x7F800000);
  uint32_t special = 0;
  for (size_t i = 0; i < bytes; i += sizeof(float)) {
    uint32_t bits;
    memcpy(&bits, (const char*)row + i, sizeof(bits));
    special |= (bits & exponent) == exponent;
  }
  if (special) {
    params.inv_scale = NAN;
  }
  return params;
}

/* Where it is called these are the names of the row and of its size. */
#define xnn_f32_qd8_asymmetric_quantization_params(min, max) et_xnnpack_choose_rounding(input, n, min, max)
