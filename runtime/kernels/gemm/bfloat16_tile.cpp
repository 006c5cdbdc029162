// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "bfloat16_tile.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels/simd/bfloat16_instructions.h"
#include "runtime/kernels/simd/isa.h"

namespace executorch::backends::et_xnnpack {
namespace {

void nothing() {}

#if defined(__x86_64__)
#define ETX_TILES __attribute__((target("avx512f,amx-tile,amx-bf16")))
#endif

#if defined(__x86_64__) || defined(__aarch64__)

// The first of the rows where sums go.
struct ToSums {
  float* sums;
  size_t stride;

  ToSums behind(size_t rows) const {
    return {sums + rows * stride, stride};
  }
};

// What is fetched into the cache of the second level while a group is multiplied: the next panel, as far as no other
// group of the strip fetches it.
struct Fetched {
  const char* next;
  size_t step; // bytes for each pair of numbers of a row
};

#endif

#if defined(__x86_64__)

// Two neighbours, and one beside a zero.
inline int32_t read_pair(const uint16_t* from) {
  int32_t pair = 0;
  std::memcpy(&pair, from, sizeof(pair));
  return pair;
}

inline int32_t read_last(const uint16_t* from) {
  return *from;
}

// Calls add(at, read) for each pair of numbers of a row, where read(at + n) reads that of another row, n behind.
template <typename Add>
ETX_DOT inline __attribute__((always_inline)) void add_runs(
    const BFloat16Rows& x, const uint16_t* first, const Add& add) {
  for (const size_t tap : x.taps) {
    const uint16_t* at = first + tap;
    for (const uint16_t* const end = at + x.run / 2 * 2; at < end; at += 2) {
      add(at, read_pair);
    }
    if (x.run % 2 != 0) {
      add(at, read_last);
    }
  }
}

// ---- AVX512-BF16: R rows by N vectors of columns, each vector with the two numbers of 16 columns.

template <size_t R, size_t N>
ETX_DOT_INLINE void store(const ToSums& to, const __m512 (&sum)[R][N]) {
#pragma GCC unroll 8
  for (size_t r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (size_t n = 0; n < N; ++n) {
      _mm512_storeu_ps(to.sums + r * to.stride + n * 16, sum[r][n]);
    }
  }
}

struct ToOutput {
  const BFloat16Output& output;
  const size_t* offsets;
  size_t column;

  ToOutput behind(size_t rows) const {
    return {output, offsets + rows, column};
  }
};

template <size_t R, size_t N>
ETX_DOT_INLINE void store(const ToOutput& to, const __m512 (&sum)[R][N]) {
  const __m512 min = _mm512_set1_ps(to.output.min), max = _mm512_set1_ps(to.output.max);
#pragma GCC unroll 2
  for (size_t n = 0; n < N; ++n) {
    const size_t column = to.column + n * 16, count = to.output.columns - std::min(to.output.columns, column);
    const __mmask16 present = static_cast<__mmask16>(count < 16 ? (1u << count) - 1 : kAllLanes);
    __m512 bias = _mm512_setzero_ps();
    if (to.output.bias != nullptr && count > 0) {
      bias = _mm512_maskz_loadu_ps(present, to.output.bias + column);
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < R; ++r) {
      if (to.offsets[r] == kNoRow) {
        continue;
      }
      const __m512 y = clamped_vector(_mm512_add_ps(sum[r][n], bias), min, max);
      float* const at = to.output.y + to.offsets[r] + column;
      if (present == kAllLanes) {
        _mm512_storeu_ps(at, y);
      } else {
        _mm512_mask_storeu_ps(at, present, y);
      }
    }
  }
}

template <size_t R, size_t N, typename To>
ETX_DOT void multiply_dot(
    const BFloat16Rows& x, const uint16_t* first, const uint16_t* panel, const To& to, Fetched fetched) {
  __m512 sum[R][N];
#pragma GCC unroll 8
  for (size_t r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (size_t n = 0; n < N; ++n) {
      sum[r][n] = _mm512_setzero_ps();
    }
  }
  const auto add = [&](const uint16_t* at, auto pair_of) ETX_DOT __attribute__((always_inline)) {
    __builtin_prefetch(fetched.next, 0, 2);
    fetched.next += fetched.step;
    __m512bh weights[N];
#pragma GCC unroll 2
    for (size_t n = 0; n < N; ++n) {
      weights[n] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(panel + n * 32));
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < R; ++r) {
      const auto factors = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair_of(at + r * x.stride)));
#pragma GCC unroll 2
      for (size_t n = 0; n < N; ++n) {
        sum[r][n] = _mm512_dpbf16_ps(sum[r][n], weights[n], factors);
      }
    }
    panel += 32 * N;
  };
  add_runs(x, first, add);
  store(to, sum);
}

template <size_t R, typename To>
void multiply_dot_rows(
    const BFloat16Rows& x,
    const uint16_t* first,
    const uint16_t* panel,
    size_t width,
    const To& to,
    const Fetched& fetched) {
  (width == kBFloat16Columns ? multiply_dot<R, 2, To> : multiply_dot<R, 1, To>)(x, first, panel, to, fetched);
}

