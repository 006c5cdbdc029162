// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "attention_problem.h"

#include <algorithm>

#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/attention/attention_blocks.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/gemm/product-inl.h"
#include "score-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// Softmax(Q K^T) V for blocks of query rows. Keys are taken kKeys at a time: their scores
// against a panel of kRows query rows stay in the L1 cache, are turned into weights there,
// and multiply the values into the output rows. What has been summed up is scaled down
// whenever a later block of keys holds a higher score.

static_assert(kKeys % kTile == 0, "a block of keys is made of whole tiles");
// Numbers kept for each row take whole vectors for each panel.
constexpr size_t kPaddedRows = (kRows + kLanes - 1) / kLanes * kLanes;

// Where the parts of one thread's scratch memory begin, in floats.
struct Layout {
  explicit Layout(const AttentionProblem& p, size_t rows) {
    const size_t padded_rows = round_up(rows, kRows);
    value_stride = round_up(p.value_width, kLanes);
    query = 0;
    keys = query + round_up(padded_rows * p.width + kLanes, kAligned);
    values = keys + round_up(kKeys * p.width + kLanes, kAligned);
    scores = values + (value_stride == p.value_width ? 0 : kKeys * value_stride);
    output = scores + kRows * kKeys;
    highest = output + round_up(padded_rows * value_stride, kAligned);
    total = highest + padded_rows / kRows * kPaddedRows;
    end = round_up(total + padded_rows / kRows * kPaddedRows, kAligned);
  }
  size_t value_stride, query, keys, values, scores, output, highest, total, end;
};

size_t attention_scratch(const AttentionProblem& problem, size_t rows) {
  return Layout(problem, rows).end;
}

