// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// What functions need that use the instructions of has_byte_dot(), compiled for each instruction set: include it after
// foreach_target.h, without a guard of the usual kind.

#if defined(ET_XNNPACK_BYTE_DOT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_XNNPACK_BYTE_DOT_INL_H
#undef ET_XNNPACK_BYTE_DOT_INL_H
#else
#define ET_XNNPACK_BYTE_DOT_INL_H
#endif

#include <hwy/highway.h>

// Whether some CPUs of this instruction set have them.
#undef ETX_BYTE_DOT
#define ETX_BYTE_DOT (HWY_TARGET == HWY_AVX3 || (HWY_ARCH_ARM_A64 && HWY_TARGET == HWY_NEON_WITHOUT_AES))

// Stand around what uses them, because others have not.
#undef ETX_BYTE_DOT_BEGIN
#undef ETX_BYTE_DOT_END
#if HWY_ARCH_ARM_A64
#define ETX_BYTE_DOT_BEGIN HWY_PUSH_ATTRIBUTES("arch=armv8.2-a+dotprod")
#define ETX_BYTE_DOT_END HWY_POP_ATTRIBUTES
#elif HWY_TARGET == HWY_AVX3
// Instead of the attributes around, because Clang takes the outer ones.
#define ETX_BYTE_DOT_BEGIN HWY_POP_ATTRIBUTES HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR_AVX3 ",avx512vnni")
#define ETX_BYTE_DOT_END HWY_POP_ATTRIBUTES HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR)
#else
#define ETX_BYTE_DOT_BEGIN
#define ETX_BYTE_DOT_END
#endif

#if HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {
ETX_BYTE_DOT_BEGIN

// To each element of `sum` adds the products of four bytes of x and w.
HWY_INLINE __m512i add_byte_products(__m512i sum, __m512i x, __m512i signed_w) {
  return _mm512_dpbusd_epi32(sum, x, signed_w);
}
HWY_INLINE __m256i add_byte_products(__m256i sum, __m256i x, __m256i signed_w) {
  return _mm256_dpbusd_epi32(sum, x, signed_w);
}
HWY_INLINE __m128i add_byte_products(__m128i sum, __m128i x, __m128i signed_w) {
  return _mm_dpbusd_epi32(sum, x, signed_w);
}

ETX_BYTE_DOT_END
} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#endif // HWY_AVX3

#endif // per-target include guard