// ---- AMX: tiles 0 to 3 are sums of two times two tiles of 16 x 16, tiles 4 and 5 rows of x, 6 and 7 columns.

static_assert(kBFloat16Rows == 32 && kBFloat16Columns == 32, "two times two tiles");
constexpr size_t kTileRows = 16, kTileDepth = 32;

// GCC does not know what memory the instructions for tiles read and write.
inline void finish_memory(const void* memory) {
  __asm__ volatile("" : : "r"(memory) : "memory");
}

ETX_TILES void begin_tiles() {
  struct alignas(64) {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } config;
  finish_memory(&config);
  _tile_loadconfig(&config);
}

ETX_TILES void end_tiles() {
  _tile_release();
}

ETX_TILES void multiply_tiles(const BFloat16Rows& x, const uint16_t* panel, size_t width, float* sums, size_t stride) {
  finish_memory(sums);
  const size_t x_bytes = x.stride * sizeof(uint16_t);
  const size_t w_bytes = width * 2 * sizeof(uint16_t);
  const size_t y_bytes = stride * sizeof(float);
  const size_t step = kTileDepth * width;
  float* const lower_sums = sums + kTileRows * stride;
  const bool two_rows = x.counts[1] > 0, two_columns = width == kBFloat16Columns;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (const size_t tap : x.taps) {
    const uint16_t *upper = x.groups[0] + tap, *lower = x.groups[two_rows ? 1 : 0] + tap;
    const uint16_t* const end = upper + x.run;
    if (two_rows && two_columns) {
      for (; upper < end; upper += kTileDepth, lower += kTileDepth, panel += step) {
        _tile_loadd(4, upper, x_bytes);
        _tile_loadd(6, panel, w_bytes);
        _tile_loadd(7, panel + 32, w_bytes);
        _tile_loadd(5, lower, x_bytes);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
      }
    } else if (two_rows) {
      for (; upper < end; upper += kTileDepth, lower += kTileDepth, panel += step) {
        _tile_loadd(6, panel, w_bytes);
        _tile_loadd(4, upper, x_bytes);
        _tile_loadd(5, lower, x_bytes);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(2, 5, 6);
      }
    } else if (two_columns) {
      for (; upper < end; upper += kTileDepth, panel += step) {
        _tile_loadd(4, upper, x_bytes);
        _tile_loadd(6, panel, w_bytes);
        _tile_loadd(7, panel + 32, w_bytes);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
      }
    } else {
      for (; upper < end; upper += kTileDepth, panel += step) {
        _tile_loadd(4, upper, x_bytes);
        _tile_loadd(6, panel, w_bytes);
        _tile_dpbf16ps(0, 4, 6);
      }
    }
  }
  _tile_stored(0, sums, y_bytes);
  _tile_stored(1, sums + 16, y_bytes);
  if (two_rows) {
    _tile_stored(2, lower_sums, y_bytes);
    _tile_stored(3, lower_sums + 16, y_bytes);
  }
  finish_memory(sums);
}

#elif defined(__aarch64__)

// BFMMLA: R rows by 8 columns, two rows by two columns at a time, of each four numbers.
template <size_t R>
ETX_DOT void multiply_matrices(
    const BFloat16Rows& x, const uint16_t* first, const uint16_t* panel, size_t width, float* sums, size_t stride) {
  constexpr size_t kTwos = (R + 1) / 2; // of rows
  float32x4_t sum[kTwos][4]; // of each row two columns, one row behind the other
#pragma GCC unroll 4
  for (size_t i = 0; i < kTwos; ++i) {
    sum[i][0] = sum[i][1] = sum[i][2] = sum[i][3] = vdupq_n_f32(0);
  }
  const auto add = [&](const uint16_t* at, uint32x4_t left, uint32x4_t right, auto read) ETX_DOT
      __attribute__((always_inline)) {
    const uint32x4_t first_left = vreinterpretq_u32_u16(vld1q_u16(panel));
    const uint32x4_t first_right = vreinterpretq_u32_u16(vld1q_u16(panel + 8));
    const bfloat16x8_t columns[] = {
        vreinterpretq_bf16_u32(vzip1q_u32(first_left, left)),
        vreinterpretq_bf16_u32(vzip2q_u32(first_left, left)),
        vreinterpretq_bf16_u32(vzip1q_u32(first_right, right)),
        vreinterpretq_bf16_u32(vzip2q_u32(first_right, right))};
#pragma GCC unroll 4
    for (size_t i = 0; i < kTwos; ++i) {
      const uint16_t* const upper = at + 2 * i * x.stride;
      const uint16_t* const lower = 2 * i + 1 < R ? upper + x.stride : upper;
      const bfloat16x8_t rows = vreinterpretq_bf16_u16(vcombine_u16(read(upper), read(lower)));
#pragma GCC unroll 4
      for (size_t c = 0; c < 4; ++c) {
        sum[i][c] = vbfmmlaq_f32(sum[i][c], rows, columns[c]);
      }
    }
  };
  const auto second = [&](size_t column)
                          ETX_DOT { return vreinterpretq_u32_u16(vld1q_u16(panel + 2 * width + column)); };
  for (const size_t tap : x.taps) {
    const uint16_t* at = first + tap;
    for (const uint16_t* const end = at + x.run / 4 * 4; at < end; at += 4, panel += 4 * width) {
      add(at, second(0), second(8), [](const uint16_t* from) ETX_DOT { return vld1_u16(from); });
    }
    if (const size_t rest = x.run % 4; rest > 0) {
      const auto read = [&](const uint16_t* from) ETX_DOT {
        uint64_t numbers = 0;
        std::memcpy(&numbers, from, rest * sizeof(*from));
        return vcreate_u16(numbers);
      };
      const uint32x4_t none = vdupq_n_u32(0);
      add(at, rest > 2 ? second(0) : none, rest > 2 ? second(8) : none, read);
      panel += (rest + 1) / 2 * 2 * width;
    }
  }
#pragma GCC unroll 4
  for (size_t i = 0; i < kTwos; ++i) {
    float* const to = sums + 2 * i * stride;
    vst1q_f32(to, vcombine_f32(vget_low_f32(sum[i][0]), vget_low_f32(sum[i][1])));
    vst1q_f32(to + 4, vcombine_f32(vget_low_f32(sum[i][2]), vget_low_f32(sum[i][3])));
    if (2 * i + 1 < R) {
      vst1q_f32(to + stride, vcombine_f32(vget_high_f32(sum[i][0]), vget_high_f32(sum[i][1])));
      vst1q_f32(to + stride + 4, vcombine_f32(vget_high_f32(sum[i][2]), vget_high_f32(sum[i][3])));
    }
  }
}

