// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "half.h"

#include "isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/half.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

using Words = hn::RebindToUnsigned<Floats>;
using Halves = hn::Rebind<uint16_t, Floats>;
constexpr Words kWords{};
constexpr Halves kHalves{};

HWY_INLINE Vector widen_bfloat16(hn::Vec<Halves> x) {
  return hn::BitCast(kFloats, hn::ShiftLeft<16>(hn::PromoteTo(kWords, x)));
}

HWY_INLINE hn::Vec<Halves> narrow_bfloat16(Vector x) {
  const auto bits = hn::BitCast(kWords, x);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(kWords, 1));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(kWords, 0x7FFF)));
  const auto nan = hn::RebindMask(kWords, hn::IsNaN(x));
  const auto result = hn::IfThenElse(nan, hn::Or(bits, hn::Set(kWords, 0x400000)), rounded);
  return hn::TruncateTo(kHalves, hn::ShiftRight<16>(result));
}

HWY_INLINE Vector widen_float16(hn::Vec<Halves> x) {
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

HWY_INLINE hn::Vec<Halves> narrow_float16(Vector x) {
  return hn::BitCast(kHalves, hn::DemoteTo(hn::Rebind<hwy::float16_t, Floats>(), x));
}

template <typename Function>
HWY_INLINE void widen_all(const uint16_t* x, float* y, size_t count, const Function& function) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(function(hn::LoadU(kHalves, x + i)), kFloats, y + i);
  }
  if (i < count) {
    hn::StoreN(function(hn::LoadN(kHalves, x + i, count - i)), kFloats, y + i, count - i);
  }
}

template <typename Function>
HWY_INLINE void narrow_all(const float* x, uint16_t* y, size_t count, const Function& function) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(function(hn::LoadU(kFloats, x + i)), kHalves, y + i);
  }
  if (i < count) {
    hn::StoreN(function(hn::LoadN(kFloats, x + i, count - i)), kHalves, y + i, count - i);
  }
}

void widen_to_floats(bool bfloat16, const uint16_t* x, float* y, size_t count) {
  if (bfloat16) {
    widen_all(x, y, count, [](auto v) HWY_ATTR { return widen_bfloat16(v); });
  } else {
    widen_all(x, y, count, [](auto v) HWY_ATTR { return widen_float16(v); });
  }
}

void narrow_floats(bool bfloat16, const float* x, uint16_t* y, size_t count) {
  if (bfloat16) {
    narrow_all(x, y, count, [](auto v) HWY_ATTR { return narrow_bfloat16(v); });
  } else {
    narrow_all(x, y, count, [](auto v) HWY_ATTR { return narrow_float16(v); });
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(widen_to_floats);
HWY_EXPORT(narrow_floats);

void widen(DType from, const void* x, float* y, size_t count) {
  const auto function = ETX_DISPATCH(widen_to_floats);
  function(from == DType::BFloat16, static_cast<const uint16_t*>(x), y, count);
}

void narrow(DType to, const float* x, void* y, size_t count) {
  const auto function = ETX_DISPATCH(narrow_floats);
  function(to == DType::BFloat16, x, static_cast<uint16_t*>(y), count);
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
