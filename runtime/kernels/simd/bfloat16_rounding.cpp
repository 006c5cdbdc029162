// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "bfloat16_rounding.h"

#include <algorithm>

#include "bfloat16_instructions.h"

namespace executorch::backends::et_xnnpack {

#if defined(__x86_64__)

ETX_DOT bool round_to_bfloat16(const float* x, uint16_t* y, size_t count) {
  constexpr size_t kLanes = 16;
  __mmask16 denormal = 0;
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const __m256i rounded = rounded_vector(_mm512_loadu_ps(x + i), &denormal);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), rounded);
  }
  if (i < count) {
    const __mmask16 rest = static_cast<__mmask16>((1u << (count - i)) - 1);
    _mm256_mask_storeu_epi16(y + i, rest, rounded_vector(_mm512_maskz_loadu_ps(rest, x + i), &denormal));
  }
  return denormal == 0;
}

#elif defined(__aarch64__)

ETX_DOT bool round_to_bfloat16(const float* x, uint16_t* y, size_t count) {
  constexpr size_t kLanes = 4;
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    vst1_u16(y + i, rounded_vector(vld1q_f32(x + i)));
  }
  if (i < count) {
    float last[kLanes] = {};
    uint16_t bits[kLanes];
    std::copy_n(x + i, count - i, last);
    vst1_u16(bits, rounded_vector(vld1q_f32(last)));
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
