// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/elementwise/unary.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "row_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr float kAlpha = 0.3f;

double limited(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}

// What the functions compute, by their names.
const std::map<std::string_view, double (*)(double)>& references() {
  static const std::map<std::string_view, double (*)(double)> kReferences{
      {"Abs", [](double x) { return std::fabs(x); }},
      {"Ceil", [](double x) { return std::ceil(x); }},
      {"Clamp", [](double x) { return limited(x, -0.5, 1.5); }},
      {"Cos", [](double x) { return std::cos(x); }},
      {"Elu", [](double x) { return x >= 0 ? x : static_cast<double>(kAlpha) * std::expm1(x); }},
      {"Exp", [](double x) { return std::exp(x); }},
      {"Floor", [](double x) { return std::floor(x); }},
      {"Gelu", [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }},
      {"GeluTanh", [](double x) { return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }},
      {"HardSigmoid", [](double x) { return limited(x + 3, 0, 6) / 6; }},
      {"HardSwish", [](double x) { return x * limited(x + 3, 0, 6) / 6; }},
      {"LeakyRelu", [](double x) { return x > 0 ? x : x * static_cast<double>(kAlpha); }},
      {"Log", [](double x) { return std::log(x); }},
      {"Neg", [](double x) { return -x; }},
      {"Reciprocal", [](double x) { return 1 / x; }},
      {"Round", [](double x) { return std::nearbyint(x); }},
      {"Rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"Sign", [](double x) { return static_cast<double>((x > 0) - (x < 0)); }},
      {"Silu", [](double x) { return x / (1 + std::exp(-x)); }},
      {"Sin", [](double x) { return std::sin(x); }},
      {"Sqrt", [](double x) { return std::sqrt(x); }},
      {"Square", [](double x) { return x * x; }},
      {"Tanh", [](double x) { return std::tanh(x); }},
      {"Acos", [](double x) { return std::acos(x); }},
      {"Acosh", [](double x) { return std::acosh(x); }},
      {"Asin", [](double x) { return std::asin(x); }},
      {"Asinh", [](double x) { return std::asinh(x); }},
      {"Atan", [](double x) { return std::atan(x); }},
      {"Atanh", [](double x) { return std::atanh(x); }},
      {"Cosh", [](double x) { return std::cosh(x); }},
      {"Erf", [](double x) { return std::erf(x); }},
      {"Exp2", [](double x) { return std::exp2(x); }},
      {"Expm1", [](double x) { return std::expm1(x); }},
      {"Log10", [](double x) { return std::log10(x); }},
      {"Log1p", [](double x) { return std::log1p(x); }},
      {"Log2", [](double x) { return std::log2(x); }},
      {"Sinh", [](double x) { return std::sinh(x); }},
      {"Tan", [](double x) { return std::tan(x); }},
      {"Trunc", [](double x) { return std::trunc(x); }},
  };
  return kReferences;
}

void check_unary(const char* function, const Tensor& x, Tolerance tolerance) {
  SCOPED_TRACE(function);
  ASSERT_EQ(references().count(function), 1);
  Tensor y(DType::Float32, x.shape());
  for (size_t i = 0; i < x.numel(); ++i) {
    y.data<float>()[i] = static_cast<float>(references().at(function)(static_cast<double>(x.data<float>()[i])));
  }
  check_row([=] { return unary_row({function, kAlpha, -0.5f, 1.5f}); }, {x}, y, tolerance);
}

TEST(UnaryRow, EveryFunction) {
  for (const char* function : unary_functions()) {
    check_unary(function, random_floats({4001}, -3, 3), {2e-7f, 5e-7f});
    check_unary(function, random_floats({4001}, -30, 30), {2e-7f, 5e-7f});
    check_unary(function, random_floats({4001}, -0.01f, 0.01f), {1e-9f, 5e-7f});
  }
}

TEST(UnaryRow, RefusesUnknownNames) {
  EXPECT_EQ(unary_row({"Absolute"}), nullptr);
  EXPECT_EQ(unary_row({}), nullptr);
}

TEST(UnaryRow, Sizes) {
  for (const size_t size : {0, 1, 3, 4, 7, 15, 16, 17, 31, 33}) {
    check_unary("Abs", random_floats({size}), {});
    check_unary("Exp", random_floats({size}), {0, 3e-7f});
  }
  check_unary("Tanh", random_floats({3, 40001}), {0, 5e-7f});
}

TEST(UnaryRow, SpecialValues) {
  const float tiny = std::numeric_limits<float>::min();
  const float big = std::numeric_limits<float>::max();
  const Tensor x = repeated({40}, {kNaN,  kInfinity, -kInfinity,  0.0f,       -0.0f,   0.5f,  -0.5f, 1.5f, 2.5f,
                                   -1.5f, -2.5f,     0.49999997f, 8388609.0f, tiny,    -tiny, big,   -big, 87.0f,
                                   88.5f, 89.0f,     -87.0f,      100.0f,     -104.0f, 1e5f,  -1e5f, 3.0f, -3.0f});
  for (const char* function : unary_functions()) {
    check_unary(function, x, {1e-37f, 5e-7f});
  }
}

TEST(UnaryRow, RoundingKeepsSigns) {
  const Tensor x = repeated({40}, {0.0f, -0.0f, 0.25f, -0.25f, 0.75f, -0.75f, 1e-45f, -1e-45f, 3.0f, -3.0f});
  for (const char* function : {"Ceil", "Floor", "Round", "Trunc"}) {
    for_each_isa([&] {
      const Tensor y = run_kernel(row_case([=] { return unary_row({function}); }, {x}, x.type));
      for (size_t i = 0; i < x.numel(); ++i) {
        EXPECT_EQ(std::signbit(y.data<float>()[i]), std::signbit(references().at(function)(x.data<float>()[i])))
            << function << " of " << x.data<float>()[i] << ", " << isa_name();
      }
    });
  }
}

TEST(UnaryRow, RoundsHalfToEven) {
  check_unary("Round", floats({9}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 4194304.5f, 1e30f, -1e30f, 0.2f}), {});
}

