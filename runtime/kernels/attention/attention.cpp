// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "attention.h"

#include <algorithm>
#include <limits>

#include "runtime/ops/op.h"
#include "attention_block.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/attention/attention.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/gemm/product-inl.h"
#include "runtime/kernels/common/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// Softmax(Q K^T) V for blocks of query rows. Keys are taken kKeys at a time: their scores
// against a panel of kRows query rows stay in the L1 cache, are turned into weights there,
// and multiply the values into the output rows. What has been summed up is scaled down
// whenever a later block of keys holds a higher score.

constexpr size_t kKeys = 256;
static_assert(kKeys % kTile == 0, "a block of keys is made of whole tiles");
// Numbers kept for each row take whole vectors for each panel.
constexpr size_t kPaddedRows = (kRows + kLanes - 1) / kLanes * kLanes;

constexpr size_t kAligned = 16; // floats that take 64 bytes

constexpr float kLowest = -std::numeric_limits<float>::infinity();

enum class MaskKind { None, Float, Bool };

// What one row of scores is masked with.
struct RowMask {
  const void* data = nullptr;
  bool uniform = false; // one element for all keys
};

// The mask of query row `row` of key head `head`, from key `key` on.
template <MaskKind kMask>
RowMask row_mask(const AttentionProblem& p, size_t head, size_t row, size_t key) {
  RowMask mask;
  if (kMask != MaskKind::None) {
    const size_t element = kMask == MaskKind::Float ? sizeof(float) : 1;
    mask.uniform = p.mask_key_stride == 0;
    mask.data = static_cast<const char*>(p.mask) + element * (p.mask_offset(head, row) + (mask.uniform ? 0 : key));
  }
  return mask;
}

// Calls `run` with the kind of mask as a constant.
template <typename Run>
void with_mask(const AttentionProblem& p, Run&& run) {
  if (p.mask == nullptr) {
    run(std::integral_constant<MaskKind, MaskKind::None>());
  } else if (p.mask_is_bool) {
    run(std::integral_constant<MaskKind, MaskKind::Bool>());
  } else {
    run(std::integral_constant<MaskKind, MaskKind::Float>());
  }
}

template <MaskKind kMask>
HWY_INLINE Vector masked(Vector score, RowMask mask, size_t k) {
  const Floats f;
  if (kMask == MaskKind::Float) {
    const float* data = static_cast<const float*>(mask.data);
    return hn::Add(score, mask.uniform ? hn::Set(f, *data) : hn::LoadU(f, data + k));
  }
  if (kMask == MaskKind::Bool) {
    const hn::Rebind<uint8_t, Floats> bytes;
    const hn::RebindToUnsigned<Floats> words;
    const uint8_t* data = static_cast<const uint8_t*>(mask.data);
    const auto keep = mask.uniform ? hn::Set(words, *data) : hn::PromoteTo(words, hn::LoadU(bytes, data + k));
    return hn::IfThenElse(hn::RebindMask(f, hn::Ne(keep, hn::Zero(words))), score, hn::Set(f, kLowest));
  }
  return score;
}

template <MaskKind kMask>
HWY_INLINE Vector masked_last(Vector score, RowMask mask, size_t k, size_t rest) {
  const Floats f;
  if (kMask == MaskKind::Float && !mask.uniform) {
    score = hn::Add(score, hn::LoadN(f, static_cast<const float*>(mask.data) + k, rest));
  } else if (kMask == MaskKind::Bool && !mask.uniform) {
    HWY_ALIGN float keep[kLanes] = {};
    for (size_t i = 0; i < rest; ++i) {
      keep[i] = static_cast<const uint8_t*>(mask.data)[k + i];
    }
    score = hn::IfThenElse(hn::Ne(hn::Load(f, keep), hn::Zero(f)), score, hn::Set(f, kLowest));
  } else {
    score = masked<kMask>(score, mask, k);
  }
  return hn::IfThenElse(hn::FirstN(f, rest), score, hn::Set(f, kLowest));
}

