// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "low_precision_product.h"

#include <algorithm>
#include <array>

#include "bfloat16_panels.h"
#include "bfloat16_product.h"
#include "runtime/kernels/simd/reduced_float.h"
#include "runtime/kernels/simd/isa.h"
#include "runtime/kernels/common/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/gemm/low_precision_product.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "low_precision_weight-inl.h"
#include "product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

constexpr size_t kMiddleRows = kRows > 8 ? 8 : 4; // of a tile where kRows are too many

// The weights of one panel, N vectors of columns.
template <typename Weights, size_t N>
struct Panel {
  const typename Weights::Element* w;
  Weights vectors[N];

  HWY_INLINE Vector load(size_t k, size_t n) const {
    return vectors[n].load(w + (k * N + n) * kLanes);
  }
};

// R rows from `row` on of N vectors of columns from `column` on.
template <typename Weights, size_t R, size_t N>
HWY_NOINLINE void multiply_tile(
    const LowPrecisionProduct& p, size_t row, size_t column, const Panel<Weights, N>& panel) {
  const float* HWY_RESTRICT x = p.x + row * p.x_stride;
  const size_t stride = p.x_stride;
  Vector sum[R][N];
  HWY_UNROLL(16)
  for (size_t r = 0; r < R; ++r) {
    HWY_UNROLL(4)
    for (size_t n = 0; n < N; ++n) {
      sum[r][n] = hn::Zero(kFloats);
    }
  }
  for (size_t k = 0; k < p.depth; ++k) {
    Vector weights[N];
    HWY_UNROLL(4)
    for (size_t n = 0; n < N; ++n) {
      weights[n] = panel.load(k, n);
    }
    HWY_UNROLL(16)
    for (size_t r = 0; r < R; ++r) {
      const Vector factor = hn::Set(kFloats, x[r * stride + k]);
      HWY_UNROLL(4)
      for (size_t n = 0; n < N; ++n) {
        sum[r][n] = hn::MulAdd(factor, weights[n], sum[r][n]);
      }
    }
  }
  const Vector min = hn::Set(kFloats, p.min), max = hn::Set(kFloats, p.max);
  HWY_UNROLL(4)
  for (size_t n = 0; n < N; ++n) {
    const size_t from = column + n * kLanes;
    const size_t count = std::min(kLanes, p.columns - from);
    const Vector bias = p.bias == nullptr ? hn::Zero(kFloats) : hn::LoadN(kFloats, p.bias + from, count);
    const Vector scale = p.scale == nullptr ? hn::Set(kFloats, 1) : hn::LoadN(kFloats, p.scale + from, count);
    HWY_UNROLL(16)
    for (size_t r = 0; r < R; ++r) {
      const Vector y = clamped(hn::MulAdd(sum[r][n], scale, bias), min, max);
      float* const to = p.y + (p.row_offsets == nullptr ? (row + r) * p.y_stride : p.row_offsets[row + r]) + from;
      if (count == kLanes) {
        hn::StoreU(y, kFloats, to);
      } else {
        hn::StoreN(y, kFloats, to, count);
      }
    }
  }
}

template <typename Weights, size_t N>
HWY_INLINE void multiply_rows(
    const LowPrecisionProduct& p, size_t row, size_t end, size_t column, const Panel<Weights, N>& panel) {
  for (; row + kRows <= end; row += kRows) {
    multiply_tile<Weights, kRows, N>(p, row, column, panel);
  }
  for (; row + kMiddleRows <= end; row += kMiddleRows) {
    multiply_tile<Weights, kMiddleRows, N>(p, row, column, panel);
  }
  for (; row + 4 <= end; row += 4) {
    multiply_tile<Weights, 4, N>(p, row, column, panel);
  }
  for (; row < end; ++row) {
    multiply_tile<Weights, 1, N>(p, row, column, panel);
  }
}

