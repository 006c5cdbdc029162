// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/elementwise/elementwise.h>

#include <algorithm>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BinaryKind;
using schema::UnaryKind;

constexpr float kAlpha = 0.3f;

double limited(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}

double reference(UnaryKind kind, double x) {
  switch (kind) {
    case UnaryKind::Abs:
      return std::fabs(x);
    case UnaryKind::Ceil:
      return std::ceil(x);
    case UnaryKind::Clamp:
      return limited(x, -0.5, 1.5);
    case UnaryKind::Copy:
      return x;
    case UnaryKind::Cos:
      return std::cos(x);
    case UnaryKind::Elu:
      return x >= 0 ? x : static_cast<double>(kAlpha) * std::expm1(x);
    case UnaryKind::Exp:
      return std::exp(x);
    case UnaryKind::Floor:
      return std::floor(x);
    case UnaryKind::Gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case UnaryKind::GeluTanh:
      return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case UnaryKind::HardSigmoid:
      return limited(x + 3, 0, 6) / 6;
    case UnaryKind::HardSwish:
      return x * limited(x + 3, 0, 6) / 6;
    case UnaryKind::LeakyRelu:
      return x > 0 ? x : x * static_cast<double>(kAlpha);
    case UnaryKind::Log:
      return std::log(x);
    case UnaryKind::Neg:
      return -x;
    case UnaryKind::Reciprocal:
      return 1 / x;
    case UnaryKind::Round:
      return std::nearbyint(x);
    case UnaryKind::Rsqrt:
      return 1 / std::sqrt(x);
    case UnaryKind::Sigmoid:
      return 1 / (1 + std::exp(-x));
    case UnaryKind::Sign:
      return (x > 0) - (x < 0);
    case UnaryKind::Silu:
      return x / (1 + std::exp(-x));
    case UnaryKind::Sin:
      return std::sin(x);
    case UnaryKind::Sqrt:
      return std::sqrt(x);
    case UnaryKind::Square:
      return x * x;
    case UnaryKind::Tanh:
      return std::tanh(x);
    case UnaryKind::Acos:
      return std::acos(x);
    case UnaryKind::Acosh:
      return std::acosh(x);
    case UnaryKind::Asin:
      return std::asin(x);
    case UnaryKind::Asinh:
      return std::asinh(x);
    case UnaryKind::Atan:
      return std::atan(x);
    case UnaryKind::Atanh:
      return std::atanh(x);
    case UnaryKind::Cosh:
      return std::cosh(x);
    case UnaryKind::Erf:
      return std::erf(x);
    case UnaryKind::Exp2:
      return std::exp2(x);
    case UnaryKind::Expm1:
      return std::expm1(x);
    case UnaryKind::Log10:
      return std::log10(x);
    case UnaryKind::Log1p:
      return std::log1p(x);
    case UnaryKind::Log2:
      return std::log2(x);
    case UnaryKind::Sinh:
      return std::sinh(x);
    case UnaryKind::Tan:
      return std::tan(x);
    case UnaryKind::Trunc:
      return std::trunc(x);
  }
  return x;
}

void check_unary(UnaryKind kind, const Tensor& x, Tolerance tolerance) {
  SCOPED_TRACE(schema::EnumNameUnaryKind(kind));
  Tensor y(DType::Float32, x.shape());
  for (size_t i = 0; i < x.numel(); ++i) {
    y.data<float>()[i] = static_cast<float>(reference(kind, static_cast<double>(x.data<float>()[i])));
  }
  check_kernel(
      {make_unary,
       schema::Attributes::Unary,
       [=](auto& builder) {
         const schema::Clamp clamp(-0.5f, 1.5f);
         return schema::CreateUnary(builder, kind, kAlpha, kind == UnaryKind::Clamp ? &clamp : nullptr).Union();
       },
       {x},
       y.type},
      y,
      tolerance);
}

TEST(UnaryKernel, EveryKind) {
  for (const UnaryKind kind : schema::EnumValuesUnaryKind()) {
    check_unary(kind, random_floats({4001}, -3, 3), {2e-7f, 5e-7f});
    check_unary(kind, random_floats({4001}, -30, 30), {2e-7f, 5e-7f});
    check_unary(kind, random_floats({4001}, -0.01f, 0.01f), {1e-9f, 5e-7f});
  }
}

TEST(UnaryKernel, Sizes) {
  for (const size_t size : {0, 1, 3, 4, 7, 15, 16, 17, 31, 33}) {
    check_unary(UnaryKind::Abs, random_floats({size}), {});
    check_unary(UnaryKind::Exp, random_floats({size}), {0, 3e-7f});
  }
  check_unary(UnaryKind::Tanh, random_floats({3, 40001}), {0, 5e-7f});
}

