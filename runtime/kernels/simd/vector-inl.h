// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Vector code that several kernels share, compiled for each instruction set: include it
// after foreach_target.h, without a guard of the usual kind.

#if defined(ET_XNNPACK_VECTOR_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_XNNPACK_VECTOR_INL_H
#undef ET_XNNPACK_VECTOR_INL_H
#else
#define ET_XNNPACK_VECTOR_INL_H
#endif

#include <cstddef>

#include <hwy/highway.h>

#include "polynomials.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;
constexpr Floats kFloats{};
constexpr size_t kLanes = hn::MaxLanes(kFloats);

// Also by 0, of which Highway's plain loops make 0.
HWY_INLINE Vector divide(Vector a, Vector b) {
#if HWY_TARGET == HWY_EMU128
  for (size_t i = 0; i < kLanes; ++i) {
    a.raw[i] /= b.raw[i];
  }
  return a;
#else
  return hn::Div(a, b);
#endif
}

// Limits, maxima and minima as PyTorch has them: NaN stays NaN. What Highway's Max and Min make of it is up to the CPU.
#if HWY_TARGET & HWY_ALL_NEON
// FMAX and FMIN; Highway's FMAXNM and FMINNM give the operand that is a number.
HWY_INLINE Vector maximum(Vector a, Vector b) {
  return Vector(vmaxq_f32(a.raw, b.raw));
}
HWY_INLINE Vector minimum(Vector a, Vector b) {
  return Vector(vminq_f32(a.raw, b.raw));
}
#if HWY_HAVE_FLOAT64
HWY_INLINE hn::Vec128<double> maximum(hn::Vec128<double> a, hn::Vec128<double> b) {
  return hn::Vec128<double>(vmaxq_f64(a.raw, b.raw));
}
HWY_INLINE hn::Vec128<double> minimum(hn::Vec128<double> a, hn::Vec128<double> b) {
  return hn::Vec128<double>(vminq_f64(a.raw, b.raw));
}
#endif
template <class V>
HWY_INLINE V at_least(V low, V x) {
  return maximum(low, x);
}
template <class V>
HWY_INLINE V at_most(V high, V x) {
  return minimum(high, x);
}
#else
// x, but not below low, which is not NaN.
template <class V>
HWY_INLINE V at_least(V low, V x) {
#if HWY_ARCH_X86 && !(HWY_TARGET & (HWY_SCALAR | HWY_EMU128))
  return hn::Max(low, x); // MAXPS gives its second operand if one is NaN
#else
  return hn::IfThenElse(hn::Lt(x, low), low, x);
#endif
}
// x, but not above high, which is not NaN.
template <class V>
HWY_INLINE V at_most(V high, V x) {
#if HWY_ARCH_X86 && !(HWY_TARGET & (HWY_SCALAR | HWY_EMU128))
  return hn::Min(high, x);
#else
  return hn::IfThenElse(hn::Gt(x, high), high, x);
#endif
}
template <class V>
HWY_INLINE V maximum(V a, V b) {
  return hn::IfThenElse(hn::IsNaN(a), a, at_least(a, b));
}
template <class V>
HWY_INLINE V minimum(V a, V b) {
  return hn::IfThenElse(hn::IsNaN(a), a, at_most(a, b));
}
#endif
template <class V>
HWY_INLINE V clamped(V x, V low, V high) {
  return at_most(high, at_least(low, x));
}

// exp(x) * 2^kScale within 3 ulp for x <= 0; 0 where the result is below the smallest normal number.
template <int kScale = 0>
HWY_INLINE Vector exp_nonpositive(Vector x) {
  const Floats f;
  const hn::RebindToSigned<Floats> i;
  // Adding this rounds to an integer n and leaves n + 127 + kScale in the lowest bits.
  const Vector magic = hn::Set(f, 12582912.0f + 127.0f + kScale);
  const Vector t = hn::MulAdd(x, hn::Set(f, kLog2E), magic);
  const Vector n = hn::Sub(t, magic);
  Vector r = hn::NegMulAdd(n, hn::Set(f, kLn2[0]), x);
  r = hn::NegMulAdd(n, hn::Set(f, kLn2[1]), r);
  Vector p = hn::MulAdd(r, hn::Set(f, kExpNonpositive[4]), hn::Set(f, kExpNonpositive[3]));
  p = hn::MulAdd(r, p, hn::Set(f, kExpNonpositive[2]));
  p = hn::MulAdd(r, p, hn::Set(f, kExpNonpositive[1]));
  p = hn::MulAdd(r, p, hn::Set(f, kExpNonpositive[0]));
  p = hn::MulAdd(r, p, hn::Set(f, 1));
  const Vector scale = hn::BitCast(f, hn::ShiftLeft<23>(hn::BitCast(i, t)));
  // Not the other way round: NaN must stay.
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(f, kLogOfSmallestNormal - kScale * kLn2[0])), hn::Mul(p, scale));
}

