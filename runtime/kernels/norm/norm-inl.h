// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Statistics of elements and what is made with them, compiled for each instruction set: include it after
// foreach_target.h, without a guard of the usual kind.

#if defined(ET_XNNPACK_NORM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_XNNPACK_NORM_INL_H
#undef ET_XNNPACK_NORM_INL_H
#else
#define ET_XNNPACK_NORM_INL_H
#endif

#include <algorithm>

#include "runtime/kernels/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// Sums over at most this many elements stay in float.
constexpr size_t kBlock = 8192;

inline float sum(const float* x, size_t count) {
  const Floats f;
  const size_t lanes = hn::Lanes(f);
  Vector s0 = hn::Zero(f), s1 = s0, s2 = s0, s3 = s0;
  size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    s0 = hn::Add(s0, hn::LoadU(f, x + i));
    s1 = hn::Add(s1, hn::LoadU(f, x + i + lanes));
    s2 = hn::Add(s2, hn::LoadU(f, x + i + 2 * lanes));
    s3 = hn::Add(s3, hn::LoadU(f, x + i + 3 * lanes));
  }
  for (; i + lanes <= count; i += lanes) {
    s0 = hn::Add(s0, hn::LoadU(f, x + i));
  }
  if (i < count) {
    s1 = hn::Add(s1, hn::LoadN(f, x + i, count - i));
  }
  return hn::ReduceSum(f, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
}

// The sums of x - mean and of its square.
inline void deviations(const float* x, size_t count, float mean, float* first, float* second) {
  const Floats f;
  const size_t lanes = hn::Lanes(f);
  const Vector m = hn::Set(f, mean);
  Vector a0 = hn::Zero(f), a1 = a0, a2 = a0, a3 = a0;
  Vector b0 = a0, b1 = a0, b2 = a0, b3 = a0;
  size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const Vector d0 = hn::Sub(hn::LoadU(f, x + i), m);
    const Vector d1 = hn::Sub(hn::LoadU(f, x + i + lanes), m);
    const Vector d2 = hn::Sub(hn::LoadU(f, x + i + 2 * lanes), m);
    const Vector d3 = hn::Sub(hn::LoadU(f, x + i + 3 * lanes), m);
    a0 = hn::Add(a0, d0);
    a1 = hn::Add(a1, d1);
    a2 = hn::Add(a2, d2);
    a3 = hn::Add(a3, d3);
    b0 = hn::MulAdd(d0, d0, b0);
    b1 = hn::MulAdd(d1, d1, b1);
    b2 = hn::MulAdd(d2, d2, b2);
    b3 = hn::MulAdd(d3, d3, b3);
  }
  for (; i < count; i += lanes) {
    const size_t rest = count - i;
    const Vector d = rest >= lanes ? hn::Sub(hn::LoadU(f, x + i), m)
                                   : hn::IfThenElseZero(hn::FirstN(f, rest), hn::Sub(hn::LoadN(f, x + i, rest), m));
    a0 = hn::Add(a0, d);
    b0 = hn::MulAdd(d, d, b0);
  }
  *first = hn::ReduceSum(f, hn::Add(hn::Add(a0, a1), hn::Add(a2, a3)));
  *second = hn::ReduceSum(f, hn::Add(hn::Add(b0, b1), hn::Add(b2, b3)));
}

// The mean is `mean` + `rest`: what rounding it to float has left.
struct Moments {
  float mean;
  double rest;
  double variance;
};

// Of `runs` runs of `length` elements, each `stride` elements behind the one before.
HWY_INLINE Moments moments_of(const float* x, size_t runs, size_t length, size_t stride) {
  const double per_element = 1 / static_cast<double>(runs * length);
  double total = 0;
  for (size_t run = 0; run < runs; ++run) {
    for (size_t i = 0; i < length; i += kBlock) {
      total += sum(x + run * stride + i, std::min(kBlock, length - i));
    }
  }
  const float mean = static_cast<float>(total * per_element);
  double deviation = 0, squares = 0;
  for (size_t run = 0; run < runs; ++run) {
    for (size_t i = 0; i < length; i += kBlock) {
      float first, second;
      deviations(x + run * stride + i, std::min(kBlock, length - i), mean, &first, &second);
      deviation += first;
      squares += second;
    }
  }
  const double rest = deviation * per_element;
  return {mean, rest, std::max(squares * per_element - rest * rest, 0.0)};
}

template <bool kWeight, bool kBias>
HWY_INLINE Vector normalized(Vector x, Vector mean, Vector scale, Vector shift, Vector weight, Vector bias) {
  const Vector y = hn::MulAdd(hn::Sub(x, mean), scale, shift);
  if (kWeight) {
    return kBias ? hn::MulAdd(y, weight, bias) : hn::Mul(y, weight);
  }
  return kBias ? hn::Add(y, bias) : y;
}

// Writes ((x - mean) * scale + shift) * weight + bias.
template <bool kWeight, bool kBias>
void normalize(
    const float* x,
    size_t count,
    float mean,
    float scale,
    float shift,
    const float* weight,
    const float* bias,
    float* y) {
  const Floats f;
  const size_t lanes = hn::Lanes(f);
  const Vector m = hn::Set(f, mean), s = hn::Set(f, scale), t = hn::Set(f, shift);
  const Vector none = hn::Zero(f);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Vector w = kWeight ? hn::LoadU(f, weight + i) : none;
    const Vector b = kBias ? hn::LoadU(f, bias + i) : none;
    hn::StoreU(normalized<kWeight, kBias>(hn::LoadU(f, x + i), m, s, t, w, b), f, y + i);
  }
  if (const size_t rest = count - i; rest > 0) {
    const Vector w = kWeight ? hn::LoadN(f, weight + i, rest) : none;
    const Vector b = kBias ? hn::LoadN(f, bias + i, rest) : none;
    hn::StoreN(normalized<kWeight, kBias>(hn::LoadN(f, x + i, rest), m, s, t, w, b), f, y + i, rest);
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#endif // per-target include guard
