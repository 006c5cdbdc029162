// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "elementwise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/ops/common/common.h"
#include "runtime/kernels/common/broadcast.h"
#include "runtime/kernels/move/data_movement.h"
#include "elementwise_row.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/elementwise/elementwise.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "runtime/kernels/simd/vector-inl.h"
#include "runtime/kernels/common/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

using schema::BinaryKind;
using schema::UnaryKind;

HWY_INLINE Vector set(float value) {
  return hn::Set(kFloats, value);
}

// x where it is NaN, else y.
HWY_INLINE Vector keep_nan(Vector x, Vector y) {
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

constexpr float kLargestExponent = 87; // of either sign; the exponential is a normal number

// exp(x) within 1 ulp. REQUIRES: |x| <= kLargestExponent
HWY_INLINE Vector exp_within(Vector x) {
  const hn::RebindToSigned<Floats> integers;
  // As in exp_nonpositive.
  const Vector magic = set(12582912.0f + 127.0f);
  const Vector t = hn::MulAdd(x, set(1.44269504f), magic);
  const Vector n = hn::Sub(t, magic);
  Vector r = hn::NegMulAdd(n, set(0x1.62e4p-1f), x);
  r = hn::NegMulAdd(n, set(0x1.7f7d1cp-20f), r);
  const Vector square = hn::Mul(r, r);
  const Vector low = hn::MulAdd(r, set(0x1.55548cp-3f), set(0x1.fffffcp-2f));
  Vector high = hn::MulAdd(r, set(0x1.123e5cp-7f), set(0x1.5558bap-5f));
  high = hn::MulAdd(square, set(0x1.6a4b96p-10f), high);
  const Vector p = hn::MulAdd(hn::MulAdd(square, high, low), square, r);
  const Vector scale = hn::BitCast(kFloats, hn::ShiftLeft<23>(hn::BitCast(integers, t)));
  return hn::MulAdd(p, scale, scale);
}

HWY_NOINLINE Vector exp_of_any(Vector x) {
  // Highway's loses its way far above where infinity begins.
  return keep_nan(x, hn::Exp(kFloats, at_most(set(100), x)));
}

HWY_INLINE Vector exponential(Vector x) {
  const bool within = hn::AllTrue(kFloats, hn::Le(hn::Abs(x), set(kLargestExponent)));
  return HWY_LIKELY(within) ? exp_within(x) : exp_of_any(x);
}

// What Highway's sine and cosine reduce well.
constexpr float kLargestAngle = 39000;

template <float (*kScalar)(float)>
HWY_NOINLINE Vector by_scalars(Vector x) {
  HWY_ALIGN float values[kLanes];
  hn::Store(x, kFloats, values);
  for (float& value : values) {
    value = kScalar(value);
  }
  return hn::Load(kFloats, values);
}

template <float (*kScalar)(float, float)>
HWY_NOINLINE Vector by_scalars(Vector a, Vector b) {
  HWY_ALIGN float x[kLanes], y[kLanes];
  hn::Store(a, kFloats, x);
  hn::Store(b, kFloats, y);
  for (size_t i = 0; i < kLanes; ++i) {
    x[i] = kScalar(x[i], y[i]);
  }
  return hn::Load(kFloats, x);
}

HWY_INLINE bool all_within(Vector x, float low, float high) {
  return hn::AllTrue(kFloats, hn::And(hn::Ge(x, set(low)), hn::Le(x, set(high))));
}

// The parameters of a unary function in vectors.
struct Parameters {
  explicit Parameters(const UnaryParameters& p) : alpha(set(p.alpha)), low(set(p.low)), high(set(p.high)) {}
  Vector alpha, low, high;
};

#define ETX_UNARY(name)                                          \
  struct name {                                                  \
    static HWY_INLINE Vector apply(Vector x, const Parameters&); \
  };                                                             \
  HWY_INLINE Vector name::apply(Vector x, [[maybe_unused]] const Parameters& p)

ETX_UNARY(Abs) {
  return hn::Abs(x);
}
ETX_UNARY(Ceil) {
  return hn::Ceil(x);
}
ETX_UNARY(Clamp) {
  return clamped(x, p.low, p.high);
}
ETX_UNARY(Cos) {
  if (HWY_UNLIKELY(!hn::AllTrue(kFloats, hn::Le(hn::Abs(x), set(kLargestAngle))))) {
    return by_scalars<std::cos>(x);
  }
  return hn::Cos(kFloats, x);
}
ETX_UNARY(Elu) {
  // Keeps -0, and NaN, which compares with nothing.
  return hn::IfThenElse(hn::Lt(x, hn::Zero(kFloats)), hn::Mul(p.alpha, hn::Expm1(kFloats, x)), x);
}
ETX_UNARY(Exp) {
  return exponential(x);
}
ETX_UNARY(Floor) {
  return hn::Floor(x);
}
// The normal distribution's share above x: exp(-a^2 / 2) times a polynomial in 1 / (1 + 0.3 a).
// There is nothing left above 20. REQUIRES: x >= 0
HWY_INLINE Vector share_above(Vector x) {
  const Vector a = at_most(set(20), x);
  const Vector u = hn::Div(set(1), hn::MulAdd(set(0.3f), a, set(1)));
  Vector share = hn::MulAdd(u, set(0x1.3a6516p-5f), set(-0x1.5a73bcp-3f));
  share = hn::MulAdd(u, share, set(0x1.d44bb0p-3f));
  share = hn::MulAdd(u, share, set(-0x1.395ec0p-4f));
  share = hn::MulAdd(u, share, set(0x1.23e9a2p-3f));
  share = hn::MulAdd(u, share, set(0x1.83d2e6p-4f));
  share = hn::MulAdd(u, share, set(0x1.f362bep-4f));
  share = hn::MulAdd(u, share, set(0x1.e96becp-4f));
  share = hn::MulAdd(u, share, set(0x1.e117ecp-18f));
  // The rounding error of the square matters where the square is large.
  const Vector square = hn::Mul(a, a);
  const Vector error = hn::MulSub(a, a, square);
  const Vector density = exp_nonpositive(hn::Mul(set(-0.5f), square));
  return hn::Mul(share, hn::NegMulAdd(hn::Mul(set(0.5f), error), density, density));
}
ETX_UNARY(Gelu) {
  const Vector share = share_above(hn::Abs(x));
  return hn::Mul(x, hn::IfThenElse(hn::Lt(x, hn::Zero(kFloats)), share, hn::Sub(set(1), share)));
}
ETX_UNARY(Erf) {
  const Vector a = hn::Abs(x), square = hn::Mul(x, x);
  Vector small = hn::MulAdd(square, set(0x1.496a5cp-14f), set(-0x1.a3f710p-11f));
  small = hn::MulAdd(square, small, set(0x1.5405b4p-8f));
  small = hn::MulAdd(square, small, set(-0x1.b7f90ep-6f));
  small = hn::MulAdd(square, small, set(0x1.ce2cf8p-4f));
  small = hn::MulAdd(square, small, set(-0x1.81273ep-2f));
  small = hn::MulAdd(square, small, set(0x1.20dd74p+0f));
  const Vector large = hn::NegMulAdd(set(2), share_above(hn::Mul(set(1.41421356f), a)), set(1));
  return keep_nan(x, hn::IfThenElse(hn::Lt(a, set(1)), hn::Mul(x, small), hn::CopySign(large, x)));
}
ETX_UNARY(GeluTanh) {
  // 0.5 (1 + tanh(z)) = 1 / (1 + exp(-2 z))
  const Vector z = hn::Mul(x, hn::MulAdd(hn::Mul(x, x), set(0.0356774081f), set(0.797884561f)));
  return hn::Div(x, hn::Add(set(1), exponential(hn::Mul(set(-2), z))));
}
ETX_UNARY(HardSigmoid) {
  return hn::Div(clamped(hn::Add(x, set(3)), hn::Zero(kFloats), set(6)), set(6));
}
ETX_UNARY(HardSwish) {
  return hn::Mul(x, hn::Div(clamped(hn::Add(x, set(3)), hn::Zero(kFloats), set(6)), set(6)));
}
ETX_UNARY(LeakyRelu) {
  return hn::IfThenElse(hn::Gt(x, hn::Zero(kFloats)), x, hn::Mul(x, p.alpha));
}
ETX_UNARY(Log) {
  const Vector zero = hn::Zero(kFloats), infinity = hn::Inf(kFloats);
  Vector y = hn::Log(kFloats, x);
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), y);
  y = hn::IfThenElse(hn::Lt(x, zero), hn::NaN(kFloats), y);
  return hn::IfThenElse(hn::Eq(x, infinity), infinity, keep_nan(x, y));
}
ETX_UNARY(Neg) {
  return hn::Neg(x);
}
ETX_UNARY(Reciprocal) {
  return hn::Div(set(1), x);
}
ETX_UNARY(Round) {
  return hn::CopySign(hn::Round(x), x); // -0 stays
}
ETX_UNARY(Rsqrt) {
  return hn::Div(set(1), hn::Sqrt(x));
}
ETX_UNARY(Sigmoid) {
  const Vector e = exp_nonpositive(hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(kFloats)), e, set(1)), hn::Add(set(1), e));
}
ETX_UNARY(Sign) {
  const Vector one = hn::IfThenElseZero(hn::Gt(x, hn::Zero(kFloats)), set(1));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(kFloats)), set(-1), one);
}
ETX_UNARY(Silu) {
  const Vector e = exp_nonpositive(hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(kFloats)), hn::Mul(x, e), x), hn::Add(set(1), e));
}
#if HWY_NATIVE_FMA
// REQUIRES: |x| <= kLargestAngle
HWY_INLINE Vector sin_within(Vector x) {
  const hn::RebindToSigned<Floats> integers;
  const Vector a = hn::Abs(x);
  // Adding this rounds to an integer n, whose lowest bit becomes the lowest.
  const Vector magic = set(12582912.0f);
  const Vector t = hn::MulAdd(a, set(0x1.45f306p-2f), magic);
  const Vector n = hn::Sub(t, magic);
  // a - n pi; the first product is taken off exactly.
  Vector r = hn::NegMulAdd(n, set(0x1.921fb6p+1f), a);
  r = hn::MulAdd(n, set(0x1.777a5cp-24f), r);
  r = hn::MulAdd(n, set(0x1.ee59dap-49f), r);
  const Vector square = hn::Mul(r, r);
  const Vector low = hn::MulAdd(square, set(0x1.110edap-7f), set(-0x1.55554cp-3f));
  const Vector high = hn::MulAdd(square, set(0x1.5dc754p-19f), set(-0x1.9f70e2p-13f));
  const Vector p = hn::MulAdd(hn::Mul(square, square), high, low);
  const Vector sine = clamped(hn::MulAdd(p, hn::Mul(square, r), r), set(-1), set(1));
  const Vector odd = hn::BitCast(kFloats, hn::ShiftLeft<31>(hn::BitCast(integers, t)));
  return hn::Xor(sine, hn::Xor(odd, hn::Xor(a, x)));
}
#endif
ETX_UNARY(Sin) {
  if (HWY_UNLIKELY(!hn::AllTrue(kFloats, hn::Le(hn::Abs(x), set(kLargestAngle))))) {
    return by_scalars<std::sin>(x);
  }
#if HWY_NATIVE_FMA
  return sin_within(x);
#else
  // sin(x) is x for small ones, -0 among them.
  return hn::IfThenElse(hn::Lt(hn::Abs(x), set(0x1p-12f)), x, clamped(hn::Sin(kFloats, x), set(-1), set(1)));
#endif
}
ETX_UNARY(Sqrt) {
  return hn::Sqrt(x);
}
ETX_UNARY(Square) {
  return hn::Mul(x, x);
}
ETX_UNARY(Tanh) {
  return hn::Tanh(kFloats, x);
}
ETX_UNARY(Trunc) {
  return hn::CopySign(hn::Trunc(x), x); // -0 stays
}

