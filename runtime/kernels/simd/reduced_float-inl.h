// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// 16-bit floats in vectors, compiled for each instruction set: include it after foreach_target.h,
// without a guard of the usual kind.

#if defined(ET_XNNPACK_REDUCED_FLOAT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_XNNPACK_REDUCED_FLOAT_INL_H
#undef ET_XNNPACK_REDUCED_FLOAT_INL_H
#else
#define ET_XNNPACK_REDUCED_FLOAT_INL_H
#endif

#include <hwy/highway.h>

#include "vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

using Words = hn::RebindToUnsigned<Floats>;
using ReducedFloats = hn::Rebind<uint16_t, Floats>;
constexpr Words kWords{};
constexpr ReducedFloats kReducedFloats{};

HWY_INLINE Vector widen_bfloat16(hn::Vec<ReducedFloats> x) {
  return hn::BitCast(kFloats, hn::ShiftLeft<16>(hn::PromoteTo(kWords, x)));
}

// The bits of the nearest bfloat16 in the upper halves, others in the lower ones.
HWY_INLINE hn::Vec<Words> round_bfloat16_bits(Vector x) {
  const auto bits = hn::BitCast(kWords, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(kWords, 1));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(kWords, 0x7FFF)));
  const auto nan = hn::RebindMask(kWords, hn::IsNaN(x));
  return hn::IfThenElse(nan, hn::Or(bits, hn::Set(kWords, 0x400000)), rounded);
}

HWY_INLINE hn::Vec<ReducedFloats> narrow_bfloat16(Vector x) {
  return hn::TruncateTo(kReducedFloats, hn::ShiftRight<16>(round_bfloat16_bits(x)));
}

HWY_INLINE Vector widen_float16(hn::Vec<ReducedFloats> x) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
  return hn::PromoteTo(kFloats, hn::BitCast(hn::Rebind<hwy::float16_t, Floats>(), x));
#else // Highway takes infinity and NaN for numbers
  const auto bits = hn::PromoteTo(kWords, x);
  const auto magnitude = hn::And(bits, hn::Set(kWords, 0x7FFF));
  const auto number = hn::Mul(hn::BitCast(kFloats, hn::ShiftLeft<13>(magnitude)), hn::Set(kFloats, 0x1p112f));
  const auto special = hn::Gt(magnitude, hn::Set(kWords, 0x7BFF));
  const auto all_ones = hn::IfThenElseZero(special, hn::Set(kWords, 0x7F800000));
  const auto sign = hn::ShiftLeft<16>(hn::Xor(bits, magnitude));
  return hn::BitCast(kFloats, hn::Or(hn::Or(hn::BitCast(kWords, number), all_ones), sign));
#endif
}

HWY_INLINE hn::Vec<ReducedFloats> narrow_float16(Vector x) {
  return hn::BitCast(kReducedFloats, hn::DemoteTo(hn::Rebind<hwy::float16_t, Floats>(), x));
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#endif // per-target include guard
