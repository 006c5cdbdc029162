// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "bfloat16_rounding.h"

#include <algorithm>

#include "bfloat16_instructions.h"

namespace executorch::backends::et_xnnpack {

#if defined(__x86_64__)

ETX_DOT bool round_to_bfloat16(const float* x, uint16_t* y, size_t count) {
  constexpr size_t kLanes = 16;
  constexpr int kDenormal = 0x20;
  __mmask16 denormal = 0;
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m512 numbers = _mm512_loadu_ps(x + i);
    denormal |= _mm512_fpclass_ps_mask(numbers, kDenormal);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(numbers)));
  }
  if (i < count) {
    const __mmask16 rest = static_cast<__mmask16>((1u << (count - i)) - 1);
    const __m512 numbers = _mm512_maskz_loadu_ps(rest, x + i);
    denormal |= _mm512_fpclass_ps_mask(numbers, kDenormal);
    _mm256_mask_storeu_epi16(y + i, rest, reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(numbers)));
  }
  return denormal == 0;
}

#elif defined(__aarch64__)

ETX_DOT bool round_to_bfloat16(const float* x, uint16_t* y, size_t count) {
  constexpr size_t kLanes = 4;
  const auto rounded = [](const float* from) ETX_DOT { return vreinterpret_u16_bf16(vcvt_bf16_f32(vld1q_f32(from))); };
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    vst1_u16(y + i, rounded(x + i));
  }
  if (i < count) {
    float last[kLanes] = {};
    uint16_t bits[kLanes];
    std::copy_n(x + i, count - i, last);
    vst1_u16(bits, rounded(last));
    std::copy_n(bits, count - i, y + i);
  }
  return true;
}

#else

bool round_to_bfloat16(const float*, uint16_t*, size_t) {
  return false;
}

#endif

} // namespace executorch::backends::et_xnnpack
