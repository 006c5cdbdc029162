// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/elementwise/float64.h>

#include <cmath>
#include <map>
#include <string>

#include "row_test.h"
#include "some_numbers.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
constexpr double kNumbers[] = {0.1,  -0.1, 0.0,   -0.0,  1,    -1,    2.5,  -2.5,   0.5,   1.5,  3.7, -3.7,
                               1e-9, 40.3, -40.3, 1e300, kInf, -kInf, kNan, 1e-310, 710.5, -745, 8.2, 1e18};

Tensor doubles(const Shape& shape, size_t first = 0) {
  Tensor x(DType::Float64, shape);
  for (size_t i = 0; i < x.numel(); ++i) {
    x.data<double>()[i] = kNumbers[(i * 7 + first) % std::size(kNumbers)];
  }
  return x;
}

using Function = double (*)(double);

double relu6(double x) {
  return std::isnan(x) ? x : std::min(std::max(x, 0.0), 6.0);
}

// In the order of PyTorch's operations.
const std::map<std::string, Function>& unary_functions_of_numbers() {
  static const std::map<std::string, Function> functions{
      {"Abs", [](double x) { return std::fabs(x); }},
      {"Acos", [](double x) { return std::acos(x); }},
      {"Acosh", [](double x) { return std::acosh(x); }},
      {"Asin", [](double x) { return std::asin(x); }},
      {"Asinh", [](double x) { return std::asinh(x); }},
      {"Atan", [](double x) { return std::atan(x); }},
      {"Atanh", [](double x) { return std::atanh(x); }},
      {"Ceil", [](double x) { return std::ceil(x); }},
      {"Cos", [](double x) { return std::cos(x); }},
      {"Cosh", [](double x) { return std::cosh(x); }},
      {"Erf", [](double x) { return std::erf(x); }},
      {"Exp", [](double x) { return std::exp(x); }},
      {"Exp2", [](double x) { return std::exp2(x); }},
      {"Expm1", [](double x) { return std::expm1(x); }},
      {"Floor", [](double x) { return std::floor(x); }},
      {"Gelu", [](double x) { return x * 0.5 * (1 + std::erf(x * M_SQRT1_2)); }},
      {"GeluTanh",
       [](double x) { return 0.5 * x * (1 + std::tanh(M_SQRT2 * M_2_SQRTPI * 0.5 * (x + 0.044715 * (x * x * x)))); }},
      {"HardSigmoid", [](double x) { return relu6(x + 3) / 6; }},
      {"HardSwish", [](double x) { return x * relu6(x + 3) / 6; }},
      {"Log", [](double x) { return std::log(x); }},
      {"Log10", [](double x) { return std::log10(x); }},
      {"Log1p", [](double x) { return std::log1p(x); }},
      {"Log2", [](double x) { return std::log2(x); }},
      {"Neg", [](double x) { return -x; }},
      {"Reciprocal", [](double x) { return 1 / x; }},
      {"Round", [](double x) { return std::nearbyint(x); }},
      {"Rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"Sign", [](double x) { return x > 0 ? 1.0
                                  : x < 0  ? -1.0
                                           : 0.0; }},
      {"Silu", [](double x) { return x / (1 + std::exp(-x)); }},
      {"Sin", [](double x) { return std::sin(x); }},
      {"Sinh", [](double x) { return std::sinh(x); }},
      {"Sqrt", [](double x) { return std::sqrt(x); }},
      {"Square", [](double x) { return x * x; }},
      {"Tan", [](double x) { return std::tan(x); }},
      {"Tanh", [](double x) { return std::tanh(x); }},
      {"Trunc", [](double x) { return std::trunc(x); }},
  };
  return functions;
}

constexpr Tolerance kRounding{0, 4e-16f};

