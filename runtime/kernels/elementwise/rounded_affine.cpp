// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "rounded_affine.h"

#include <algorithm>

#include "bfloat16_affine.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/elementwise/rounded_affine.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/simd/reduced_float-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

struct InBFloat16 {
  static HWY_INLINE hn::Vec<ReducedFloats> narrow(Vector x) {
    return narrow_bfloat16(x);
  }
  static HWY_INLINE Vector round(Vector x) {
    return hn::BitCast(kFloats, hn::And(round_bfloat16_bits(x), hn::Set(kWords, 0xFFFF0000)));
  }
};

struct InFloat16 {
  static HWY_INLINE hn::Vec<ReducedFloats> narrow(Vector x) {
    return narrow_float16(x);
  }
  static HWY_INLINE Vector round(Vector x) {
    return widen_float16(narrow_float16(x));
  }
};

using Result = RoundedAffine::Result;

template <typename Type, Result kResult>
void affine_loop(const RowOperand* operands, void* y, size_t count, float low, float high) {
  const Vector min = hn::Set(kFloats, low), max = hn::Set(kFloats, high);
  const auto data = [operands](size_t k) HWY_ATTR { return static_cast<const float*>(operands[k].data); };
  const auto load = [&](size_t k, size_t i) HWY_ATTR {
    return operands[k].moves ? hn::LoadU(kFloats, data(k) + i) : hn::Set(kFloats, *data(k));
  };
  const auto compute = [&](Vector x, Vector scale, Vector shift)
                           HWY_ATTR { return clamped(hn::Add(hn::Mul(Type::round(x), scale), shift), min, max); };
  const size_t whole = count / kLanes * kLanes, rest = count - whole;
#pragma GCC unroll 2
  for (size_t i = 0; i < whole; i += kLanes) {
    const Vector value = compute(load(0, i), load(1, i), load(2, i));
    if constexpr (kResult == Result::Reduced) {
      hn::StoreU(Type::narrow(value), kReducedFloats, static_cast<uint16_t*>(y) + i);
    } else {
      hn::StoreU(kResult == Result::Rounded ? Type::round(value) : value, kFloats, static_cast<float*>(y) + i);
    }
  }
  if (rest > 0) {
    const auto load_rest = [&](size_t k) HWY_ATTR {
      return operands[k].moves ? hn::LoadN(kFloats, data(k) + whole, rest) : hn::Set(kFloats, *data(k));
    };
    const Vector value = compute(load_rest(0), load_rest(1), load_rest(2));
    if constexpr (kResult == Result::Reduced) {
      hn::StoreN(Type::narrow(value), kReducedFloats, static_cast<uint16_t*>(y) + whole, rest);
    } else {
      const Vector result = kResult == Result::Rounded ? Type::round(value) : value;
      hn::StoreN(result, kFloats, static_cast<float*>(y) + whole, rest);
    }
  }
}

template <typename Type>
void affine_in(Result result, const RowOperand* operands, void* y, size_t count, float low, float high) {
  switch (result) {
    case Result::Float32:
      return affine_loop<Type, Result::Float32>(operands, y, count, low, high);
    case Result::Rounded:
      return affine_loop<Type, Result::Rounded>(operands, y, count, low, high);
    case Result::Reduced:
      return affine_loop<Type, Result::Reduced>(operands, y, count, low, high);
  }
}

void rounded_affine(const RoundedAffine& affine, const RowOperand* operands, void* y, size_t count) {
  const auto function = affine.type == DType::BFloat16 ? affine_in<InBFloat16> : affine_in<InFloat16>;
  function(affine.result, operands, y, count, affine.min, affine.max);
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {
namespace {

HWY_EXPORT(rounded_affine);

class RoundedAffineRow final : public Row {
 public:
  explicit RoundedAffineRow(const RoundedAffine& affine)
      : affine_(affine), in_bfloat16_(affine.type == DType::BFloat16 ? bfloat16_affine(affine.result) : nullptr) {}

  void run(const RowOperand* operands, void* y, size_t count) const override {
    const bool moves = operands[0].moves && operands[1].moves && operands[2].moves;
    if (in_bfloat16_ == nullptr || !moves || count < kBFloat16AffineStep) {
      return function_(affine_, operands, y, count);
    }
    const size_t result_size = affine_.result == RoundedAffine::Result::Reduced ? sizeof(uint16_t) : sizeof(float);
    for (size_t i = 0; i < count; i += kBlock) {
      const size_t size = std::min(kBlock, count - i), steps = size / kBFloat16AffineStep * kBFloat16AffineStep;
      const auto from = [&](size_t k) { return static_cast<const float*>(operands[k].data) + i; };
      char* const to = static_cast<char*>(y) + i * result_size;
      const bool is_done = in_bfloat16_(from(0), from(1), from(2), to, steps, affine_.min, affine_.max);
      if (const size_t done = is_done ? steps : 0; done < size) {
        const RowOperand rest[] = {{from(0) + done, true}, {from(1) + done, true}, {from(2) + done, true}};
        function_(affine_, rest, to + done * result_size, size - done);
      }
    }
  }

 private:
  static constexpr size_t kBlock = 512; // which is computed again if it has a denormal number

  const RoundedAffine affine_;
  void (*const function_)(const RoundedAffine&, const RowOperand*, void*, size_t) = ETX_DISPATCH(rounded_affine);
  const BFloat16Affine in_bfloat16_;
};

} // namespace

std::unique_ptr<Row> rounded_affine_row(const RoundedAffine& affine) {
  return std::make_unique<RoundedAffineRow>(affine);
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
