/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#include "xnnpack_one_row.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "src/xnnpack/common.h"
#include "src/xnnpack/gemm.h"
#include "src/xnnpack/init-once.h"

#if (XNN_ARCH_X86 || XNN_ARCH_X86_64) && XNN_ENABLE_AVX512VNNI

#include <immintrin.h>

#ifdef __clang__ // unrolls these loops by itself
#define UNROLL
#else
#define UNROLL _Pragma("GCC unroll 2")
#endif

#define AVX512VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))

// Weights as XNNPACK packs them for its tiles of 1 x 16, 8 deep. A panel of kColumns columns starts with the sum of each
// column and ends with its bias. In between are blocks of numbers with one scale for each column, and these
// scales behind them, 16 bits each.
enum { kColumns = 16, kDeep = 32, kPanels = 2 };
enum { kDeepBytes = kColumns * kDeep / 2, kScaleBytes = kColumns * 2, kEndBytes = kColumns * 4 };

// The first and the second half of the columns are multiplied side by side, where each half is at least so large: memory
// gives more to two readers that go straight on. They must not change places every few pages.
enum { kLeastHalf = 48 << 10 };

#ifdef ET_XNNPACK_NEWER
#define CONFIG(weights) xnn_init_qdu8_f32_##weights##_gemm_config()
enum { kOffset = 0 };
#else
#define CONFIG(weights) xnn_init_qd8_f32_##weights##_gemm_config()
enum { kOffset = 128 }; // makes a number of the row one without sign
#endif

struct row {
  const int8_t* numbers;
  size_t depth, block;
  float zero, scale, min, max;
};

static inline __attribute__((always_inline)) AVX512VNNI __m512i eight_of(const int8_t* numbers) {
  int64_t eight;
  memcpy(&eight, numbers, sizeof(eight));
  return _mm512_xor_si512(_mm512_set1_epi64(eight), _mm512_set1_epi8((char)kOffset));
}

// Of the 4-bit numbers in each byte one, times 16.
static inline __attribute__((always_inline)) AVX512VNNI __m512i low(__m512i bytes) {
  return _mm512_and_si512(_mm512_slli_epi32(bytes, 4), _mm512_set1_epi8((char)0xF0));
}
static inline __attribute__((always_inline)) AVX512VNNI __m512i high(__m512i bytes) {
  return _mm512_and_si512(bytes, _mm512_set1_epi8((char)0xF0));
}

// The products of a row with one or two panels, of which the second lies `stride` bytes behind the first. Sums of
// integers are exact, those of floats in XNNPACK's order. Nothing is fetched ahead: see README.md.
static inline __attribute__((always_inline)) AVX512VNNI void multiply_panels(
    size_t panels, const struct row* row, const char* w, size_t stride, __m512* y) {
  // Pairs of sums of columns 0 to 7 and of 8 to 15 are added in this order, which takes fewer shuffles; it is
  // undone at the end.
  const __m512i order = _mm512_set_epi32(15, 14, 7, 6, 13, 12, 5, 4, 11, 10, 3, 2, 9, 8, 1, 0);
  const __m512i inverse = _mm512_set_epi32(15, 14, 11, 10, 7, 6, 3, 2, 13, 12, 9, 8, 5, 4, 1, 0);
  const __m512i upper_halves = _mm512_slli_epi32(order, 16);
  const int8_t* x = row->numbers;
  __m512 sum[kPanels];
  UNROLL for (size_t p = 0; p < panels; ++p) {
    sum[p] = _mm512_mul_ps(_mm512_permutexvar_ps(order, _mm512_loadu_ps(w + p * stride)), _mm512_set1_ps(row->zero));
  }
  w += kEndBytes;
  for (size_t done = 0; done < row->depth; done += row->block) {
    __m512i first[kPanels], second[kPanels]; // of each column two sums
    UNROLL for (size_t p = 0; p < panels; ++p) {
      first[p] = second[p] = _mm512_setzero_si512();
    }
    for (size_t k = 0; k < row->block; k += kDeep) {
      UNROLL for (size_t half = 0; half < 2; ++half) {
        const __m512i x_low = eight_of(x), x_high = eight_of(x + 8);
        x += 16;
        UNROLL for (size_t p = 0; p < panels; ++p) {
          const __m512i a = _mm512_loadu_si512(w + p * stride), b = _mm512_loadu_si512(w + p * stride + 64);
          first[p] = _mm512_dpbusd_epi32(first[p], x_low, low(a));
          second[p] = _mm512_dpbusd_epi32(second[p], x_low, low(b));
          first[p] = _mm512_dpbusd_epi32(first[p], x_high, high(a));
          second[p] = _mm512_dpbusd_epi32(second[p], x_high, high(b));
        }
        w += kDeepBytes / 2;
      }
    }
    UNROLL for (size_t p = 0; p < panels; ++p) {
      const __m512 a = _mm512_castsi512_ps(first[p]), b = _mm512_castsi512_ps(second[p]);
      const __m512i even = _mm512_castps_si512(_mm512_shuffle_ps(a, b, 0x88));
      const __m512i odd = _mm512_castps_si512(_mm512_shuffle_ps(a, b, 0xDD));
      const __m512i scales = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i*)(w + p * stride)));
      sum[p] = _mm512_fmadd_ps(
          _mm512_cvtepi32_ps(_mm512_add_epi32(even, odd)),
          _mm512_castsi512_ps(_mm512_maskz_permutexvar_epi16(0xAAAAAAAA, upper_halves, scales)),
          sum[p]);
    }
    w += kScaleBytes;
  }
  UNROLL for (size_t p = 0; p < panels; ++p) {
    __m512 result = _mm512_mul_ps(_mm512_permutexvar_ps(inverse, sum[p]), _mm512_set1_ps(row->scale));
    result = _mm512_add_ps(result, _mm512_loadu_ps(w + p * stride));
    // The limits come first: of a number and NaN these give the second.
    y[p] = _mm512_min_ps(_mm512_set1_ps(row->max), _mm512_max_ps(_mm512_set1_ps(row->min), result));
  }
}