// Masks `keys` scores, pads the last vector with -infinity and returns the highest of them and `highest`.
template <MaskKind kMask>
HWY_INLINE float highest_score(float* scores, size_t keys, RowMask mask, float highest) {
  const Floats f;
  const size_t whole = keys / kLanes * kLanes;
  Vector top0 = hn::Set(f, highest), top1 = top0;
  size_t k = 0;
  for (; k + 2 * kLanes <= whole; k += 2 * kLanes) {
    const Vector s0 = masked<kMask>(hn::LoadU(f, scores + k), mask, k);
    const Vector s1 = masked<kMask>(hn::LoadU(f, scores + k + kLanes), mask, k + kLanes);
    if (kMask != MaskKind::None) {
      hn::StoreU(s0, f, scores + k);
      hn::StoreU(s1, f, scores + k + kLanes);
    }
    top0 = hn::Max(top0, s0);
    top1 = hn::Max(top1, s1);
  }
  for (; k < keys; k += kLanes) {
    Vector s = hn::LoadU(f, scores + k);
    s = k < whole ? masked<kMask>(s, mask, k) : masked_last<kMask>(s, mask, k, keys - k);
    hn::StoreU(s, f, scores + k);
    top0 = hn::Max(top0, s);
  }
  return hn::ReduceMax(f, hn::Max(top0, top1));
}

// Turns `keys` scores into exp(score - base), followed by zeros up to `end`; returns their sum.
HWY_INLINE float exponentials(float* scores, size_t keys, size_t end, float base) {
  const Floats f;
  const Vector b = hn::Set(f, base);
  Vector sum0 = hn::Zero(f), sum1 = sum0;
  size_t k = 0;
  for (; k + 2 * kLanes <= keys; k += 2 * kLanes) {
    const Vector e0 = exp_nonpositive(hn::Sub(hn::LoadU(f, scores + k), b));
    const Vector e1 = exp_nonpositive(hn::Sub(hn::LoadU(f, scores + k + kLanes), b));
    hn::StoreU(e0, f, scores + k);
    hn::StoreU(e1, f, scores + k + kLanes);
    sum0 = hn::Add(sum0, e0);
    sum1 = hn::Add(sum1, e1);
  }
  for (; k < keys; k += kLanes) {
    const Vector e = exp_nonpositive(hn::Sub(hn::LoadU(f, scores + k), b));
    hn::StoreU(e, f, scores + k);
    sum0 = hn::Add(sum0, e);
  }
  for (; k < end; k += kLanes) {
    hn::StoreU(hn::Zero(f), f, scores + k);
  }
  return hn::ReduceSum(f, hn::Add(sum0, sum1));
}

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
        panel_total[r] += exponentials(scores + r * kKeys, seen[r], visible, base[r]);
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

// For few rows the keys are not packed: what counts is that keys and values are read once, in order. The
// keys of a head are taken in parts of kKeys, whose results are joined when all are there.

// What attention_part writes for each row: the sum of weighted values, then the highest score and the
// sum of weights.
size_t part_highest(const AttentionProblem& p) {
  return round_up(p.value_width, kAligned);
}
size_t part_row(const AttentionProblem& p) {
  return part_highest(p) + kAligned;
}

AttentionFewSizes attention_few_sizes(const AttentionProblem& p) {
  AttentionFewSizes sizes;
  sizes.part_keys = kKeys;
  sizes.part = p.rows_per_head() * part_row(p);
  sizes.scratch = p.rows_per_head() * (round_up(p.width, kAligned) + kKeys);
  return sizes;
}

// A vector of scores: the products of a query and each of `count` keys. REQUIRES: zeros behind the query, 1 to kLanes keys
HWY_INLINE Vector score_keys(const float* query, const float* keys, size_t width, size_t count) {
  const Floats f;
  Vector sum[kLanes];
  HWY_UNROLL(16)
  for (size_t i = 0; i < kLanes; ++i) {
    sum[i] = hn::Zero(f);
  }
  const size_t whole = count == kLanes ? width / kLanes * kLanes : 0;
  for (size_t c = 0; c < whole; c += kLanes) {
    const Vector q = hn::Load(f, query + c);
    HWY_UNROLL(16)
    for (size_t i = 0; i < kLanes; ++i) {
      sum[i] = hn::MulAdd(hn::LoadU(f, keys + i * width + c), q, sum[i]);
    }
  }
  for (size_t c = whole; c < width; c += kLanes) {
    const Vector q = hn::Load(f, query + c);
    const size_t rest = std::min(kLanes, width - c);
    HWY_UNROLL(16)
    for (size_t i = 0; i < kLanes; ++i) {
      if (i < count) {
        sum[i] = hn::MulAdd(hn::LoadN(f, keys + i * width + c, rest), q, sum[i]);
      }
    }
  }
  transpose_square(sum);
  HWY_UNROLL(4)
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    HWY_UNROLL(8)
    for (size_t i = 0; i < half; ++i) {
      sum[i] = hn::Add(sum[i], sum[i + half]);
    }
  }
  return sum[0];
}

