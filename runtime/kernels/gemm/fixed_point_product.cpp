// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "fixed_point_product.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "runtime/base/round_up.h"
#include "runtime/kernels/simd/avx512.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/gemm/fixed_point_product.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/common/parallel.h"
#include "runtime/kernels/gemm/fixed_point-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

#if ETX_BYTE_DOT
ETX_BYTE_DOT_BEGIN

static_assert(ColumnPanels::kColumns % kLanes == 0, "a panel is made of whole vectors");

HWY_INLINE hn::Vec<Bytes> load_bytes(const uint8_t* from) {
  return hn::LoadU(kBytes, reinterpret_cast<const hn::TFromD<decltype(kBytes)>*>(from));
}

// How weights are read, those of eights that stand at even places first.
struct Int4Weights {
  static constexpr size_t kBits = 4;
  static constexpr int32_t kOffset = 8;

  static HWY_INLINE void load(const uint8_t* from, size_t, hn::Vec<Bytes>& even, hn::Vec<Bytes>& odd) {
    const auto low = hn::Set(kBytes, 15), both = load_bytes(from);
    even = hn::And(both, low);
    odd = hn::And(hn::BitCast(kBytes, hn::ShiftRight<4>(hn::BitCast(kIntegers, both))), low);
  }
};
struct Int8Weights {
  static constexpr size_t kBits = 8;
  static constexpr int32_t kOffset = PanelProduct::kInt8Offset;

  static HWY_INLINE void load(const uint8_t* from, size_t width, hn::Vec<Bytes>& even, hn::Vec<Bytes>& odd) {
    even = load_bytes(from);
    odd = load_bytes(from + width * sizeof(int32_t));
  }
};

// Those of a vector of columns that there are. Masks made products 3 to 9 % faster than branches (GCC 12, AVX-512).
#if HWY_ARCH_X86
using Present = hn::Mask<Floats>;
HWY_INLINE Present first_columns(size_t count) {
  return hn::FirstN(kFloats, count);
}
HWY_INLINE Vector load_columns(Present present, const float* from) {
  return hn::MaskedLoad(present, kFloats, from);
}
HWY_INLINE void store_columns(Vector y, Present present, float* to) {
  hn::BlendedStore(y, present, kFloats, to);
}
#else
using Present = size_t;
HWY_INLINE Present first_columns(size_t count) {
  return std::min(kLanes, count);
}
HWY_INLINE Vector load_columns(Present present, const float* from) {
  return present == kLanes ? hn::LoadU(kFloats, from) : hn::LoadN(kFloats, from, present);
}
HWY_INLINE void store_columns(Vector y, Present present, float* to) {
  hn::StoreN(y, kFloats, to, present);
}
#endif

template <size_t D>
HWY_INLINE Vector number_of(const hn::Vec<Integers> (&digit)[D]) {
  const auto low = hn::Add(digit[0], hn::ShiftLeft<8>(digit[1]));
  const auto high = D == 3 ? digit[2] : hn::Add(digit[2], hn::ShiftLeft<8>(digit[D - 1]));
  return hn::MulAdd(hn::ConvertTo(kFloats, high), hn::Set(kFloats, 65536), hn::ConvertTo(kFloats, low));
}

