// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// For functions that use a CPU's own instructions of bfloat16, which are called where bfloat16_isa() has them: Highway
// compiles for none of these CPUs (isa.h).

#if defined(__x86_64__)
#include <immintrin.h>
#define ETX_DOT __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))
#elif defined(__aarch64__)
#include <arm_neon.h>
#define ETX_DOT __attribute__((target("arch=armv8.2-a+bf16")))
#else
#define ETX_DOT
#endif
#define ETX_DOT_INLINE ETX_DOT inline __attribute__((always_inline))

namespace executorch::backends::et_xnnpack {

// Keeps NaN.
#if defined(__x86_64__)
constexpr __mmask16 kAllLanes = 0xFFFF; // GCC 12 warns of what has no mask

ETX_DOT_INLINE __m512 clamped_vector(__m512 x, __m512 min, __m512 max) {
  return _mm512_maskz_min_ps(kAllLanes, max, _mm512_maskz_max_ps(kAllLanes, min, x));
}
#elif defined(__aarch64__)
ETX_DOT_INLINE float32x4_t clamped_vector(float32x4_t x, float32x4_t min, float32x4_t max) {
  return vminq_f32(vmaxq_f32(x, min), max);
}
#endif

// A vector rounded to the nearest bfloat16, of two the even one. Where there are denormal numbers, which are taken for
// zero, *denormal gets their bits.
#if defined(__x86_64__)
ETX_DOT_INLINE __m256i rounded_vector(__m512 x, __mmask16* denormal) {
  constexpr int kDenormal = 0x20;
  *denormal = _kor_mask16(*denormal, _mm512_fpclass_ps_mask(x, kDenormal));
  return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x));
}
#elif defined(__aarch64__) // where they are rounded as well
ETX_DOT_INLINE uint16x4_t rounded_vector(float32x4_t x) {
  return vreinterpret_u16_bf16(vcvt_bf16_f32(x));
}
#endif

} // namespace executorch::backends::et_xnnpack
