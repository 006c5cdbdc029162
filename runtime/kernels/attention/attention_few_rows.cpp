// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "attention_problem.h"

#include <algorithm>

#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/attention/attention_few_rows.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/gemm/product-inl.h"
#include "score-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

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

AttentionFewRows::Sizes attention_few_sizes(const AttentionProblem& p) {
  AttentionFewRows::Sizes sizes;
  sizes.part_keys = kKeys;
  sizes.part = p.rows_per_head() * part_row(p);
  sizes.scratch = p.rows_per_head() * (round_up(p.width, kAligned) + kKeys);
  return sizes;
}

// A vector of scores: the products of a query and each of `count` keys. REQUIRES: zeros behind the query, 1 to kLanes
// keys
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
    to[1] = weights_of(scores + r * kKeys, count, count, top == kLowest ? 0 : top);
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

// Keys [begin, end) of a head for all rows of it. REQUIRES: kMaxRows rows at most, not causal, kKeys keys at most
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

HWY_EXPORT(attention_few_sizes);
HWY_EXPORT(attention_part);
HWY_EXPORT(join_parts);

AttentionFewRows attention_few_rows() {
  return {ETX_DISPATCH(attention_few_sizes), ETX_DISPATCH(attention_part), ETX_DISPATCH(join_parts)};
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