// Highway's, where all of a vector is in the range that it is good for.
#define ETX_UNARY_WITHIN(name, scalar, low, high)  \
  ETX_UNARY(name) {                                \
    if (HWY_UNLIKELY(!all_within(x, low, high))) { \
      return by_scalars<scalar>(x);                \
    }                                              \
    return hn::name(kFloats, x);                   \
  }

constexpr float kSmallestNormal = std::numeric_limits<float>::min();

ETX_UNARY_WITHIN(Acos, std::acos, -1, 1)
ETX_UNARY_WITHIN(Acosh, std::acosh, 1, 1e18f)
ETX_UNARY_WITHIN(Asin, std::asin, -1, 1)
ETX_UNARY_WITHIN(Asinh, std::asinh, -1e18f, 1e18f)
ETX_UNARY_WITHIN(Atan, std::atan, -1e37f, 1e37f)
ETX_UNARY_WITHIN(Atanh, std::atanh, -0.999f, 0.999f)
ETX_UNARY_WITHIN(Exp2, std::exp2, -126, 127)
ETX_UNARY_WITHIN(Expm1, std::expm1, -88, 88)
ETX_UNARY_WITHIN(Log10, std::log10, kSmallestNormal, 1e38f)
ETX_UNARY_WITHIN(Log1p, std::log1p, -0.999f, 1e38f)
ETX_UNARY_WITHIN(Log2, std::log2, kSmallestNormal, 1e38f)
ETX_UNARY_WITHIN(Sinh, std::sinh, -88, 88)