// to[r * stride + j] = sum over k of weights[r * kKeys + k] * values[k * width + j] for N vectors, or
// with kPartial for `rest` columns.
template <size_t R, size_t N, bool kPartial>
HWY_INLINE void weigh_columns(
    const float* weights, const float* values, size_t width, size_t count, size_t rest, float* to, size_t stride) {
  const Floats f;
  Vector sum[R][N];
  for (size_t r = 0; r < R; ++r) {
    for (size_t n = 0; n < N; ++n) {
      sum[r][n] = hn::Zero(f);
    }
  }
  for (size_t k = 0; k < count; ++k, values += width) {
    Vector v[N];
    HWY_UNROLL(4)
    for (size_t n = 0; n < N; ++n) {
      v[n] = kPartial ? hn::LoadN(f, values, rest) : hn::LoadU(f, values + n * kLanes);
    }
    HWY_UNROLL(4)
    for (size_t r = 0; r < R; ++r) {
      const Vector weight = hn::Set(f, weights[r * kKeys + k]);
      HWY_UNROLL(4)
      for (size_t n = 0; n < N; ++n) {
        sum[r][n] = hn::MulAdd(weight, v[n], sum[r][n]);
      }
    }
  }
  for (size_t r = 0; r < R; ++r) {
    for (size_t n = 0; n < N; ++n) {
      hn::StoreU(sum[r][n], f, to + r * stride + n * kLanes);
    }
  }
}

template <size_t R>
void weigh_values(const float* weights, const float* values, size_t width, size_t count, float* to, size_t stride) {
  constexpr size_t N = R * 4 <= kRows ? 4 : 2;
  size_t c = 0;
  for (; c + N * kLanes <= width; c += N * kLanes) {
    weigh_columns<R, N, false>(weights, values + c, width, count, 0, to + c, stride);
  }
  for (; c + kLanes <= width; c += kLanes) {
    weigh_columns<R, 1, false>(weights, values + c, width, count, 0, to + c, stride);
  }
  if (c < width) {
    weigh_columns<R, 1, true>(weights, values + c, width, count, width - c, to + c, stride);
  }
}

template <MaskKind kMask>
void attend_part(const AttentionProblem& p, size_t head, size_t begin, size_t end, float* scratch, float* part) {
  const size_t rows = p.rows_per_head(), count = end - begin;
  const size_t query_stride = round_up(p.width, kAligned);
  float* const query = scratch;
  float* const scores = scratch + rows * query_stride;
  const float* const keys = p.key + (head * p.keys + begin) * p.width;
  const float* const values = p.value + (head * p.keys + begin) * p.value_width;
  for (size_t r = 0; r < rows; ++r) {
    const float* const from = p.query + (head * rows + r) * p.width;
    float* const to = query + r * query_stride;
    std::transform(from, from + p.width, to, [&p](float q) { return q * p.scale; });
    std::fill(to + p.width, to + query_stride, 0.0f);
  }
  // A tile of keys stays in the cache for all rows.
  for (size_t k = 0; k < count; k += kLanes) {
    for (size_t r = 0; r < rows; ++r) {
      const Vector tile =
          score_keys(query + r * query_stride, keys + k * p.width, p.width, std::min(kLanes, count - k));
      hn::StoreU(tile, kFloats, scores + r * kKeys + k);
    }
  }
  for (size_t r = 0; r < rows; ++r) {
    const float top = highest_score<kMask>(scores + r * kKeys, count, row_mask<kMask>(p, head, r, begin), kLowest);
    float* const to = part + r * part_row(p) + part_highest(p);
    to[0] = top;
    to[1] = exponentials(scores + r * kKeys, count, count, top == kLowest ? 0 : top);
  }
  switch (rows) {
    case 1:
      return weigh_values<1>(scores, values, p.value_width, count, part, part_row(p));
    case 2:
      return weigh_values<2>(scores, values, p.value_width, count, part, part_row(p));
    case 3:
      return weigh_values<3>(scores, values, p.value_width, count, part, part_row(p));
    default:
      return weigh_values<4>(scores, values, p.value_width, count, part, part_row(p));
  }
}