template <typename Weights, size_t N>
HWY_INLINE void multiply_vectors(const LowPrecisionProduct& p, size_t row, size_t end, size_t column, float* widened) {
  Panel<Weights, N> panel;
  panel.w = static_cast<const typename Weights::Element*>(p.panels) + column * p.depth;
  for (size_t n = 0; n < N; ++n) {
    const size_t from = column + n * kLanes;
    panel.vectors[n].set_channels(p.zero_point, from, std::min(kLanes, p.columns - from));
  }
  if (widened == nullptr) {
    multiply_rows(p, row, end, column, panel);
    return;
  }
  for (size_t k = 0; k < p.depth; ++k) {
    for (size_t n = 0; n < N; ++n) {
      hn::StoreU(panel.load(k, n), kFloats, widened + (k * N + n) * kLanes);
    }
  }
  multiply_rows(p, row, end, column, Panel<FromFloat32, N>{widened, {}});
}

template <typename Weights>
HWY_INLINE void multiply_panel(const LowPrecisionProduct& p, size_t row, size_t end, size_t panel, float* widened) {
  const size_t column = panel * kTile;
  if (p.columns - column > kLanes) {
    multiply_vectors<Weights, kVectors>(p, row, end, column, widened);
  } else {
    multiply_vectors<Weights, 1>(p, row, end, column, widened);
  }
}

// Rows [row, end) of one panel of columns. `widened`: room for one panel of floats, if it is to be widened
// once instead of for each tile of rows.
void multiply_low_precision_panel(const LowPrecisionProduct& p, size_t row, size_t end, size_t panel, float* widened) {
  with_weights(
      p.precision.type, [&](auto weights) HWY_ATTR { multiply_panel<decltype(weights)>(p, row, end, panel, widened); });
}