ETX_UNARY(Cosh) {
  if (HWY_UNLIKELY(!all_within(x, -88, 88))) {
    return by_scalars<std::cosh>(x);
  }
  const Vector half = hn::Mul(set(0.5f), hn::Exp(kFloats, hn::Abs(x)));
  return hn::Add(half, hn::Div(set(0.25f), half));
}

#undef ETX_UNARY_WITHIN
#undef ETX_UNARY

template <typename Function>
void unary_row(const float* x, float* y, size_t count, const UnaryParameters& parameters) {
  const Parameters p(parameters);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(Function::apply(hn::LoadU(kFloats, x + i), p), kFloats, y + i);
  }
  if (const size_t rest = count - i; rest > 0) {
    hn::StoreN(Function::apply(hn::LoadN(kFloats, x + i, rest), p), kFloats, y + i, rest);
  }
}

UnaryRow choose_unary(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::Abs:
      return unary_row<Abs>;
    case UnaryKind::Ceil:
      return unary_row<Ceil>;
    case UnaryKind::Clamp:
      return unary_row<Clamp>;
    case UnaryKind::Copy:
      break; // data movement
    case UnaryKind::Cos:
      return unary_row<Cos>;
    case UnaryKind::Elu:
      return unary_row<Elu>;
    case UnaryKind::Exp:
      return unary_row<Exp>;
    case UnaryKind::Floor:
      return unary_row<Floor>;
    case UnaryKind::Gelu:
      return unary_row<Gelu>;
    case UnaryKind::GeluTanh:
      return unary_row<GeluTanh>;
    case UnaryKind::HardSigmoid:
      return unary_row<HardSigmoid>;
    case UnaryKind::HardSwish:
      return unary_row<HardSwish>;
    case UnaryKind::LeakyRelu:
      return unary_row<LeakyRelu>;
    case UnaryKind::Log:
      return unary_row<Log>;
    case UnaryKind::Neg:
      return unary_row<Neg>;
    case UnaryKind::Reciprocal:
      return unary_row<Reciprocal>;
    case UnaryKind::Round:
      return unary_row<Round>;
    case UnaryKind::Rsqrt:
      return unary_row<Rsqrt>;
    case UnaryKind::Sigmoid:
      return unary_row<Sigmoid>;
    case UnaryKind::Sign:
      return unary_row<Sign>;
    case UnaryKind::Silu:
      return unary_row<Silu>;
    case UnaryKind::Sin:
      return unary_row<Sin>;
    case UnaryKind::Sqrt:
      return unary_row<Sqrt>;
    case UnaryKind::Square:
      return unary_row<Square>;
    case UnaryKind::Tanh:
      return unary_row<Tanh>;
    case UnaryKind::Acos:
      return unary_row<Acos>;
    case UnaryKind::Acosh:
      return unary_row<Acosh>;
    case UnaryKind::Asin:
      return unary_row<Asin>;
    case UnaryKind::Asinh:
      return unary_row<Asinh>;
    case UnaryKind::Atan:
      return unary_row<Atan>;
    case UnaryKind::Atanh:
      return unary_row<Atanh>;
    case UnaryKind::Cosh:
      return unary_row<Cosh>;
    case UnaryKind::Erf:
      return unary_row<Erf>;
    case UnaryKind::Exp2:
      return unary_row<Exp2>;
    case UnaryKind::Expm1:
      return unary_row<Expm1>;
    case UnaryKind::Log10:
      return unary_row<Log10>;
    case UnaryKind::Log1p:
      return unary_row<Log1p>;
    case UnaryKind::Log2:
      return unary_row<Log2>;
    case UnaryKind::Sinh:
      return unary_row<Sinh>;
    case UnaryKind::Trunc:
      return unary_row<Trunc>;
    case UnaryKind::Tan:
      break; // not vectorised
  }
  return nullptr;
}

