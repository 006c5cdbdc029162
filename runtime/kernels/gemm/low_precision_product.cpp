// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "low_precision_product.h"

#include <algorithm>

#include "bfloat16_panels.h"
#include "bfloat16_product.h"
#include "block_product.h"
#include "fixed_point_product.h"
#include "int8_product.h"
#include "runtime/base/round_up.h"
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

// Where rows of x are: element k of row r at data[r * stride + k * step]. Step and Stride are size_t or a Constant.
template <typename Step, typename Stride>
struct Rows {
  const float* data;
  Step step;
  Stride stride;
};
using PackedRows = Rows<Constant<kRows>, Constant<1>>;

// Where row `row`, a multiple of kRows, is packed. Behind kRows rows is room for what pack() writes too much.
HWY_INLINE size_t packed_offset(size_t row, size_t depth) {
  return row / kRows * (kRows * depth + kLanes);
}

// R rows from `row` on of N vectors of columns from `column` on, of which `count` are written.
template <typename Weights, size_t R, size_t N, typename Step, typename Stride>
HWY_NOINLINE void multiply_tile(
    const LowPrecisionProduct& p,
    const Rows<Step, Stride>& x,
    size_t row,
    size_t count,
    size_t column,
    const Panel<Weights, N>& panel) {
  constexpr size_t kChains = R >= 4 ? 1 : 4 / R; // of sums, which hide the latency of each other
  const float* HWY_RESTRICT from = x.data;
  Vector sums[kChains][R][N];
  HWY_UNROLL(16)
  for (auto& sum : sums) {
    HWY_UNROLL(16)
    for (size_t r = 0; r < R; ++r) {
      HWY_UNROLL(4)
      for (size_t n = 0; n < N; ++n) {
        sum[r][n] = hn::Zero(kFloats);
      }
    }
  }
  const auto add = [&](size_t k, Vector(&sum)[R][N]) HWY_ATTR {
    Vector weights[N];
    HWY_UNROLL(4)
    for (size_t n = 0; n < N; ++n) {
      weights[n] = panel.load(k, n);
    }
    add_products(from, x.stride, weights, sum);
    from += x.step;
  };
  constexpr size_t kAtOnce = HWY_ARCH_ARM_A64 ? 4 : kChains;
  size_t k = 0;
  for (; k + kAtOnce <= p.depth; k += kAtOnce) {
    HWY_UNROLL(4)
    for (size_t i = 0; i < kAtOnce; ++i) {
      add(k + i, sums[i % kChains]);
    }
  }
  for (; k < p.depth; ++k) {
    add(k, sums[0]);
  }
  auto& sum = sums[0];
  for (size_t i = 1; i < kChains; ++i) {
    for (size_t r = 0; r < R; ++r) {
      for (size_t n = 0; n < N; ++n) {
        sum[r][n] = hn::Add(sum[r][n], sums[i][r][n]);
      }
    }
  }
  const Vector min = hn::Set(kFloats, p.min), max = hn::Set(kFloats, p.max);
  HWY_UNROLL(4)
  for (size_t n = 0; n < N; ++n) {
    const size_t first = column + n * kLanes;
    const size_t width = std::min(kLanes, p.columns - first);
    const Vector bias = p.bias == nullptr ? hn::Zero(kFloats) : hn::LoadN(kFloats, p.bias + first, width);
    const Vector scale = p.scale == nullptr ? hn::Set(kFloats, 1) : hn::LoadN(kFloats, p.scale + first, width);
    HWY_UNROLL(16)
    for (size_t r = 0; r < R; ++r) {
      if (r >= count) {
        break;
      }
      float* const to = p.y + (p.row_offsets == nullptr ? (row + r) * p.y_stride : p.row_offsets[row + r]) + first;
      const Vector before = p.adds ? hn::LoadN(kFloats, to, width) : bias;
      const Vector y = clamped(hn::MulAdd(sum[r][n], scale, before), min, max);
      if (width == kLanes) {
        hn::StoreU(y, kFloats, to);
      } else {
        hn::StoreN(y, kFloats, to, width);
      }
    }
  }
}

template <typename Weights, size_t N>
HWY_INLINE void multiply_rows(
    const LowPrecisionProduct& p, size_t row, size_t end, size_t column, const Panel<Weights, N>& panel) {
  if (p.packed_rows != nullptr) {
    for (; row < end; row += kRows) {
      const PackedRows x{p.packed_rows + packed_offset(row, p.depth), {}, {}};
      const size_t count = std::min(kRows, end - row);
      with_rows(count, [&](auto rows) HWY_ATTR {
        multiply_tile<Weights, decltype(rows)::value, N>(p, x, row, count, column, panel);
      });
    }
    return;
  }
  const auto multiply = [&](auto rows) HWY_ATTR {
    constexpr size_t R = decltype(rows)::value;
    const Rows<Constant<1>, size_t> x{p.x + row * p.x_stride, {}, p.x_stride};
    multiply_tile<Weights, R, N>(p, x, row, R, column, panel);
    return R;
  };
  while (row + kRows <= end) {
    row += multiply(Constant<kRows>());
  }
  while (row + kMiddleRows <= end) {
    row += multiply(Constant<kMiddleRows>());
  }
  while (row + 4 <= end) {
    row += multiply(Constant<4>());
  }
  while (row + 2 <= end) {
    row += multiply(Constant<2>());
  }
  while (row < end) {
    row += multiply(Constant<1>());
  }
}