TEST(UnaryKernel, SpecialValues) {
  const float tiny = std::numeric_limits<float>::min();
  const float big = std::numeric_limits<float>::max();
  const Tensor x = repeated({40}, {kNaN,  kInfinity, -kInfinity,  0.0f,       -0.0f,   0.5f,  -0.5f, 1.5f, 2.5f,
                                   -1.5f, -2.5f,     0.49999997f, 8388609.0f, tiny,    -tiny, big,   -big, 87.0f,
                                   88.5f, 89.0f,     -87.0f,      100.0f,     -104.0f, 1e5f,  -1e5f, 3.0f, -3.0f});
  for (const UnaryKind kind : schema::EnumValuesUnaryKind()) {
    check_unary(kind, x, {1e-37f, 5e-7f});
  }
}

TEST(UnaryKernel, RoundsHalfToEven) {
  check_unary(UnaryKind::Round, floats({9}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 4194304.5f, 1e30f, -1e30f, 0.2f}), {});
}

TEST(UnaryKernel, GeluKeepsItsTail) {
  check_unary(UnaryKind::Gelu, random_floats({4001}, -13, -3), {1e-37f, 5e-6f});
}

TEST(UnaryKernel, Exponentials) {
  check_unary(UnaryKind::Exp, random_floats({100003}, -86.9f, 86.9f), {0, 1.2e-7f});
  check_unary(UnaryKind::Exp, random_floats({20003}, -1, 1), {0, 1.2e-7f});
  // Numbers of a vector in which others need more care.
  for (const float special :
       {87.001f, 88.7f, 89.0f, -87.001f, -100.0f, -104.5f, kNaN, kInfinity, -kInfinity, 1e30f, -1e30f}) {
    Tensor x = random_floats({163}, -86.9f, 86.9f);
    for (size_t i = 0; i < x.numel(); i += 5) {
      x.data<float>()[i] = special;
    }
    check_unary(UnaryKind::Exp, x, {1e-44f, 3e-7f});
  }
  check_unary(UnaryKind::Exp, repeated({40}, {0.0f, -0.0f, 1e-45f, -1e-45f, 87.0f, -87.0f}), {0, 1.2e-7f});
}

TEST(UnaryKernel, Sines) {
  check_unary(UnaryKind::Sin, random_floats({100003}, -7, 7), {1.4e-7f, 0});
  check_unary(UnaryKind::Sin, random_floats({100003}, -39000, 39000), {1.4e-7f, 0});
  check_unary(UnaryKind::Sin, random_floats({4001}, -0.1f, 0.1f), {0, 3e-7f});
  check_unary(
      UnaryKind::Sin, repeated({40}, {0.0f, -0.0f, 1e-45f, -1e-45f, 1e-38f, -1e-20f, 2e-4f, -3e-4f}), {0, 2e-7f});
  // Near multiples of pi.
  check_unary(
      UnaryKind::Sin, repeated({40}, {3.14159274f, -6.28318548f, 355, 710, 9.42477798f, 31415.9258f}), {0, 5e-7f});
  // None above 1.
  for_each_isa([] {
    Tensor x(DType::Float32, {40000});
    for (size_t i = 0; i < x.numel(); ++i) {
      x.data<float>()[i] = 1.5688f + static_cast<float>(i) * 0x1p-23f;
    }
    const KernelCase sine{
        make_unary,
        schema::Attributes::Unary,
        [](auto& builder) { return schema::CreateUnary(builder, UnaryKind::Sin).Union(); },
        {x},
        x.type};
    const Tensor y = run_kernel(sine);
    EXPECT_LE(*std::max_element(y.data<float>(), y.data<float>() + y.numel()), 1) << isa_name();
  });
}

TEST(UnaryKernel, LargeAngles) {
  for (const UnaryKind kind : {UnaryKind::Sin, UnaryKind::Cos}) {
    check_unary(kind, random_floats({4001}, -38000, 38000), {1e-7f, 5e-7f});
    check_unary(kind, random_floats({4001}, -1e7f, 1e7f), {1e-7f, 5e-7f});
  }
}