#define ETX_BINARY(name)                                \
  struct name {                                         \
    static HWY_INLINE Vector apply(Vector a, Vector b); \
  };                                                    \
  HWY_INLINE Vector name::apply(Vector a, Vector b)

ETX_BINARY(Add) {
  return hn::Add(a, b);
}
ETX_BINARY(Sub) {
  return hn::Sub(a, b);
}
ETX_BINARY(Mul) {
  return hn::Mul(a, b);
}
ETX_BINARY(Div) {
  return hn::Div(a, b);
}
ETX_BINARY(Maximum) {
  return maximum(a, b);
}
ETX_BINARY(Minimum) {
  return minimum(a, b);
}
ETX_BINARY(Prelu) {
  return hn::IfThenElse(hn::Gt(a, hn::Zero(kFloats)), a, hn::Mul(a, b));
}
ETX_BINARY(SquaredDifference) {
  const Vector d = hn::Sub(a, b);
  return hn::Mul(d, d);
}
ETX_BINARY(Copysign) {
  return hn::CopySign(a, b);
}

template <typename Function>
void binary_row(const BinaryOperand& a, const BinaryOperand& b, float* y, size_t count, float low, float high) {
  const Vector min = set(low), max = set(high);
  const auto store = [=](Vector p, Vector q, size_t i) HWY_ATTR {
    const Vector result = clamped(Function::apply(p, q), min, max);
    hn::StoreU(result, kFloats, y + i);
  };
  const size_t whole = count / kLanes * kLanes;
  if (a.moves && b.moves) {
#pragma GCC unroll 4
    for (size_t i = 0; i < whole; i += kLanes) {
      store(hn::LoadU(kFloats, a.data + i), hn::LoadU(kFloats, b.data + i), i);
    }
  } else if (a.moves) {
    const Vector q = set(*b.data);
#pragma GCC unroll 4
    for (size_t i = 0; i < whole; i += kLanes) {
      store(hn::LoadU(kFloats, a.data + i), q, i);
    }
  } else {
    const Vector p = set(*a.data);
    for (size_t i = 0; i < whole; i += kLanes) {
      store(p, b.moves ? hn::LoadU(kFloats, b.data + i) : set(*b.data), i);
    }
  }
  if (const size_t rest = count - whole; rest > 0) {
    const Vector p = a.moves ? hn::LoadN(kFloats, a.data + whole, rest) : set(*a.data);
    const Vector q = b.moves ? hn::LoadN(kFloats, b.data + whole, rest) : set(*b.data);
    hn::StoreN(clamped(Function::apply(p, q), min, max), kFloats, y + whole, rest);
  }
}