// Keys [begin, end) of a head for all rows of it. REQUIRES: kMaxFewRows at most, not causal, kKeys keys at most
void attention_part(const AttentionProblem& p, size_t head, size_t begin, size_t end, float* scratch, float* part) {
  with_mask(p, [&](auto kind) { attend_part<decltype(kind)::value>(p, head, begin, end, scratch, part); });
}

// Joins the parts of one row, `stride` floats apart; their highest scores become their weights.
void join_parts(const AttentionProblem& p, float* parts, size_t count, size_t stride, float* to) {
  const Floats f;
  const size_t at = part_highest(p);
  float top = kLowest;
  for (size_t i = 0; i < count; ++i) {
    top = std::max(top, parts[i * stride + at]); // a part with NaN has a sum that is NaN
  }
  float total = 0;
  for (size_t i = 0; i < count; ++i) {
    float& weight = parts[i * stride + at];
    weight = weight == kLowest ? 0 : hn::GetLane(exp_nonpositive(hn::Set(f, weight - top)));
    total += weight * parts[i * stride + at + 1];
  }
  if (total == 0) {
    std::fill_n(to, p.value_width, 0.0f);
    return;
  }
  for (size_t c = 0; c < p.value_width; c += kLanes) {
    Vector sum = hn::Zero(f);
    for (size_t i = 0; i < count; ++i) {
      sum = hn::MulAdd(hn::Set(f, parts[i * stride + at]), hn::LoadU(f, parts + i * stride + c), sum);
    }
    sum = hn::Mul(sum, hn::Set(f, 1 / total));
    if (p.value_width - c >= kLanes) {
      hn::StoreU(sum, f, to + c);
    } else {
      hn::StoreN(sum, f, to + c, p.value_width - c);
    }
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(attention_scratch);
HWY_EXPORT(attention_block);
HWY_EXPORT(attention_few_sizes);
HWY_EXPORT(attention_part);
HWY_EXPORT(join_parts);

namespace {

class Attention final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t num_threads) override {
    const auto& attributes = node.attributes<schema::Attention>();
    const Shape& query = node.input(0).shape;
    const Shape& key = node.input(1).shape;
    const size_t rank = query.rank;
    problem_ = {};
    problem_.rows = query[rank - 2];
    problem_.width = query[rank - 1];
    problem_.keys = key[rank - 2];
    problem_.value_width = node.input(2).shape.last();
    problem_.group = rank < 3 || key[rank - 3] == 0 ? 1 : query[rank - 3] / key[rank - 3];
    problem_.scale = attributes.scale();
    problem_.causal = attributes.causal();
    heads_ = key.numel(0, rank - 2);
    if (node.has_input(3)) {
      const TensorType& mask = node.input(3);
      problem_.mask_is_bool = mask.dtype == DType::Bool;
      const size_t shift = rank - mask.shape.rank;
      size_t stride = 1;
      for (size_t axis = rank; axis-- > shift;) {
        problem_.mask_strides[axis] = mask.shape[axis - shift] == 1 ? 0 : stride;
        stride *= mask.shape[axis - shift];
      }
      problem_.mask_key_stride = problem_.mask_strides[rank - 1];
      problem_.query_shape = query;
    }

    few_ = problem_.rows_per_head() <= kMaxFewRows && !problem_.causal;
    if (few_) {
      sizes_ = ETX_DISPATCH(attention_few_sizes)(problem_);
      parts_ = (problem_.keys + sizes_.part_keys - 1) / sizes_.part_keys;
      scratch_per_thread_ = sizes_.scratch;
      parts_offset_ = scratch_per_thread_ * num_threads;
      return (parts_offset_ + heads_ * parts_ * sizes_.part) * sizeof(float);
    }

    // Long blocks pack keys less often; short ones keep all threads busy.
    const size_t total = problem_.rows_per_head();
    size_t blocks = (total + kMaxRows - 1) / kMaxRows;
    if (num_threads > 1 && heads_ > 0 && heads_ < 4 * num_threads) {
      blocks = std::max(blocks, std::min((4 * num_threads + heads_ - 1) / heads_, total / kMinRows));
    }
    blocks = std::max<size_t>(blocks, 1);
    block_rows_ = ((total + blocks - 1) / blocks + kRowMultiple - 1) / kRowMultiple * kRowMultiple;
    block_rows_ = std::min(block_rows_, total);
    scratch_per_thread_ = scratch_(problem_, block_rows_);
    return scratch_per_thread_ * sizeof(float) * num_threads;
  }

  void run(const KernelArguments& arguments) override {
    AttentionProblem problem = problem_;
    problem.query = arguments.input<float>(0);
    problem.key = arguments.input<float>(1);
    problem.value = arguments.input<float>(2);
    problem.mask = arguments.input<void>(3);
    problem.output = arguments.output<float>(0);
    const size_t total = problem.rows_per_head();
    if (heads_ == 0 || total == 0 || problem.value_width == 0) {
      return;
    }
    const size_t work = heads_ * total * problem.keys * (problem.width + problem.value_width);
    const pthreadpool_t pool = work < kMinParallelWork ? nullptr : arguments.pool;
    if (few_) {
      return run_few(problem, static_cast<float*>(arguments.scratch), pool);
    }
    const size_t blocks = (total + block_rows_ - 1) / block_rows_;
    parallel_for_with_thread(pool, heads_ * blocks, [&](size_t thread, size_t i) {
      const size_t begin = i % blocks * block_rows_;
      const size_t end = std::min(begin + block_rows_, total);
      float* scratch = static_cast<float*>(arguments.scratch) + thread * scratch_per_thread_;
      block_(problem, i / blocks, begin, end, scratch);
    });
  }

 private:
  // Rows of one block; multiples of every panel height where possible.
  static constexpr size_t kMaxRows = 240, kMinRows = 48, kRowMultiple = 24;
  static constexpr size_t kMinParallelWork = 100000; // multiplications

  static constexpr size_t kMaxFewRows = 4;

  void run_few(const AttentionProblem& problem, float* scratch, pthreadpool_t pool) const {
    const size_t rows = problem.rows_per_head();
    float* const parts = scratch + parts_offset_; // behind what the threads have for themselves
    parallel_for_with_thread(pool, heads_ * parts_, [&](size_t thread, size_t i) {
      const size_t begin = i % parts_ * sizes_.part_keys;
      const size_t end = std::min(begin + sizes_.part_keys, problem.keys);
      part_(problem, i / parts_, begin, end, scratch + thread * scratch_per_thread_, parts + i * sizes_.part);
    });
    const size_t width = problem.value_width, part_row = sizes_.part / rows;
    parallel_for(pool, heads_ * rows, kMinParallelWork / (parts_ * width + 1) + 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        float* const first = parts + i / rows * parts_ * sizes_.part + i % rows * part_row;
        join_(problem, first, parts_, sizes_.part, problem.output + i * width);
      }
    });
  }

  const decltype(ETX_DISPATCH(attention_scratch)) scratch_ = ETX_DISPATCH(attention_scratch);
  const decltype(ETX_DISPATCH(attention_block)) block_ = ETX_DISPATCH(attention_block);
  const decltype(ETX_DISPATCH(attention_part)) part_ = ETX_DISPATCH(attention_part);
  const decltype(ETX_DISPATCH(join_parts)) join_ = ETX_DISPATCH(join_parts);
  AttentionProblem problem_;
  bool few_ = false; // rows
  AttentionFewSizes sizes_;
  size_t parts_ = 0, parts_offset_ = 0;
  size_t heads_ = 0; // of keys, over all batches
  size_t block_rows_ = 0;
  size_t scratch_per_thread_ = 0;
};

} // namespace

std::unique_ptr<Kernel> make_attention(const NodeContext&) {
  return std::make_unique<Attention>();
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
