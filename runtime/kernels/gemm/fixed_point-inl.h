// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Sums of products of bytes, compiled for each instruction set: include it after foreach_target.h, without a guard of
// the usual kind.

#if defined(ET_XNNPACK_FIXED_POINT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_XNNPACK_FIXED_POINT_INL_H
#undef ET_XNNPACK_FIXED_POINT_INL_H
#else
#define ET_XNNPACK_FIXED_POINT_INL_H
#endif

#include <hwy/highway.h>

#include "runtime/kernels/simd/byte_dot-inl.h"
#include "runtime/kernels/simd/vector-inl.h"

#if ETX_BYTE_DOT

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {
ETX_BYTE_DOT_BEGIN

using Integers = hn::RebindToSigned<Floats>;
using Digits = hn::Repartition<int8_t, Floats>;
#if HWY_ARCH_X86
using Bytes = hn::Repartition<uint8_t, Floats>;
#else
using Bytes = Digits;
#endif
constexpr Integers kIntegers{};
constexpr Digits kDigits{};
constexpr Bytes kBytes{};

// To each element of `sum` adds its four products.
HWY_INLINE hn::Vec<Integers> dot(hn::Vec<Bytes> w, hn::Vec<Digits> x, hn::Vec<Integers> sum) {
#if HWY_ARCH_X86
  return hn::Vec<Integers>{add_byte_products(sum.raw, w.raw, x.raw)};
#else
  return hn::Vec<Integers>(vdotq_s32(sum.raw, w.raw, x.raw));
#endif
}

ETX_BYTE_DOT_END
} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#endif // ETX_BYTE_DOT

#endif // per-target include guard
