// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "attention_problem.h"

#include <algorithm>
#include <numeric>

#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/attention/attention_few_rows.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "score-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// For few rows the keys are not packed: what counts is that keys and values are read once, in order. The
// keys of a head are taken in parts of kKeys, whose results are joined when all are there.

// What attention_part writes for each row: the sum of weighted values, then the highest score and the
// sum of weights.
size_t part_highest(const AttentionProblem& p) {
  return round_up(p.value.width, kAligned);
}
size_t part_row(const AttentionProblem& p) {
  return part_highest(p) + kAligned;
}

AttentionFewRows::Sizes attention_few_sizes(const AttentionProblem& p) {
  AttentionFewRows::Sizes sizes;
  sizes.part = p.rows_per_head() * part_row(p);
  sizes.scratch = p.rows_per_head() * (round_up(p.query.width, kAligned) + kKeys);
  return sizes;
}

// A vector of scores: the products of a query and each of `count` keys. REQUIRES: zeros behind the query, 1 to kLanes
// keys
template <typename T>
HWY_INLINE Vector score_keys(const float* query, const T* keys, size_t stride, size_t width, size_t count) {
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
      sum[i] = hn::MulAdd(load(keys + i * stride + c), q, sum[i]);
    }
  }
  for (size_t c = whole; c < width; c += kLanes) {
    const Vector q = hn::Load(f, query + c);
    const size_t rest = std::min(kLanes, width - c);
    HWY_UNROLL(16)
    for (size_t i = 0; i < kLanes; ++i) {
      if (i < count) {
        sum[i] = hn::MulAdd(load_some(keys + i * stride + c, rest), q, sum[i]);
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

// What stands for integers: the scale of each, and its zero point, `stride` apart.
struct Scales {
  const float* scale = nullptr;
  const int8_t* zero_point = nullptr;
  size_t stride = 0;
};

Scales scales_of(const AttentionRows& x, size_t offset) {
  return x.scale == nullptr ? Scales()
                            : Scales{x.scale + offset / x.width, x.zero_point + offset / x.width, x.token / x.width};
}

// The scores of `count` keys that are integers, of the products of a query, whose sum is `total`, with these.
void scale_scores(const Scales& keys, size_t count, float total, float* scores) {
  for (size_t k = 0; k < count; ++k) {
    scores[k] =
        (scores[k] - static_cast<float>(keys.zero_point[k * keys.stride]) * total) * keys.scale[k * keys.stride];
  }
}

// to[r * to_stride + j] = sum over k of weights[r * kKeys + k] * values[k * stride + j] for N vectors, or
// with kPartial for `rest` columns. Of integers the zero points are subtracted.
template <size_t R, size_t N, bool kPartial, typename T>
HWY_INLINE void weigh_columns(
    const float* weights,
    const T* values,
    size_t stride,
    const Scales& scales,
    size_t count,
    size_t rest,
    float* to,
    size_t to_stride) {
  const Floats f;
  Vector sum[R][N];
  for (size_t r = 0; r < R; ++r) {
    for (size_t n = 0; n < N; ++n) {
      sum[r][n] = hn::Zero(f);
    }
  }
  for (size_t k = 0; k < count; ++k, values += stride) {
    Vector v[N];
    HWY_UNROLL(4)
    for (size_t n = 0; n < N; ++n) {
      v[n] = kPartial ? load_some(values, rest) : load(values + n * kLanes);
      if constexpr (sizeof(T) == 1) {
        v[n] = hn::Sub(v[n], hn::Set(f, scales.zero_point[k * scales.stride]));
      }
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
      hn::StoreU(sum[r][n], f, to + r * to_stride + n * kLanes);
    }
  }
}

template <size_t R, typename T>
void weigh_values(
    const float* weights,
    const T* values,
    const AttentionRows& rows,
    const Scales& scales,
    size_t count,
    float* to,
    size_t to_stride) {
  constexpr size_t N = R * 4 <= kRows ? 4 : 2;
  const size_t width = rows.width, stride = rows.token;
  size_t c = 0;
  for (; c + N * kLanes <= width; c += N * kLanes) {
    weigh_columns<R, N, false>(weights, values + c, stride, scales, count, 0, to + c, to_stride);
  }
  for (; c + kLanes <= width; c += kLanes) {
    weigh_columns<R, 1, false>(weights, values + c, stride, scales, count, 0, to + c, to_stride);
  }
  if (c < width) {
    weigh_columns<R, 1, true>(weights, values + c, stride, scales, count, width - c, to + c, to_stride);
  }
}

// `T` is float or, of keys and values with scales, int8_t.
template <MaskKind kMask, typename T>
void attend_part(const AttentionProblem& p, size_t head, size_t begin, size_t end, float* scratch, float* part) {
  const size_t rows = p.rows_per_head();
  const size_t query_stride = round_up(p.query.width, kAligned);
  size_t seen[AttentionFewRows::kMaxRows];
  size_t count = 0; // keys that any row sees
  for (size_t r = 0; r < rows; ++r) {
    seen[r] = p.visible(head, r, begin, end - begin);
    count = std::max(count, seen[r]);
  }
  if (count == 0) {
    for (size_t r = 0; r < rows; ++r) {
      float* const to = part + r * part_row(p) + part_highest(p);
      to[0] = kLowest;
      to[1] = 0;
    }
    return;
  }
  float* const query = scratch;
  float* const scores = scratch + rows * query_stride;
  const size_t key_offset = p.key.offset(head, begin), value_offset = p.value.offset(head, begin);
  const T* const keys = static_cast<const T*>(p.key.data) + key_offset;
  const T* const values = static_cast<const T*>(p.value.data) + value_offset;
  const Scales value_scales = scales_of(p.value, value_offset);
  for (size_t r = 0; r < rows; ++r) {
    const float* const from = static_cast<const float*>(p.query.data) + p.row_offset(p.query, head, r);
    float* const to = query + r * query_stride;
    std::transform(from, from + p.query.width, to, [&p](float q) { return q * p.scale; });
    std::fill(to + p.query.width, to + query_stride, 0.0f);
  }
  // A tile of keys stays in the cache for all rows.
  for (size_t k = 0; k < count; k += kLanes) {
    for (size_t r = 0; r < rows; ++r) {
      const T* const tile = keys + k * p.key.token;
      const Vector products =
          score_keys(query + r * query_stride, tile, p.key.token, p.key.width, std::min(kLanes, count - k));
      hn::StoreU(products, kFloats, scores + r * kKeys + k);
    }
  }
  for (size_t r = 0; r < rows; ++r) {
    float* const row = scores + r * kKeys;
    if constexpr (sizeof(T) == 1) {
      const float* const q = query + r * query_stride;
      scale_scores(scales_of(p.key, key_offset), seen[r], std::accumulate(q, q + p.query.width, 0.0f), row);
    }
    const float top = highest_score<kMask>(row, seen[r], row_mask<kMask>(p, head, r, begin), kLowest);
    float* const to = part + r * part_row(p) + part_highest(p);
    to[0] = top;
    to[1] = weights_of(row, seen[r], count, top == kLowest ? 0 : top);
    if constexpr (sizeof(T) == 1) {
      for (size_t k = 0; k < seen[r]; ++k) {
        row[k] *= value_scales.scale[k * value_scales.stride];
      }
    }
  }
  const auto weigh = [&](auto r_tag) HWY_ATTR {
    weigh_values<decltype(r_tag)::value>(scores, values, p.value, value_scales, count, part, part_row(p));
  };
  switch (rows) {
    case 1:
      return weigh(Constant<1>());
    case 2:
      return weigh(Constant<2>());
    case 3:
      return weigh(Constant<3>());
    default:
      return weigh(Constant<4>());
  }
}

// Keys [begin, end) of a head for all rows of it. REQUIRES: kMaxRows rows at most; a block of keys, or what is left
void attention_part(const AttentionProblem& p, size_t head, size_t begin, size_t end, float* scratch, float* part) {
  with_mask(p, [&](auto kind) {
    if (p.key.scale != nullptr) {
      attend_part<decltype(kind)::value, int8_t>(p, head, begin, end, scratch, part);
    } else {
      attend_part<decltype(kind)::value, float>(p, head, begin, end, scratch, part);
    }
  });
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
    std::fill_n(to, p.value.width, 0.0f);
    return;
  }
  for (size_t c = 0; c < p.value.width; c += kLanes) {
    Vector sum = hn::Zero(f);
    for (size_t i = 0; i < count; ++i) {
      if (parts[i * stride + at] != 0) { // else there may be no values
        sum = hn::MulAdd(hn::Set(f, parts[i * stride + at]), hn::LoadU(f, parts + i * stride + c), sum);
      }
    }
    sum = hn::Mul(sum, hn::Set(f, 1 / total));
    if (p.value.width - c >= kLanes) {
      hn::StoreU(sum, f, to + c);
    } else {
      hn::StoreN(sum, f, to + c, p.value.width - c);
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
