// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "attention_problem.h"

#include <algorithm>

#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/attention/attention_blocks.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

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
constexpr size_t kPaddedRows = round_up(kRows, kLanes);

// Where the parts of one thread's scratch memory begin, in floats.
struct Layout {
  explicit Layout(const AttentionProblem& p, size_t rows) {
    const size_t padded_rows = round_up(rows, kRows);
    packs_values = p.value.width % kLanes != 0 && p.value.type == DType::Float32;
    value_stride = round_up(p.value.width, kLanes);
    query = 0;
    keys = query + round_up(padded_rows * p.query.width + kLanes, kAligned);
    values = keys + round_up(kKeys * p.key.width + kLanes, kAligned);
    float_keys = values + (packs_values ? kKeys * value_stride : 0);
    float_values = float_keys + (p.key.type == DType::Float32 ? 0 : kTile * round_up(p.key.width, kAligned));
    scores = float_values + (p.value.type == DType::Float32 ? 0 : kKeys * round_up(p.value.width, kAligned));
    output = scores + kRows * kKeys;
    highest = output + round_up(padded_rows * value_stride, kAligned);
    total = highest + padded_rows / kRows * kPaddedRows;
    end = round_up(total + padded_rows / kRows * kPaddedRows, kAligned);
  }
  bool packs_values;
  size_t value_stride, query, keys, values, float_keys, float_values, scores, output, highest, total, end;
};

size_t attention_scratch(const AttentionProblem& problem, size_t rows) {
  return Layout(problem, rows).end;
}

// Packs rows [begin, begin + rows) for panels of kRows. Those of several query heads may not have one distance.
void pack_queries(const AttentionProblem& p, size_t head, size_t begin, size_t rows, float* to) {
  const float* const data = static_cast<const float*>(p.query.data);
  const size_t width = p.query.width;
  const bool is_dense = p.query.head == p.rows * p.query.token;
  for (size_t r = 0; r < rows; r += kRows) {
    const size_t panel = std::min(kRows, rows - r), row = begin + r;
    if (is_dense || row % p.rows + panel <= p.rows) {
      const float* const from = data + p.row_offset(p.query, head, row);
      pack(from, p.query.token, panel, width, kRows, p.scale, to + r * width);
      continue;
    }
    for (size_t i = 0; i < kRows; ++i) {
      const float* const from = i < panel ? data + p.row_offset(p.query, head, row + i) : nullptr;
      for (size_t c = 0; c < width; ++c) {
        to[r * width + c * kRows + i] = from == nullptr ? 0 : from[c] * p.scale;
      }
    }
  }
}