// What PyTorch, too, computes without pow().
ETX_BINARY(PowerOf2) {
  static_cast<void>(b);
  return hn::Mul(a, a);
}
ETX_BINARY(PowerOf3) {
  static_cast<void>(b);
  return hn::Mul(hn::Mul(a, a), a);
}
ETX_BINARY(PowerOfHalf) {
  static_cast<void>(b);
  return hn::Sqrt(a);
}
ETX_BINARY(PowerOfMinus1) {
  static_cast<void>(b);
  return hn::Div(set(1), a);
}
ETX_BINARY(PowerOfMinusHalf) {
  static_cast<void>(b);
  return hn::Div(set(1), hn::Sqrt(a));
}

#if HWY_HAVE_FLOAT64
using DoubleVector = hn::Vec<hn::Repartition<double, Floats>>;

// Within 5e-12 of the result. REQUIRES: x is positive, finite and normal
HWY_INLINE DoubleVector log2_of(DoubleVector x) {
  const hn::Repartition<double, Floats> f;
  const hn::RebindToSigned<decltype(f)> i;
  const hn::RebindToUnsigned<decltype(f)> u;
  const auto set_double = [f](double value) HWY_ATTR { return hn::Set(f, value); };
  // x = 2^e m with m from the root of 1/2 to that of 2.
  const auto bits = hn::BitCast(i, x);
  const auto half_root = hn::Set(i, 0x3FE6A09E667F3BCD);
  const auto exponent = hn::Sub(bits, half_root);
  const auto power = hn::And(exponent, hn::Set(i, static_cast<int64_t>(0xFFF0000000000000)));
  const DoubleVector m = hn::BitCast(f, hn::Sub(bits, power));
  // e + 2^11, which is positive, as the lowest digits of 2^52.
  const auto biased = hn::ShiftRight<52>(hn::Xor(hn::BitCast(u, power), hn::Set(u, uint64_t{1} << 63)));
  const auto digits = hn::Or(biased, hn::Set(u, uint64_t{0x433} << 52));
  const DoubleVector e = hn::Sub(hn::BitCast(f, digits), set_double(0x1p52 + 0x1p11));
  const DoubleVector one = set_double(1);
  const DoubleVector s = hn::Div(hn::Sub(m, one), hn::Add(m, one));
  const DoubleVector square = hn::Mul(s, s);
  DoubleVector p = hn::MulAdd(square, set_double(0x1.5ce8e6b2aad8bp-2), set_double(0x1.a58d814795289p-2));
  p = hn::MulAdd(square, p, set_double(0x1.27777ff794e77p-1));
  p = hn::MulAdd(square, p, set_double(0x1.ec709d12bccfbp-1));
  p = hn::MulAdd(square, p, set_double(0x1.71547652bee01p+1));
  return hn::MulAdd(s, p, e);
}

// Within 3e-9 of the result; of what is beyond +-300, as of that.
HWY_INLINE DoubleVector exp2_of(DoubleVector x) {
  const hn::Repartition<double, Floats> f;
  const hn::RebindToSigned<decltype(f)> i;
  const auto set_double = [f](double value) HWY_ATTR { return hn::Set(f, value); };
  x = clamped(x, set_double(-300), set_double(300));
  // Adding this rounds to an integer n and leaves n + 1023 in the lowest bits.
  const DoubleVector magic = set_double(0x1.8p52 + 1023);
  const DoubleVector t = hn::Add(x, magic);
  const DoubleVector r = hn::Sub(x, hn::Sub(t, magic));
  DoubleVector p = hn::MulAdd(r, set_double(0x1.41fb2d490ebd8p-13), set_double(0x1.5f3f30dbeb1e3p-10));
  p = hn::MulAdd(r, p, set_double(0x1.3b2d4f9da6187p-7));
  p = hn::MulAdd(r, p, set_double(0x1.c6aee6e69a1b4p-5));
  p = hn::MulAdd(r, p, set_double(0x1.ebfbdc366ea62p-3));
  p = hn::MulAdd(r, p, set_double(0x1.62e430b04504bp-1));
  const DoubleVector scale = hn::BitCast(f, hn::ShiftLeft<52>(hn::BitCast(i, t)));
  return hn::MulAdd(hn::Mul(r, p), scale, scale);
}

