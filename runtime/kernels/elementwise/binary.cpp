// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "binary.h"

#include <cmath>

#include "binary_loop.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/elementwise/binary.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "float_function-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

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
  return divide(a, b);
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
void binary_loop(const BinaryOperand& a, const BinaryOperand& b, float* y, size_t count, float low, float high) {
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
  return divide(set(1), a);
}
ETX_BINARY(PowerOfMinusHalf) {
  static_cast<void>(b);
  return divide(set(1), hn::Sqrt(a));
}

// Vectors that round a double to float as the CPU does: Highway's plain loops make the largest float of what is too
// large.
#define ETX_HAS_DOUBLES (HWY_HAVE_FLOAT64 && HWY_TARGET != HWY_EMU128)

#if ETX_HAS_DOUBLES
using DoubleVector = hn::Vec<hn::Repartition<double, Floats>>;

// Within 5e-12 of the result. REQUIRES: x is positive, finite and normal
HWY_INLINE DoubleVector log2_of(DoubleVector x) {
  const hn::Repartition<double, Floats> f;
  const hn::RebindToSigned<decltype(f)> i;
  const hn::RebindToUnsigned<decltype(f)> u;
  const auto set_double = [f](double value) HWY_ATTR { return hn::Set(f, value); };
  // x = 2^e m with sqrt(1/2) <= m < sqrt(2).
  const auto bits = hn::BitCast(i, x);
  const auto half_root = hn::Set(i, kSqrtHalfBits);
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
  DoubleVector p = hn::MulAdd(square, set_double(kLog2[4]), set_double(kLog2[3]));
  p = hn::MulAdd(square, p, set_double(kLog2[2]));
  p = hn::MulAdd(square, p, set_double(kLog2[1]));
  p = hn::MulAdd(square, p, set_double(kLog2[0]));
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
  DoubleVector p = hn::MulAdd(r, set_double(kExp2[5]), set_double(kExp2[4]));
  p = hn::MulAdd(r, p, set_double(kExp2[3]));
  p = hn::MulAdd(r, p, set_double(kExp2[2]));
  p = hn::MulAdd(r, p, set_double(kExp2[1]));
  p = hn::MulAdd(r, p, set_double(kExp2[0]));
  const DoubleVector scale = hn::BitCast(f, hn::ShiftLeft<52>(hn::BitCast(i, t)));
  return hn::MulAdd(hn::Mul(r, p), scale, scale);
}

// function(a, b) of vectors of double.
template <typename Function>
HWY_INLINE Vector in_doubles(Vector a, Vector b, const Function& function) {
  const hn::Repartition<double, Floats> f;
  const hn::Half<Floats> half;
  const auto upper = function(hn::PromoteUpperTo(f, a), hn::PromoteUpperTo(f, b));
  const auto lower = function(hn::PromoteLowerTo(f, a), hn::PromoteLowerTo(f, b));
  return hn::Combine(kFloats, hn::DemoteTo(half, upper), hn::DemoteTo(half, lower));
}

ETX_BINARY(Power) {
  const auto good = hn::And(hn::Gt(a, hn::Zero(kFloats)), hn::IsFinite(hn::Max(a, hn::Abs(b))));
  if (HWY_UNLIKELY(!hn::AllTrue(kFloats, hn::AndNot(hn::IsNaN(b), good)))) {
    return by_scalars<std::pow>(a, b);
  }
  // In double, as the error of the logarithm grows with it.
  return in_doubles(a, b, [](DoubleVector x, DoubleVector y) HWY_ATTR { return exp2_of(hn::Mul(y, log2_of(x))); });
}
// In double, where no quotient of floats overflows. What a number gives does not depend on its neighbours.
ETX_BINARY(Atan2) {
  const auto angle = [](DoubleVector y, DoubleVector x) HWY_ATTR {
    const hn::Repartition<double, Floats> f;
    constexpr double kHalfTurn = double{kPi[0]} + double{kPi[1]} + double{kPi[2]};
    const auto turn = hn::IfThenElseZero(hn::Lt(x, hn::Zero(f)), hn::Set(f, kHalfTurn));
    return hn::Add(hn::Atan(f, hn::Div(y, x)), hn::CopySign(turn, y));
  };
  const Vector result = hn::CopySign(in_doubles(a, b, angle), a);
  const auto are_zeros = hn::And(hn::Eq(a, hn::Zero(kFloats)), hn::Eq(b, hn::Zero(kFloats)));
  const auto has_quotient = hn::AndNot(are_zeros, hn::And(hn::IsFinite(a), hn::IsFinite(b)));
  if (HWY_UNLIKELY(!hn::AllTrue(kFloats, has_quotient))) {
    return hn::IfThenElse(has_quotient, result, by_scalars<std::atan2>(a, b));
  }
  return result;
}
#endif

