// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "float64.h"

#include <cmath>
#include <string_view>

#include "binary_loop.h"

namespace executorch::backends::et_xnnpack {
namespace {

const double kRootOfHalf = std::sqrt(0.5);
const double kRootOf2OverPi = std::sqrt(2.0) * (2 / std::sqrt(std::acos(-1.0))) * 0.5; // rounded as in PyTorch

double clamped(double x, double low, double high) {
  return x < low ? low : x > high ? high : x; // keeps NaN
}

template <typename Function>
void unary_loop(const RowOperand* operands, void* y, size_t count) {
  const double* const x = static_cast<const double*>(operands[0].data);
  double* const to = static_cast<double*>(y);
  const size_t next = operands[0].moves ? 1 : 0;
  for (size_t i = 0; i < count; ++i) {
    to[i] = Function::of(x[i * next]);
  }
}

#define ETX_UNARY(name)         \
  struct name {                 \
    static double of(double x); \
  };                            \
  double name::of(double x)

// clang-format off
ETX_UNARY(Abs) { return std::fabs(x); }
ETX_UNARY(Acos) { return std::acos(x); }
ETX_UNARY(Acosh) { return std::acosh(x); }
ETX_UNARY(Asin) { return std::asin(x); }
ETX_UNARY(Asinh) { return std::asinh(x); }
ETX_UNARY(Atan) { return std::atan(x); }
ETX_UNARY(Atanh) { return std::atanh(x); }
ETX_UNARY(Ceil) { return std::ceil(x); }
ETX_UNARY(Cos) { return std::cos(x); }
ETX_UNARY(Cosh) { return std::cosh(x); }
ETX_UNARY(Erf) { return std::erf(x); }
ETX_UNARY(Exp) { return std::exp(x); }
ETX_UNARY(Exp2) { return std::exp2(x); }
ETX_UNARY(Expm1) { return std::expm1(x); }
ETX_UNARY(Floor) { return std::floor(x); }
ETX_UNARY(Gelu) { return x * 0.5 * (1 + std::erf(x * kRootOfHalf)); }
ETX_UNARY(GeluTanh) { return 0.5 * x * (1 + std::tanh(kRootOf2OverPi * (x + 44.715e-3 * (x * x * x)))); }
ETX_UNARY(HardSigmoid) { return clamped(x + 3, 0, 6) / 6; }
ETX_UNARY(HardSwish) { return x * clamped(x + 3, 0, 6) / 6; }
ETX_UNARY(Log) { return std::log(x); }
ETX_UNARY(Log10) { return std::log10(x); }
ETX_UNARY(Log1p) { return std::log1p(x); }
ETX_UNARY(Log2) { return std::log2(x); }
ETX_UNARY(Neg) { return -x; }
ETX_UNARY(Reciprocal) { return 1 / x; }
ETX_UNARY(Round) { return std::nearbyint(x); }
ETX_UNARY(Rsqrt) { return 1 / std::sqrt(x); }
ETX_UNARY(Sigmoid) { return 1 / (1 + std::exp(-x)); }
ETX_UNARY(Sign) { return static_cast<double>((x > 0) - (x < 0)); }
ETX_UNARY(Silu) { return x / (1 + std::exp(-x)); }
ETX_UNARY(Sin) { return std::sin(x); }
ETX_UNARY(Sinh) { return std::sinh(x); }
ETX_UNARY(Sqrt) { return std::sqrt(x); }
ETX_UNARY(Square) { return x * x; }
ETX_UNARY(Tan) { return std::tan(x); }
ETX_UNARY(Tanh) { return std::tanh(x); }
ETX_UNARY(Trunc) { return std::trunc(x); }

#define ETX_UNARY_FUNCTIONS(X) \
  X(Abs) X(Acos) X(Acosh) X(Asin) X(Asinh) X(Atan) X(Atanh) X(Ceil) X(Cos) X(Cosh) X(Erf) X(Exp) X(Exp2) X(Expm1) \
  X(Floor) X(Gelu) X(GeluTanh) X(HardSigmoid) X(HardSwish) X(Log) X(Log10) X(Log1p) X(Log2) X(Neg) X(Reciprocal) \
  X(Round) X(Rsqrt) X(Sigmoid) X(Sign) X(Silu) X(Sin) X(Sinh) X(Sqrt) X(Square) X(Tan) X(Tanh) X(Trunc)
// clang-format on

#undef ETX_UNARY

// T is the type of a result.
template <typename Function, typename T = double>
void binary_loop(const RowOperand* operands, void* y, size_t count) {
  const double* const a = static_cast<const double*>(operands[0].data);
  const double* const b = static_cast<const double*>(operands[1].data);
  T* const to = static_cast<T*>(y);
  if (operands[0].moves && operands[1].moves) {
    for (size_t i = 0; i < count; ++i) {
      to[i] = Function::of(a[i], b[i]);
    }
  } else if (operands[0].moves) {
    const double q = *b;
    for (size_t i = 0; i < count; ++i) {
      to[i] = Function::of(a[i], q);
    }
  } else {
    const double p = *a;
    const size_t next = operands[1].moves ? 1 : 0;
    for (size_t i = 0; i < count; ++i) {
      to[i] = Function::of(p, b[i * next]);
    }
  }
}

#define ETX_BINARY(name)                  \
  struct name {                           \
    static double of(double a, double b); \
  };                                      \
  double name::of(double a, double b)

// clang-format off
ETX_BINARY(Add) { return a + b; }
ETX_BINARY(Sub) { return a - b; }
ETX_BINARY(Mul) { return a * b; }
ETX_BINARY(Div) { return a / b; }
ETX_BINARY(Maximum) { return a != a || a > b ? a : b; }
ETX_BINARY(Minimum) { return a != a || a < b ? a : b; }
ETX_BINARY(Power) { return std::pow(a, b); }
ETX_BINARY(Prelu) { return a > 0 ? a : a * b; }
ETX_BINARY(SquaredDifference) { return (a - b) * (a - b); }
ETX_BINARY(Atan2) { return std::atan2(a, b); }
ETX_BINARY(Copysign) { return std::copysign(a, b); }
ETX_BINARY(FloorDiv) { return floor_div(a, b); }
ETX_BINARY(Remainder) { return remainder(a, b); }
ETX_BINARY(Fmod) { return std::fmod(a, b); }
// What PyTorch, too, computes without pow().
ETX_BINARY(PowerOf2) { static_cast<void>(b); return a * a; }
ETX_BINARY(PowerOf3) { static_cast<void>(b); return a * a * a; }
ETX_BINARY(PowerOfMinus2) { static_cast<void>(b); return 1 / (a * a); }
// clang-format on

#undef ETX_BINARY

void power_loop(const RowOperand* operands, void* y, size_t count) {
  const double exponent = operands[1].moves ? 0 : *static_cast<const double*>(operands[1].data);
  if (exponent == 2) {
    return binary_loop<PowerOf2>(operands, y, count);
  }
  if (exponent == 3) {
    return binary_loop<PowerOf3>(operands, y, count);
  }
  if (exponent == -2) {
    return binary_loop<PowerOfMinus2>(operands, y, count);
  }
  binary_loop<Power>(operands, y, count);
}

#define ETX_COMPARISON(name, operation)       \
  struct name {                               \
    static uint8_t of(double a, double b) {   \
      return static_cast<uint8_t>(operation); \
    }                                         \
  };
ETX_COMPARISON(Equal, a == b)
ETX_COMPARISON(NotEqual, a != b)
ETX_COMPARISON(Less, a < b)
ETX_COMPARISON(LessEqual, a <= b)
ETX_COMPARISON(Greater, a > b)
ETX_COMPARISON(GreaterEqual, a >= b)
#undef ETX_COMPARISON

RowFunction choose_comparison(Comparison comparison) {
  switch (comparison) {
    case Comparison::Equal:
      return binary_loop<Equal, uint8_t>;
    case Comparison::NotEqual:
      return binary_loop<NotEqual, uint8_t>;
    case Comparison::Less:
      return binary_loop<Less, uint8_t>;
    case Comparison::LessEqual:
      return binary_loop<LessEqual, uint8_t>;
    case Comparison::Greater:
      return binary_loop<Greater, uint8_t>;
    case Comparison::GreaterEqual:
      break;
  }
  return binary_loop<GreaterEqual, uint8_t>;
}

RowFunction choose_binary(BinaryFunction function) {
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
      return binary_loop<Atan2>;
    case BinaryFunction::Copysign:
      return binary_loop<Copysign>;
    case BinaryFunction::FloorDiv:
      return binary_loop<FloorDiv>;
    case BinaryFunction::Remainder:
      return binary_loop<Remainder>;
    case BinaryFunction::Fmod:
      return binary_loop<Fmod>;
    case BinaryFunction::BitAnd:
    case BinaryFunction::BitOr:
    case BinaryFunction::BitXor:
      break;
  }
  return nullptr;
}

std::unique_ptr<Row> row_of(RowFunction function) {
  return function == nullptr ? nullptr : std::make_unique<FunctionRow>(function);
}

} // namespace

std::unique_ptr<Row> float64_unary_row(const char* function) {
  const std::string_view wanted(function);
#define ETX_CHOOSE(name)             \
  if (wanted == #name) {             \
    return row_of(unary_loop<name>); \
  }
  ETX_UNARY_FUNCTIONS(ETX_CHOOSE)
#undef ETX_CHOOSE
  return nullptr;
}

std::vector<const char*> float64_unary_functions() {
#define ETX_NAME(name) #name,
  return {ETX_UNARY_FUNCTIONS(ETX_NAME)};
#undef ETX_NAME
}

std::unique_ptr<Row> float64_binary_row(BinaryFunction function) {
  return row_of(choose_binary(function));
}

std::unique_ptr<Row> float64_compare_row(Comparison comparison) {
  return row_of(choose_comparison(comparison));
}

} // namespace executorch::backends::et_xnnpack
