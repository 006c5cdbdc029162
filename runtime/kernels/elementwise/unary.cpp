// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "unary.h"

#include <cmath>
#include <limits>
#include <string_view>

#include "runtime/kernels/simd/isa.h"
#include "unary_loop.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/elementwise/unary.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "float_function-inl.h"

// The functions of vectors that are defined below.
// clang-format off
#undef ETX_VECTOR_FUNCTIONS
#define ETX_VECTOR_FUNCTIONS(X) \
  X(Abs) X(Ceil) X(Clamp) X(Cos) X(Elu) X(Exp) X(Floor) X(Gelu) X(GeluTanh) X(HardSigmoid) X(HardSwish) \
  X(LeakyRelu) X(Log) X(Neg) X(Reciprocal) X(Round) X(Rsqrt) X(Sigmoid) X(Sign) X(Silu) X(Sin) X(Sqrt) \
  X(Square) X(Tanh) X(Acos) X(Acosh) X(Asin) X(Asinh) X(Atan) X(Atanh) X(Cosh) X(Erf) X(Exp2) X(Expm1) \
  X(Log10) X(Log1p) X(Log2) X(Sinh) X(Trunc)
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

constexpr float kLargestExponent = 87; // of either sign; the exponential is a normal number

// exp(x) within 1 ulp. REQUIRES: |x| <= kLargestExponent
HWY_INLINE Vector exp_within(Vector x) {
  const hn::RebindToSigned<Floats> integers;
  // As in exp_nonpositive.
  const Vector magic = set(12582912.0f + 127.0f);
  const Vector t = hn::MulAdd(x, set(kLog2E), magic);
  const Vector n = hn::Sub(t, magic);
  Vector r = hn::NegMulAdd(n, set(kLn2[0]), x);
  r = hn::NegMulAdd(n, set(kLn2[1]), r);
  const Vector square = hn::Mul(r, r);
  const Vector low = hn::MulAdd(r, set(kExp[1]), set(kExp[0]));
  Vector high = hn::MulAdd(r, set(kExp[3]), set(kExp[2]));
  high = hn::MulAdd(square, set(kExp[4]), high);
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
  return hn::CopySign(hn::Ceil(x), x); // -0 stays, and 0
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
  return hn::CopySign(hn::Floor(x), x); // -0 stays
}
// The normal distribution's share above x: exp(-a^2 / 2) times a polynomial in 1 / (1 + 0.3 a).
// There is nothing left above 20. REQUIRES: x >= 0
HWY_INLINE Vector share_above(Vector x) {
  const Vector a = at_most(set(20), x);
  const Vector u = divide(set(1), hn::MulAdd(set(kUpperTailSlope), a, set(1)));
  Vector share = hn::MulAdd(u, set(kUpperTail[8]), set(kUpperTail[7]));
  share = hn::MulAdd(u, share, set(kUpperTail[6]));
  share = hn::MulAdd(u, share, set(kUpperTail[5]));
  share = hn::MulAdd(u, share, set(kUpperTail[4]));
  share = hn::MulAdd(u, share, set(kUpperTail[3]));
  share = hn::MulAdd(u, share, set(kUpperTail[2]));
  share = hn::MulAdd(u, share, set(kUpperTail[1]));
  share = hn::MulAdd(u, share, set(kUpperTail[0]));
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
  Vector small = hn::MulAdd(square, set(kErf[6]), set(kErf[5]));
  small = hn::MulAdd(square, small, set(kErf[4]));
  small = hn::MulAdd(square, small, set(kErf[3]));
  small = hn::MulAdd(square, small, set(kErf[2]));
  small = hn::MulAdd(square, small, set(kErf[1]));
  small = hn::MulAdd(square, small, set(kErf[0]));
  const Vector large = hn::NegMulAdd(set(2), share_above(hn::Mul(set(kSqrt2), a)), set(1));
  return keep_nan(x, hn::IfThenElse(hn::Lt(a, set(1)), hn::MulAdd(x, small, x), hn::CopySign(large, x)));
}
ETX_UNARY(GeluTanh) {
  // 0.5 (1 + tanh(z)) = 1 / (1 + exp(-2 z))
  const Vector z = hn::Mul(x, hn::MulAdd(hn::Mul(x, x), set(kGeluTanh[1]), set(kGeluTanh[0])));
  return divide(x, hn::Add(set(1), exponential(hn::Mul(set(-2), z))));
}
ETX_UNARY(HardSigmoid) {
  return divide(clamped(hn::Add(x, set(3)), hn::Zero(kFloats), set(6)), set(6));
}
ETX_UNARY(HardSwish) {
  return hn::Mul(x, divide(clamped(hn::Add(x, set(3)), hn::Zero(kFloats), set(6)), set(6)));
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
  return divide(set(1), x);
}
ETX_UNARY(Round) {
  return hn::CopySign(hn::Round(x), x); // -0 stays
}
ETX_UNARY(Rsqrt) {
  return divide(set(1), hn::Sqrt(x));
}
// exp(-|x|) is 2^-64 of this, which is not 0 as long as a product with it is a normal number.
HWY_INLINE Vector scaled_decay(Vector x) {
  return exp_nonpositive<64>(hn::Neg(hn::Abs(x)));
}
ETX_UNARY(Sigmoid) {
  const Vector e = hn::Mul(scaled_decay(x), set(0x1p-64f));
  return divide(hn::IfThenElse(hn::Lt(x, hn::Zero(kFloats)), e, set(1)), hn::Add(set(1), e));
}
ETX_UNARY(Sign) {
  const Vector one = hn::IfThenElseZero(hn::Gt(x, hn::Zero(kFloats)), set(1));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(kFloats)), set(-1), one);
}
ETX_UNARY(Silu) {
  const Vector scaled = scaled_decay(x);
  const Vector below = hn::Mul(hn::Mul(x, scaled), set(0x1p-64f));
  const Vector y = hn::IfThenElse(hn::Lt(x, hn::Zero(kFloats)), below, x);
  return divide(y, hn::MulAdd(scaled, set(0x1p-64f), set(1)));
}
#if HWY_NATIVE_FMA
// REQUIRES: |x| <= kLargestAngle
HWY_INLINE Vector sin_within(Vector x) {
  const hn::RebindToSigned<Floats> integers;
  const Vector a = hn::Abs(x);
  // Adding this rounds to an integer n, whose lowest bit becomes the lowest.
  const Vector magic = set(12582912.0f);
  const Vector t = hn::MulAdd(a, set(kOneOverPi), magic);
  const Vector n = hn::Sub(t, magic);
  // a - n pi; the first product is taken off exactly.
  Vector r = hn::NegMulAdd(n, set(kPi[0]), a);
  r = hn::NegMulAdd(n, set(kPi[1]), r);
  r = hn::NegMulAdd(n, set(kPi[2]), r);
  const Vector square = hn::Mul(r, r);
  const Vector low = hn::MulAdd(square, set(kSin[1]), set(kSin[0]));
  const Vector high = hn::MulAdd(square, set(kSin[3]), set(kSin[2]));
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
ETX_UNARY_WITHIN(Log10, std::log10, kSmallestNormal, 1e38f)
ETX_UNARY_WITHIN(Log1p, std::log1p, -0.999f, 1e38f)
ETX_UNARY_WITHIN(Log2, std::log2, kSmallestNormal, 1e38f)
ETX_UNARY_WITHIN(Sinh, std::sinh, -88, 88)

ETX_UNARY(Expm1) {
  if (HWY_UNLIKELY(!all_within(x, -88, 88))) {
    return by_scalars<std::expm1>(x);
  }
  return hn::IfThenElse(hn::Eq(x, hn::Zero(kFloats)), x, hn::Expm1(kFloats, x)); // -0 stays
}
ETX_UNARY(Cosh) {
  if (HWY_UNLIKELY(!all_within(x, -88, 88))) {
    return by_scalars<std::cosh>(x);
  }
  const Vector half = hn::Mul(set(0.5f), hn::Exp(kFloats, hn::Abs(x)));
  return hn::Add(half, divide(set(0.25f), half));
}

#undef ETX_UNARY_WITHIN
#undef ETX_UNARY

template <typename Function>
void unary_loop(const float* x, float* y, size_t count, const UnaryParameters& parameters) {
  const Parameters p(parameters);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(Function::apply(hn::LoadU(kFloats, x + i), p), kFloats, y + i);
  }
  if (const size_t rest = count - i; rest > 0) {
    hn::StoreN(Function::apply(hn::LoadN(kFloats, x + i, rest), p), kFloats, y + i, rest);
  }
}
UnaryLoop choose_unary(std::string_view function) {
#define ETX_CHOOSE(name)     \
  if (function == #name) {   \
    return unary_loop<name>; \
  }
  ETX_VECTOR_FUNCTIONS(ETX_CHOOSE)
#undef ETX_CHOOSE
  return function == "Tan" ? scalar_loop<std::tan> : nullptr;
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(choose_unary);

namespace {

class UnaryRow final : public Row {
 public:
  UnaryRow(UnaryLoop loop, const UnaryParameters& parameters) : loop_(loop), parameters_(parameters) {}

  void run(const RowOperand* operands, void* y, size_t count) const override {
    loop_(static_cast<const float*>(operands[0].data), static_cast<float*>(y), count, parameters_);
  }

 private:
  const UnaryLoop loop_;
  const UnaryParameters parameters_;
};

} // namespace

std::unique_ptr<Row> unary_row(const UnaryParameters& parameters) {
  const UnaryLoop loop = ETX_DISPATCH(choose_unary)(parameters.function);
  return loop == nullptr ? nullptr : std::make_unique<UnaryRow>(loop, parameters);
}

std::vector<const char*> unary_functions() {
#define ETX_NAME(name) #name,
  return {ETX_VECTOR_FUNCTIONS(ETX_NAME) "Tan"};
#undef ETX_NAME
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
