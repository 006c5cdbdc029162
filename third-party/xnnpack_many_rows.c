/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#include "xnnpack_grouped_weights.h"

#ifdef ET_XNNPACK_GROUPED_WEIGHTS

// Rows that are multiplied at once. Of each row there are three vectors of sums: more rows do not fit the registers.
enum { kTileRows = 5 };

// Rows are copied without their sign if all of them take so many bytes, on the stack; otherwise it is taken from each number
// for each panel.
enum { kCopyBytes = 64 << 10 };

enum { kLine = 64 }; // of the cache

struct tile {
  const uint8_t* x;
  size_t x_stride, depth, block;
  const char* weights; // a panel
  __mmask16 columns;
  char* y;
  size_t y_stride;
  const struct xnn_f32_qb4w_minmax_params* parameters;
  const struct xnn_qd8_quantization_params* quantization;
  const char* next; // is fetched into the second-level cache from here on
  size_t next_lines, next_stride; // so many lines, so many bytes apart, while kDeep numbers are multiplied
};

AVX512VNNI_INLINE void multiply_tile(size_t rows, int offset, const struct tile* t) {
  const char *w = t->weights, *next = t->next;
  __m512 sum[kTileRows];
  const __m512 column_sums = shuffled(w);
  UNROLL for (size_t r = 0; r < rows; ++r) {
    sum[r] = _mm512_mul_ps(column_sums, _mm512_set1_ps((float)(t->quantization[r].zero_point + kOffset)));
  }
  w += kEndBytes;
  for (size_t k = 0; k < t->depth;) {
    __m512i first[kTileRows], second[kTileRows]; // of each column two sums
    UNROLL for (size_t r = 0; r < rows; ++r) {
      first[r] = second[r] = _mm512_setzero_si512();
    }
    const size_t end = k + t->block;
    do {
      for (size_t i = 0; i < t->next_lines; ++i) {
        _mm_prefetch(next, _MM_HINT_T1);
        next += t->next_stride;
      }
      UNROLL for (size_t half = 0; half < 2; ++half) {
        const __m512i a = _mm512_loadu_si512(w), b = _mm512_loadu_si512(w + 64);
        const __m512i a_low = low(a), b_low = low(b), a_high = high(a), b_high = high(b);
        UNROLL for (size_t r = 0; r < rows; ++r) {
          const uint8_t* const x = t->x + r * t->x_stride + k;
          const __m512i x_low = eight_of(x, offset);
          first[r] = _mm512_dpbusd_epi32(first[r], x_low, a_low);
          second[r] = _mm512_dpbusd_epi32(second[r], x_low, b_low);
          const __m512i x_high = eight_of(x + 8, offset);
          first[r] = _mm512_dpbusd_epi32(first[r], x_high, a_high);
          second[r] = _mm512_dpbusd_epi32(second[r], x_high, b_high);
        }
        w += kDeepBytes / 2;
        k += kDeep / 2;
      }
    } while (k < end);
    const __m512 scales = shuffled_scales(w);
    w += kScaleBytes;
    UNROLL for (size_t r = 0; r < rows; ++r) {
      sum[r] = _mm512_fmadd_ps(shuffled_sums(first[r], second[r]), scales, sum[r]);
    }
  }
  UNROLL for (size_t r = 0; r < rows; ++r) {
    const __m512 y = finished(sum[r], t->quantization[r].inv_scale, w, t->parameters);
    _mm512_mask_storeu_ps(t->y + r * t->y_stride, t->columns, y);
  }
}

#define TILE(rows)                                                        \
  static AVX512VNNI void multiply_##rows##_copied(const struct tile* t) { \
    multiply_tile(rows, 0, t);                                            \
  }                                                                       \
  static AVX512VNNI void multiply_##rows(const struct tile* t) {          \
    multiply_tile(rows, kOffset, t);                                      \
  }
TILE(2)
TILE(3)
TILE(4)
TILE(5)

static AVX512VNNI void copy_without_sign(size_t rows, size_t depth, const char* x, size_t x_stride, uint8_t* copy) {
  const __m256i offset = _mm256_set1_epi8((char)kOffset);
  for (size_t r = 0; r < rows; ++r, x += x_stride, copy += depth) {
    for (size_t k = 0; k < depth; k += kDeep) {
      const __m256i numbers = _mm256_loadu_si256((const __m256i*)(x + k));
      _mm256_store_si256((__m256i*)(copy + k), _mm256_xor_si256(numbers, offset));
    }
  }
}

// The rows are divided among tiles that differ by one row at most, so a tile has 2 rows or more. While these go through a
// panel each of them fetches its share of the next one.
ET_XNNPACK_MICROKERNEL(et_xnnpack_multiply_rows) {
  if (rows == 1) {
    et_xnnpack_multiply_row(
        rows, columns, depth, x, x_stride, weights, result, y_stride, panel_stride, parameters, quantization);
    return;
  }
  typedef void (*multiply)(const struct tile* t);
  static const multiply kMultiply[] = {multiply_2, multiply_3, multiply_4, multiply_5};
  static const multiply kMultiplyCopied[] = {
      multiply_2_copied, multiply_3_copied, multiply_4_copied, multiply_5_copied};
  const multiply* functions = kMultiply;
  __attribute__((aligned(64))) uint8_t copy[kOffset == 0 ? 1 : kCopyBytes];
  if (kOffset != 0 && rows * depth <= kCopyBytes) {
    copy_without_sign(rows, depth, x, x_stride, copy);
    x = copy;
    x_stride = depth;
    functions = kMultiplyCopied;
  }
  const struct xnn_f32_qb4w_minmax_params* const params = parameters;
  const size_t stride = panel_bytes(depth, params->scalar.blocksize);
  const size_t tiles = (rows + kTileRows - 1) / kTileRows;
  const size_t least = rows / tiles, larger = rows % tiles; // tiles of one row more
  const size_t step = stride / (depth / kDeep); // bytes of weights for kDeep numbers
  const size_t lines = (step + tiles * kLine - 1) / (tiles * kLine);
  const size_t line_stride = (step + tiles * lines - 1) / (tiles * lines);
  struct tile tile = {
      .x_stride = x_stride,
      .depth = depth,
      .block = params->scalar.blocksize,
      .weights = weights,
      .columns = 0xFFFF,
      .y_stride = y_stride,
      .parameters = params,
      .next_lines = lines,
      .next_stride = line_stride};
  for (char* panel = result;; panel += panel_stride) {
    if (columns < kColumns) {
      tile.columns = (__mmask16)((1u << columns) - 1);
    }
    tile.x = x;
    tile.y = panel;
    tile.quantization = quantization;
    // The last panel fetches itself: nothing is known about what lies behind it.
    tile.next = columns > kColumns ? tile.weights + stride : tile.weights;
    for (size_t i = 0; i < tiles; ++i) {
      const size_t tile_rows = least + (i < larger);
      functions[tile_rows - 2](&tile);
      tile.x += tile_rows * x_stride;
      tile.y += tile_rows * y_stride;
      tile.quantization += tile_rows;
      tile.next += depth / kDeep * lines * line_stride;
    }
    if (columns <= kColumns) {
      return;
    }
    columns -= kColumns;
    tile.weights += stride;
  }
}

#endif