// R rows from `row` on of V vectors of columns from `column` on, whose weights begin at `weight` in a panel of `width`.
template <typename Weights, size_t R, size_t V, size_t D>
HWY_NOINLINE void multiply_tile(
    const PanelProduct& p, const FixedPointRows& rows, size_t row, size_t column, const uint8_t* weight, size_t width) {
  const size_t stride = rows.stride(), blocks = p.depth.blocks(), step = width * Weights::kBits;
  const size_t columns = p.columns.count;
  const int8_t* x = rows.digit + row * stride;
  Present present[V];
  Vector total[R][V];
  HWY_UNROLL(4)
  for (size_t v = 0; v < V; ++v) {
    const size_t first = column + v * kLanes;
    present[v] = first_columns(columns - std::min(columns, first));
    HWY_UNROLL(4)
    for (size_t r = 0; r < R; ++r) {
      total[r][v] = hn::Zero(kFloats);
    }
  }
  size_t block = row * blocks, of_group = p.columns.of_group(p.depth.groups, 0, column);
  for (size_t g = 0; g < p.depth.groups; ++g, of_group += width) {
    for (size_t rest = p.depth.padded_group(); rest > 0; ++block) {
      const size_t count = std::min(FixedPointDepth::kBlock, rest);
      rest -= count;
      hn::Vec<Integers> sum[R][V][D];
      HWY_UNROLL(4)
      for (size_t r = 0; r < R; ++r) {
        const int32_t* const digit_sum = rows.digit_sum + (block + r * blocks) * FixedPointRows::kMaxDigits;
        HWY_UNROLL(4)
        for (size_t d = 0; d < D; ++d) {
          HWY_UNROLL(4)
          for (size_t v = 0; v < V; ++v) {
            sum[r][v][d] = hn::Set(kIntegers, -Weights::kOffset * digit_sum[d]);
          }
        }
      }
      for (size_t k = 0; k < count; k += FixedPointDepth::kEight, weight += step) {
        hn::Vec<Bytes> w[2][V];
        HWY_UNROLL(4)
        for (size_t v = 0; v < V; ++v) {
          Weights::load(weight + v * kLanes * sizeof(int32_t), width, w[0][v], w[1][v]);
        }
        HWY_UNROLL(2)
        for (size_t half = 0; half < 2; ++half, x += FixedPointRows::kMaxDigits * sizeof(int32_t)) {
          HWY_UNROLL(4)
          for (size_t r = 0; r < R; ++r) {
            HWY_UNROLL(4)
            for (size_t d = 0; d < D; ++d) {
              int32_t four;
              std::memcpy(&four, x + r * stride + d * sizeof(four), sizeof(four));
              const auto each = hn::BitCast(kDigits, hn::Set(kIntegers, four));
              HWY_UNROLL(4)
              for (size_t v = 0; v < V; ++v) {
                sum[r][v][d] = dot(w[half][v], each, sum[r][v][d]);
              }
            }
          }
        }
      }
      HWY_UNROLL(4)
      for (size_t v = 0; v < V; ++v) {
        const Vector scale = load_columns(present[v], p.scale + of_group + v * kLanes);
        HWY_UNROLL(4)
        for (size_t r = 0; r < R; ++r) {
          const size_t of_row = block + r * blocks;
          Vector number = number_of(sum[r][v]);
          if (p.zero_point != nullptr) {
            const Vector zero_point = load_columns(present[v], p.zero_point + of_group + v * kLanes);
            number = hn::NegMulAdd(zero_point, hn::Set(kFloats, rows.sum[of_row]), number);
          }
          total[r][v] = hn::MulAdd(hn::Mul(number, hn::Set(kFloats, rows.unit[of_row])), scale, total[r][v]);
        }
      }
    }
  }
  const Vector min = hn::Set(kFloats, p.min), max = hn::Set(kFloats, p.max);
  HWY_UNROLL(4)
  for (size_t v = 0; v < V; ++v) {
    Vector bias = hn::Zero(kFloats);
    if (p.bias != nullptr) {
      bias = load_columns(present[v], p.bias + column + v * kLanes);
    }
    HWY_UNROLL(4)
    for (size_t r = 0; r < R; ++r) {
      const Vector y = clamped(hn::Add(total[r][v], bias), min, max);
      float* const to = p.y + (row + r) * columns + column + v * kLanes;
      store_columns(y, present[v], to);
    }
  }
}

template <typename Weights, size_t R, size_t V, size_t D>
HWY_INLINE void multiply_rows(const PanelProduct& p, const FixedPointRows& rows, size_t row, size_t panel) {
  const uint8_t* const weight = p.panel(panel);
  const size_t width = p.columns.width(panel), begin = panel * ColumnPanels::kPanel;
  size_t c = 0;
  for (; c + V * kLanes <= width; c += V * kLanes) {
    multiply_tile<Weights, R, V, D>(p, rows, row, begin + c, weight + c * sizeof(int32_t), width);
  }
  for (; c < width; c += kLanes) {
    multiply_tile<Weights, R, 1, D>(p, rows, row, begin + c, weight + c * sizeof(int32_t), width);
  }
}

