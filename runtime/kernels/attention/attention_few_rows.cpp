// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "attention_problem.h"

#include <algorithm>

#include "runtime/kernels/simd/isa.h"
#include "token_fetcher.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/attention/attention_few_rows.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "score-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// For few rows the keys are not packed: what counts is that keys and values are read once, in order. The
// keys are taken in parts of kKeys, whose results are joined when all are there.
//
// Where the heads of a token lie side by side, a task has several of them and takes a few tokens for one after the
// other: head by head it would read a piece of each page, again and again. As no prefetcher of a CPU sees through that,
// what comes next is fetched meanwhile.
constexpr size_t kTokens = 8; // of values
constexpr size_t kBytesAhead = 4096;

// From the scores of a row to those of the next one: a power of two would have those of all rows share a few sets of
// the cache.
constexpr size_t kScoreStride = kKeys + kAligned;

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
  sizes.scratch = p.rows_per_head() * (round_up(p.query.width, kAligned) + kScoreStride);
  return sizes;
}

// Keys whose products with R rows fill a vector.
template <size_t R>
constexpr size_t kTileKeys = kLanes / (R == 3 ? 4 : R);

// scores[r * to_stride + i] = products of query row r and key i, for `count` keys, 1 to kTileKeys<R>. REQUIRES: zeros
// behind the queries
template <size_t R, typename Reader>
HWY_INLINE void score_tile(
    const float* query,
    size_t query_stride,
    const typename Reader::Element* keys,
    size_t stride,
    size_t width,
    size_t count,
    float* scores,
    size_t to_stride,
    TokenFetcher& fetch) {
  const Floats f;
  constexpr size_t kTogether = kTileKeys<R>;
  Vector sum[kLanes];
  HWY_UNROLL(16)
  for (size_t i = 0; i < kLanes; ++i) {
    sum[i] = hn::Zero(f);
  }
  const auto add = [&](size_t c, const Vector* key) HWY_ATTR {
    HWY_UNROLL(4)
    for (size_t r = 0; r < R; ++r) {
      const Vector q = hn::Load(f, query + r * query_stride + c);
      HWY_UNROLL(16)
      for (size_t i = 0; i < kTogether; ++i) {
        sum[r * kTogether + i] = hn::MulAdd(key[i], q, sum[r * kTogether + i]);
      }
    }
  };
  Vector key[kTogether];
  const size_t whole = count == kTogether ? width / kLanes * kLanes : 0;
  for (size_t c = 0; c < whole; c += kLanes) {
    fetch(kTogether * kLanes * sizeof(*keys));
    HWY_UNROLL(16)
    for (size_t i = 0; i < kTogether; ++i) {
      key[i] = Reader().load(keys + i * stride + c);
    }
    add(c, key);
  }
  for (size_t c = whole; c < width; c += kLanes) {
    const size_t rest = std::min(kLanes, width - c);
    HWY_UNROLL(16)
    for (size_t i = 0; i < kTogether; ++i) {
      key[i] = i < count ? Reader().load(keys + i * stride + c, rest) : hn::Zero(f);
    }
    add(c, key);
  }
  const Vector sums = sums_of_lanes(sum);
  if constexpr (R == 1) {
    hn::StoreU(sums, f, scores);
  } else {
    HWY_ALIGN float all[kLanes];
    hn::Store(sums, f, all);
    HWY_UNROLL(4)
    for (size_t r = 0; r < R; ++r) {
      std::copy_n(all + r * kTogether, kTogether, scores + r * to_stride);
    }
  }
}

// What the integers of some tokens of a head stand for.
struct PartScales {
  HWY_ALIGN float scale[kKeys];
  HWY_ALIGN float zero_point[kKeys];
};

// REQUIRES: `count` <= kKeys
void get_scales(const AttentionRows& x, size_t head, size_t begin, size_t count, PartScales* to) {
  const size_t first = x.offset(head, begin) / x.width, stride = x.token / x.width;
  for (size_t k = 0; k < count; ++k) {
    to->scale[k] = x.scale[first + k * stride];
    to->zero_point[k] = static_cast<float>(x.zero_point[first + k * stride]);
  }
  std::fill(to->scale + count, to->scale + round_up(count, kLanes), 0.0f);
  std::fill(to->zero_point + count, to->zero_point + round_up(count, kLanes), 0.0f);
}

// The scores of `count` keys that are integers, of the products of a query with these.
void scale_scores(const float* query, size_t query_stride, const PartScales& keys, size_t count, float* scores) {
  const Floats f;
  Vector sum = hn::Zero(f);
  for (size_t c = 0; c < query_stride; c += kLanes) {
    sum = hn::Add(sum, hn::Load(f, query + c));
  }
  const Vector total = hn::Set(f, hn::ReduceSum(f, sum));
  for (size_t k = 0; k < count; k += kLanes) {
    const Vector score = hn::NegMulAdd(hn::Load(f, keys.zero_point + k), total, hn::LoadU(f, scores + k));
    hn::StoreU(hn::Mul(score, hn::Load(f, keys.scale + k)), f, scores + k);
  }
}