template <MaskKind kMask>
void attend(const AttentionProblem& p, size_t head, size_t begin, size_t end, float* scratch) {
  const Floats f;
  const size_t rows = end - begin;
  const Layout layout(p, rows);
  const size_t output_stride = layout.value_stride, width = p.query.width;
  float* query = scratch + layout.query;
  float* key_tiles = scratch + layout.keys;
  float* scores = scratch + layout.scores;
  float* output = scratch + layout.output;
  float* highest = scratch + layout.highest;
  float* total = scratch + layout.total;

  pack_queries(p, head, begin, rows, query);
  std::fill(highest, total, kLowest);
  std::fill(total, scratch + layout.end, 0.0f);

  uint16_t seen[AttentionBlocks::kMaxRows];
  bool has_output[AttentionBlocks::kMaxRows] = {}; // of the panel that begins with a row
  for (size_t k0 = 0; k0 < p.keys; k0 += kKeys) {
    size_t block = 0; // keys of this one that any row sees
    for (size_t r = 0; r < rows; ++r) {
      const size_t visible = p.visible(head, begin + r, k0, std::min(kKeys, p.keys - k0));
      seen[r] = static_cast<uint16_t>(visible);
      block = std::max(block, visible);
    }
    if (block == 0) {
      continue;
    }
    for (size_t k = 0; k < block; k += kTile) {
      // The last tile may be narrower.
      const size_t count = std::min(kTile, block - k);
      const FloatRows keys = float_rows(p.key, head, k0 + k, count, scratch + layout.float_keys);
      pack(keys.data, keys.stride, count, width, round_up(count, kLanes), 1, key_tiles + k * width);
    }
    FloatRows values = float_rows(p.value, head, k0, block, scratch + layout.float_values);
    if (layout.packs_values) {
      float* const packed = scratch + layout.values;
      for (size_t k = 0; k < block; ++k) {
        std::copy_n(values.data + k * values.stride, p.value.width, packed + k * output_stride);
        std::fill(packed + k * output_stride + p.value.width, packed + (k + 1) * output_stride, 0.0f);
      }
      values = {packed, output_stride};
    }

    for (size_t r0 = 0; r0 < rows; r0 += kRows) {
      const size_t panel = std::min(kRows, rows - r0);
      size_t visible = 0;
      for (size_t r = 0; r < panel; ++r) {
        visible = std::max<size_t>(visible, seen[r0 + r]);
      }
      if (visible == 0) {
        continue;
      }
      const bool is_first = !has_output[r0];
      has_output[r0] = true;

      with_rows(panel, [&](auto r_tag) HWY_ATTR {
        constexpr size_t R = decltype(r_tag)::value;
        const auto scores_of = [&](auto n_tag, size_t k) HWY_ATTR {
          constexpr size_t N = decltype(n_tag)::value;
          multiply<R, N>(
              query + r0 * width,
              Constant<kRows>(),
              Constant<1>(),
              key_tiles + k * width,
              N * kLanes,
              width,
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
      for (size_t r = 0; r < panel; ++r) {
        const size_t row = begin + r0 + r;
        const RowMask mask = row_mask<kMask>(p, head, row, k0);
        base[r] = highest_score<kMask>(scores + r * kKeys, seen[r0 + r], mask, panel_highest[r]);
      }
      for (size_t r = 0; r < panel; r += kLanes) {
        const Vector top = hn::Load(f, base + r);
        const Vector finite = hn::IfThenZeroElse(hn::Eq(top, hn::Set(f, kLowest)), top);
        if (!is_first) {
          const Vector factor = exp_nonpositive(hn::Sub(hn::Load(f, panel_highest + r), finite));
          hn::Store(factor, f, keep + r);
          hn::Store(hn::Mul(hn::Load(f, panel_total + r), factor), f, panel_total + r);
        }
        hn::Store(top, f, panel_highest + r);
        hn::Store(finite, f, base + r);
      }
      for (size_t r = 0; r < panel; ++r) {
        panel_total[r] += weights_of(scores + r * kKeys, seen[r0 + r], visible, base[r]);
      }

      with_rows(panel, [&](auto r_tag) HWY_ATTR {
        constexpr size_t R = decltype(r_tag)::value;
        const auto add_values = [&](auto n_tag, size_t c) HWY_ATTR {
          constexpr size_t N = decltype(n_tag)::value;
          multiply<R, N>(
              scores,
              Constant<1>(),
              Constant<kKeys>(),
              values.data + c,
              values.stride,
              visible,
              is_first ? nullptr : keep,
              output + r0 * output_stride + c,
              output_stride);
        };
        for (size_t c = 0; c < output_stride; c += kTile) {
          if (output_stride - c >= kTile) {
            add_values(Constant<kVectors>(), c);
          } else {
            add_values(Constant<1>(), c);
          }
        }
      });
    }
  }

  for (size_t r = 0; r < rows; ++r) {
    float* to = p.output_data + p.row_offset(p.output, head, begin + r);
    const float* from = output + r * output_stride;
    const float sum = total[r / kRows * kPaddedRows + r % kRows];
    const bool empty = sum == 0;
    const Vector factor = hn::Set(f, empty ? 0 : 1 / sum);
    for (size_t c = 0; c < p.value.width; c += kLanes) {
      const size_t count = std::min(kLanes, p.value.width - c);
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
