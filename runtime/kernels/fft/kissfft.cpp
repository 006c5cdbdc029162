// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "kissfft.h"

// Those of kiss_fft.c, by the names that third-party/Kissfft.cmake gives them. Its header is for one type of numbers.
extern "C" {
void* etx_kiss_fft_alloc_single(int length, int inverse, void* memory, size_t* bytes);
void etx_kiss_fft_single(void* plan, const void* x, void* y);
void* etx_kiss_fft_alloc_double(int length, int inverse, void* memory, size_t* bytes);
void etx_kiss_fft_double(void* plan, const void* x, void* y);
void* etx_kiss_fft_alloc_lanes(int length, int inverse, void* memory, size_t* bytes);
void etx_kiss_fft_lanes(void* plan, const void* x, void* y);
#ifdef ET_XNNPACK_KISSFFT_AVX2
void* etx_kiss_fft_alloc_avx2(int length, int inverse, void* memory, size_t* bytes);
void etx_kiss_fft_avx2(void* plan, const void* x, void* y);
#endif
}

namespace executorch::backends::et_xnnpack {
namespace {

void make_plan(FftVariant variant, size_t length, void* memory, size_t* bytes) {
  const int n = static_cast<int>(length);
  switch (variant) {
    case FftVariant::Single:
      etx_kiss_fft_alloc_single(n, 0, memory, bytes);
      return;
    case FftVariant::Double:
      etx_kiss_fft_alloc_double(n, 0, memory, bytes);
      return;
#ifdef ET_XNNPACK_KISSFFT_AVX2
    case FftVariant::Avx2:
      etx_kiss_fft_alloc_avx2(n, 0, memory, bytes);
      return;
#endif
    default:
      etx_kiss_fft_alloc_lanes(n, 0, memory, bytes);
  }
}

} // namespace

Status FftPlan::make(size_t length, FftVariant variant) {
  length_ = 0;
  size_t bytes = 0;
  make_plan(variant, length, nullptr, &bytes);
  if (plan_.data() == nullptr || plan_.size() < bytes) {
    plan_ = Buffer();
    ETX_ASSIGN_OR_RETURN(plan_, Buffer::allocate(bytes));
  }
  make_plan(variant, length, plan_.data(), &bytes);
  length_ = length;
  variant_ = variant;
  return {};
}

template <typename T>
void FftPlan::run(const T* x, T* y) const {
  switch (variant_) {
    case FftVariant::Single:
      etx_kiss_fft_single(plan_.data(), x, y);
      return;
    case FftVariant::Double:
      etx_kiss_fft_double(plan_.data(), x, y);
      return;
#ifdef ET_XNNPACK_KISSFFT_AVX2
    case FftVariant::Avx2:
      etx_kiss_fft_avx2(plan_.data(), x, y);
      return;
#endif
    default:
      etx_kiss_fft_lanes(plan_.data(), x, y);
  }
}

template void FftPlan::run(const float* x, float* y) const;
template void FftPlan::run(const double* x, double* y) const;

size_t fast_length(size_t length) {
  for (;; ++length) {
    size_t rest = length;
    for (const size_t factor : {size_t{2}, size_t{3}, size_t{5}}) {
      while (rest % factor == 0) {
        rest /= factor;
      }
    }
    if (rest == 1) {
      return length;
    }
  }
}

} // namespace executorch::backends::et_xnnpack
