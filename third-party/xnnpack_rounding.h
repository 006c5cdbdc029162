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

#include "src/xnnpack/quantization.h"

/* Defines a function: whether one of the numbers is NaN or infinite. WIDTH is in bytes. */
#define ET_XNNPACK_DEFINE_HAS_SPECIAL(NAME, WIDTH, TARGET)                               \
  TARGET static int NAME(const void* row, size_t count) {                                \
    typedef uint32_t words_t __attribute__((vector_size(WIDTH), aligned(4), may_alias)); \
    const uint32_t exponent = UINT32_C(0x7F800000);                                      \
    words_t found[4] = {{0}};                                                            \
    for (; count >= WIDTH; count -= WIDTH) {                                             \
      const words_t* const words = (const words_t*)row;                                  \
      row = words + 4;                                                                   \
      found[0] |= (words_t)((words[0] & exponent) == exponent);                          \
      found[1] |= (words_t)((words[1] & exponent) == exponent);                          \
      found[2] |= (words_t)((words[2] & exponent) == exponent);                          \
      found[3] |= (words_t)((words[3] & exponent) == exponent);                          \
    }                                                                                    \
    found[0] |= found[1] | found[2] | found[3];                                          \
    uint32_t any = 0;                                                                    \
    for (size_t i = 0; i < WIDTH / 4; ++i) {                                             \
      any |= found[0][i];                                                                \
    }                                                                                    \
    for (size_t i = 0; i < count; ++i) {                                                 \
      uint32_t bits;                                                                     \
      memcpy(&bits, (const char*)row + i * sizeof(bits), sizeof(bits));                  \
      any |= (bits & exponent) == exponent;                                              \
    }                                                                                    \
    return any != 0;                                                                     \
  }

ET_XNNPACK_DEFINE_HAS_SPECIAL(et_xnnpack_has_special_16, 16, )
#if defined(__x86_64__) || defined(__i386__)
ET_XNNPACK_DEFINE_HAS_SPECIAL(et_xnnpack_has_special_32, 32, __attribute__((target("avx2"))))
#endif

static inline int et_xnnpack_has_special(const void* row, size_t count) {
#if defined(__x86_64__) || defined(__i386__)
  if (__builtin_cpu_supports("avx2")) {
    return et_xnnpack_has_special_32(row, count);
  }
#endif
  return et_xnnpack_has_special_16(row, count);
}

/* `params`, or NaN if one of these numbers is NaN or infinite. */
static inline struct xnn_qd8_quantization_params et_xnnpack_keep_special(
    struct xnn_qd8_quantization_params params, const void* row, size_t bytes) {
  if (et_xnnpack_has_special(row, bytes / sizeof(float))) {
    params.inv_scale = NAN;
  }
  return params;
}

/* Where these are called, `input` is the row and `n` its size. */
#ifdef ET_XNNPACK_ROUNDING_BY_FUNCTION /* of numbers of any type; we have only float32 rounded */
#define quantization_params_function(min, max, scale) \
  et_xnnpack_keep_special(quantization_params_function(min, max, scale), input, sizeof(min) == sizeof(float) ? n : 0)
#else
#define xnn_f32_qd8_asymmetric_quantization_params(min, max) \
  et_xnnpack_keep_special(xnn_f32_qd8_asymmetric_quantization_params(min, max), input, n)
#endif