template <MaskKind kMask>
void attend(const AttentionProblem& p, size_t head, size_t begin, size_t end, float* scratch) {
  const Floats f;
  const size_t rows = end - begin;
  const Layout layout(p, rows);
  const size_t value_stride = layout.value_stride;
  const bool pack_values = value_stride != p.value_width;
  float* query = scratch + layout.query;
  float* key_tiles = scratch + layout.keys;
  float* scores = scratch + layout.scores;
  float* output = scratch + layout.output;
  float* highest = scratch + layout.highest;
  float* total = scratch + layout.total;
  const float* keys = p.key + head * p.keys * p.width;
  const float* all_values = p.value + head * p.keys * p.value_width;

  for (size_t r = 0; r < rows; r += kRows) {
    const float* from = p.query + (head * p.rows_per_head() + begin + r) * p.width;
    pack(from, p.width, std::min(kRows, rows - r), p.width, kRows, p.scale, query + r * p.width);
  }
  std::fill(highest, total, kLowest);
  std::fill(total, scratch + layout.end, 0.0f);

  // Causal rows see no key behind their own position.
  const auto keys_of = [&p](size_t row) { return p.causal ? std::min(p.keys, row % p.rows + 1) : p.keys; };
  size_t last = 0;
  for (size_t r = begin; r < end && last < p.keys; ++r) {
    last = std::max(last, keys_of(r));
  }
  for (size_t k0 = 0; k0 < last; k0 += kKeys) {
    const size_t block = std::min(kKeys, last - k0);
    for (size_t k = 0; k < block; k += kTile) {
      // The last tile may be narrower.
      const size_t count = std::min(kTile, block - k);
      pack(keys + (k0 + k) * p.width, p.width, count, p.width, round_up(count, kLanes), 1, key_tiles + k * p.width);
    }
    const float* values = all_values + k0 * p.value_width;
    if (pack_values) {
      float* packed = scratch + layout.values;
      for (size_t k = 0; k < block; ++k) {
        std::copy_n(values + k * p.value_width, p.value_width, packed + k * value_stride);
        std::fill(packed + k * value_stride + p.value_width, packed + (k + 1) * value_stride, 0.0f);
      }
      values = packed;
    }

    for (size_t r0 = 0; r0 < rows; r0 += kRows) {
      const size_t panel = std::min(kRows, rows - r0);
      size_t visible = 0;
      for (size_t r = 0; r < panel; ++r) {
        visible = std::max(visible, keys_of(begin + r0 + r));
      }
      if (visible <= k0) {
        continue;
      }
      visible = std::min(visible - k0, block);

      with_rows(panel, [&](auto r_tag) HWY_ATTR {
        constexpr size_t R = decltype(r_tag)::value;
        const auto scores_of = [&](auto n_tag, size_t k) HWY_ATTR {
          constexpr size_t N = decltype(n_tag)::value;
          multiply<R, N>(
              query + r0 * p.width,
              Constant<kRows>(),
              Constant<1>(),
              key_tiles + k * p.width,
              N * kLanes,
              p.width,
              nullptr,
              scores + k,
              kKeys);
        };
        for (size_t k = 0; k < visible; k += kTile) {
          if (block - k > kLanes) {
            scores_of(Constant<kVectors>(), k);
          } else {
            scores_of(Constant<1>(), k);
          }
        }
      });

      float* panel_highest = highest + r0 / kRows * kPaddedRows;
      float* panel_total = total + r0 / kRows * kPaddedRows;
      // What has been summed up so far is multiplied with this.
      HWY_ALIGN float keep[kPaddedRows];
      HWY_ALIGN float base[kPaddedRows] = {};
      size_t seen[kRows];
      for (size_t r = 0; r < panel; ++r) {
        const size_t row = begin + r0 + r;
        const size_t limit = keys_of(row);
        seen[r] = limit <= k0 ? 0 : std::min(limit - k0, visible);
        const RowMask mask = row_mask<kMask>(p, head, row, k0);
        base[r] = highest_score<kMask>(scores + r * kKeys, seen[r], mask, panel_highest[r]);
      }
      for (size_t r = 0; r < panel; r += kLanes) {
        const Vector top = hn::Load(f, base + r);
        const Vector finite = hn::IfThenZeroElse(hn::Eq(top, hn::Set(f, kLowest)), top);
        if (k0 > 0) {
          const Vector factor = exp_nonpositive(hn::Sub(hn::Load(f, panel_highest + r), finite));
          hn::Store(factor, f, keep + r);
          hn::Store(hn::Mul(hn::Load(f, panel_total + r), factor), f, panel_total + r);
        }
        hn::Store(top, f, panel_highest + r);
        hn::Store(finite, f, base + r);
      }
      for (size_t r = 0; r < panel; ++r) {
        panel_total[r] += weights_of(scores + r * kKeys, seen[r], visible, base[r]);
      }

      with_rows(panel, [&](auto r_tag) HWY_ATTR {
        constexpr size_t R = decltype(r_tag)::value;
        const auto add_values = [&](auto n_tag, size_t c) HWY_ATTR {
          constexpr size_t N = decltype(n_tag)::value;
          multiply<R, N>(
              scores,
              Constant<1>(),
              Constant<kKeys>(),
              values + c,
              value_stride,
              visible,
              k0 == 0 ? nullptr : keep,
              output + r0 * value_stride + c,
              value_stride);
        };
        for (size_t c = 0; c < value_stride; c += kTile) {
          if (value_stride - c >= kTile) {
            add_values(Constant<kVectors>(), c);
          } else {
            add_values(Constant<1>(), c);
          }
        }
      });
    }
  }

  for (size_t r = 0; r < rows; ++r) {
    float* to = p.output + (head * p.rows_per_head() + begin + r) * p.value_width;
    const float* from = output + r * value_stride;
    const float sum = total[r / kRows * kPaddedRows + r % kRows];
    const bool empty = sum == 0;
    const Vector factor = hn::Set(f, empty ? 0 : 1 / sum);
    for (size_t c = 0; c < p.value_width; c += kLanes) {
      const size_t count = std::min(kLanes, p.value_width - c);
      const Vector y = empty ? hn::Zero(f) : hn::Mul(hn::LoadU(f, from + c), factor);
      if (count == kLanes) {
        hn::StoreU(y, f, to + c);
      } else {
        hn::StoreN(y, f, to + c, count);
      }
    }
  }
}

// Computes rows [begin, end) of the query rows that share key head `head`.
void attention_block(const AttentionProblem& problem, size_t head, size_t begin, size_t end, float* scratch) {
  with_mask(problem, [&](auto kind) { attend<decltype(kind)::value>(problem, head, begin, end, scratch); });
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(attention_scratch);
HWY_EXPORT(attention_block);

AttentionBlocks attention_blocks() {
  return {ETX_DISPATCH(attention_scratch), ETX_DISPATCH(attention_block)};
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