// The columns of a panel, and those that the last one is rounded up to.
size_t panel_tile() {
  return kTile;
}
size_t panel_lanes() {
  return kLanes;
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {
namespace {

HWY_EXPORT(multiply_low_precision_panel);
HWY_EXPORT(panel_tile);
HWY_EXPORT(panel_lanes);

constexpr size_t kGrain = 32768; // multiplications
// From so many rows on panels are widened first, if one stays in a cache of the second level.
constexpr size_t kManyRows = 48;
constexpr size_t kMaxWidenedBytes = 256 << 10;
// Of many rows as many at a time as stay in a cache with their results while all panels meet them.
constexpr size_t kBlockBytes = 512 << 10;
constexpr size_t kMinBlockRows = 96;
constexpr size_t kMaxTile = 64;

size_t tile() {
  return ETX_DISPATCH(panel_tile)();
}
size_t lanes() {
  return ETX_DISPATCH(panel_lanes)();
}

bool is_in_bfloat16(LowPrecision precision) {
  return precision.rounds_x && precision.type == DType::BFloat16 && has_bfloat16_product();
}

size_t widened_bytes(const LowPrecisionProduct& p) {
  const size_t bytes = p.depth * tile() * sizeof(float);
  return p.rows >= kManyRows && bytes <= kMaxWidenedBytes ? bytes : 0;
}

size_t rows_of_block(const LowPrecisionProduct& p, size_t panels, pthreadpool_t pool) {
  const size_t fitting = kBlockBytes / ((p.depth + p.columns) * sizeof(float));
  size_t rows = std::max(kMinBlockRows, fitting / kMinBlockRows * kMinBlockRows);
  if (p.rows <= 2 * rows) {
    rows = p.rows;
  }
  const size_t threads = pool == nullptr ? 1 : pthreadpool_get_threads_count(pool);
  if (threads > 1 && panels < 4 * threads) {
    const size_t share = p.rows * panels / (4 * threads) / kMinBlockRows * kMinBlockRows;
    rows = std::min(rows, std::max(kMinBlockRows, share));
  }
  return rows;
}

} // namespace

Status ChannelScales::assign(const WeightScales& scales, size_t channels) {
  const size_t count = scales.scale.empty() ? 0 : channels;
  ETX_RETURN_IF_ERROR(scale_.assign(count));
  ETX_RETURN_IF_ERROR(zero_point_.assign(count));
  for (size_t i = 0; i < count; ++i) {
    const size_t k = scales.scale.size() == 1 ? 0 : i;
    scale_[i] = scales.scale[k];
    zero_point_[i] = static_cast<float>(scales.zero_point[k]);
  }
  return {};
}

std::string low_precision_layout(LowPrecision precision) {
  if (is_in_bfloat16(precision)) {
    return bfloat16_layout();
  }
  return std::string(name_of(precision.type)) + " panels of " + std::to_string(tile()) + " and " +
      std::to_string(lanes());
}

size_t low_precision_panels_bytes(LowPrecision precision, size_t columns, size_t depth) {
  if (is_in_bfloat16(precision)) {
    return bfloat16_panels_bytes(columns, depth);
  }
  return (columns + lanes() - 1) / lanes() * lanes() * depth * element_size(precision.type);
}

void pack_low_precision(
    LowPrecision precision,
    const void* weight,
    size_t columns,
    size_t stride,
    Span<const size_t> taps,
    size_t run,
    void* panels) {
  const DType type = precision.type;
  if (is_in_bfloat16(precision)) {
    pack_bfloat16(static_cast<const float*>(weight), columns, stride, taps, run, run, panels);
    return;
  }
  const auto each_row = [&](const auto* from, auto* to, const auto& store) {
    std::array<std::remove_const_t<std::remove_pointer_t<decltype(from)>>, kMaxTile> row{};
    for (size_t column = 0; column < columns; column += tile()) {
      const size_t count = std::min(tile(), columns - column);
      const size_t width = count > lanes() ? tile() : lanes();
      row.fill(0);
      for (const size_t tap : taps) {
        for (size_t k = tap * run; k < (tap + 1) * run; ++k, to += width) {
          for (size_t i = 0; i < count; ++i) {
            row[i] = from[(column + i) * stride + k];
          }
          store(row.data(), to, width);
        }
      }
    }
  };
  if (type == DType::Int8) {
    each_row(
        static_cast<const int8_t*>(weight),
        static_cast<int8_t*>(panels),
        [](const int8_t* row, int8_t* to, size_t width) { std::copy_n(row, width, to); });
  } else {
    each_row(
        static_cast<const float*>(weight),
        static_cast<uint16_t*>(panels),
        [&](const float* row, uint16_t* to, size_t width) { narrow(type, row, to, width); });
  }
}

size_t low_precision_product_scratch(const LowPrecisionProduct& p, size_t num_threads) {
  return is_in_bfloat16(p.precision) ? bfloat16_product_scratch(p) : widened_bytes(p) * num_threads;
}

void multiply_low_precision(const LowPrecisionProduct& p, void* scratch, pthreadpool_t pool) {
  if (p.rows == 0 || p.columns == 0) {
    return;
  }
  if (is_in_bfloat16(p.precision)) {
    multiply_bfloat16(p, scratch, pool);
    return;
  }
  const auto multiply = ETX_DISPATCH(multiply_low_precision_panel);
  const size_t panels = (p.columns + tile() - 1) / tile();
  const size_t block = rows_of_block(p, panels, pool);
  const size_t count = (p.rows + block - 1) / block * panels;
  const auto run = [&](size_t i, float* widened) {
    const size_t row = i / panels * block;
    multiply(p, row, std::min(p.rows, row + block), i % panels, widened);
  };
  if (const size_t bytes = widened_bytes(p); bytes > 0) {
    parallel_for_with_thread(pool, count, [&](size_t thread, size_t i) {
      run(i, reinterpret_cast<float*>(static_cast<char*>(scratch) + thread * bytes));
    });
    return;
  }
  parallel_for(pool, count, kGrain / (block * p.depth * tile() + 1) + 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      run(i, nullptr);
    }
  });
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
