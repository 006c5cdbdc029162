// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "reduced_float.h"

#include <algorithm>

#include "bfloat16_rounding.h"
#include "isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/simd/reduced_float.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "reduced_float-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

template <typename Function>
HWY_INLINE void widen_all(const uint16_t* x, float* y, size_t count, const Function& function) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(function(hn::LoadU(kReducedFloats, x + i)), kFloats, y + i);
  }
  if (i < count) {
    hn::StoreN(function(hn::LoadN(kReducedFloats, x + i, count - i)), kFloats, y + i, count - i);
  }
}

template <typename Function>
HWY_INLINE void narrow_all(const float* x, uint16_t* y, size_t count, const Function& function) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(function(hn::LoadU(kFloats, x + i)), kReducedFloats, y + i);
  }
  if (i < count) {
    hn::StoreN(function(hn::LoadN(kFloats, x + i, count - i)), kReducedFloats, y + i, count - i);
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
  constexpr size_t kBlock = 1024; // which is rounded again if it has a denormal number
  const auto function = ETX_DISPATCH(narrow_floats);
  const bool in_bfloat16 = to == DType::BFloat16;
  uint16_t* const numbers = static_cast<uint16_t*>(y);
  if (!in_bfloat16 || bfloat16_isa() == BFloat16Isa::None) {
    return function(in_bfloat16, x, numbers, count);
  }
  for (size_t i = 0; i < count; i += kBlock) {
    const size_t size = std::min(kBlock, count - i);
    if (!round_to_bfloat16(x + i, numbers + i, size)) {
      function(in_bfloat16, x + i, numbers + i, size);
    }
  }
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
