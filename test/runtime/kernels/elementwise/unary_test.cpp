// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/elementwise/unary.h>

#include <algorithm>

#include "row_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr float kAlpha = 0.3f;

double limited(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}

double reference(UnaryFunction function, double x) {
  switch (function) {
    case UnaryFunction::Abs:
      return std::fabs(x);
    case UnaryFunction::Ceil:
      return std::ceil(x);
    case UnaryFunction::Clamp:
      return limited(x, -0.5, 1.5);
    case UnaryFunction::Cos:
      return std::cos(x);
    case UnaryFunction::Elu:
      return x >= 0 ? x : static_cast<double>(kAlpha) * std::expm1(x);
    case UnaryFunction::Exp:
      return std::exp(x);
    case UnaryFunction::Floor:
      return std::floor(x);
    case UnaryFunction::Gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case UnaryFunction::GeluTanh:
      return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case UnaryFunction::HardSigmoid:
      return limited(x + 3, 0, 6) / 6;
    case UnaryFunction::HardSwish:
      return x * limited(x + 3, 0, 6) / 6;
    case UnaryFunction::LeakyRelu:
      return x > 0 ? x : x * static_cast<double>(kAlpha);
    case UnaryFunction::Log:
      return std::log(x);
    case UnaryFunction::Neg:
      return -x;
    case UnaryFunction::Reciprocal:
      return 1 / x;
    case UnaryFunction::Round:
      return std::nearbyint(x);
    case UnaryFunction::Rsqrt:
      return 1 / std::sqrt(x);
    case UnaryFunction::Sigmoid:
      return 1 / (1 + std::exp(-x));
    case UnaryFunction::Sign:
      return (x > 0) - (x < 0);
    case UnaryFunction::Silu:
      return x / (1 + std::exp(-x));
    case UnaryFunction::Sin:
      return std::sin(x);
    case UnaryFunction::Sqrt:
      return std::sqrt(x);
    case UnaryFunction::Square:
      return x * x;
    case UnaryFunction::Tanh:
      return std::tanh(x);
    case UnaryFunction::Acos:
      return std::acos(x);
    case UnaryFunction::Acosh:
      return std::acosh(x);
    case UnaryFunction::Asin:
      return std::asin(x);
    case UnaryFunction::Asinh:
      return std::asinh(x);
    case UnaryFunction::Atan:
      return std::atan(x);
    case UnaryFunction::Atanh:
      return std::atanh(x);
    case UnaryFunction::Cosh:
      return std::cosh(x);
    case UnaryFunction::Erf:
      return std::erf(x);
    case UnaryFunction::Exp2:
      return std::exp2(x);
    case UnaryFunction::Expm1:
      return std::expm1(x);
    case UnaryFunction::Log10:
      return std::log10(x);
    case UnaryFunction::Log1p:
      return std::log1p(x);
    case UnaryFunction::Log2:
      return std::log2(x);
    case UnaryFunction::Sinh:
      return std::sinh(x);
    case UnaryFunction::Tan:
      return std::tan(x);
    case UnaryFunction::Trunc:
      return std::trunc(x);
  }
  return x;
}

constexpr UnaryFunction kFunctions[] = {
#define ETX_MEMBER(name) UnaryFunction::name,
    ETX_UNARY_FUNCTIONS(ETX_MEMBER)
#undef ETX_MEMBER
};

const char* name_of(UnaryFunction function) {
  constexpr const char* kNames[] = {
#define ETX_NAME(name) #name,
      ETX_UNARY_FUNCTIONS(ETX_NAME)
#undef ETX_NAME
  };
  return kNames[static_cast<size_t>(function)];
}

void check_unary(UnaryFunction function, const Tensor& x, Tolerance tolerance) {
  SCOPED_TRACE(name_of(function));
  Tensor y(DType::Float32, x.shape());
  for (size_t i = 0; i < x.numel(); ++i) {
    y.data<float>()[i] = static_cast<float>(reference(function, static_cast<double>(x.data<float>()[i])));
  }
  check_row([=] { return unary_row({function, kAlpha, -0.5f, 1.5f}); }, {x}, y, tolerance);
}

TEST(UnaryRow, EveryFunction) {
  for (const UnaryFunction function : kFunctions) {
    check_unary(function, random_floats({4001}, -3, 3), {2e-7f, 5e-7f});
    check_unary(function, random_floats({4001}, -30, 30), {2e-7f, 5e-7f});
    check_unary(function, random_floats({4001}, -0.01f, 0.01f), {1e-9f, 5e-7f});
  }
}