template <typename Weights, size_t N>
HWY_INLINE void multiply_vectors(const LowPrecisionProduct& p, size_t row, size_t end, size_t column, float* widened) {
  if (p.write_panel != nullptr) {
    p.write_panel(p.panels, column, N * kLanes, widened);
    multiply_rows(p, row, end, column, Panel<FromFloat32, N>{widened, {}});
    return;
  }
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
  with_weights(p.precision.type, p.zero_point, [&](auto weights) HWY_ATTR {
    multiply_panel<decltype(weights)>(p, row, end, panel, widened);
  });
}

// Rows [row, end) of x side by side, kRows at a time. REQUIRES: `row` is a multiple of kRows
void pack_rows(const LowPrecisionProduct& p, size_t row, size_t end, float* to) {
  for (; row < end; row += kRows) {
    const size_t count = std::min(kRows, end - row);
    pack(p.x + row * p.x_stride, p.x_stride, count, p.depth, kRows, 1, to + packed_offset(row, p.depth));
  }
}

size_t packed_floats(size_t rows, size_t depth) {
  return packed_offset(round_up(rows, kRows), depth);
}
size_t rows_of_pack() {
  return kRows;
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
HWY_EXPORT(pack_rows);
HWY_EXPORT(packed_floats);
HWY_EXPORT(rows_of_pack);
HWY_EXPORT(panel_tile);
HWY_EXPORT(panel_lanes);

constexpr size_t kGrain = 32768; // multiplications
constexpr size_t kManyRows = 48; // from which on panels are widened first, and rows packed
// Of many rows as many at a time as stay in a cache with their results while all panels meet them.
constexpr size_t kBlockBytes = 512 << 10;
constexpr size_t kMinBlockRows = 96;
constexpr size_t kMinWidenedRows = 384; // for which panels are widened anew
constexpr size_t kMinPackedPanels = 4; // for which many rows are packed

size_t tile() {
  return ETX_DISPATCH(panel_tile)();
}
size_t lanes() {
  return ETX_DISPATCH(panel_lanes)();
}

bool is_in_bfloat16(LowPrecision precision) {
  return precision.rounds_x && precision.type == DType::BFloat16 && has_bfloat16_product();
}

bool is_in_fixed_point(LowPrecision precision) {
  return precision.fixed_point && precision.type == DType::Int8 && has_byte_dot();
}

size_t widened_bytes(const LowPrecisionProduct& p) {
  const bool widens = (p.rows >= kManyRows && p.precision.type != DType::Float32) || p.write_panel != nullptr;
  return widens ? round_up_to_alignment(p.depth * tile() * sizeof(float)) : 0;
}

size_t packed_bytes(const LowPrecisionProduct& p) {
  if ((p.rows < kManyRows && p.write_panel == nullptr) || p.columns < kMinPackedPanels * tile()) {
    return 0;
  }
  return ETX_DISPATCH(packed_floats)(p.rows, p.depth) * sizeof(float);
}

size_t rows_of_block(const LowPrecisionProduct& p, size_t panels, pthreadpool_t pool) {
  const size_t fitting = kBlockBytes / ((p.depth + p.columns) * sizeof(float));
  const size_t least = widened_bytes(p) > 0 ? kMinWidenedRows : kMinBlockRows;
  size_t rows = std::max(least, fitting / kMinBlockRows * kMinBlockRows);
  if (p.rows <= 2 * rows) {
    rows = p.rows;
  }
  const size_t threads = threads_of(pool);
  if (threads > 1 && panels < 4 * threads) {
    const size_t share = p.rows * panels / (4 * threads) / kMinBlockRows * kMinBlockRows;
    rows = std::min(rows, std::max(kMinBlockRows, share));
  }
  return rows;
}

// Runs are taken in pieces of kPiece, so that these and what is written of a panel stay in a cache of the first level.
template <typename T>
void pack_panels(const T* weight, size_t columns, size_t stride, Span<const size_t> taps, size_t run, T* to) {
  constexpr size_t kPiece = 32;
  for (size_t column = 0; column < columns; column += tile()) {
    const size_t count = std::min(tile(), columns - column), width = count > lanes() ? tile() : lanes();
    if (count < width) {
      std::fill_n(to, taps.size() * run * width, T{0});
    }
    for (const size_t tap : taps) {
      for (size_t k = 0; k < run; k += kPiece) {
        const size_t piece = std::min(kPiece, run - k);
        for (size_t i = 0; i < count; ++i) {
          const T* const from = weight + (column + i) * stride + tap * run + k;
          for (size_t j = 0; j < piece; ++j) {
            to[j * width + i] = from[j];
          }
        }
        to += piece * width;
      }
    }
  }
}

} // namespace

