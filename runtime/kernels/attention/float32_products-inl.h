// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// The products of attention in float32, compiled for each instruction set: include it after
// foreach_target.h, without a guard of the usual kind.

#if defined(ET_XNNPACK_FLOAT32_PRODUCTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_XNNPACK_FLOAT32_PRODUCTS_INL_H
#undef ET_XNNPACK_FLOAT32_PRODUCTS_INL_H
#else
#define ET_XNNPACK_FLOAT32_PRODUCTS_INL_H
#endif

#include <algorithm>

#include "score-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// Query rows by keys, and weights by values, for panels of query rows and blocks of keys.
class Float32Products {
 public:
  static constexpr size_t kPanelRows = kRows;

  static size_t output_stride(const AttentionProblem& p) {
    return round_up(p.value.width, kLanes);
  }
  // Of a block of `rows` query rows.
  static size_t scratch(const AttentionProblem& p, size_t rows) {
    return Layout(p, rows).end;
  }

  Float32Products(const AttentionProblem& p, size_t rows, float* scratch) : p_(p) {
    const Layout layout(p, rows);
    query_ = scratch + layout.query;
    key_tiles_ = scratch + layout.keys;
    packed_values_ = layout.packs_values ? scratch + layout.values : nullptr;
    float_keys_ = scratch + layout.float_keys;
    float_values_ = scratch + layout.float_values;
  }

  // How many weights add_values() reads for so many keys.
  static size_t weights(size_t keys) {
    return keys;
  }

  // Packs rows [begin, begin + rows) for panels of kRows. Those of several query heads may not have one distance.
  void set_queries(size_t head, size_t begin, size_t rows) {
    const float* const data = static_cast<const float*>(p_.query.data);
    const size_t width = p_.query.width;
    const bool is_dense = p_.query.head == p_.rows * p_.query.token;
    for (size_t r = 0; r < rows; r += kRows) {
      const size_t panel = std::min(kRows, rows - r), row = begin + r;
      if (is_dense || row % p_.rows + panel <= p_.rows) {
        const float* const from = data + p_.row_offset(p_.query, head, row);
        pack(from, p_.query.token, panel, width, kRows, p_.scale, query_ + r * width);
        continue;
      }
      for (size_t i = 0; i < kRows; ++i) {
        const float* const from = i < panel ? data + p_.row_offset(p_.query, head, row + i) : nullptr;
        for (size_t c = 0; c < width; ++c) {
          query_[r * width + c * kRows + i] = from == nullptr ? 0 : from[c] * p_.scale;
        }
      }
    }
  }

  // Takes the next block of keys and values.
  void set_keys(size_t head, size_t first, size_t count) {
    const size_t width = p_.key.width;
    keys_ = count;
    for (size_t k = 0; k < count; k += kTile) {
      // The last tile may be narrower.
      const size_t tile = std::min(kTile, count - k);
      const FloatRows keys = float_rows(p_.key, head, first + k, tile, float_keys_);
      pack(keys.data, keys.stride, tile, width, round_up(tile, kLanes), 1, key_tiles_ + k * width);
    }
    values_ = float_rows(p_.value, head, first, count, float_values_);
    if (packed_values_ != nullptr) {
      const size_t stride = output_stride(p_);
      for (size_t k = 0; k < count; ++k) {
        std::copy_n(values_.data + k * values_.stride, p_.value.width, packed_values_ + k * stride);
        std::fill(packed_values_ + k * stride + p_.value.width, packed_values_ + (k + 1) * stride, 0.0f);
      }
      values_ = {packed_values_, stride};
    }
  }

  // The scores of `panel` rows from `row` on and the first `visible` keys, kKeys from one row to the next.
  void score(size_t row, size_t panel, size_t visible, float* scores) const {
    const size_t width = p_.query.width;
    with_rows(panel, [&](auto r_tag) HWY_ATTR {
      constexpr size_t R = decltype(r_tag)::value;
      const auto scores_of = [&](auto n_tag, size_t k) HWY_ATTR {
        constexpr size_t N = decltype(n_tag)::value;
        multiply<R, N>(
            query_ + row * width,
            Constant<kRows>(),
            Constant<1>(),
            key_tiles_ + k * width,
            N * kLanes,
            width,
            nullptr,
            scores + k,
            kKeys);
      };
      for (size_t k = 0; k < visible; k += kTile) {
        if (keys_ - k > kLanes) {
          scores_of(Constant<kVectors>(), k);
        } else {
          scores_of(Constant<1>(), k);
        }
      }
    });
  }

  // Adds values by weights to what is kept of the output, of which there is nothing if `keep` is null.
  void add_values(size_t panel, size_t visible, const float* weights, const float* keep, float* output) const {
    const size_t stride = output_stride(p_);
    with_rows(panel, [&](auto r_tag) HWY_ATTR {
      constexpr size_t R = decltype(r_tag)::value;
      const auto add = [&](auto n_tag, size_t c) HWY_ATTR {
        constexpr size_t N = decltype(n_tag)::value;
        multiply<R, N>(
            weights,
            Constant<1>(),
            Constant<kKeys>(),
            values_.data + c,
            values_.stride,
            visible,
            keep,
            output + c,
            stride);
      };
      for (size_t c = 0; c < stride; c += kTile) {
        if (stride - c >= kTile) {
          add(Constant<kVectors>(), c);
        } else {
          add(Constant<1>(), c);
        }
      }
    });
  }

 private:
  // Where the parts of its scratch memory begin.
  struct Layout {
    Layout(const AttentionProblem& p, size_t rows) {
      packs_values = p.value.width % kLanes != 0 && p.value.type == DType::Float32;
      query = 0;
      keys = query + round_up(round_up(rows, kRows) * p.query.width + kLanes, kAligned);
      values = keys + round_up(kKeys * p.key.width + kLanes, kAligned);
      float_keys = values + (packs_values ? kKeys * output_stride(p) : 0);
      float_values = float_keys + (p.key.type == DType::Float32 ? 0 : kTile * round_up(p.key.width, kAligned));
      end = float_values + (p.value.type == DType::Float32 ? 0 : kKeys * round_up(p.value.width, kAligned));
    }
    bool packs_values;
    size_t query, keys, values, float_keys, float_values, end;
  };

  const AttentionProblem& p_;
  float *query_, *key_tiles_, *packed_values_, *float_keys_, *float_values_;
  size_t keys_ = 0; // of the block
  FloatRows values_;
};

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#endif // per-target include guard
