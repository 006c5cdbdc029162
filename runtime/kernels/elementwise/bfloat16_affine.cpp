// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "bfloat16_affine.h"

#include <cstdint>

#include "runtime/kernels/simd/bfloat16_instructions.h"
#include "runtime/kernels/simd/isa.h"

namespace executorch::backends::et_xnnpack {
namespace {

using Result = RoundedAffine::Result;

#if defined(__x86_64__)

using Floats = __m512;
using Rounded = __m256i;
constexpr size_t kLanes = 16;

ETX_DOT_INLINE Floats load(const float* from) {
  return _mm512_loadu_ps(from);
}
ETX_DOT_INLINE void store(Floats x, void* to) {
  _mm512_storeu_ps(to, x);
}
ETX_DOT_INLINE void store(Rounded x, void* to) {
  _mm256_storeu_si256(static_cast<__m256i*>(to), x);
}
ETX_DOT_INLINE Floats set(float x) {
  return _mm512_set1_ps(x);
}
ETX_DOT_INLINE Rounded round(Floats x, __mmask16* denormal) {
  return rounded_vector(x, denormal);
}
ETX_DOT_INLINE Floats widen(Rounded x) {
  return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(kAllLanes, _mm512_maskz_cvtepu16_epi32(kAllLanes, x), 16));
}
ETX_DOT_INLINE Floats affine(Floats x, Floats scale, Floats shift) {
  return _mm512_add_ps(_mm512_mul_ps(x, scale), shift);
}
using Denormal = __mmask16;

#elif defined(__aarch64__)

using Floats = float32x4_t;
using Rounded = uint16x4_t;
constexpr size_t kLanes = 4;

ETX_DOT_INLINE Floats load(const float* from) {
  return vld1q_f32(from);
}
ETX_DOT_INLINE void store(Floats x, void* to) {
  vst1q_f32(static_cast<float*>(to), x);
}
ETX_DOT_INLINE void store(Rounded x, void* to) {
  vst1_u16(static_cast<uint16_t*>(to), x);
}
ETX_DOT_INLINE Floats set(float x) {
  return vdupq_n_f32(x);
}
ETX_DOT_INLINE Rounded round(Floats x, uint16_t* /*denormal*/) {
  return rounded_vector(x);
}
ETX_DOT_INLINE Floats widen(Rounded x) {
  return vreinterpretq_f32_u32(vshll_n_u16(x, 16));
}
ETX_DOT_INLINE Floats affine(Floats x, Floats scale, Floats shift) {
  return vaddq_f32(vmulq_f32(x, scale), shift);
}
using Denormal = uint16_t;

#endif

#if defined(__x86_64__) || defined(__aarch64__)

template <Result kResult>
ETX_DOT bool affine_all(
    const float* x, const float* scale, const float* shift, void* y, size_t count, float low, float high) {
  constexpr size_t kSize = kResult == Result::Reduced ? sizeof(uint16_t) : sizeof(float);
  static_assert(kBFloat16AffineStep % (2 * kLanes) == 0, "a step is of whole pairs of vectors");
  const Floats min = set(low), max = set(high);
  Denormal denormal = 0;
  const auto compute = [&](size_t i) ETX_DOT __attribute__((always_inline)) {
    const Floats rounded = widen(round(load(x + i), &denormal));
    const Floats value = clamped_vector(affine(rounded, load(scale + i), load(shift + i)), min, max);
    char* const to = static_cast<char*>(y) + i * kSize;
    if constexpr (kResult == Result::Float32) {
      store(value, to);
    } else if constexpr (kResult == Result::Rounded) {
      store(widen(round(value, &denormal)), to);
    } else {
      store(round(value, &denormal), to);
    }
  };
  for (size_t i = 0; i < count; i += 2 * kLanes) {
    compute(i);
    compute(i + kLanes);
  }
  return denormal == 0;
}

#endif

} // namespace

BFloat16Affine bfloat16_affine(Result result) {
#if defined(__x86_64__) || defined(__aarch64__)
  if (bfloat16_isa() != BFloat16Isa::None) {
    switch (result) {
      case Result::Float32:
        return affine_all<Result::Float32>;
      case Result::Rounded:
        return affine_all<Result::Rounded>;
      case Result::Reduced:
        return affine_all<Result::Reduced>;
    }
  }
#endif
  static_cast<void>(result);
  return nullptr;
}

} // namespace executorch::backends::et_xnnpack
