// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/elementwise/binary.h>

#include <algorithm>
#include <cmath>

#include "row_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

double limited(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}

double reference(BinaryFunction function, double a, double b) {
  switch (function) {
    case BinaryFunction::Add:
      return a + b;
    case BinaryFunction::Sub:
      return a - b;
    case BinaryFunction::Mul:
      return a * b;
    case BinaryFunction::Div:
      return a / b;
    case BinaryFunction::Maximum:
      return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b);
    case BinaryFunction::Minimum:
      return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b);
    case BinaryFunction::Pow:
      return std::pow(a, b);
    case BinaryFunction::Prelu:
      return a > 0 ? a : a * b;
    case BinaryFunction::SquaredDifference:
      return (a - b) * (a - b);
    case BinaryFunction::Atan2:
      return std::atan2(a, b);
    case BinaryFunction::Copysign:
      return std::copysign(a, b);
    case BinaryFunction::FloorDiv:
      return b == 0                           ? a / b
          : std::isinf(b) && std::isfinite(a) ? ((a < 0) != (b < 0) && a != 0 ? -1 : a / b)
                                              : std::floor(a / b);
    case BinaryFunction::Remainder: {
      const double rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    case BinaryFunction::Fmod:
      return std::fmod(a, b);
    case BinaryFunction::BitAnd:
    case BinaryFunction::BitOr:
    case BinaryFunction::BitXor:
      break;
  }
  return a;
}

constexpr BinaryFunction kFunctions[] = {
#define ETX_MEMBER(name) BinaryFunction::name,
    ETX_BINARY_FUNCTIONS(ETX_MEMBER)
#undef ETX_MEMBER
};

const char* name_of(BinaryFunction function) {
  constexpr const char* kNames[] = {
#define ETX_NAME(name) #name,
      ETX_BINARY_FUNCTIONS(ETX_NAME)
#undef ETX_NAME
  };
  return kNames[static_cast<size_t>(function)];
}

void check_binary(
    BinaryFunction function,
    const Tensor& a,
    const Tensor& b,
    Tolerance tolerance,
    float low = -kInfinity,
    float high = kInfinity) {
  SCOPED_TRACE(std::string(name_of(function)) + " of " + a.type.to_string() + " and " + b.type.to_string());
  Shape shape;
  const size_t rank = std::max(a.shape().rank, b.shape().rank);
  for (size_t axis = 0; axis < rank; ++axis) {
    const auto size = [&](const Shape& of) { return axis + of.rank < rank ? 1 : of[axis + of.rank - rank]; };
    shape.append(size(a.shape()) == 1 ? size(b.shape()) : size(a.shape()));
  }
  Tensor y(DType::Float32, shape);
  Index at(shape);
  for (size_t i = 0; i < y.numel(); ++i, at.next()) {
    const double value = reference(
        function,
        static_cast<double>(a.data<float>()[at.in(a.shape())]),
        static_cast<double>(b.data<float>()[at.in(b.shape())]));
    y.data<float>()[i] = static_cast<float>(limited(value, static_cast<double>(low), static_cast<double>(high)));
  }
  check_row([=] { return binary_row({function, low, high}); }, {a, b}, y, tolerance);
}

bool takes_floats(BinaryFunction function) {
  return function != BinaryFunction::BitAnd && function != BinaryFunction::BitOr && function != BinaryFunction::BitXor;
}

TEST(BinaryRow, EveryFunction) {
  for (const BinaryFunction function : kFunctions) {
    if (takes_floats(function)) {
      check_binary(function, random_floats({7, 101}, 0.1f, 5), random_floats({7, 101}), {1e-6f, 1e-6f});
      check_binary(function, random_floats({7, 101}, 0.1f, 5), random_floats({}), {1e-6f, 1e-6f});
      check_binary(function, random_floats({}, 0.1f, 5), random_floats({7, 101}), {1e-6f, 1e-6f});
      check_binary(function, random_floats({7, 1}, 0.1f, 5), random_floats({101}), {1e-6f, 1e-6f});
    }
  }
}

TEST(BinaryRow, Broadcasting) {
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
    check_binary(BinaryFunction::Sub, random_floats(a), random_floats(b), {});
    check_binary(BinaryFunction::Sub, random_floats(b), random_floats(a), {});
    check_binary(BinaryFunction::Atan2, random_floats(a), random_floats(b), {1e-6f, 1e-6f});
  }
}

TEST(BinaryRow, Clamp) {
  const Tensor a = floats({1, 8}, {kNaN, 1, -5, 7, kInfinity, -kInfinity, 0.25f, 3});
  const Tensor b = repeated({3, 8}, {0});
  check_binary(BinaryFunction::Add, a, b, {}, -1, 2);
  check_binary(BinaryFunction::Add, a, b, {}, 0, kInfinity);
  check_binary(BinaryFunction::Pow, a, repeated({3, 8}, {1}), {}, -1, 2);
}

