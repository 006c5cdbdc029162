// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Scores of keys, masked and turned into weights, compiled for each instruction set: include it
// after foreach_target.h, without a guard of the usual kind.

#if defined(ET_XNNPACK_SCORE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_XNNPACK_SCORE_INL_H
#undef ET_XNNPACK_SCORE_INL_H
#else
#define ET_XNNPACK_SCORE_INL_H
#endif

#include <limits>
#include <type_traits>

#include "attention_problem.h"
#include "runtime/kernels/gemm/low_precision_weight-inl.h"
#include "runtime/kernels/gemm/product-inl.h"
#include "runtime/kernels/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

constexpr size_t kKeys = AttentionProblem::kBlockKeys;
constexpr size_t kAligned = 16; // floats that take 64 bytes
constexpr float kLowest = -std::numeric_limits<float>::infinity();

enum class MaskKind { None, Float, Bool };

// Calls `run` with what reads numbers of the type that keys and values have, as integers if these are.
template <typename Run>
void with_type(const AttentionRows& x, const Run& run) {
  with_weights(x.type, /*zero_points=*/nullptr, run);
}

// Rows of floats.
struct FloatRows {
  const float* data = nullptr;
  size_t stride = 0;
};

// `count` rows of head `head` from token `first` on, where they are, or written to `to` if they are no floats.
inline FloatRows float_rows(const AttentionRows& x, size_t head, size_t first, size_t count, float* to) {
  const size_t begin = x.offset(head, first);
  if (x.type == DType::Float32) {
    return {static_cast<const float*>(x.data) + begin, x.token};
  }
  const size_t stride = round_up(x.width, kAligned);
  with_type(x, [&](auto reader) HWY_ATTR {
    using T = typename decltype(reader)::Element;
    for (size_t i = 0; i < count; ++i) {
      const size_t at = begin + i * x.token;
      const T* const from = static_cast<const T*>(x.data) + at;
      Vector scale = hn::Set(kFloats, 1), zero_point = hn::Zero(kFloats);
      if constexpr (sizeof(T) == 1) {
        const size_t row = at / x.width;
        scale = hn::Set(kFloats, x.scale[row]);
        zero_point = hn::Set(kFloats, x.zero_point[row]);
      }
      for (size_t c = 0; c < x.width; c += kLanes) {
        Vector y = x.width - c >= kLanes ? reader.load(from + c) : reader.load(from + c, x.width - c);
        if constexpr (sizeof(T) == 1) {
          y = hn::Mul(hn::Sub(y, zero_point), scale);
        }
        hn::StoreU(y, kFloats, to + i * stride + c);
      }
    }
  });
  return {to, stride};
}

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

// Turns `keys` scores, padded with -infinity to whole vectors, into exp(score - base), followed by zeros up to `end`;
// returns their sum.
HWY_INLINE float weights_of(float* scores, size_t keys, size_t end, float base) {
  const Floats f;
  const float sum = hn::ReduceSum(f, exponentials(scores, keys, hn::Set(f, base), scores));
  for (size_t k = round_up(keys, kLanes); k < end; k += kLanes) {
    hn::StoreU(hn::Zero(f), f, scores + k);
  }
  return sum;
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#endif // per-target include guard