// Writes exp(x[i] - top) to y, which may be x, and returns their sum, spread over the lanes. REQUIRES: top is no less
// than any of them; `count` is a multiple of kLanes, or there are as many more numbers up to the next one.
HWY_INLINE Vector exponentials(const float* x, size_t count, Vector top, float* y) {
  const Floats f;
  Vector sum0 = hn::Zero(f), sum1 = sum0;
  size_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const Vector e0 = exp_nonpositive(hn::Sub(hn::LoadU(f, x + i), top));
    const Vector e1 = exp_nonpositive(hn::Sub(hn::LoadU(f, x + i + kLanes), top));
    hn::StoreU(e0, f, y + i);
    hn::StoreU(e1, f, y + i + kLanes);
    sum0 = hn::Add(sum0, e0);
    sum1 = hn::Add(sum1, e1);
  }
  for (; i < count; i += kLanes) {
    const Vector e = exp_nonpositive(hn::Sub(hn::LoadU(f, x + i), top));
    hn::StoreU(e, f, y + i);
    sum0 = hn::Add(sum0, e);
  }
  return hn::Add(sum0, sum1);
}

// Transposes a square of vectors in registers.
HWY_INLINE void transpose_square(Vector (&v)[kLanes]) {
  const Floats f;
  const hn::Repartition<uint64_t, Floats> pairs;
  // Within 128 bits, for each group of four rows.
  HWY_UNROLL(4)
  for (size_t g = 0; g < kLanes; g += 4) {
    const auto t0 = hn::BitCast(pairs, hn::InterleaveLower(f, v[g], v[g + 1]));
    const auto t1 = hn::BitCast(pairs, hn::InterleaveUpper(f, v[g], v[g + 1]));
    const auto t2 = hn::BitCast(pairs, hn::InterleaveLower(f, v[g + 2], v[g + 3]));
    const auto t3 = hn::BitCast(pairs, hn::InterleaveUpper(f, v[g + 2], v[g + 3]));
    v[g] = hn::BitCast(f, hn::InterleaveLower(pairs, t0, t2));
    v[g + 1] = hn::BitCast(f, hn::InterleaveUpper(pairs, t0, t2));
    v[g + 2] = hn::BitCast(f, hn::InterleaveLower(pairs, t1, t3));
    v[g + 3] = hn::BitCast(f, hn::InterleaveUpper(pairs, t1, t3));
  }
  // Now block j of v[4 * group + i] is column 4 * j + i of that group.
#if HWY_MAX_BYTES == 32
  HWY_UNROLL(4)
  for (size_t i = 0; i < 4; ++i) {
    const Vector a = v[i], b = v[4 + i];
    v[i] = hn::ConcatLowerLower(f, b, a);
    v[4 + i] = hn::ConcatUpperUpper(f, b, a);
  }
#elif HWY_MAX_BYTES == 64
  HWY_UNROLL(4)
  for (size_t i = 0; i < 4; ++i) {
    const Vector a = v[i], b = v[4 + i], c = v[8 + i], d = v[12 + i];
    const Vector ab02 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
    const Vector ab13 = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
    const Vector cd02 = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(d), c);
    const Vector cd13 = hn::OddEvenBlocks(d, hn::SwapAdjacentBlocks(c));
    v[i] = hn::ConcatLowerLower(f, cd02, ab02);
    v[4 + i] = hn::ConcatLowerLower(f, cd13, ab13);
    v[8 + i] = hn::ConcatUpperUpper(f, cd02, ab02);
    v[12 + i] = hn::ConcatUpperUpper(f, cd13, ab13);
  }
#endif
}

// Lane i is the sum of the lanes of v[i], which are overwritten.
HWY_INLINE Vector sums_of_lanes(Vector (&v)[kLanes]) {
  const Floats f;
  const hn::Repartition<uint64_t, Floats> pairs;
  // Within 128 bits: v[i] becomes the sums of v[4 * i] to v[4 * i + 3].
  HWY_UNROLL(4)
  for (size_t i = 0; i < kLanes / 4; ++i) {
    const Vector* const x = v + 4 * i;
    const Vector ab = hn::Add(hn::InterleaveLower(f, x[0], x[1]), hn::InterleaveUpper(f, x[0], x[1]));
    const Vector cd = hn::Add(hn::InterleaveLower(f, x[2], x[3]), hn::InterleaveUpper(f, x[2], x[3]));
    const auto ab_pairs = hn::BitCast(pairs, ab), cd_pairs = hn::BitCast(pairs, cd);
    v[i] = hn::Add(
        hn::BitCast(f, hn::InterleaveLower(pairs, ab_pairs, cd_pairs)),
        hn::BitCast(f, hn::InterleaveUpper(pairs, ab_pairs, cd_pairs)));
  }
#if HWY_MAX_BYTES == 32
  v[0] = hn::Add(hn::ConcatLowerLower(f, v[1], v[0]), hn::ConcatUpperUpper(f, v[1], v[0]));
#elif HWY_MAX_BYTES == 64
  const Vector even = hn::Add(hn::ConcatLowerLower(f, v[2], v[0]), hn::ConcatUpperUpper(f, v[2], v[0]));
  const Vector odd = hn::Add(hn::ConcatLowerLower(f, v[3], v[1]), hn::ConcatUpperUpper(f, v[3], v[1]));
  v[0] = hn::Add(
      hn::OddEvenBlocks(hn::SwapAdjacentBlocks(odd), even), hn::OddEvenBlocks(odd, hn::SwapAdjacentBlocks(even)));
#endif
  return v[0];
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#endif // per-target include guard