Status ChannelScales::assign(const WeightScales& scales, size_t channels) {
  const size_t count = scales.scale.empty() ? 0 : channels;
  ETX_RETURN_IF_ERROR(scale_.assign(count));
  const auto is_zero = [](int32_t zero_point) { return zero_point == 0; };
  const bool is_symmetric = std::all_of(scales.zero_point.begin(), scales.zero_point.end(), is_zero);
  ETX_RETURN_IF_ERROR(zero_point_.assign(is_symmetric ? 0 : count));
  for (size_t i = 0; i < count; ++i) {
    const size_t k = scales.scale.size() == 1 ? 0 : i;
    scale_[i] = scales.scale[k];
    if (!is_symmetric) {
      zero_point_[i] = static_cast<float>(scales.zero_point[k]);
    }
  }
  return {};
}

std::string low_precision_layout(LowPrecision precision) {
  if (is_in_bfloat16(precision)) {
    return bfloat16_layout();
  }
  if (is_in_fixed_point(precision)) {
    return int8_layout();
  }
  return std::string(name_of(precision.type)) + " panels of " + std::to_string(tile()) + " and " +
      std::to_string(lanes());
}

size_t low_precision_panels_bytes(LowPrecision precision, size_t columns, size_t depth) {
  if (is_in_bfloat16(precision)) {
    return bfloat16_panels_bytes(columns, depth);
  }
  if (is_in_fixed_point(precision)) {
    return int8_panels_bytes(columns, depth);
  }
  return round_up(columns, lanes()) * depth * element_size(precision.type);
}

void pack_low_precision(
    LowPrecision precision,
    const void* weight,
    size_t columns,
    size_t stride,
    Span<const size_t> taps,
    size_t run,
    void* panels) {
  if (is_in_bfloat16(precision)) {
    pack_bfloat16(static_cast<const uint16_t*>(weight), columns, stride, taps, run, run, panels);
    return;
  }
  if (is_in_fixed_point(precision)) {
    pack_int8(static_cast<const int8_t*>(weight), columns, run, panels);
  } else if (precision.type == DType::Int8) {
    pack_panels(static_cast<const int8_t*>(weight), columns, stride, taps, run, static_cast<int8_t*>(panels));
  } else if (precision.type == DType::Float32) {
    pack_panels(static_cast<const float*>(weight), columns, stride, taps, run, static_cast<float*>(panels));
  } else {
    pack_panels(static_cast<const uint16_t*>(weight), columns, stride, taps, run, static_cast<uint16_t*>(panels));
  }
}

size_t low_precision_product_scratch(const LowPrecisionProduct& p, size_t num_threads) {
  if (is_in_bfloat16(p.precision)) {
    return bfloat16_product_scratch(p);
  }
  if (is_in_fixed_point(p.precision)) {
    return int8_product_scratch(p, num_threads);
  }
  if (p.precision.in_blocks) {
    return block_product_scratch(p);
  }
  return widened_bytes(p) * num_threads + packed_bytes(p);
}

void multiply_low_precision(const LowPrecisionProduct& p, void* scratch, pthreadpool_t pool) {
  if (p.rows == 0 || p.columns == 0) {
    return;
  }
  if (is_in_bfloat16(p.precision)) {
    multiply_bfloat16(p, scratch, pool);
    return;
  }
  if (is_in_fixed_point(p.precision)) {
    multiply_int8(p, scratch, pool);
    return;
  }
  if (p.precision.in_blocks) {
    multiply_in_blocks(p, scratch, pool);
    return;
  }
  if (packed_bytes(p) > 0 && p.packed_rows == nullptr) {
    const size_t threads = threads_of(pool);
    float* const packed = reinterpret_cast<float*>(static_cast<char*>(scratch) + widened_bytes(p) * threads);
    const auto pack = ETX_DISPATCH(pack_rows);
    const size_t together = ETX_DISPATCH(rows_of_pack)();
    const size_t packs = divide_up(p.rows, together);
    parallel_for(pool, packs, kGrain / (together * p.depth + 1) + 1, [&](size_t begin, size_t end) {
      pack(p, begin * together, std::min(p.rows, end * together), packed);
    });
    LowPrecisionProduct with_packed = p;
    with_packed.packed_rows = packed;
    return multiply_low_precision(with_packed, scratch, pool);
  }
  const auto multiply = ETX_DISPATCH(multiply_low_precision_panel);
  const size_t panels = divide_up(p.columns, tile());
  const size_t block = rows_of_block(p, panels, pool);
  const size_t count = divide_up(p.rows, block) * panels;
  const auto run = [&](size_t i, float* widened) {
    const size_t row = i / panels * block, panel = p.backward ? panels - 1 - i % panels : i % panels;
    multiply(p, row, std::min(p.rows, row + block), panel, widened);
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