TEST(UnaryRow, Sizes) {
  for (const size_t size : {0, 1, 3, 4, 7, 15, 16, 17, 31, 33}) {
    check_unary(UnaryFunction::Abs, random_floats({size}), {});
    check_unary(UnaryFunction::Exp, random_floats({size}), {0, 3e-7f});
  }
  check_unary(UnaryFunction::Tanh, random_floats({3, 40001}), {0, 5e-7f});
}

TEST(UnaryRow, SpecialValues) {
  const float tiny = std::numeric_limits<float>::min();
  const float big = std::numeric_limits<float>::max();
  const Tensor x = repeated({40}, {kNaN,  kInfinity, -kInfinity,  0.0f,       -0.0f,   0.5f,  -0.5f, 1.5f, 2.5f,
                                   -1.5f, -2.5f,     0.49999997f, 8388609.0f, tiny,    -tiny, big,   -big, 87.0f,
                                   88.5f, 89.0f,     -87.0f,      100.0f,     -104.0f, 1e5f,  -1e5f, 3.0f, -3.0f});
  for (const UnaryFunction function : kFunctions) {
    check_unary(function, x, {1e-37f, 5e-7f});
  }
}

TEST(UnaryRow, RoundsHalfToEven) {
  check_unary(UnaryFunction::Round, floats({9}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 4194304.5f, 1e30f, -1e30f, 0.2f}), {});
}

TEST(UnaryRow, GeluKeepsItsTail) {
  check_unary(UnaryFunction::Gelu, random_floats({4001}, -13, -3), {1e-37f, 5e-6f});
}

TEST(UnaryRow, Exponentials) {
  check_unary(UnaryFunction::Exp, random_floats({100003}, -86.9f, 86.9f), {0, 1.2e-7f});
  check_unary(UnaryFunction::Exp, random_floats({20003}, -1, 1), {0, 1.2e-7f});
  // Numbers of a vector in which others need more care.
  for (const float special :
       {87.001f, 88.7f, 89.0f, -87.001f, -100.0f, -104.5f, kNaN, kInfinity, -kInfinity, 1e30f, -1e30f}) {
    Tensor x = random_floats({163}, -86.9f, 86.9f);
    for (size_t i = 0; i < x.numel(); i += 5) {
      x.data<float>()[i] = special;
    }
    check_unary(UnaryFunction::Exp, x, {1e-44f, 3e-7f});
  }
  check_unary(UnaryFunction::Exp, repeated({40}, {0.0f, -0.0f, 1e-45f, -1e-45f, 87.0f, -87.0f}), {0, 1.2e-7f});
}

TEST(UnaryRow, Sines) {
  check_unary(UnaryFunction::Sin, random_floats({100003}, -7, 7), {1.4e-7f, 0});
  check_unary(UnaryFunction::Sin, random_floats({100003}, -39000, 39000), {1.4e-7f, 0});
  check_unary(UnaryFunction::Sin, random_floats({4001}, -0.1f, 0.1f), {0, 3e-7f});
  check_unary(
      UnaryFunction::Sin, repeated({40}, {0.0f, -0.0f, 1e-45f, -1e-45f, 1e-38f, -1e-20f, 2e-4f, -3e-4f}), {0, 2e-7f});
  // Near multiples of pi.
  check_unary(
      UnaryFunction::Sin, repeated({40}, {3.14159274f, -6.28318548f, 355, 710, 9.42477798f, 31415.9258f}), {0, 5e-7f});
  // None above 1.
  for_each_isa([] {
    Tensor x(DType::Float32, {40000});
    for (size_t i = 0; i < x.numel(); ++i) {
      x.data<float>()[i] = 1.5688f + static_cast<float>(i) * 0x1p-23f;
    }
    const PlainCase sine = row_case([] { return unary_row({UnaryFunction::Sin}); }, {x}, x.type);
    const Tensor y = run_kernel(sine);
    EXPECT_LE(*std::max_element(y.data<float>(), y.data<float>() + y.numel()), 1) << isa_name();
  });
}

TEST(UnaryRow, LargeAngles) {
  for (const UnaryFunction function : {UnaryFunction::Sin, UnaryFunction::Cos}) {
    check_unary(function, random_floats({4001}, -38000, 38000), {1e-7f, 5e-7f});
    check_unary(function, random_floats({4001}, -1e7f, 1e7f), {1e-7f, 5e-7f});
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