ETX_BINARY(Power) {
  const auto good = hn::And(hn::Gt(a, hn::Zero(kFloats)), hn::IsFinite(hn::Max(a, hn::Abs(b))));
  if (HWY_UNLIKELY(!hn::AllTrue(kFloats, hn::AndNot(hn::IsNaN(b), good)))) {
    return by_scalars<std::pow>(a, b);
  }
  // In double, as the error of the logarithm grows with it.
  using Doubles = hn::Repartition<double, Floats>;
  const Doubles doubles;
  const auto power = [&](hn::Vec<Doubles> x, hn::Vec<Doubles> y) HWY_ATTR {
    const hn::Vec<Doubles> result = exp2_of(hn::Mul(y, log2_of(x)));
    return hn::DemoteTo(hn::Half<Floats>(), result);
  };
  return hn::Combine(
      kFloats,
      power(hn::PromoteUpperTo(doubles, a), hn::PromoteUpperTo(doubles, b)),
      power(hn::PromoteLowerTo(doubles, a), hn::PromoteLowerTo(doubles, b)));
}
#endif

void power_row(const BinaryOperand& a, const BinaryOperand& b, float* y, size_t count, float low, float high) {
  if (!b.moves) {
    const float exponent = *b.data;
    if (exponent == 2) {
      return binary_row<PowerOf2>(a, b, y, count, low, high);
    }
    if (exponent == 3) {
      return binary_row<PowerOf3>(a, b, y, count, low, high);
    }
    if (exponent == 0.5f) {
      return binary_row<PowerOfHalf>(a, b, y, count, low, high);
    }
    if (exponent == -1) {
      return binary_row<PowerOfMinus1>(a, b, y, count, low, high);
    }
    if (exponent == -0.5f) {
      return binary_row<PowerOfMinusHalf>(a, b, y, count, low, high);
    }
  }
#if HWY_HAVE_FLOAT64
  binary_row<Power>(a, b, y, count, low, high);
#else
  scalar_row<std::pow>(a, b, y, count, low, high);
#endif
}

#if HWY_NATIVE_FMA
constexpr float kLargestQuotient = 0x1p22f; // whose product with a divisor the next line takes off exactly

// Of absolute values. REQUIRES: divisible(a, b)
HWY_INLINE Vector rest_of(Vector a, Vector b) {
  const Vector rest = hn::NegMulAdd(hn::Floor(hn::Div(a, b)), b, a);
  return hn::IfThenElse(hn::Lt(rest, hn::Zero(kFloats)), hn::Add(rest, b), rest); // the quotient was rounded up
}
HWY_INLINE bool divisible(Vector a, Vector b) {
  const auto small = hn::Lt(hn::Abs(hn::Div(a, b)), set(kLargestQuotient)); // not if it is NaN
  return hn::AllTrue(kFloats, hn::And(small, hn::IsFinite(b)));
}

ETX_BINARY(Fmod) {
  if (HWY_UNLIKELY(!divisible(a, b))) {
    return by_scalars<std::fmod>(a, b);
  }
  return hn::CopySign(rest_of(hn::Abs(a), hn::Abs(b)), a);
}
// Which are not zero and have not the divisor's sign.
HWY_INLINE hn::Mask<Floats> has_other_sign(Vector rest, Vector b) {
  return hn::Lt(hn::Mul(hn::CopySign(set(1), b), rest), hn::Zero(kFloats));
}
ETX_BINARY(Remainder) {
  if (HWY_UNLIKELY(!divisible(a, b))) {
    return by_scalars<remainder>(a, b);
  }
  const Vector rest = Fmod::apply(a, b);
  return hn::IfThenElse(has_other_sign(rest, b), hn::Add(rest, b), rest);
}
ETX_BINARY(FloorDiv) {
  if (HWY_UNLIKELY(!divisible(a, b))) {
    return by_scalars<floor_div>(a, b);
  }
  const Vector rest = Fmod::apply(a, b);
  Vector quotient = hn::Div(hn::Sub(a, rest), b);
  quotient = hn::IfThenElse(has_other_sign(rest, b), hn::Sub(quotient, set(1)), quotient);
  const Vector floored = hn::Floor(quotient);
  const Vector nearest =
      hn::IfThenElse(hn::Gt(hn::Sub(quotient, floored), set(0.5f)), hn::Add(floored, set(1)), floored);
  return hn::IfThenElse(hn::Eq(quotient, hn::Zero(kFloats)), hn::CopySign(hn::Zero(kFloats), hn::Div(a, b)), nearest);
}
#endif

#undef ETX_BINARY

