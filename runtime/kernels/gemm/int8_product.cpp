// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "int8_product.h"

#include <algorithm>
#include <cstring>

#include "fixed_point_product.h"
#include "low_precision_product.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/gemm/int8_product.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

static_assert(ColumnPanels::kColumns % kLanes == 0, "a panel is made of whole vectors");

// Columns [column, column + width) of a PanelProduct, as LowPrecisionProduct has it.
void write_int8_panel(const void* product, size_t column, size_t width, float* to) {
  using Integers = hn::RebindToSigned<Floats>;
  constexpr Integers kIntegers{};
  const auto offset =
      hn::Set(kIntegers, static_cast<int32_t>(PanelProduct::kInt8Offset * 0x01010101u)); // bit 7, or none
  const auto& p = *static_cast<const PanelProduct*>(product);
  const size_t depth = p.depth.group_size, count = p.columns.count;
  if (depth == 0) {
    return;
  }
  for (size_t c = 0; c < width; c += kLanes, column += kLanes) {
    float* y = to + c;
    if (column >= count) {
      for (size_t k = 0; k < depth; ++k, y += width) {
        hn::StoreU(hn::Zero(kFloats), kFloats, y);
      }
      continue;
    }
    const size_t panel = column / ColumnPanels::kPanel, step = p.columns.width(panel);
    const auto* words = reinterpret_cast<const int32_t*>(p.panel(panel)) + column % ColumnPanels::kPanel;
    Vector zero = hn::Zero(kFloats);
    if (p.zero_point != nullptr) {
      zero = hn::LoadN(kFloats, p.zero_point + column, count - column);
    }
    for (size_t first = 0; first < depth; first += FixedPointDepth::kEight, words += 2 * step) {
      auto even = hn::Xor(hn::LoadU(kIntegers, words), offset),
           odd = hn::Xor(hn::LoadU(kIntegers, words + step), offset);
      const size_t some = std::min(depth - first, FixedPointDepth::kEight);
      HWY_UNROLL(4)
      for (size_t k = 0; k < FixedPointDepth::kEight; k += 2) {
        const Vector first_of_two = hn::ConvertTo(kFloats, hn::ShiftRight<24>(hn::ShiftLeft<24>(even)));
        const Vector second = hn::ConvertTo(kFloats, hn::ShiftRight<24>(hn::ShiftLeft<24>(odd)));
        if (k < some) {
          hn::StoreU(hn::Sub(first_of_two, zero), kFloats, y + k * width);
        }
        if (k + 1 < some) {
          hn::StoreU(hn::Sub(second, zero), kFloats, y + (k + 1) * width);
        }
        even = hn::ShiftRight<8>(even);
        odd = hn::ShiftRight<8>(odd);
      }
      y += some * width;
    }
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(write_int8_panel);

namespace {

PanelProduct in_fixed_point(const LowPrecisionProduct& p) {
  PanelProduct product;
  product.x = p.x;
  product.x_stride = p.x_stride;
  product.rows = p.rows;
  product.depth = {1, p.depth};
  product.columns = {p.columns};
  product.panels = static_cast<const uint8_t*>(p.panels);
  product.scale = p.scale;
  product.zero_point = p.zero_point;
  product.bias = p.bias;
  product.y = p.y;
  product.min = p.min;
  product.max = p.max;
  return product;
}

LowPrecisionProduct in_floats(LowPrecisionProduct p, const PanelProduct& panels) {
  p.precision = {DType::Float32};
  p.panels = &panels;
  p.write_panel = ETX_DISPATCH(write_int8_panel);
  return p;
}

// Bytes 0, 2, 4 and 6.
uint32_t even_bytes(uint64_t bytes) {
  bytes &= 0x00FF00FF00FF00FF;
  bytes = (bytes | bytes >> 8) & 0x0000FFFF0000FFFF;
  return static_cast<uint32_t>(bytes | bytes >> 16);
}

} // namespace

std::string int8_layout() {
  return "Int8 panels of " + std::to_string(ColumnPanels::kPanel) + ", eight by eight";
}

size_t int8_panels_bytes(size_t columns, size_t depth) {
  return ColumnPanels{columns}.padded() * round_up(depth, FixedPointDepth::kEight);
}

void pack_int8(const int8_t* weight, size_t columns, size_t depth, void* panels) {
  constexpr size_t kPiece = 16; // eights, which stay in a cache of the first level with what is written of a panel
  const ColumnPanels all{columns};
  const size_t eights = round_up(depth, FixedPointDepth::kEight) / FixedPointDepth::kEight;
  auto* to = static_cast<uint32_t*>(panels);
  for (size_t panel = 0; panel < all.panels(); ++panel) {
    const size_t width = all.width(panel), begin = panel * ColumnPanels::kPanel;
    for (size_t first = 0; first < eights; first += kPiece) {
      for (size_t c = 0; c < width; ++c) {
        for (size_t i = first; i < std::min(eights, first + kPiece); ++i) {
          uint64_t eight = 0;
          if (begin + c < columns) {
            const size_t k = i * FixedPointDepth::kEight;
            std::memcpy(&eight, weight + (begin + c) * depth + k, std::min(depth - k, FixedPointDepth::kEight));
          }
          eight ^= PanelProduct::kInt8Offset * uint64_t{0x0101010101010101};
          to[2 * i * width + c] = even_bytes(eight);
          to[(2 * i + 1) * width + c] = even_bytes(eight >> 8);
        }
      }
    }
    to += 2 * eights * width;
  }
}

size_t int8_product_scratch(const LowPrecisionProduct& p, size_t num_threads) {
  const PanelProduct product = in_fixed_point(p);
  return std::max(
      fixed_point_product_scratch(product), low_precision_product_scratch(in_floats(p, product), num_threads));
}

void multiply_int8(const LowPrecisionProduct& p, void* scratch, pthreadpool_t pool) {
  const PanelProduct product = in_fixed_point(p);
  constexpr size_t kFew = 32; // for which converting the weights would take long
  if (!fixed_point_pays(p.rows, kFew) || !multiply_fixed_point(product, scratch, pool)) {
    multiply_low_precision(in_floats(p, product), scratch, pool);
  }
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