void power_loop(const BinaryOperand& a, const BinaryOperand& b, float* y, size_t count, float low, float high) {
  if (!b.moves) {
    const float exponent = *b.data;
    if (exponent == 2) {
      return binary_loop<PowerOf2>(a, b, y, count, low, high);
    }
    if (exponent == 3) {
      return binary_loop<PowerOf3>(a, b, y, count, low, high);
    }
    if (exponent == 0.5f) {
      return binary_loop<PowerOfHalf>(a, b, y, count, low, high);
    }
    if (exponent == -1) {
      return binary_loop<PowerOfMinus1>(a, b, y, count, low, high);
    }
    if (exponent == -0.5f) {
      return binary_loop<PowerOfMinusHalf>(a, b, y, count, low, high);
    }
  }
#if ETX_HAS_DOUBLES
  binary_loop<Power>(a, b, y, count, low, high);
#else
  scalar_loop<std::pow>(a, b, y, count, low, high);
#endif
}

#if HWY_NATIVE_FMA
constexpr float kLargestQuotient = 0x1p22f; // FMA subtracts its product with a divisor exactly

// Of absolute values. REQUIRES: divisible(a, b)
HWY_INLINE Vector rest_of(Vector a, Vector b) {
  const Vector rest = hn::NegMulAdd(hn::Floor(divide(a, b)), b, a);
  return hn::IfThenElse(hn::Lt(rest, hn::Zero(kFloats)), hn::Add(rest, b), rest); // the quotient was rounded up
}
HWY_INLINE bool divisible(Vector a, Vector b) {
  const auto small = hn::Lt(hn::Abs(divide(a, b)), set(kLargestQuotient)); // not if it is NaN
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
  Vector quotient = divide(hn::Sub(a, rest), b);
  quotient = hn::IfThenElse(has_other_sign(rest, b), hn::Sub(quotient, set(1)), quotient);
  const Vector floored = hn::Floor(quotient);
  const Vector nearest =
      hn::IfThenElse(hn::Gt(hn::Sub(quotient, floored), set(0.5f)), hn::Add(floored, set(1)), floored);
  return hn::IfThenElse(hn::Eq(quotient, hn::Zero(kFloats)), hn::CopySign(hn::Zero(kFloats), divide(a, b)), nearest);
}
#endif

#undef ETX_BINARY

// Null for functions of bits.
BinaryLoop choose_binary(BinaryFunction function) {
  switch (function) {
    case BinaryFunction::Add:
      return binary_loop<Add>;
    case BinaryFunction::Sub:
      return binary_loop<Sub>;
    case BinaryFunction::Mul:
      return binary_loop<Mul>;
    case BinaryFunction::Div:
      return binary_loop<Div>;
    case BinaryFunction::Maximum:
      return binary_loop<Maximum>;
    case BinaryFunction::Minimum:
      return binary_loop<Minimum>;
    case BinaryFunction::Pow:
      return power_loop;
    case BinaryFunction::Prelu:
      return binary_loop<Prelu>;
    case BinaryFunction::SquaredDifference:
      return binary_loop<SquaredDifference>;
    case BinaryFunction::Atan2:
#if ETX_HAS_DOUBLES
      return binary_loop<Atan2>;
#else
      return scalar_loop<std::atan2>;
#endif
    case BinaryFunction::Copysign:
      return binary_loop<Copysign>;
#if HWY_NATIVE_FMA
    case BinaryFunction::FloorDiv:
      return binary_loop<FloorDiv>;
    case BinaryFunction::Remainder:
      return binary_loop<Remainder>;
    case BinaryFunction::Fmod:
      return binary_loop<Fmod>;
#else
    case BinaryFunction::FloorDiv:
      return scalar_loop<floor_div>;
    case BinaryFunction::Remainder:
      return scalar_loop<remainder>;
    case BinaryFunction::Fmod:
      return scalar_loop<std::fmod>;
#endif
    case BinaryFunction::BitAnd:
    case BinaryFunction::BitOr:
    case BinaryFunction::BitXor:
      break;
  }
  return nullptr;
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(choose_binary);

namespace {

class BinaryRow final : public Row {
 public:
  explicit BinaryRow(const BinaryParameters& parameters)
      : loop_(ETX_DISPATCH(choose_binary)(parameters.function)), low_(parameters.low), high_(parameters.high) {}

  void run(const RowOperand* operands, void* y, size_t count) const override {
    const auto operand = [&](size_t k) {
      return BinaryOperand{static_cast<const float*>(operands[k].data), operands[k].moves};
    };
    loop_(operand(0), operand(1), static_cast<float*>(y), count, low_, high_);
  }

 private:
  const BinaryLoop loop_;
  const float low_, high_;
};

} // namespace

std::unique_ptr<Row> binary_row(const BinaryParameters& parameters) {
  return std::make_unique<BinaryRow>(parameters);
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
