// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "bfloat16_tile.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels/simd/bfloat16_instructions.h"
#include "runtime/kernels/simd/isa.h"

namespace executorch::backends::et_xnnpack {
namespace {

void nothing() {}

// Two neighbours, and one beside a zero.
inline int32_t read_pair(const uint16_t* from) {
  int32_t pair = 0;
  std::memcpy(&pair, from, sizeof(pair));
  return pair;
}

inline int32_t read_last(const uint16_t* from) {
  return *from;
}

#if defined(__x86_64__)
#define ETX_TILES __attribute__((target("avx512f,amx-tile,amx-bf16")))
#endif

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

#if defined(__x86_64__) || defined(__aarch64__)

// What is fetched into the cache of the second level while a group is multiplied: the next panel, as far as no other group
// of the strip fetches it.
struct Fetched {
  const char* next;
  size_t step; // bytes for each pair of numbers of a row
};

#endif

#if defined(__x86_64__)

// ---- AVX512-BF16: R rows by N vectors of columns, each vector with the two numbers of 16 columns.

template <size_t R, size_t N>
ETX_DOT void multiply_dot(
    const BFloat16Rows& x, const uint16_t* first, const uint16_t* panel, float* sums, size_t stride, Fetched fetched) {
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
#pragma GCC unroll 8
  for (size_t r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (size_t n = 0; n < N; ++n) {
      _mm512_storeu_ps(sums + r * stride + n * 16, sum[r][n]);
    }
  }
}

template <size_t R>
void multiply_dot_rows(
    const BFloat16Rows& x,
    const uint16_t* first,
    const uint16_t* panel,
    size_t width,
    float* sums,
    size_t stride,
    const Fetched& fetched) {
  (width == kBFloat16Columns ? multiply_dot<R, 2> : multiply_dot<R, 1>)(x, first, panel, sums, stride, fetched);
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

constexpr BFloat16Tile kTiles{
    kTileDepth,
    kTileDepth,
    kTileRows,
    /*whole_groups=*/true,
    /*speed=*/16,
    begin_tiles,
    end_tiles,
    multiply_tiles};

#elif defined(__aarch64__)

// BFDOT: R rows by 8 columns, of each vector with the two numbers of 4 columns.
template <size_t R>
ETX_DOT void multiply_dot(
    const BFloat16Rows& x, const uint16_t* first, const uint16_t* panel, size_t width, float* sums, size_t stride) {
  float32x4_t sum[R][2];
#pragma GCC unroll 8
  for (size_t r = 0; r < R; ++r) {
    sum[r][0] = sum[r][1] = vdupq_n_f32(0);
  }
  const auto add = [&](const uint16_t* at, auto pair_of) ETX_DOT __attribute__((always_inline)) {
    const bfloat16x8_t left = vreinterpretq_bf16_u16(vld1q_u16(panel));
    const bfloat16x8_t right = vreinterpretq_bf16_u16(vld1q_u16(panel + 8));
#pragma GCC unroll 8
    for (size_t r = 0; r < R; ++r) {
      const bfloat16x8_t factors = vreinterpretq_bf16_u32(vdupq_n_u32(pair_of(at + r * x.stride)));
      sum[r][0] = vbfdotq_f32(sum[r][0], left, factors);
      sum[r][1] = vbfdotq_f32(sum[r][1], right, factors);
    }
    panel += 2 * width;
  };
  add_runs(x, first, add);
#pragma GCC unroll 8
  for (size_t r = 0; r < R; ++r) {
    vst1q_f32(sums + r * stride, sum[r][0]);
    vst1q_f32(sums + r * stride + 4, sum[r][1]);
  }
}

template <size_t R>
void multiply_dot_rows(
    const BFloat16Rows& x,
    const uint16_t* first,
    const uint16_t* panel,
    size_t width,
    float* sums,
    size_t stride,
    const Fetched& /*fetched*/) {
  for (size_t column = 0; column < width; column += 8) {
    multiply_dot<R>(x, first, panel + 2 * column, width, sums + column, stride);
  }
}

#endif

#if defined(__x86_64__) || defined(__aarch64__)

constexpr size_t kDotRows = 8;

void multiply_dot_groups(const BFloat16Rows& x, const uint16_t* panel, size_t width, float* sums, size_t stride) {
  constexpr decltype(&multiply_dot_rows<1>) kMultiply[kDotRows] = {
      multiply_dot_rows<1>,
      multiply_dot_rows<2>,
      multiply_dot_rows<3>,
      multiply_dot_rows<4>,
      multiply_dot_rows<5>,
      multiply_dot_rows<6>,
      multiply_dot_rows<7>,
      multiply_dot_rows<8>};
  size_t groups = 0;
  for (; groups < kBFloat16Rows / kDotRows && x.counts[groups] > 0; ++groups) {
  }
  const size_t pairs = x.taps.size() * ((x.run + 1) / 2), bytes_of_pair = 2 * width * sizeof(uint16_t);
  for (size_t g = 0; g < groups; ++g) {
    const size_t step = bytes_of_pair / groups;
    const char* const next = reinterpret_cast<const char*>(panel) + pairs * (bytes_of_pair + g * step);
    kMultiply[x.counts[g] - 1](x, x.groups[g], panel, width, sums + g * kDotRows * stride, stride, {next, step});
  }
}

constexpr BFloat16Tile kDot{2, 1, kDotRows, /*whole_groups=*/false, /*speed=*/2, nothing, nothing, multiply_dot_groups};

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
