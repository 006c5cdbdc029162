// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <type_traits>

#include "runtime/base/memory.h"

namespace executorch::backends::et_xnnpack {

// How many transforms KISS FFT computes at once, and with which instructions; Double is one of double.
enum class FftVariant { Single, Lanes, Avx2, Double };

// Transforms in one call of Lanes and Avx2.
constexpr size_t kFftLanes = 8;

constexpr size_t lanes_of(FftVariant variant) {
  return variant == FftVariant::Lanes || variant == FftVariant::Avx2 ? kFftLanes : 1;
}

// KISS FFT's plan of transforms of one length, forwards and without a factor. Numbers are complex, and of several lanes
// those of all lanes lie side by side: real parts, then imaginary parts.
class FftPlan {
 public:
  // The largest length that KISS FFT and we can count to.
  static constexpr size_t kMaxLength = size_t{1} << 28;
  // The largest prime factor of a length that is not slow; what is on the stack grows with it, too.
  static constexpr size_t kMaxFactor = 31;

  // Fails if there is no memory. REQUIRES: 1 <= length <= 4 * kMaxLength, no prime factor above kMaxFactor
  Status make(size_t length, FftVariant variant);
  // REQUIRES: x and y have `length` numbers of all lanes and do not overlap; the plan is one of T, float or double
  template <typename T>
  void run(const T* x, T* y) const;

  // That of one transform of T.
  template <typename T>
  static constexpr FftVariant single_of() {
    return std::is_same_v<T, double> ? FftVariant::Double : FftVariant::Single;
  }

  size_t length() const {
    return length_;
  }
  FftVariant variant() const {
    return variant_;
  }

 private:
  size_t length_ = 0;
  FftVariant variant_ = FftVariant::Single;
  Buffer plan_;
};

// The smallest length from `length` on that has no prime factor above 5.
size_t fast_length(size_t length);

} // namespace executorch::backends::et_xnnpack