// Null for a kind that is not vectorised.
BinaryRow choose_binary(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::Add:
      return binary_row<Add>;
    case BinaryKind::Sub:
      return binary_row<Sub>;
    case BinaryKind::Mul:
      return binary_row<Mul>;
    case BinaryKind::Div:
      return binary_row<Div>;
    case BinaryKind::Maximum:
      return binary_row<Maximum>;
    case BinaryKind::Minimum:
      return binary_row<Minimum>;
    case BinaryKind::Prelu:
      return binary_row<Prelu>;
    case BinaryKind::SquaredDifference:
      return binary_row<SquaredDifference>;
    case BinaryKind::Copysign:
      return binary_row<Copysign>;
    case BinaryKind::Pow:
      return power_row;
#if HWY_NATIVE_FMA
    case BinaryKind::FloorDiv:
      return binary_row<FloorDiv>;
    case BinaryKind::Remainder:
      return binary_row<Remainder>;
    case BinaryKind::Fmod:
      return binary_row<Fmod>;
#else
    case BinaryKind::FloorDiv:
    case BinaryKind::Remainder:
    case BinaryKind::Fmod:
#endif
    case BinaryKind::Atan2:
    case BinaryKind::BitAnd:
    case BinaryKind::BitOr:
    case BinaryKind::BitXor:
      break;
  }
  return nullptr;
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(choose_unary);
HWY_EXPORT(choose_binary);

namespace {

using schema::BinaryKind;
using schema::UnaryKind;

constexpr size_t kGrain = 16384; // elements

template <float (*kFunction)(float)>
void scalar_unary_row(const float* x, float* y, size_t count, const UnaryParameters&) {
  for (size_t i = 0; i < count; ++i) {
    y[i] = kFunction(x[i]);
  }
}

UnaryRow choose_scalar(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::Tan:
      return scalar_unary_row<std::tan>;
    default:
      return nullptr; // vectorised
  }
}

BinaryRow choose_scalar(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::Atan2:
      return scalar_row<std::atan2>;
    case BinaryKind::FloorDiv:
      return scalar_row<floor_div>;
    case BinaryKind::Remainder:
      return scalar_row<remainder>;
    case BinaryKind::Fmod:
      return scalar_row<std::fmod>;
    default:
      return nullptr; // vectorised, or of integers only
  }
}

UnaryParameters unary_parameters(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::Unary>();
  UnaryParameters parameters;
  parameters.alpha = attributes.alpha();
  if (attributes.clamp() != nullptr) {
    parameters.low = attributes.clamp()->min();
    parameters.high = attributes.clamp()->max();
  }
  return parameters;
}

// REQUIRES: not Copy
UnaryRow unary_row(UnaryKind kind) {
  const UnaryRow row = ETX_DISPATCH(choose_unary)(kind);
  return row != nullptr ? row : choose_scalar(kind);
}

BinaryRow binary_row(BinaryKind kind) {
  const BinaryRow row = ETX_DISPATCH(choose_binary)(kind);
  return row != nullptr ? row : choose_scalar(kind);
}

class Unary final : public Kernel {
 public:
  explicit Unary(UnaryRow row) : row_(row) {}

  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    parameters_ = unary_parameters(node);
    count_ = node.output().shape.numel();
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    const float* x = arguments.input<float>(0);
    float* y = arguments.output<float>(0);
    parallel_for(arguments.pool, count_, kGrain, [&](size_t begin, size_t end) {
      row_(x + begin, y + begin, end - begin, parameters_);
    });
  }

 private:
  const UnaryRow row_;
  UnaryParameters parameters_;
  size_t count_ = 0;
};

