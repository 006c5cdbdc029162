/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#pragma once

/*
 * 4-bit weights in groups, as XNNPACK packs them for its tiles of 16 columns, 8 deep, and our microkernels for AVX-512
 * VNNI that multiply rounded rows by them. A panel of kColumns columns starts with the sum of each column and ends with
 * its bias. In between are groups of numbers with one scale for each column, and these scales behind them, 16
 * bits each.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "src/xnnpack/common.h"
#include "src/xnnpack/microparams.h"

#if (XNN_ARCH_X86 || XNN_ARCH_X86_64) && XNN_ENABLE_AVX512VNNI
#define ET_XNNPACK_GROUPED_WEIGHTS

#include <immintrin.h>

enum { kColumns = 16, kDeep = 32 }; // numbers of a group are a multiple of kDeep
enum { kDeepBytes = kColumns * kDeep / 2, kScaleBytes = kColumns * 2, kEndBytes = kColumns * 4 };

#ifdef ET_XNNPACK_NEWER
enum { kOffset = 0 };
#else
enum { kOffset = 128 }; // makes a number of the row one without sign
#endif

#ifdef __clang__ // unrolls loops over rows and panels by itself
#define UNROLL
#else
#define UNROLL _Pragma("GCC unroll 5")
#endif

#define AVX512VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define AVX512VNNI_INLINE static inline __attribute__((always_inline)) AVX512VNNI

static inline size_t panel_bytes(size_t depth, size_t block) {
  return 2 * kEndBytes + depth / kDeep * kDeepBytes + depth / block * kScaleBytes;
}

// Of the 4-bit numbers in each byte one, times 16.
AVX512VNNI_INLINE __m512i low(__m512i bytes) {
  return _mm512_and_si512(_mm512_slli_epi32(bytes, 4), _mm512_set1_epi8((char)0xF0));
}
AVX512VNNI_INLINE __m512i high(__m512i bytes) {
  return _mm512_and_si512(bytes, _mm512_set1_epi8((char)0xF0));
}

AVX512VNNI_INLINE __m512i eight_of(const void* numbers, int offset) {
  int64_t eight;
  memcpy(&eight, numbers, sizeof(eight));
  const __m512i result = _mm512_set1_epi64(eight);
  return offset == 0 ? result : _mm512_xor_si512(result, _mm512_set1_epi8((char)offset));
}

// Two sums of each column, in `first` of columns 0 to 7, in `second` of the others, are added in this order, which takes
// fewer shuffles; in_columns() undoes it.
AVX512VNNI_INLINE __m512i shuffled_order(void) {
  return _mm512_set_epi32(15, 14, 7, 6, 13, 12, 5, 4, 11, 10, 3, 2, 9, 8, 1, 0);
}
AVX512VNNI_INLINE __m512 shuffled(const void* floats) {
  return _mm512_permutexvar_ps(shuffled_order(), _mm512_loadu_ps(floats));
}
AVX512VNNI_INLINE __m512 shuffled_scales(const void* scales) {
  const __m512i upper_halves = _mm512_slli_epi32(shuffled_order(), 16);
  const __m512i both = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i*)scales));
  return _mm512_castsi512_ps(_mm512_maskz_permutexvar_epi16(0xAAAAAAAA, upper_halves, both));
}
AVX512VNNI_INLINE __m512 shuffled_sums(__m512i first, __m512i second) {
  const __m512 a = _mm512_castsi512_ps(first), b = _mm512_castsi512_ps(second);
  const __m512i even = _mm512_castps_si512(_mm512_shuffle_ps(a, b, 0x88));
  const __m512i odd = _mm512_castps_si512(_mm512_shuffle_ps(a, b, 0xDD));
  return _mm512_cvtepi32_ps(_mm512_add_epi32(even, odd));
}
AVX512VNNI_INLINE __m512 in_columns(__m512 values) {
  const __m512i inverse = _mm512_set_epi32(15, 14, 11, 10, 7, 6, 3, 2, 13, 12, 9, 8, 5, 4, 1, 0);
  return _mm512_permutexvar_ps(inverse, values);
}

// The results of a row. The limits come first: of a number and NaN these operations give the second.
AVX512VNNI_INLINE __m512
finished(__m512 sum, float scale, const void* bias, const struct xnn_f32_qb4w_minmax_params* params) {
  const __m512 y = _mm512_add_ps(_mm512_mul_ps(in_columns(sum), _mm512_set1_ps(scale)), _mm512_loadu_ps(bias));
  return _mm512_min_ps(_mm512_set1_ps(params->scalar.max), _mm512_max_ps(_mm512_set1_ps(params->scalar.min), y));
}

// Microkernels with the parameters of XNNPACK's (xnn_dqgemm_ukernel_fn), and the same results to the last bit.
#define ET_XNNPACK_MICROKERNEL(name)           \
  AVX512VNNI void name(                        \
      size_t rows,                             \
      size_t columns,                          \
      size_t depth,                            \
      const void* x,                           \
      size_t x_stride,                         \
      const void* weights,                     \
      void* result,                            \
      size_t y_stride,                         \
      size_t panel_stride, /* of the result */ \
      const void* parameters,                  \
      const struct xnn_qd8_quantization_params* quantization)

ET_XNNPACK_MICROKERNEL(et_xnnpack_multiply_row);
// At most so many rows: XNNPACK's largest tile.
enum { kManyRows = 16 };
ET_XNNPACK_MICROKERNEL(et_xnnpack_multiply_rows);

#endif