template <size_t R, typename To>
void multiply_dot_rows(
    const BFloat16Rows& x,
    const uint16_t* first,
    const uint16_t* panel,
    size_t width,
    const To& to,
    const Fetched& /*fetched*/) {
  for (size_t column = 0; column < width; column += 8) {
    multiply_matrices<R>(x, first, panel + 2 * column, width, to.sums + column, to.stride);
  }
}

#endif

#if defined(__x86_64__) || defined(__aarch64__)

constexpr size_t kDotRows = 8;

template <typename To>
void multiply_dot_groups(const BFloat16Rows& x, const uint16_t* panel, size_t width, const To& to) {
  constexpr decltype(&multiply_dot_rows<1, To>) kMultiply[kDotRows] = {
      multiply_dot_rows<1, To>,
      multiply_dot_rows<2, To>,
      multiply_dot_rows<3, To>,
      multiply_dot_rows<4, To>,
      multiply_dot_rows<5, To>,
      multiply_dot_rows<6, To>,
      multiply_dot_rows<7, To>,
      multiply_dot_rows<8, To>};
  size_t groups = 0;
  for (; groups < kBFloat16Rows / kDotRows && x.counts[groups] > 0; ++groups) {
  }
  const size_t pairs = x.taps.size() * ((x.run + 1) / 2);
  const size_t bytes_of_pair = 2 * width * sizeof(uint16_t);
  for (size_t g = 0; g < groups; ++g) {
    const size_t step = bytes_of_pair / groups;
    const char* const next = reinterpret_cast<const char*>(panel) + pairs * (bytes_of_pair + g * step);
    kMultiply[x.counts[g] - 1](x, x.groups[g], panel, width, to.behind(g * kDotRows), {next, step});
  }
}

void multiply_dots(const BFloat16Rows& x, const uint16_t* panel, size_t width, float* sums, size_t stride) {
  multiply_dot_groups(x, panel, width, ToSums{sums, stride});
}

// The speed is that of an instruction, beside one for float32.
#if defined(__x86_64__)

void multiply_dots_into(
    const BFloat16Output& output, const size_t* offsets, size_t column, const BFloat16Rows& x, const uint16_t* panel) {
  multiply_dot_groups(x, panel, bfloat16_panel_width(output.columns - column), ToOutput{output, offsets, column});
}

constexpr BFloat16Tile kDot{
    2, 1, kDotRows, /*whole_groups=*/false, /*speed=*/2, nothing, nothing, multiply_dots, multiply_dots_into};

constexpr BFloat16Tile kTiles{
    kTileDepth,
    kTileDepth,
    kTileRows,
    /*whole_groups=*/true,
    /*speed=*/16,
    begin_tiles,
    end_tiles,
    multiply_tiles,
    /*multiply_into=*/nullptr};

#else

constexpr BFloat16Tile kDot{
    2, 1, kDotRows, /*whole_groups=*/false, /*speed=*/4, nothing, nothing, multiply_dots, /*multiply_into=*/nullptr};

#endif

#endif

} // namespace

const BFloat16Tile* bfloat16_tile() {
  switch (bfloat16_isa()) {
#if defined(__x86_64__)
    case BFloat16Isa::Tiles:
      return &kTiles;
#endif
#if defined(__x86_64__) || defined(__aarch64__)
    case BFloat16Isa::Dot:
      return &kDot;
#endif
    default:
      return nullptr;
  }
}

} // namespace executorch::backends::et_xnnpack
