/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#include "xnnpack_grouped_weights.h"

#ifdef ET_XNNPACK_GROUPED_WEIGHTS

enum { kPanels = 2 };

// The first and the second half of the columns are multiplied side by side, where each half is at least so large: memory
// gives more to two readers that go straight on. They must not change places every few pages.
enum { kLeastHalf = 48 << 10 };

struct row {
  const int8_t* numbers;
  size_t depth, block;
  float zero, scale;
  const struct xnn_f32_qb4w_minmax_params* parameters;
};

// The products of a row with one or two panels, of which the second lies `stride` bytes behind the first. Sums of
// integers are exact, those of floats in XNNPACK's order. Nothing is fetched ahead: see README.md.
AVX512VNNI_INLINE void multiply_panels(size_t panels, const struct row* row, const char* w, size_t stride, __m512* y) {
  const int8_t* x = row->numbers;
  __m512 sum[kPanels];
  UNROLL for (size_t p = 0; p < panels; ++p) {
    sum[p] = _mm512_mul_ps(shuffled(w + p * stride), _mm512_set1_ps(row->zero));
  }
  w += kEndBytes;
  for (size_t done = 0; done < row->depth; done += row->block) {
    __m512i first[kPanels], second[kPanels]; // of each column two sums
    UNROLL for (size_t p = 0; p < panels; ++p) {
      first[p] = second[p] = _mm512_setzero_si512();
    }
    for (size_t k = 0; k < row->block; k += kDeep) {
      UNROLL for (size_t half = 0; half < 2; ++half) {
        const __m512i x_low = eight_of(x, kOffset), x_high = eight_of(x + 8, kOffset);
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
      sum[p] = _mm512_fmadd_ps(shuffled_sums(first[p], second[p]), shuffled_scales(w + p * stride), sum[p]);
    }
    w += kScaleBytes;
  }
  UNROLL for (size_t p = 0; p < panels; ++p) {
    y[p] = finished(sum[p], row->scale, w + p * stride, row->parameters);
  }
}

ET_XNNPACK_MICROKERNEL(et_xnnpack_multiply_row) {
  (void)rows, (void)x_stride, (void)y_stride; // one
  const struct row row = {
      x,
      depth,
      ((const struct xnn_f32_qb4w_minmax_params*)parameters)->scalar.blocksize,
      (float)(quantization->zero_point + kOffset),
      quantization->inv_scale,
      parameters};
  const size_t stride = panel_bytes(depth, row.block);
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

#endif