// The tiles are the largest ones whose sums fit the registers.
template <typename Weights, size_t D>
void multiply_panel(const PanelProduct& p, const FixedPointRows& rows, size_t row, size_t end, size_t panel) {
  constexpr size_t kRows = D == 3 ? 3 : 2;
  for (; row + kRows <= end && row + 4 != end; row += kRows) {
    multiply_rows<Weights, kRows, 2, D>(p, rows, row, panel);
  }
  for (; row + 2 <= end; row += 2) {
    multiply_rows<Weights, 2, 2, D>(p, rows, row, panel);
  }
  for (; row < end; ++row) {
    multiply_rows<Weights, 1, 4, D>(p, rows, row, panel);
  }
}

void multiply_fixed_point_panel(
    const PanelProduct& p, const FixedPointRows& rows, size_t row, size_t end, size_t panel) {
  const bool is_4bit = p.bits == 4;
  if (rows.digits == 3) {
    (is_4bit ? multiply_panel<Int4Weights, 3> : multiply_panel<Int8Weights, 3>)(p, rows, row, end, panel);
  } else {
    (is_4bit ? multiply_panel<Int4Weights, 4> : multiply_panel<Int8Weights, 4>)(p, rows, row, end, panel);
  }
}

ETX_BYTE_DOT_END

#else

void multiply_fixed_point_panel(const PanelProduct&, const FixedPointRows&, size_t, size_t, size_t) {}

#endif

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(multiply_fixed_point_panel);

namespace {

constexpr size_t kGrain = 65536; // weights that are multiplied, or numbers that are converted
// As many rows at a time as stay in a cache while all panels meet them.
constexpr size_t kBlockBytes = 512 << 10, kMinBlockRows = 48;

size_t rows_of_block(const PanelProduct& p, const FixedPointRows& rows) {
  const size_t fitting = kBlockBytes / rows.stride() / kMinBlockRows * kMinBlockRows;
  const size_t block = std::max(kMinBlockRows, fitting);
  return p.rows <= 2 * block ? p.rows : block;
}

bool convert(const PanelProduct& p, const FixedPointRows& rows, pthreadpool_t pool) {
  std::atomic<bool> fit{true};
  parallel_for(pool, p.rows, kGrain / (p.depth.padded() + 1) + 1, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end && fit.load(std::memory_order_relaxed); ++row) {
      if (!convert_to_fixed_point(p.x + row * p.x_stride, rows, row)) {
        fit.store(false, std::memory_order_relaxed);
      }
    }
  });
  return fit.load();
}

} // namespace

bool fixed_point_pays(size_t rows, size_t few) {
  return has_byte_dot() && (rows <= few || !is_avx512_of_intel());
}

size_t fixed_point_product_scratch(const PanelProduct& p) {
  return fixed_point_rows_bytes(p.depth, p.rows);
}

bool multiply_fixed_point(const PanelProduct& p, void* scratch, pthreadpool_t pool) {
  if (p.rows == 0) {
    return true;
  }
  FixedPointRows rows = place_fixed_point_rows(p.depth, p.rows, scratch);
  for (rows.digits = 3; !convert(p, rows, pool); ++rows.digits) {
    if (rows.digits == FixedPointRows::kMaxDigits) {
      return false;
    }
  }
  const auto multiply = ETX_DISPATCH(multiply_fixed_point_panel);
  const size_t panels = p.columns.panels();
  const size_t block = rows_of_block(p, rows);
  const size_t count = divide_up(p.rows, block) * panels;
  const size_t grain = kGrain / (ColumnPanels::kPanel * p.depth.padded() * block + 1) + 1;
  parallel_for(pool, count, grain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t row = i / panels * block;
      multiply(p, rows, row, std::min(p.rows, row + block), i % panels);
    }
  });
  return true;
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
