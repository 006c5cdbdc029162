// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// What functions of Float32 share, compiled for each instruction set: include it after
// foreach_target.h, without a guard of the usual kind.

#if defined(ET_XNNPACK_FLOAT_FUNCTION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_XNNPACK_FLOAT_FUNCTION_INL_H
#undef ET_XNNPACK_FLOAT_FUNCTION_INL_H
#else
#define ET_XNNPACK_FLOAT_FUNCTION_INL_H
#endif

#include "runtime/kernels/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

HWY_INLINE Vector set(float value) {
  return hn::Set(kFloats, value);
}

// x where it is NaN, else y.
HWY_INLINE Vector keep_nan(Vector x, Vector y) {
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

template <float (*kScalar)(float)>
HWY_NOINLINE Vector by_scalars(Vector x) {
  HWY_ALIGN float values[kLanes];
  hn::Store(x, kFloats, values);
  for (float& value : values) {
    value = kScalar(value);
  }
  return hn::Load(kFloats, values);
}

template <float (*kScalar)(float, float)>
HWY_NOINLINE Vector by_scalars(Vector a, Vector b) {
  HWY_ALIGN float x[kLanes], y[kLanes];
  hn::Store(a, kFloats, x);
  hn::Store(b, kFloats, y);
  for (size_t i = 0; i < kLanes; ++i) {
    x[i] = kScalar(x[i], y[i]);
  }
  return hn::Load(kFloats, x);
}

HWY_INLINE bool all_within(Vector x, float low, float high) {
  return hn::AllTrue(kFloats, hn::And(hn::Ge(x, set(low)), hn::Le(x, set(high))));
}
} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#endif // per-target include guard
