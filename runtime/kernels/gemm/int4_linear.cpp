// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "int4_linear.h"

#include <algorithm>
#include <cstring>

#include "fixed_point_product.h"
#include "runtime/base/memory.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/gemm/int4_linear.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/common/parallel.h"
#include "runtime/kernels/gemm/product-inl.h"
#include "runtime/kernels/simd/reduced_float-inl.h"
#include "runtime/kernels/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

static_assert(ColumnPanels::kColumns % kLanes == 0, "a block of columns is made of whole vectors");

using WordVector = hn::Vec<Words>;
constexpr size_t kHalf = FixedPointDepth::kEight / 2;

HWY_INLINE const uint32_t* words_of_panel(const PanelProduct& p, size_t panel) {
  return reinterpret_cast<const uint32_t*>(p.panel(panel));
}

// Takes the weights of eights apart.
#if HWY_MAX_BYTES == 64
// A vector of BFloat16 holds all that 4 bits stand for, twice, so that of an index only these 4 count. Each half of a
// block gives its lowest one at once.
class Numbers {
 public:
  HWY_INLINE Numbers() {
    const Vector numbers = hn::Sub(hn::Iota(kFloats, 0), hn::Set(kFloats, 8));
    const WordVector bits = hn::ShiftRight<16>(hn::BitCast(kWords, numbers));
    table_ = hn::OrderedTruncate2To(Halves(), bits, bits);
  }

  // Weights k and k + 4 of each block, of which weight k is in the lowest bits now.
  HWY_INLINE void get(WordVector bits, Vector& first, Vector& second) const {
    const auto both = hn::BitCast(kWords, hn::TableLookupLanes(table_, hn::Indices512<uint16_t>{bits.raw}));
    first = hn::BitCast(kFloats, hn::ShiftLeft<16>(both));
    second = hn::BitCast(kFloats, hn::And(both, hn::Set(kWords, 0xFFFF0000u)));
  }

 private:
  using Halves = hn::Repartition<uint16_t, Floats>;
  hn::Vec<Halves> table_;
};
#else
class Numbers {
 public:
  HWY_INLINE void get(WordVector bits, Vector& first, Vector& second) const {
    first = number(bits);
    second = number(hn::ShiftRight<16>(bits));
  }

 private:
  static HWY_INLINE Vector number(WordVector bits) {
    const auto integer = hn::BitCast(hn::RebindToSigned<Floats>(), hn::And(bits, hn::Set(kWords, 15)));
    return hn::Sub(hn::ConvertTo(kFloats, integer), hn::Set(kFloats, 8));
  }
};
#endif

// R rows from `row` on of V vectors of columns from `column` on, which begin at `weight` in a panel of `width` columns.
template <size_t R, size_t V, bool kHasZeroPoint>
HWY_INLINE void multiply_tile(const PanelProduct& p, size_t row, size_t column, const uint32_t* weight, size_t width) {
  const size_t eights = p.depth.eights_of_group(), stride = p.x_stride;
  const Numbers numbers;
  const float* x = p.x + row * stride;
  size_t of_group = p.columns.of_group(p.depth.groups, 0, column);
  Vector total[R][V];
  HWY_UNROLL(4)
  for (auto& of_row : total) {
    HWY_UNROLL(4)
    for (Vector& v : of_row) {
      v = hn::Zero(kFloats);
    }
  }
  for (size_t g = 0; g < p.depth.groups; ++g, of_group += width) {
    Vector sum[R][V], zero_point[V];
    HWY_UNROLL(4)
    for (size_t v = 0; v < V; ++v) {
      HWY_UNROLL(4)
      for (size_t r = 0; r < R; ++r) {
        sum[r][v] = hn::Zero(kFloats);
      }
      if constexpr (kHasZeroPoint) {
        zero_point[v] = hn::LoadU(kFloats, p.zero_point + of_group + v * kLanes);
      }
    }
    for (size_t i = 0; i < eights; ++i, weight += width, x += FixedPointDepth::kEight) {
      WordVector bits[V];
      HWY_UNROLL(4)
      for (size_t v = 0; v < V; ++v) {
        bits[v] = hn::LoadU(kWords, weight + v * kLanes);
      }
      HWY_UNROLL(4)
      for (size_t k = 0; k < kHalf; ++k) {
        Vector w[2][V];
        HWY_UNROLL(4)
        for (size_t v = 0; v < V; ++v) {
          numbers.get(bits[v], w[0][v], w[1][v]);
          bits[v] = hn::ShiftRight<4>(bits[v]);
          if constexpr (kHasZeroPoint) {
            w[0][v] = hn::Sub(w[0][v], zero_point[v]);
            w[1][v] = hn::Sub(w[1][v], zero_point[v]);
          }
        }
        HWY_UNROLL(4)
        for (size_t r = 0; r < R; ++r) {
          HWY_UNROLL(2)
          for (size_t half = 0; half < 2; ++half) {
            const Vector each = hn::Set(kFloats, x[r * stride + half * kHalf + k]);
            HWY_UNROLL(4)
            for (size_t v = 0; v < V; ++v) {
              sum[r][v] = hn::MulAdd(w[half][v], each, sum[r][v]);
            }
          }
        }
      }
    }
    HWY_UNROLL(4)
    for (size_t v = 0; v < V; ++v) {
      const Vector scale = hn::LoadU(kFloats, p.scale + of_group + v * kLanes);
      HWY_UNROLL(4)
      for (size_t r = 0; r < R; ++r) {
        total[r][v] = hn::MulAdd(sum[r][v], scale, total[r][v]);
      }
    }
  }
  const Vector min = hn::Set(kFloats, p.min), max = hn::Set(kFloats, p.max);
  HWY_UNROLL(4)
  for (size_t v = 0; v < V; ++v) {
    const size_t first = column + v * kLanes;
    if (first >= p.columns.count) {
      break;
    }
    const size_t count = std::min(kLanes, p.columns.count - first);
    const Vector bias = p.bias == nullptr ? hn::Zero(kFloats) : hn::LoadN(kFloats, p.bias + first, count);
    HWY_UNROLL(4)
    for (size_t r = 0; r < R; ++r) {
      const Vector y = clamped(hn::Add(total[r][v], bias), min, max);
      hn::StoreN(y, kFloats, p.y + (row + r) * p.columns.count + first, count);
    }
  }
}