double reference(BinaryKind kind, double a, double b) {
  switch (kind) {
    case BinaryKind::Add:
      return a + b;
    case BinaryKind::Sub:
      return a - b;
    case BinaryKind::Mul:
      return a * b;
    case BinaryKind::Div:
      return a / b;
    case BinaryKind::Maximum:
      return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b);
    case BinaryKind::Minimum:
      return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b);
    case BinaryKind::Pow:
      return std::pow(a, b);
    case BinaryKind::Prelu:
      return a > 0 ? a : a * b;
    case BinaryKind::SquaredDifference:
      return (a - b) * (a - b);
    case BinaryKind::Atan2:
      return std::atan2(a, b);
    case BinaryKind::Copysign:
      return std::copysign(a, b);
    case BinaryKind::FloorDiv:
      return b == 0                           ? a / b
          : std::isinf(b) && std::isfinite(a) ? ((a < 0) != (b < 0) && a != 0 ? -1 : a / b)
                                              : std::floor(a / b);
    case BinaryKind::Remainder: {
      const double rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    case BinaryKind::Fmod:
      return std::fmod(a, b);
    case BinaryKind::BitAnd:
    case BinaryKind::BitOr:
    case BinaryKind::BitXor:
      break;
  }
  return a;
}

void check_binary(
    BinaryKind kind,
    const Tensor& a,
    const Tensor& b,
    Tolerance tolerance,
    std::optional<schema::Clamp> clamp = std::nullopt) {
  SCOPED_TRACE(
      std::string(schema::EnumNameBinaryKind(kind)) + " of " + a.type.to_string() + " and " + b.type.to_string());
  Shape shape;
  const size_t rank = std::max(a.shape().rank, b.shape().rank);
  for (size_t axis = 0; axis < rank; ++axis) {
    const auto size = [&](const Shape& of) { return axis + of.rank < rank ? 1 : of[axis + of.rank - rank]; };
    shape.append(size(a.shape()) == 1 ? size(b.shape()) : size(a.shape()));
  }
  Tensor y(DType::Float32, shape);
  Index at(shape);
  for (size_t i = 0; i < y.numel(); ++i, at.next()) {
    double value = reference(
        kind,
        static_cast<double>(a.data<float>()[at.in(a.shape())]),
        static_cast<double>(b.data<float>()[at.in(b.shape())]));
    if (clamp) {
      value = limited(value, static_cast<double>(clamp->min()), static_cast<double>(clamp->max()));
    }
    y.data<float>()[i] = static_cast<float>(value);
  }
  check_kernel(
      {make_binary,
       schema::Attributes::Binary,
       [=](auto& builder) { return schema::CreateBinary(builder, kind, clamp ? &*clamp : nullptr).Union(); },
       {a, b},
       y.type},
      y,
      tolerance);
}

bool takes_floats(BinaryKind kind) {
  return kind != BinaryKind::BitAnd && kind != BinaryKind::BitOr && kind != BinaryKind::BitXor;
}

TEST(BinaryKernel, EveryKind) {
  for (const BinaryKind kind : schema::EnumValuesBinaryKind()) {
    if (takes_floats(kind)) {
      check_binary(kind, random_floats({7, 101}, 0.1f, 5), random_floats({7, 101}), {1e-6f, 1e-6f});
      check_binary(kind, random_floats({7, 101}, 0.1f, 5), random_floats({}), {1e-6f, 1e-6f});
      check_binary(kind, random_floats({}, 0.1f, 5), random_floats({7, 101}), {1e-6f, 1e-6f});
      check_binary(kind, random_floats({7, 1}, 0.1f, 5), random_floats({101}), {1e-6f, 1e-6f});
    }
  }
}

TEST(BinaryKernel, Broadcasting) {
  const Shape shapes[][2] = {
      {{}, {}},
      {{1}, {1, 1, 1}},
      {{0}, {1}},
      {{3, 0}, {1, 1}},
      {{5, 3}, {3}},
      {{1000, 3}, {3}},
      {{1000, 3}, {1000, 1}},
      {{1000, 3}, {1}},
      {{4, 1}, {8}},
      {{40, 7, 3}, {40, 1, 3}},
      {{2, 40, 1, 3}, {1, 1, 7, 3}},
      {{2, 40, 1, 5}, {1, 40, 7, 1}},
      {{6, 1, 50}, {6, 9, 50}},
      {{6, 1, 50}, {1, 9, 1}},
      {{2, 1, 3, 1, 2, 1, 3, 1}, {1, 3, 1, 2, 1, 3, 1, 2}},
      {{2, 1, 3, 1, 2, 1, 3, 17}, {1, 3, 1, 2, 1, 3, 1, 17}},
      {{1, 50000}, {2, 50000}},
      {{40000}, {40000}},
  };
  for (const auto& [a, b] : shapes) {
    check_binary(BinaryKind::Sub, random_floats(a), random_floats(b), {});
    check_binary(BinaryKind::Sub, random_floats(b), random_floats(a), {});
    check_binary(BinaryKind::Atan2, random_floats(a), random_floats(b), {1e-6f, 1e-6f});
  }
}

