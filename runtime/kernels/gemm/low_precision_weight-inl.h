// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Weights of low precision in vectors, compiled for each instruction set: include it after
// foreach_target.h, without a guard of the usual kind.

#if defined(ET_XNNPACK_LOW_PRECISION_WEIGHT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_XNNPACK_LOW_PRECISION_WEIGHT_INL_H
#undef ET_XNNPACK_LOW_PRECISION_WEIGHT_INL_H
#else
#define ET_XNNPACK_LOW_PRECISION_WEIGHT_INL_H
#endif

#include <cstdint>

#include <hwy/highway.h>

#include "runtime/base/dtype.h"
#include "runtime/kernels/simd/reduced_float-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// How one vector of channels reads its weights. set_channels() comes first: the zero points of all
// channels, null for floats and if all are 0, and which of them these are.

struct FromFloat32 {
  using Element = float;
  HWY_INLINE void set_channels(const float*, size_t, size_t) {}
  HWY_INLINE Vector load(const float* w) const {
    return hn::LoadU(kFloats, w);
  }
  HWY_INLINE Vector load(const float* w, size_t count) const {
    return hn::LoadN(kFloats, w, count);
  }
};
struct FromBFloat16 {
  using Element = uint16_t;
  HWY_INLINE void set_channels(const float*, size_t, size_t) {}
  HWY_INLINE Vector load(const uint16_t* w) const {
    return widen_bfloat16(hn::LoadU(kReducedFloats, w));
  }
  HWY_INLINE Vector load(const uint16_t* w, size_t count) const {
    return widen_bfloat16(hn::LoadN(kReducedFloats, w, count));
  }
};
struct FromFloat16 {
  using Element = uint16_t;
  HWY_INLINE void set_channels(const float*, size_t, size_t) {}
  HWY_INLINE Vector load(const uint16_t* w) const {
    return widen_float16(hn::LoadU(kReducedFloats, w));
  }
  HWY_INLINE Vector load(const uint16_t* w, size_t count) const {
    return widen_float16(hn::LoadN(kReducedFloats, w, count));
  }
};
// With zero points that are all 0.
struct FromSymmetricInt8 {
  using Element = int8_t;
  using Bytes = hn::Rebind<int8_t, Floats>;
  HWY_INLINE void set_channels(const float*, size_t, size_t) {}
  HWY_INLINE Vector load(const int8_t* w) const {
    return widen(hn::LoadU(Bytes(), w));
  }
  HWY_INLINE Vector load(const int8_t* w, size_t count) const {
    return widen(hn::LoadN(Bytes(), w, count));
  }
  static HWY_INLINE Vector widen(hn::Vec<Bytes> w) {
    return hn::ConvertTo(kFloats, hn::PromoteTo(hn::RebindToSigned<Floats>(), w));
  }
};
struct FromInt8 {
  using Element = int8_t;
  HWY_INLINE void set_channels(const float* zero_points, size_t channel, size_t count) {
    zero_point = hn::LoadN(kFloats, zero_points + channel, count);
  }
  HWY_INLINE Vector load(const int8_t* w) const {
    return hn::Sub(FromSymmetricInt8().load(w), zero_point);
  }
  HWY_INLINE Vector load(const int8_t* w, size_t count) const {
    return hn::Sub(FromSymmetricInt8().load(w, count), zero_point);
  }

  Vector zero_point;
};

// Calls function with what reads weights of this type.
template <typename Function>
HWY_INLINE void with_weights(DType type, const float* zero_points, const Function& function) {
  switch (type) {
    case DType::BFloat16:
      return function(FromBFloat16());
    case DType::Float16:
      return function(FromFloat16());
    case DType::Int8:
      return zero_points == nullptr ? function(FromSymmetricInt8()) : function(FromInt8());
    default:
      return function(FromFloat32());
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#endif // per-target include guard