static AVX512VNNI void multiply_row(
    size_t rows,
    size_t columns,
    size_t depth,
    const void* x,
    size_t x_stride,
    const void* weights,
    void* result,
    size_t y_stride,
    size_t panel_stride, // of the result
    const void* params,
    const struct xnn_qd8_quantization_params* quantization) {
  (void)rows, (void)x_stride, (void)y_stride; // one
  const struct xnn_f32_qb4w_minmax_params* const limits = params;
  const struct row row = {
      x,
      depth,
      limits->scalar.blocksize,
      (float)(quantization->zero_point + kOffset),
      quantization->inv_scale,
      limits->scalar.min,
      limits->scalar.max};
  const size_t blocks = depth / row.block;
  const size_t stride = 2 * kEndBytes + depth / kDeep * kDeepBytes + blocks * kScaleBytes;
  const char* w = weights;
  char* y = result;
  __m512 values[kPanels];
  const size_t half = columns / kColumns / kPanels; // panels
  if (half * stride >= kLeastHalf) {
    for (size_t i = 0; i < half; ++i) {
      multiply_panels(kPanels, &row, w, half * stride, values);
      _mm512_storeu_ps(y, values[0]);
      _mm512_storeu_ps(y + half * panel_stride, values[1]);
      w += stride;
      y += panel_stride;
    }
    w += half * stride;
    y += half * panel_stride;
    columns -= kPanels * half * kColumns;
  }
  for (; columns >= kColumns; columns -= kColumns) {
    multiply_panels(1, &row, w, stride, values);
    _mm512_storeu_ps(y, values[0]);
    w += stride;
    y += panel_stride;
  }
  if (columns > 0) {
    multiply_panels(1, &row, w, stride, values);
    _mm512_mask_storeu_ps(y, (__mmask16)((1u << columns) - 1), values[0]);
  }
}

static bool is_for_one_row(const struct xnn_gemm_config* config, xnn_dqgemm_ukernel_fn microkernel) {
  return config->minmax.dqgemm[0].function[XNN_UARCH_DEFAULT] == microkernel;
}

static void set_for_one_row(struct xnn_gemm_config* config, xnn_dqgemm_ukernel_fn microkernel) {
  for (size_t i = 0; i < XNN_MAX_UARCH_TYPES; ++i) {
    config->minmax.dqgemm[0].function[i] = microkernel;
  }
}

static struct xnn_gemm_config qb4w_config = {0};
XNN_INIT_ONCE_GUARD(qb4w);

static void init_qb4w_config(void) {
  qb4w_config = *CONFIG(qb4w);
  set_for_one_row(&qb4w_config, multiply_row);
}

// The microkernels that it stands in for read the same layout.
const struct xnn_gemm_config* et_xnnpack_qb4w_config(const struct xnn_gemm_config* config) {
  const xnn_dqgemm_ukernel_fn known[] = {
      (xnn_dqgemm_ukernel_fn)xnn_qd8_f32_qb4w_gemm_minmax_ukernel_1x16c8__avx512vnni_prfm,
#if XNN_ENABLE_AVX512VNNIGFNI
      (xnn_dqgemm_ukernel_fn)xnn_qd8_f32_qb4w_gemm_minmax_ukernel_1x16c8__avx512vnnigfni_prfm,
#endif
  };
  for (size_t i = 0; config != NULL && i < sizeof(known) / sizeof(known[0]); ++i) {
    if (is_for_one_row(config, known[i])) {
      XNN_INIT_ONCE(qb4w);
      return &qb4w_config;
    }
  }
  return config;
}

// XNNPACK's own microkernels without fetching ahead.
#define DO_NOT_FETCH(weights)                                                                                      \
  static struct xnn_gemm_config weights##_config = {0};                                                            \
  XNN_INIT_ONCE_GUARD(weights);                                                                                    \
  static void init_##weights##_config(void) {                                                                      \
    weights##_config = *CONFIG(weights);                                                                           \
    set_for_one_row(                                                                                               \
        &weights##_config, (xnn_dqgemm_ukernel_fn)xnn_qd8_f32_##weights##_gemm_minmax_ukernel_1x16c8__avx512vnni); \
  }                                                                                                                \
  const struct xnn_gemm_config* et_xnnpack_##weights##_config(const struct xnn_gemm_config* config) {              \
    const xnn_dqgemm_ukernel_fn known =                                                                            \
        (xnn_dqgemm_ukernel_fn)xnn_qd8_f32_##weights##_gemm_minmax_ukernel_1x16c8__avx512vnni_prfm;                \
    if (config == NULL || !is_for_one_row(config, known)) {                                                        \
      return config;                                                                                               \
    }                                                                                                              \
    XNN_INIT_ONCE(weights);                                                                                        \
    return &weights##_config;                                                                                      \
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