TEST(BinaryRow, SpecialValues) {
  // No zeros of either sign meet where the larger is asked for.
  const std::vector<float> values{kNaN, kInfinity, -kInfinity, -2.5f, 2.5f, 1, -3, 1e30f};
  for (const BinaryFunction function : kFunctions) {
    if (takes_floats(function) && function != BinaryFunction::FloorDiv && function != BinaryFunction::Remainder) {
      check_binary(function, floats({8, 1}, values), floats({8}, values), {0, 1e-6f});
    }
  }
  const std::vector<float> zeros{0.0f, -0.0f, 2, -2};
  for (const BinaryFunction function :
       {BinaryFunction::Copysign,
        BinaryFunction::Atan2,
        BinaryFunction::Pow,
        BinaryFunction::Mul,
        BinaryFunction::Div}) {
    check_binary(function, floats({4, 1}, zeros), floats({4}, zeros), {0, 1e-6f});
  }
}

TEST(BinaryRow, RestsAreExact) {
  for (const BinaryFunction function : {BinaryFunction::Fmod, BinaryFunction::Remainder}) {
    for (const float size : {1.0f, 100.0f, 1e5f, 1e7f, 1e20f}) {
      check_binary(function, random_floats({4001}, -size, size), random_floats({4001}, -3, 3), {});
      check_binary(function, random_floats({4001}, -size, size), floats({}, {0.1f}), {});
    }
  }
  for (const float size : {1.0f, 100.0f, 1e5f}) {
    check_binary(BinaryFunction::FloorDiv, random_floats({4001}, -size, size), random_floats({4001}, 0.5f, 3), {});
    check_binary(BinaryFunction::FloorDiv, random_floats({4001}, -size, size), random_floats({4001}, -3, -0.5f), {});
  }
}

TEST(BinaryRow, AnglesOfAnySize) {
  constexpr float kSizes[] = {1e-40f, 1e-20f, 1e-3f, 1, 50, 1e20f, 3e38f};
  for (const float y : kSizes) {
    for (const float x : kSizes) {
      const Tensor a = random_floats({4001}, -y, y), b = random_floats({4001}, -x, x);
      check_binary(BinaryFunction::Atan2, a, b, {2e-45f, 1.2e-7f});
    }
  }
  std::vector<float> silent(999, 0.0f); // zeros of both among other numbers
  silent[3] = -1;
  silent[77] = 2;
  check_binary(BinaryFunction::Atan2, floats({999}, silent), random_floats({999}), {0, 1.2e-7f});
  check_binary(BinaryFunction::Atan2, random_floats({999}), floats({999}, silent), {0, 1.2e-7f});
  check_binary(BinaryFunction::Atan2, floats({999}, silent), floats({999}, silent), {0, 1.2e-7f});
}

TEST(BinaryRow, PowersOfAnySize) {
  check_binary(BinaryFunction::Pow, random_floats({40001}, 0, 3), random_floats({40001}, -50, 50), {1e-37f, 1.2e-7f});
  check_binary(
      BinaryFunction::Pow,
      random_floats({40001}, 0.999f, 1.001f),
      random_floats({40001}, -8e4f, 8e4f),
      {1e-37f, 1.2e-7f});
  // Denormal and huge numbers, results among them, and what has no rounding error.
  const Tensor bases = repeated({21}, {1e-45f, 3e-39f, 1e-38f, 3e38f, 2, 0.5f, 1});
  for (const float exponent :
       {0.0f, -0.0f, 1.0f, 0.25f, -0.25f, 1.001f, 4.0f, 10.0f, -10.0f, 127.0f, -126.0f, -149.0f, 1e30f, -1e30f}) {
    check_binary(BinaryFunction::Pow, bases, floats({}, {exponent}), {0, 1.2e-7f});
  }
  check_binary(BinaryFunction::Pow, repeated({24}, {2, 4, 8, 0.25f, 1024, 3}), floats({}, {4}), {});
  check_binary(BinaryFunction::Pow, random_floats({4001}, 0, 30), random_floats({4001}, -25, 25), {1e-37f, 3e-7f});
  check_binary(BinaryFunction::Pow, random_floats({4001}, 0, 1e-3f), floats({}, {2.5f}), {1e-37f, 3e-7f});
}

TEST(BinaryRow, Powers) {
  const Tensor base = random_floats({300}, -4, 4);
  for (const float exponent : {0.0f, 1.0f, 2.0f, 3.0f, -1.0f, -2.0f, 0.5f, -0.5f, 7.0f, 2.5f}) {
    check_binary(BinaryFunction::Pow, base, floats({}, {exponent}), {0, 1e-6f});
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