template <size_t R, bool kHasZeroPoint>
HWY_INLINE void multiply_rows(const PanelProduct& p, size_t row, size_t panel) {
  constexpr size_t V = R == 4 && kRows < 8 ? 2 : 4; // sums and weights that fit the registers
  const uint32_t* const weight = words_of_panel(p, panel);
  const size_t width = p.columns.width(panel), begin = panel * ColumnPanels::kPanel;
  size_t c = 0;
  for (; c + V * kLanes <= width; c += V * kLanes) {
    multiply_tile<R, V, kHasZeroPoint>(p, row, begin + c, weight + c, width);
  }
  for (; c < width; c += kLanes) {
    multiply_tile<R, 1, kHasZeroPoint>(p, row, begin + c, weight + c, width);
  }
}

template <bool kHasZeroPoint>
void multiply_panels(const PanelProduct& p, size_t begin, size_t end) {
  for (size_t panel = begin; panel < end; ++panel) {
    size_t row = 0;
    for (; row + 4 <= p.rows; row += 4) {
      multiply_rows<4, kHasZeroPoint>(p, row, panel);
    }
    for (; row + 2 <= p.rows; row += 2) {
      multiply_rows<2, kHasZeroPoint>(p, row, panel);
    }
    for (; row < p.rows; ++row) {
      multiply_rows<1, kHasZeroPoint>(p, row, panel);
    }
  }
}

void multiply_int4(const PanelProduct& p, size_t begin, size_t end) {
  if (p.zero_point == nullptr) {
    multiply_panels<false>(p, begin, end);
  } else {
    multiply_panels<true>(p, begin, end);
  }
}

// Writes columns [column, column + width) as a panel of floats, [depth, width].
void write_int4_panel(const void* product, size_t column, size_t width, float* to) {
  const auto& p = *static_cast<const PanelProduct*>(product);
  const size_t group_size = p.depth.group_size;
  const Numbers numbers;
  for (size_t c = 0; c < width; c += kLanes, column += kLanes) {
    float* y = to + c;
    if (column >= p.columns.padded()) {
      for (size_t k = 0; k < p.depth.groups * group_size; ++k, y += width) {
        hn::StoreU(hn::Zero(kFloats), kFloats, y);
      }
      continue;
    }
    const size_t panel = column / ColumnPanels::kPanel, panel_width = p.columns.width(panel);
    const uint32_t* weight = words_of_panel(p, panel) + column % ColumnPanels::kPanel;
    for (size_t g = 0; g < p.depth.groups; ++g) {
      const size_t of_group = p.columns.of_group(p.depth.groups, g, column);
      const Vector scale = hn::LoadU(kFloats, p.scale + of_group);
      Vector zero_point = hn::Zero(kFloats);
      if (p.zero_point != nullptr) {
        zero_point = hn::LoadU(kFloats, p.zero_point + of_group);
      }
      for (size_t first = 0; first < group_size; first += FixedPointDepth::kEight, weight += panel_width) {
        WordVector bits = hn::LoadU(kWords, weight);
        const size_t count = std::min(FixedPointDepth::kEight, group_size - first);
        Vector w[FixedPointDepth::kEight];
        HWY_UNROLL(4)
        for (size_t k = 0; k < kHalf; ++k) {
          numbers.get(bits, w[k], w[k + kHalf]);
          bits = hn::ShiftRight<4>(bits);
        }
        HWY_UNROLL(8)
        for (size_t k = 0; k < FixedPointDepth::kEight; ++k) {
          if (k < count) {
            hn::StoreU(hn::Mul(hn::Sub(w[k], zero_point), scale), kFloats, y + k * width);
          }
        }
        y += count * width;
      }
    }
  }
}

