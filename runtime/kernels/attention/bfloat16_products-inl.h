// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// The products of attention in bfloat16, compiled for each instruction set: include it after
// foreach_target.h, without a guard of the usual kind.

#if defined(ET_XNNPACK_BFLOAT16_PRODUCTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_XNNPACK_BFLOAT16_PRODUCTS_INL_H
#undef ET_XNNPACK_BFLOAT16_PRODUCTS_INL_H
#else
#define ET_XNNPACK_BFLOAT16_PRODUCTS_INL_H
#endif

#include <algorithm>
#include <cmath>

#include "runtime/kernels/gemm/bfloat16_panels.h"
#include "runtime/kernels/simd/bfloat16_rounding.h"
#include "score-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// The same as Float32Products, of numbers that are rounded to bfloat16: query, key, weights and value. Sums are
// float32.
class BFloat16Products {
 public:
  static constexpr size_t kPanelRows = kBFloat16Rows;

  static size_t output_stride(const AttentionProblem& p) {
    return round_up(p.value.width, kBFloat16Columns);
  }
  static size_t scratch(const AttentionProblem& p, size_t rows) {
    return Layout(p, rows).end / 2;
  }

  BFloat16Products(const AttentionProblem& p, size_t rows, float* scratch) : p_(p) {
    const Layout layout(p, rows);
    uint16_t* const numbers = reinterpret_cast<uint16_t*>(scratch);
    query_ = numbers + layout.query;
    key_panels_ = numbers + layout.keys;
    value_panels_ = numbers + layout.values;
    rounded_keys_ = numbers + layout.rounded_keys;
    weights_ = numbers + layout.weights;
    int exponent = 0;
    if (p.scale > 0 && std::frexp(p.scale, &exponent) == 0.5f) {
      query_scale_ = p.scale; // which rounds nothing
    } else {
      score_scale_ = p.scale;
    }
    tile_.begin();
  }
  ~BFloat16Products() {
    tile_.end();
  }
  BFloat16Products(const BFloat16Products&) = delete;
  BFloat16Products& operator=(const BFloat16Products&) = delete;

  static size_t weights(size_t keys) {
    return padded(keys);
  }

  void set_queries(size_t head, size_t begin, size_t rows) {
    const float* const data = static_cast<const float*>(p_.query.data);
    const Vector scale = hn::Set(kFloats, query_scale_);
    const size_t stride = row_stride(p_);
    for (size_t r = 0; r < rows; ++r) {
      const float* const from = data + p_.row_offset(p_.query, head, begin + r);
      uint16_t* const to = query_ + r * stride;
      for (size_t c = 0; c < p_.query.width; c += kLanes) {
        const size_t count = std::min(kLanes, p_.query.width - c);
        hn::StoreN(narrow_bfloat16(hn::Mul(hn::LoadN(kFloats, from + c, count), scale)), kReducedFloats, to + c, count);
      }
      std::fill(to + p_.query.width, to + padded(p_.query.width), uint16_t{0});
    }
  }

  void set_keys(size_t head, size_t first, size_t count) {
    keys_ = count;
    for (size_t k = 0; k < count; k += kBFloat16Columns) {
      pack_keys(head, first + k, std::min(kBFloat16Columns, count - k), key_panels_ + k * padded(p_.key.width));
    }
    with_type(p_.value, [&](auto reader) HWY_ATTR { pack_values(reader, p_.value.offset(head, first)); });
  }

  void score(size_t row, size_t panel, size_t visible, float* scores) const {
    const size_t depth = padded(p_.query.width);
    const BFloat16Rows x = rows_of(query_ + row * row_stride(p_), row_stride(p_), panel, depth);
    for (size_t k = 0; k < visible; k += kBFloat16Columns) {
      tile_.multiply(x, key_panels_ + k * depth, bfloat16_panel_width(keys_ - k), scores + k, kKeys);
    }
    if (score_scale_ == 1) {
      return;
    }
    const Vector scale = hn::Set(kFloats, score_scale_);
    for (size_t r = 0; r < panel; ++r) {
      for (size_t k = 0; k < visible; k += kLanes) {
        float* const at = scores + r * kKeys + k;
        hn::StoreU(hn::Mul(hn::LoadU(kFloats, at), scale), kFloats, at);
      }
    }
  }

  void add_values(size_t panel, size_t visible, const float* weights, const float* keep, float* output) const {
    const size_t depth = padded(visible), stride = output_stride(p_);
    for (size_t r = 0; r < panel; ++r) {
      static_cast<void>(round_to_bfloat16(weights + r * kKeys, weights_ + r * weights_stride(), depth));
    }
    const BFloat16Rows x = rows_of(weights_, weights_stride(), panel, depth);
    const size_t panel_depth = padded(keys_);
    alignas(64) float sums[kBFloat16Rows * kBFloat16Columns];
    for (size_t c = 0; c < p_.value.width; c += kBFloat16Columns) {
      const size_t width = bfloat16_panel_width(p_.value.width - c);
      const uint16_t* const values = value_panels_ + c * panel_depth;
      if (keep == nullptr) {
        tile_.multiply(x, values, width, output + c, stride);
        continue;
      }
      tile_.multiply(x, values, width, sums, kBFloat16Columns);
      for (size_t r = 0; r < panel; ++r) {
        const Vector factor = hn::Set(kFloats, keep[r]);
        for (size_t j = 0; j < width; j += kLanes) {
          float* const at = output + r * stride + c + j;
          const Vector sum = hn::LoadU(kFloats, sums + r * kBFloat16Columns + j);
          hn::StoreU(hn::MulAdd(hn::LoadU(kFloats, at), factor, sum), kFloats, at);
        }
      }
    }
  }