class Binary final : public Kernel {
 public:
  explicit Binary(BinaryRow row) : row_(row) {}

  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto* clamp = node.attributes<schema::Binary>().clamp();
    low_ = clamp_min(clamp);
    high_ = clamp_max(clamp);
    const Shape& output = node.output().shape;
    broadcast_ = Broadcast<2>(output, {node.input(0).shape, node.input(1).shape});
    count_ = output.numel();
    for (size_t k = 0; k < 2; ++k) {
      elements_[k] = node.input(k).shape.numel();
    }
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    const float* const inputs[2] = {arguments.input<float>(0), arguments.input<float>(1)};
    if (count_ == 0) {
      return;
    }
    if (broadcast_.row_size() < kShortRow && broadcast_.rows() > 1) {
      run_short_rows(inputs, arguments.output<float>(0), arguments.pool);
    } else {
      run_rows(inputs, arguments.output<float>(0), arguments.pool);
    }
  }

 private:
  // Shorter rows are put together before they are computed, this many elements at a time.
  static constexpr size_t kShortRow = 32, kBlock = 512;

  void run_rows(const float* const inputs[2], float* y, pthreadpool_t pool) {
    const size_t size = broadcast_.row_size();
    const size_t pieces = (size + kGrain - 1) / kGrain;
    parallel_for(pool, broadcast_.rows() * pieces, kGrain / size + 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const size_t row = i / pieces;
        const size_t at = i % pieces * kGrain;
        const auto operand = [&](size_t k) {
          const bool moves = broadcast_.moves(k);
          return BinaryOperand{inputs[k] + broadcast_.offset(k, row) + (moves ? at : 0), moves};
        };
        row_(operand(0), operand(1), y + row * size + at, std::min(kGrain, size - at), low_, high_);
      }
    });
  }

  void run_short_rows(const float* const inputs[2], float* y, pthreadpool_t pool) {
    const size_t size = broadcast_.row_size(), rows = broadcast_.rows();
    const size_t block = kBlock / size;
    parallel_for(pool, (rows + block - 1) / block, kGrain / kBlock, [&](size_t begin, size_t end) {
      float gathered[2][kBlock];
      for (size_t k = 0; k < 2; ++k) {
        if (repeats(k)) {
          gather(inputs[k], k, 0, std::min(block, rows), gathered[k]);
        }
      }
      for (size_t i = begin; i < end; ++i) {
        const size_t row = i * block;
        const size_t count = std::min(block, rows - row);
        const auto operand = [&](size_t k) {
          if (elements_[k] == count_) {
            return BinaryOperand{inputs[k] + row * size, true};
          }
          if (!repeats(k)) {
            gather(inputs[k], k, row, count, gathered[k]);
          }
          return BinaryOperand{gathered[k], true};
        };
        row_(operand(0), operand(1), y + row * size, count * size, low_, high_);
      }
    });
  }

  // Whether all rows read the same elements.
  bool repeats(size_t k) const {
    return elements_[k] == (broadcast_.moves(k) ? broadcast_.row_size() : 1);
  }

  void gather(const float* input, size_t k, size_t row, size_t rows, float* to) const {
    const size_t size = broadcast_.row_size();
    for (size_t r = 0; r < rows; ++r, to += size) {
      const float* from = input + broadcast_.offset(k, row + r);
      if (broadcast_.moves(k)) {
        std::copy_n(from, size, to);
      } else {
        std::fill_n(to, size, *from);
      }
    }
  }

  const BinaryRow row_;
  Broadcast<2> broadcast_;
  size_t count_ = 0;
  size_t elements_[2] = {};
  float low_ = 0, high_ = 0;
};

} // namespace

std::unique_ptr<Kernel> make_unary(const NodeContext& node) {
  const UnaryKind kind = node.attributes<schema::Unary>().kind();
  if (kind == UnaryKind::Copy) {
    return make_copy(node);
  }
  return std::make_unique<Unary>(unary_row(kind));
}

void compute_unary(const NodeContext& node, const float* x, float* y, size_t count) {
  const UnaryKind kind = node.attributes<schema::Unary>().kind();
  if (kind == UnaryKind::Copy) {
    std::copy_n(x, count, y);
  } else {
    unary_row(kind)(x, y, count, unary_parameters(node));
  }
}

std::unique_ptr<Kernel> make_binary(const NodeContext& node) {
  return std::make_unique<Binary>(binary_row(node.attributes<schema::Binary>().kind()));
}

std::unique_ptr<Row> make_unary_row(const NodeContext& node) {
  class FusedUnary final : public Row {
   public:
    FusedUnary(UnaryRow row, const UnaryParameters& parameters) : row_(row), parameters_(parameters) {}
    void run(const RowOperand* operands, void* y, size_t count) const override {
      row_(static_cast<const float*>(operands[0].data), static_cast<float*>(y), count, parameters_);
    }

   private:
    UnaryRow row_;
    UnaryParameters parameters_;
  };
  const UnaryKind kind = node.attributes<schema::Unary>().kind();
  return kind == UnaryKind::Copy ? nullptr : std::make_unique<FusedUnary>(unary_row(kind), unary_parameters(node));
}

std::unique_ptr<Row> make_binary_row(const NodeContext& node) {
  class FusedBinary final : public Row {
   public:
    FusedBinary(BinaryRow row, float low, float high) : row_(row), low_(low), high_(high) {}
    void run(const RowOperand* operands, void* y, size_t count) const override {
      const auto operand = [&](size_t k) {
        return BinaryOperand{static_cast<const float*>(operands[k].data), operands[k].moves};
      };
      row_(operand(0), operand(1), static_cast<float*>(y), count, low_, high_);
    }

   private:
    BinaryRow row_;
    float low_, high_;
  };
  const auto& attributes = node.attributes<schema::Binary>();
  const auto* clamp = attributes.clamp();
  if (node.input(0).dtype != DType::Float32) {
    return nullptr;
  }
  return std::make_unique<FusedBinary>(binary_row(attributes.kind()), clamp_min(clamp), clamp_max(clamp));
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