TEST(Float64Row, UnaryFunctions) {
  EXPECT_EQ(float64_unary_functions().size(), unary_functions_of_numbers().size());
  for (const char* name : float64_unary_functions()) {
    SCOPED_TRACE(name);
    for (const size_t size : {0, 1, 24, 1001}) {
      const Tensor x = doubles({size});
      Tensor y(DType::Float64, {size});
      for (size_t i = 0; i < size; ++i) {
        y.data<double>()[i] = unary_functions_of_numbers().at(name)(x.data<double>()[i]);
      }
      check_row([=] { return float64_unary_row(name); }, {x}, y, kRounding);
    }
  }
  EXPECT_EQ(float64_unary_row("Clamp"), nullptr);
}

double floored(double a, double b) {
  return b == 0 ? a / b : std::floor(a / b);
}

TEST(Float64Row, BinaryFunctions) {
  const std::map<BinaryFunction, double (*)(double, double)> functions{
      {BinaryFunction::Add, [](double a, double b) { return a + b; }},
      {BinaryFunction::Sub, [](double a, double b) { return a - b; }},
      {BinaryFunction::Mul, [](double a, double b) { return a * b; }},
      {BinaryFunction::Div, [](double a, double b) { return a / b; }},
      {BinaryFunction::Maximum, [](double a, double b) { return a != a || a > b ? a : b; }},
      {BinaryFunction::Minimum, [](double a, double b) { return a != a || a < b ? a : b; }},
      {BinaryFunction::Pow, [](double a, double b) { return std::pow(a, b); }},
      {BinaryFunction::Prelu, [](double a, double b) { return a > 0 ? a : a * b; }},
      {BinaryFunction::SquaredDifference, [](double a, double b) { return (a - b) * (a - b); }},
      {BinaryFunction::Atan2, [](double a, double b) { return std::atan2(a, b); }},
      {BinaryFunction::Copysign, [](double a, double b) { return std::copysign(a, b); }},
      {BinaryFunction::Fmod, [](double a, double b) { return std::fmod(a, b); }},
  };
  for (const auto& [function, of_numbers] : functions) {
    SCOPED_TRACE(static_cast<int>(function));
    for (const Shapes& shapes : kShapes) {
      const Tensor a = doubles(shapes.a), b = doubles(shapes.b, 5);
      Tensor y(DType::Float64, shapes.y);
      Index index(shapes.y);
      for (size_t i = 0; i < y.numel(); ++i, index.next()) {
        y.data<double>()[i] = of_numbers(a.data<double>()[index.in(shapes.a)], b.data<double>()[index.in(shapes.b)]);
      }
      check_row(
          [f = function] { return float64_binary_row(f); },
          {a, b},
          y,
          {0, function == BinaryFunction::Pow ? 4e-16f : 0});
    }
  }
  for (const BinaryFunction bits : {BinaryFunction::BitAnd, BinaryFunction::BitOr, BinaryFunction::BitXor}) {
    EXPECT_EQ(float64_binary_row(bits), nullptr);
  }
}

TEST(Float64Row, Divides) {
  Tensor a(DType::Float64, {400}), b(DType::Float64, {400}), quotient = a, rest = a;
  for (size_t i = 0; i < 400; ++i) {
    const double p = a.data<double>()[i] = (static_cast<double>(i % 20) - 9.5) * 0.75;
    const double q = b.data<double>()[i] = (static_cast<double>(i / 20) - 9.5) * 0.5;
    quotient.data<double>()[i] = floored(p, q);
    rest.data<double>()[i] = p - q * std::floor(p / q); // exact, as all are small multiples of 1/4
  }
  for (size_t i = 0; i < 400; ++i) { // the sign of nothing is that of the divisor
    double& r = rest.data<double>()[i];
    r = r == 0 ? std::fmod(a.data<double>()[i], b.data<double>()[i]) : r;
  }
  check_row([] { return float64_binary_row(BinaryFunction::FloorDiv); }, {a, b}, quotient);
  check_row([] { return float64_binary_row(BinaryFunction::Remainder); }, {a, b}, rest);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