// Weights of values that are integers, from the weights of these; returns what the zero points add to each sum.
float scale_weights(const PartScales& values, size_t count, float* weights) {
  const Floats f;
  Vector sum = hn::Zero(f);
  for (size_t k = 0; k < count; k += kLanes) {
    const Vector weight = hn::Mul(hn::LoadU(f, weights + k), hn::Load(f, values.scale + k));
    hn::StoreU(weight, f, weights + k);
    sum = hn::MulAdd(weight, hn::Load(f, values.zero_point + k), sum);
  }
  return hn::ReduceSum(f, sum);
}

// to[r * to_stride + j] = sum over k of weights[r * kScoreStride + k] * values[k * stride + j] for N vectors, or
// with kPartial for `rest` columns, less surplus[r], or if that is null in addition to what is there.
template <size_t R, size_t N, bool kPartial, typename Reader>
HWY_INLINE void weigh_columns(
    const float* weights,
    const typename Reader::Element* values,
    size_t stride,
    size_t count,
    size_t rest,
    const float* surplus,
    float* to,
    size_t to_stride,
    TokenFetcher& fetch) {
  const Floats f;
  Vector sum[R][N];
  for (size_t r = 0; r < R; ++r) {
    for (size_t n = 0; n < N; ++n) {
      sum[r][n] = surplus != nullptr ? hn::Set(f, -surplus[r]) : hn::LoadU(f, to + r * to_stride + n * kLanes);
    }
  }
  for (size_t k = 0; k < count; ++k, values += stride) {
    Vector v[N];
    fetch(N * kLanes * sizeof(*values));
    HWY_UNROLL(4)
    for (size_t n = 0; n < N; ++n) {
      v[n] = kPartial ? Reader().load(values, rest) : Reader().load(values + n * kLanes);
    }
    HWY_UNROLL(4)
    for (size_t r = 0; r < R; ++r) {
      const Vector weight = hn::Set(f, weights[r * kScoreStride + k]);
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

template <size_t R, typename Reader>
void weigh_values(
    const float* weights,
    const typename Reader::Element* values,
    const AttentionRows& rows,
    size_t count,
    const float* surplus,
    float* to,
    size_t to_stride,
    TokenFetcher& fetch) {
  constexpr size_t kRegisters = kRows >= 8 ? 32 : 16;
  constexpr size_t N = R * 4 + 5 <= kRegisters ? 4 : 2; // sums, values and a weight
  const size_t width = rows.width, stride = rows.token;
  size_t c = 0;
  for (; c + N * kLanes <= width; c += N * kLanes) {
    weigh_columns<R, N, false, Reader>(weights, values + c, stride, count, 0, surplus, to + c, to_stride, fetch);
  }
  for (; c + kLanes <= width; c += kLanes) {
    weigh_columns<R, 1, false, Reader>(weights, values + c, stride, count, 0, surplus, to + c, to_stride, fetch);
  }
  if (c < width) {
    weigh_columns<R, 1, true, Reader>(weights, values + c, stride, count, width - c, surplus, to + c, to_stride, fetch);
  }
}

// What a task has of one key head.
struct HeadPart {
  float* query = nullptr; // rows, scaled
  float* scores = nullptr; // kScoreStride for each row
  float* part = nullptr;
  size_t seen[AttentionFewRows::kMaxRows] = {}; // keys, by row
  size_t count = 0; // keys that any row sees
  float surplus[AttentionFewRows::kMaxRows] = {}; // of sums of values that are integers, by row
};

// Finds what the rows of a head see, and scales them.
void begin_head(const AttentionProblem& p, size_t head, size_t begin, size_t end, HeadPart& h) {
  const size_t rows = p.rows_per_head();
  const size_t query_stride = round_up(p.query.width, kAligned);
  for (size_t r = 0; r < rows; ++r) {
    h.seen[r] = p.visible(head, r, begin, end - begin);
    h.count = std::max(h.count, h.seen[r]);
  }
  for (size_t r = 0; h.count > 0 && r < rows; ++r) {
    const float* const from = static_cast<const float*>(p.query.data) + p.row_offset(p.query, head, r);
    float* const to = h.query + r * query_stride;
    std::transform(from, from + p.query.width, to, [&p](float q) { return q * p.scale; });
    std::fill(to + p.query.width, to + query_stride, 0.0f);
  }
}

// Turns the scores of a head into weights.
template <typename T>
void weigh_scores(const AttentionProblem& p, size_t head, size_t begin, HeadPart& h) {
  PartScales keys, values;
  if constexpr (sizeof(T) == 1) {
    get_scales(p.key, head, begin, h.count, &keys);
    get_scales(p.value, head, begin, h.count, &values);
  }
  for (size_t r = 0; r < p.rows_per_head(); ++r) {
    float* const row = h.scores + r * kScoreStride;
    float* const to = h.part + r * part_row(p) + part_highest(p);
    if (h.count == 0) {
      to[0] = kLowest;
      to[1] = 0;
      continue;
    }
    if constexpr (sizeof(T) == 1) {
      const size_t query_stride = round_up(p.query.width, kAligned);
      scale_scores(h.query + r * query_stride, query_stride, keys, h.seen[r], row);
    }
    float top = kLowest;
    with_mask(p, [&](auto kind) HWY_ATTR {
      constexpr MaskKind kMask = decltype(kind)::value;
      top = highest_score<kMask>(row, h.seen[r], row_mask<kMask>(p, head, r, begin), kLowest);
    });
    to[0] = top;
    to[1] = weights_of(row, h.seen[r], h.count, top == kLowest ? 0 : top);
    if constexpr (sizeof(T) == 1) {
      h.surplus[r] = scale_weights(values, h.seen[r], row);
    }
  }
}

template <size_t R, typename Reader>
void attend_parts(
    const AttentionProblem& p,
    AttentionHeads heads,
    size_t begin,
    size_t end,
    float* scratch,
    float* parts,
    size_t stride) {
  using T = typename Reader::Element;
  const size_t query_stride = round_up(p.query.width, kAligned);
  const size_t number = heads.end - heads.begin;
  HeadPart all[AttentionFewRows::kMaxHeads];
  size_t most = 0;
  for (size_t i = 0; i < number; ++i) {
    all[i].query = scratch + i * R * (query_stride + kScoreStride);
    all[i].scores = all[i].query + R * query_stride;
    all[i].part = parts + i * stride;
    begin_head(p, heads.begin + i, begin, end, all[i]);
    most = std::max(most, all[i].count);
  }
  // Calls `run` with each head and some of its keys, all heads for the first ones, then for the next.
  const auto for_each = [&](size_t tokens, auto&& run) HWY_ATTR {
    for (size_t k = 0; k < most; k += tokens) {
      for (size_t i = 0; i < number; ++i) {
        if (k < all[i].count) {
          run(all[i], i, k, std::min(tokens, all[i].count - k));
        }
      }
    }
  };
  const bool fetches = number > 1 && (begin > 0 || most == kKeys); // a cache holds what one part has
  // Of `x` what is not there when `tokens` are taken at a time, then as much of `next`.
  const auto fetcher = [&](const AttentionRows& x, size_t tokens, const AttentionRows& next, size_t next_begin) {
    const size_t row = number * x.width * sizeof(T);
    if (!fetches || row == 0) {
      return TokenFetcher();
    }
    const size_t ahead = tokens + kBytesAhead / row + 1;
    if (ahead >= most) {
      return TokenFetcher();
    }
    return TokenFetcher(
        TokenRange::of<T>(x, heads, begin + ahead, begin + most),
        TokenRange::of<T>(next, heads, next_begin, next_begin + ahead));
  };
  TokenFetcher fetch = fetcher(p.key, kTileKeys<R>, p.value, begin);
  const T* const keys = static_cast<const T*>(p.key.data) + p.key.offset(heads.begin, begin);
  const size_t key_token = p.key.token, key_head = p.key.head, key_width = p.key.width;
  for_each(kTileKeys<R>, [&](const HeadPart& h, size_t i, size_t first, size_t count) HWY_ATTR {
    const T* const from = keys + i * key_head + first * key_token;
    score_tile<R, Reader>(
        h.query, query_stride, from, key_token, key_width, count, h.scores + first, kScoreStride, fetch);
  });
  for (size_t i = 0; i < number; ++i) {
    weigh_scores<T>(p, heads.begin + i, begin, all[i]);
  }
  fetch = fetcher(p.value, kTokens, p.key, end);
  const T* const values = static_cast<const T*>(p.value.data) + p.value.offset(heads.begin, begin);
  const size_t row = part_row(p);
  for_each(number > 1 ? kTokens : kKeys, [&](const HeadPart& h, size_t i, size_t first, size_t count) HWY_ATTR {
    const size_t offset = i * p.value.head + first * p.value.token;
    weigh_values<R, Reader>(
        h.scores + first, values + offset, p.value, count, first == 0 ? h.surplus : nullptr, h.part, row, fetch);
  });
}

// Keys [begin, end) of some heads for all rows of these. REQUIRES: kMaxRows rows and kMaxHeads heads at most; a block
// of keys, or what is left
void attention_part(
    const AttentionProblem& p,
    AttentionHeads heads,
    size_t begin,
    size_t end,
    float* scratch,
    float* parts,
    size_t stride) {
  with_type(p.key, [&](auto reader) {
    const auto attend = [&](auto rows) {
      attend_parts<decltype(rows)::value, decltype(reader)>(p, heads, begin, end, scratch, parts, stride);
    };
    switch (p.rows_per_head()) {
      case 1:
        return attend(Constant<1>());
      case 2:
        return attend(Constant<2>());
      case 3:
        return attend(Constant<3>());
      default:
        return attend(Constant<4>());
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