TEST(UnaryRow, GeluKeepsItsTail) {
  check_unary("Gelu", random_floats({4001}, -13, -3), {1e-37f, 5e-6f});
}

TEST(UnaryRow, Exponentials) {
  check_unary("Exp", random_floats({100003}, -86.9f, 86.9f), {0, 1.2e-7f});
  check_unary("Exp", random_floats({20003}, -1, 1), {0, 1.2e-7f});
  // Numbers of a vector in which others need more care.
  for (const float special :
       {87.001f, 88.7f, 89.0f, -87.001f, -100.0f, -104.5f, kNaN, kInfinity, -kInfinity, 1e30f, -1e30f}) {
    Tensor x = random_floats({163}, -86.9f, 86.9f);
    for (size_t i = 0; i < x.numel(); i += 5) {
      x.data<float>()[i] = special;
    }
    check_unary("Exp", x, {1e-44f, 3e-7f});
  }
  check_unary("Exp", repeated({40}, {0.0f, -0.0f, 1e-45f, -1e-45f, 87.0f, -87.0f}), {0, 1.2e-7f});
}

TEST(UnaryRow, Sines) {
  check_unary("Sin", random_floats({100003}, -7, 7), {1.4e-7f, 0});
  check_unary("Sin", random_floats({100003}, -39000, 39000), {1.4e-7f, 0});
  check_unary("Sin", random_floats({4001}, -0.1f, 0.1f), {0, 3e-7f});
  check_unary("Sin", repeated({40}, {0.0f, -0.0f, 1e-45f, -1e-45f, 1e-38f, -1e-20f, 2e-4f, -3e-4f}), {0, 2e-7f});
  // Near multiples of pi.
  check_unary("Sin", repeated({40}, {3.14159274f, -6.28318548f, 355, 710, 9.42477798f, 31415.9258f}), {0, 5e-7f});
  // None above 1.
  for_each_isa([] {
    Tensor x(DType::Float32, {40000});
    for (size_t i = 0; i < x.numel(); ++i) {
      x.data<float>()[i] = 1.5688f + static_cast<float>(i) * 0x1p-23f;
    }
    const PlainCase sine = row_case([] { return unary_row({"Sin"}); }, {x}, x.type);
    const Tensor y = run_kernel(sine);
    EXPECT_LE(*std::max_element(y.data<float>(), y.data<float>() + y.numel()), 1) << isa_name();
  });
}

TEST(UnaryRow, LargeAngles) {
  for (const char* function : {"Sin", "Cos"}) {
    check_unary(function, random_floats({4001}, -38000, 38000), {1e-7f, 5e-7f});
    check_unary(function, random_floats({4001}, -1e7f, 1e7f), {1e-7f, 5e-7f});
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