TEST(BinaryKernel, Clamp) {
  const Tensor a = floats({1, 8}, {kNaN, 1, -5, 7, kInfinity, -kInfinity, 0.25f, 3});
  const Tensor b = repeated({3, 8}, {0});
  check_binary(BinaryKind::Add, a, b, {}, schema::Clamp(-1, 2));
  check_binary(BinaryKind::Add, a, b, {}, schema::Clamp(0, kInfinity));
  check_binary(BinaryKind::Pow, a, repeated({3, 8}, {1}), {}, schema::Clamp(-1, 2));
}

TEST(BinaryKernel, SpecialValues) {
  // No zeros of either sign meet where the larger is asked for.
  const std::vector<float> values{kNaN, kInfinity, -kInfinity, -2.5f, 2.5f, 1, -3, 1e30f};
  for (const BinaryKind kind : schema::EnumValuesBinaryKind()) {
    if (takes_floats(kind) && kind != BinaryKind::FloorDiv && kind != BinaryKind::Remainder) {
      check_binary(kind, floats({8, 1}, values), floats({8}, values), {0, 1e-6f});
    }
  }
  const std::vector<float> zeros{0.0f, -0.0f, 2, -2};
  for (const BinaryKind kind :
       {BinaryKind::Copysign, BinaryKind::Atan2, BinaryKind::Pow, BinaryKind::Mul, BinaryKind::Div}) {
    check_binary(kind, floats({4, 1}, zeros), floats({4}, zeros), {0, 1e-6f});
  }
}

TEST(BinaryKernel, RestsAreExact) {
  for (const BinaryKind kind : {BinaryKind::Fmod, BinaryKind::Remainder}) {
    for (const float size : {1.0f, 100.0f, 1e5f, 1e7f, 1e20f}) {
      check_binary(kind, random_floats({4001}, -size, size), random_floats({4001}, -3, 3), {});
      check_binary(kind, random_floats({4001}, -size, size), floats({}, {0.1f}), {});
    }
  }
  for (const float size : {1.0f, 100.0f, 1e5f}) {
    check_binary(BinaryKind::FloorDiv, random_floats({4001}, -size, size), random_floats({4001}, 0.5f, 3), {});
    check_binary(BinaryKind::FloorDiv, random_floats({4001}, -size, size), random_floats({4001}, -3, -0.5f), {});
  }
}

TEST(BinaryKernel, PowersOfAnySize) {
  check_binary(BinaryKind::Pow, random_floats({40001}, 0, 3), random_floats({40001}, -50, 50), {1e-37f, 1.2e-7f});
  check_binary(
      BinaryKind::Pow, random_floats({40001}, 0.999f, 1.001f), random_floats({40001}, -8e4f, 8e4f), {1e-37f, 1.2e-7f});
  // Denormal and huge numbers, results among them, and what has no rounding error.
  const Tensor bases = repeated({21}, {1e-45f, 3e-39f, 1e-38f, 3e38f, 2, 0.5f, 1});
  for (const float exponent :
       {0.0f, -0.0f, 1.0f, 0.25f, -0.25f, 1.001f, 4.0f, 10.0f, -10.0f, 127.0f, -126.0f, -149.0f, 1e30f, -1e30f}) {
    check_binary(BinaryKind::Pow, bases, floats({}, {exponent}), {0, 1.2e-7f});
  }
  check_binary(BinaryKind::Pow, repeated({24}, {2, 4, 8, 0.25f, 1024, 3}), floats({}, {4}), {});
  check_binary(BinaryKind::Pow, random_floats({4001}, 0, 30), random_floats({4001}, -25, 25), {1e-37f, 3e-7f});
  check_binary(BinaryKind::Pow, random_floats({4001}, 0, 1e-3f), floats({}, {2.5f}), {1e-37f, 3e-7f});
}

TEST(BinaryKernel, Powers) {
  const Tensor base = random_floats({300}, -4, 4);
  for (const float exponent : {0.0f, 1.0f, 2.0f, 3.0f, -1.0f, -2.0f, 0.5f, -0.5f, 7.0f, 2.5f}) {
    check_binary(BinaryKind::Pow, base, floats({}, {exponent}), {0, 1e-6f});
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
