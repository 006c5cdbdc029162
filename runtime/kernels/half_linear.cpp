// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "../ops/op.h"
#include "half.h"
#include "isa.h"
#include "matmul.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/half_linear.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "half-inl.h"
#include "product-inl.h"

namespace executorch::backends::et_xnnpack {
#ifndef ET_XNNPACK_HALF_PRODUCT
#define ET_XNNPACK_HALF_PRODUCT
constexpr size_t kMaxTile = 64;

// y[i][j] = clamp(bias[j] + sum over k of x[i][k] * w[j][k]) with a weight of 16-bit floats, in panels of
// columns: for each k one of each column, 0 behind the last one.
struct HalfProduct {
  const float* x = nullptr;
  const uint16_t* panels = nullptr;
  bool bfloat16 = false;
  const float* bias = nullptr; // may be null
  float* y = nullptr;
  size_t rows = 0, depth = 0, columns = 0;
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();
};
#endif
} // namespace executorch::backends::et_xnnpack

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

constexpr size_t kHalfTile = kTile; // columns of a panel
static_assert(kHalfTile <= kMaxTile);
constexpr size_t kMiddleRows = kRows > 8 ? 8 : 4; // of a tile where kRows are too many

struct FromBFloat16 {
  using Element = uint16_t;
  static HWY_INLINE Vector load(const uint16_t* w) {
    return widen_bfloat16(hn::LoadU(kHalves, w));
  }
};
struct FromFloat16 {
  using Element = uint16_t;
  static HWY_INLINE Vector load(const uint16_t* w) {
    return widen_float16(hn::LoadU(kHalves, w));
  }
};
struct FromFloat32 {
  using Element = float;
  static HWY_INLINE Vector load(const float* w) {
    return hn::LoadU(kFloats, w);
  }
};

// R rows from `row` on of the columns of one panel, which is at `w`.
template <typename Weights, size_t R>
HWY_NOINLINE void multiply_tile(
    const HalfProduct& p, size_t row, size_t panel, const typename Weights::Element* HWY_RESTRICT w) {
  const float* HWY_RESTRICT x = p.x + row * p.depth;
  Vector sum[R][kVectors];
  HWY_UNROLL(16)
  for (size_t r = 0; r < R; ++r) {
    HWY_UNROLL(4)
    for (size_t n = 0; n < kVectors; ++n) {
      sum[r][n] = hn::Zero(kFloats);
    }
  }
  for (size_t k = 0; k < p.depth; ++k) {
    Vector weights[kVectors];
    HWY_UNROLL(4)
    for (size_t n = 0; n < kVectors; ++n) {
      weights[n] = Weights::load(w + k * kHalfTile + n * kLanes);
    }
    HWY_UNROLL(16)
    for (size_t r = 0; r < R; ++r) {
      const Vector factor = hn::Set(kFloats, x[r * p.depth + k]);
      HWY_UNROLL(4)
      for (size_t n = 0; n < kVectors; ++n) {
        sum[r][n] = hn::MulAdd(factor, weights[n], sum[r][n]);
      }
    }
  }
  const Vector min = hn::Set(kFloats, p.min), max = hn::Set(kFloats, p.max);
  HWY_UNROLL(4)
  for (size_t n = 0; n < kVectors; ++n) {
    const size_t column = panel * kHalfTile + n * kLanes;
    const size_t count = column < p.columns ? std::min(kLanes, p.columns - column) : 0;
    if (count == 0) {
      continue;
    }
    const Vector bias = p.bias == nullptr ? hn::Zero(kFloats) : hn::LoadN(kFloats, p.bias + column, count);
    HWY_UNROLL(16)
    for (size_t r = 0; r < R; ++r) {
      const Vector y = hn::Min(max, hn::Max(min, hn::Add(sum[r][n], bias))); // keeps NaN
      hn::StoreN(y, kFloats, p.y + (row + r) * p.columns + column, count);
    }
  }
}

template <typename Weights>
HWY_INLINE void multiply_rows(const HalfProduct& p, size_t panel, const typename Weights::Element* w) {
  size_t row = 0;
  for (; row + kRows <= p.rows; row += kRows) {
    multiply_tile<Weights, kRows>(p, row, panel, w);
  }
  for (; row + kMiddleRows <= p.rows; row += kMiddleRows) {
    multiply_tile<Weights, kMiddleRows>(p, row, panel, w);
  }
  for (; row + 4 <= p.rows; row += 4) {
    multiply_tile<Weights, 4>(p, row, panel, w);
  }
  for (; row < p.rows; ++row) {
    multiply_tile<Weights, 1>(p, row, panel, w);
  }
}