 private:
  static size_t padded(size_t depth) {
    return bfloat16_tile()->padded(depth);
  }
  // Numbers from one row to the next, of queries and keys, and of weights.
  static size_t row_stride(const AttentionProblem& p) {
    return bfloat16_row_stride(padded(p.query.width));
  }
  static size_t weights_stride() {
    return bfloat16_row_stride(kKeys);
  }

  // Where the parts of its scratch memory begin, in numbers of 16 bits.
  struct Layout {
    Layout(const AttentionProblem& p, size_t rows) {
      constexpr size_t kAlignedNumbers = 2 * kAligned;
      query = 0;
      keys = query + round_up(round_up(rows, kPanelRows) * row_stride(p), kAlignedNumbers);
      values = keys + round_up(kKeys * padded(p.key.width), kAlignedNumbers);
      rounded_keys = values + kKeys * output_stride(p);
      weights = rounded_keys + round_up(kBFloat16Columns * row_stride(p), kAlignedNumbers);
      end = weights + round_up(kPanelRows * weights_stride(), kAlignedNumbers);
    }
    size_t query, keys, values, rounded_keys, weights, end;
  };

  BFloat16Rows rows_of(const uint16_t* first, size_t stride, size_t count, size_t depth) const {
    static constexpr size_t kWholeRow = 0;
    BFloat16Rows x{};
    x.stride = stride;
    x.taps = {&kWholeRow, 1};
    x.run = depth;
    tile_.set_rows(first, count, &x);
    return x;
  }

  // Makes one panel of so many keys: what is beside each other in a row of keys stays so.
  void pack_keys(size_t head, size_t first, size_t count, uint16_t* panel) {
    const size_t width = p_.key.width, depth = padded(width), panel_width = bfloat16_panel_width(count);
    const size_t stride = row_stride(p_);
    with_type(p_.key, [&](auto reader) HWY_ATTR {
      using T = typename decltype(reader)::Element;
      const T* from = static_cast<const T*>(p_.key.data) + p_.key.offset(head, first);
      for (size_t r = 0; r < count; ++r, from += p_.key.token) {
        uint16_t* const to = rounded_keys_ + r * stride;
        for (size_t c = 0; c < width; c += kLanes) {
          const size_t some = std::min(kLanes, width - c);
          hn::StoreN(narrow_bfloat16(reader.load(from + c, some)), kReducedFloats, to + c, some);
        }
        std::fill(to + width, to + depth, uint16_t{0});
      }
    });
    const hn::Repartition<uint16_t, Floats> halves;
    const auto load = [&](size_t row, size_t c, size_t pairs) HWY_ATTR {
      return hn::BitCast(kFloats, hn::LoadN(halves, rounded_keys_ + row * stride + 2 * c, 2 * pairs));
    };
    const auto store = [&](Vector pairs, size_t c, size_t row) HWY_ATTR {
      hn::StoreU(hn::BitCast(halves, pairs), halves, panel + 2 * (c * panel_width + row));
    };
    transpose(load, count, depth / 2, panel_width, store);
  }

  // Makes panels of the values of the block: pairs of keys are beside each other.
  template <typename Reader>
  void pack_values(Reader reader, size_t first) {
    using T = typename Reader::Element;
    const T* const data = static_cast<const T*>(p_.value.data) + first;
    const hn::Repartition<uint16_t, Floats> halves;
    const size_t width = p_.value.width, depth = padded(keys_);
    for (size_t c = 0; c < width; c += kBFloat16Columns) {
      const size_t panel_width = bfloat16_panel_width(width - c);
      uint16_t* const panel = value_panels_ + c * depth;
      for (size_t j = 0; j < panel_width; j += kLanes) {
        const size_t count = std::min(kLanes, width - std::min(width, c + j));
        const auto bits_of = [&](size_t key) HWY_ATTR {
          return key < keys_ ? round_bfloat16_bits(reader.load(data + key * p_.value.token + c + j, count))
                             : hn::Zero(kWords);
        };
        for (size_t k = 0; k < depth; k += 2) {
          const auto upper = hn::And(bits_of(k + 1), hn::Set(kWords, 0xFFFF0000));
          const auto pairs = hn::Or(hn::ShiftRight<16>(bits_of(k)), upper);
          hn::StoreU(hn::BitCast(halves, pairs), halves, panel + k * panel_width + 2 * j);
        }
      }
    }
  }

  const AttentionProblem& p_;
  const BFloat16Tile& tile_ = *bfloat16_tile();
  float query_scale_ = 1, score_scale_ = 1;
  uint16_t *query_, *key_panels_, *value_panels_, *rounded_keys_, *weights_;
  size_t keys_ = 0; // of the block
};

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#endif // per-target include guard