// Up to how many rows weights are multiplied as they are packed.
size_t few_int4_rows() {
  return HWY_MAX_BYTES == 64 ? 64 : 12;
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(multiply_int4);
HWY_EXPORT(write_int4_panel);
HWY_EXPORT(few_int4_rows);

namespace {

constexpr size_t kGrain = 65536; // bytes of weights, or elements

PanelProduct product_of(const Int4LinearParameters& p) {
  PanelProduct product;
  product.x_stride = p.depth;
  product.rows = p.rows;
  product.depth = {p.groups, p.depth / p.groups};
  product.columns = {p.columns};
  product.bits = 4;
  product.min = p.min;
  product.max = p.max;
  return product;
}

bool packs_each_time(const Int4LinearParameters& p, size_t i) {
  return i == 1 ? p.packs_weight : i == 2 ? p.packs_scale : p.packs_zero_point;
}

void pack_weight(const PanelProduct& p, const uint8_t* weight, uint32_t* panels) {
  constexpr size_t kPiece = 32; // eights that stay in a cache of the first level with what is written of a panel
  const size_t groups = p.depth.groups, group_bytes = p.depth.group_size / 2, eights = p.depth.eights_of_group();
  for (size_t column = 0; column < p.columns.count; column += ColumnPanels::kPanel) {
    const size_t width = p.columns.width(column / ColumnPanels::kPanel);
    const size_t count = std::min(width, p.columns.count - column);
    std::fill_n(panels, groups * eights * width, 0u);
    for (size_t g = 0; g < groups; ++g) {
      for (size_t first = 0; first < eights; first += kPiece) {
        const size_t last = std::min(eights, first + kPiece);
        for (size_t c = 0; c < count; ++c) {
          const uint8_t* const from = weight + ((column + c) * groups + g) * group_bytes;
          for (size_t i = first; i < last; ++i) {
            const size_t bytes = std::min(sizeof(uint32_t), group_bytes - i * sizeof(uint32_t));
            std::memcpy(panels + (g * eights + i) * width + c, from + i * sizeof(uint32_t), bytes);
          }
        }
      }
    }
    panels += groups * eights * width;
  }
}

// [columns, groups] -> panel by panel [groups, width], with zeros for columns that there are not.
template <typename T>
void pack_groups(const PanelProduct& p, const T* from, float* to) {
  const size_t columns = p.columns.count, groups = p.depth.groups;
  for (size_t g = 0; g < groups; ++g) {
    for (size_t c = 0; c < p.columns.padded(); ++c) {
      to[p.columns.of_group(groups, g, c)] = c < columns ? static_cast<float>(from[c * groups + g]) : 0.0f;
    }
  }
}

} // namespace

std::optional<std::string> Int4Linear::packed_layout(const Int4LinearParameters& p, size_t i) {
  if (i == 1 && !p.packs_weight) {
    return "Int4 panels of " + std::to_string(ColumnPanels::kPanel) + ", groups of " +
        std::to_string(p.depth / p.groups);
  }
  if (i == 2 || i == 4) {
    return "groups of panels of " + std::to_string(ColumnPanels::kPanel);
  }
  return std::nullopt;
}

size_t Int4Linear::packed_bytes(const Int4LinearParameters& p, size_t i) {
  const PanelProduct product = product_of(p);
  return product.columns.padded() * (i == 1 ? product.column_bytes() : p.groups * sizeof(float));
}

Status Int4Linear::pack(const Int4LinearParameters& p, size_t i, const void* original, void* packed) {
  const PanelProduct product = product_of(p);
  if (i == 1) {
    pack_weight(product, static_cast<const uint8_t*>(original), static_cast<uint32_t*>(packed));
  } else if (i == 2) {
    pack_groups(product, static_cast<const float*>(original), static_cast<float*>(packed));
  } else {
    pack_groups(product, static_cast<const int32_t*>(original), static_cast<float*>(packed));
  }
  return {};
}

size_t Int4Linear::reshape(const Int4LinearParameters& parameters, size_t num_threads) {
  parameters_ = parameters;
  product_ = product_of(parameters);
  few_rows_ = parameters.rows <= ETX_DISPATCH(few_int4_rows)();
  const bool pads = few_rows_ && product_.depth.padded() != parameters.depth;
  const size_t depth = std::max(parameters.depth, product_.depth.padded());
  rows_bytes_ =
      pads || parameters.dynamic_quantization ? round_up_to_alignment(parameters.rows * depth * sizeof(float)) : 0;
  product_bytes_ = few_rows_
      ? 0
      : low_precision_product_scratch(
            product_in_floats(parameters, ETX_DISPATCH(write_int4_panel)), std::max<size_t>(num_threads, 1));
  fixed_point_ = fixed_point_pays(parameters.rows, /*few=*/1);
  if (fixed_point_) {
    product_bytes_ = std::max(product_bytes_, fixed_point_product_scratch(product_));
  }
  size_t bytes = 2 * rows_bytes_ + round_up_to_alignment(product_bytes_);
  for (const size_t i : {1, 2, 4}) {
    bytes += packs_each_time(parameters, i) ? round_up_to_alignment(packed_bytes(parameters, i)) : 0;
  }
  return bytes;
}

void Int4Linear::run(const KernelArguments& arguments) {
  char* const scratch = static_cast<char*>(arguments.scratch) + 2 * rows_bytes_;
  PanelProduct p = product_;
  p.x = rounded(arguments);
  p.panels = static_cast<const uint8_t*>(packed(arguments, 1));
  p.scale = static_cast<const float*>(packed(arguments, 2));
  p.zero_point = static_cast<const float*>(packed(arguments, 4));
  p.bias = arguments.input<float>(3);
  p.y = arguments.output<float>(0);
  if (fixed_point_ && multiply_fixed_point(p, scratch, arguments.pool)) {
    return;
  }
  if (few_rows_) {
    p.x = padded(p.x, arguments);
    p.x_stride = p.depth.padded();
    const auto multiply = ETX_DISPATCH(multiply_int4);
    const size_t grain = kGrain / (ColumnPanels::kPanel * p.column_bytes() * p.rows + 1) + 1;
    parallel_for(arguments.pool, p.columns.panels(), grain, [&](size_t begin, size_t end) { multiply(p, begin, end); });
    return;
  }
  LowPrecisionProduct product = product_in_floats(parameters_, ETX_DISPATCH(write_int4_panel));
  product.x = p.x;
  product.panels = &p;
  product.bias = p.bias;
  product.y = p.y;
  multiply_low_precision(product, scratch, arguments.pool);
}

const void* Int4Linear::packed(const KernelArguments& arguments, size_t i) const {
  const void* const input = arguments.input<void>(i);
  if (!packs_each_time(parameters_, i)) {
    return input;
  }
  char* to = static_cast<char*>(arguments.scratch) + 2 * rows_bytes_ + round_up_to_alignment(product_bytes_);
  for (const size_t before : {1, 2}) {
    if (before < i && packs_each_time(parameters_, before)) {
      to += round_up_to_alignment(packed_bytes(parameters_, before));
    }
  }
  (void)pack(parameters_, i, input, to);
  return to;
}

const float* Int4Linear::rounded(const KernelArguments& arguments) const {
  const float* const x = arguments.input<float>(0);
  if (!parameters_.dynamic_quantization) {
    return x;
  }
  float* const y = static_cast<float*>(arguments.scratch);
  fake_quantize_rows(x, y, parameters_.rows, parameters_.depth, arguments.pool);
  return y;
}

const float* Int4Linear::padded(const float* x, const KernelArguments& arguments) const {
  if (product_.depth.padded() == parameters_.depth) {
    return x;
  }
  float* const y = reinterpret_cast<float*>(static_cast<char*>(arguments.scratch) + rows_bytes_);
  const size_t size = product_.depth.group_size, padded_size = product_.depth.padded_group();
  for (size_t i = 0; i < parameters_.rows * parameters_.groups; ++i) {
    std::copy_n(x + i * size, size, y + i * padded_size);
    std::fill(y + i * padded_size + size, y + (i + 1) * padded_size, 0.0f);
  }
  return y;
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