template <typename Weights>
HWY_INLINE void multiply_panels(const HalfProduct& p, size_t begin, size_t end, float* widened) {
  const size_t size = kHalfTile * p.depth;
  for (size_t panel = begin; panel < end; ++panel) {
    const uint16_t* w = p.panels + panel * size;
    if (widened == nullptr) {
      multiply_rows<Weights>(p, panel, w);
      continue;
    }
    for (size_t i = 0; i < size; i += kLanes) {
      hn::StoreU(Weights::load(w + i), kFloats, widened + i);
    }
    multiply_rows<FromFloat32>(p, panel, widened);
  }
}

// All rows of panels [begin, end) of columns. `widened`: room for one panel of floats, if it is to be widened
// once instead of for each tile of rows.
void multiply_half(const HalfProduct& p, size_t begin, size_t end, float* widened) {
  if (p.bfloat16) {
    multiply_panels<FromBFloat16>(p, begin, end, widened);
  } else {
    multiply_panels<FromFloat16>(p, begin, end, widened);
  }
}

size_t half_tile() {
  return kHalfTile;
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {
namespace {

HWY_EXPORT(multiply_half);
HWY_EXPORT(half_tile);

constexpr size_t kGrain = 32768; // multiplications
// From so many rows on panels are widened first, if one stays in a cache of the second level.
constexpr size_t kManyRows = 48;
constexpr size_t kMaxWidenedBytes = 256 << 10;

size_t tile() {
  return ETX_DISPATCH(half_tile)();
}

// The weight stays in 16 bits.
class HalfLinear final : public Kernel {
 public:
  std::optional<std::string> packed_layout(const NodeContext& node, size_t i) const override {
    if (i != 1) {
      return std::nullopt;
    }
    return std::string(schema::EnumNameDType(node.input(1).stored)) + " panels of " + std::to_string(tile());
  }
  size_t packed_bytes(const NodeContext& node, size_t) const override {
    const Shape& weight = node.input(1).shape;
    return (weight[0] + tile() - 1) / tile() * tile() * weight[1] * sizeof(uint16_t);
  }
  Status pack(const NodeContext& node, size_t, const void* original, void* packed) const override {
    const size_t columns = node.input(1).shape[0], depth = node.input(1).shape[1], width = tile();
    const float* const from = static_cast<const float*>(original);
    uint16_t* to = static_cast<uint16_t*>(packed);
    std::array<float, kMaxTile> row{};
    for (size_t column = 0; column < columns; column += width) {
      for (size_t k = 0; k < depth; ++k, to += width) {
        for (size_t i = 0; i < width; ++i) {
          row[i] = column + i < columns ? from[(column + i) * depth + k] : 0;
        }
        narrow(node.input(1).stored, row.data(), to, width);
      }
    }
    return {};
  }

  StatusOr<size_t> reshape(const NodeContext& node, size_t num_threads) override {
    const Shape& x = node.input(0).shape;
    p_ = {};
    p_.bfloat16 = node.input(1).stored == DType::BFloat16;
    p_.rows = x.numel(0, x.rank - 1);
    p_.depth = x.last();
    p_.columns = node.input(1).shape[0];
    if (const auto* clamp = node.attributes<schema::Linear>().clamp(); clamp != nullptr) {
      p_.min = clamp->min();
      p_.max = clamp->max();
    }
    multiply_ = ETX_DISPATCH(multiply_half);
    const size_t bytes = p_.depth * tile() * sizeof(float);
    widened_bytes_ = p_.rows >= kManyRows && bytes <= kMaxWidenedBytes ? bytes : 0;
    return widened_bytes_ * num_threads;
  }

  void run(const KernelArguments& arguments) override {
    HalfProduct p = p_;
    p.x = arguments.input<float>(0);
    p.panels = arguments.input<uint16_t>(1);
    p.bias = arguments.input<float>(2);
    p.y = arguments.output<float>(0);
    const size_t width = tile();
    const size_t panels = (p.columns + width - 1) / width;
    if (widened_bytes_ > 0) {
      parallel_for_with_thread(arguments.pool, panels, [&](size_t thread, size_t i) {
        char* const scratch = static_cast<char*>(arguments.scratch) + thread * widened_bytes_;
        multiply_(p, i, i + 1, reinterpret_cast<float*>(scratch));
      });
      return;
    }
    const size_t grain = kGrain / (p.rows * p.depth * width + 1) + 1;
    parallel_for(arguments.pool, panels, grain, [&](size_t begin, size_t end) {
      multiply_(p, begin, end, /*widened=*/nullptr);
    });
  }

 private:
  HalfProduct p_;
  void (*multiply_)(const HalfProduct&, size_t, size_t, float*) = nullptr;
  size_t widened_bytes_ = 0; // of each thread
};

} // namespace

bool has_half_weight(const NodeContext& node) {
  return node.is_constant(1) && node.input(1).quantization == nullptr && is_half(node.input(1).stored);
}

std::unique_ptr<Kernel> make_half_linear(const NodeContext&) {
  return std::make_unique<HalfLinear>();
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
