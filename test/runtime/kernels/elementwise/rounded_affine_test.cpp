// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/elementwise/rounded_affine.h>

#include <algorithm>
#include <cmath>

#include <runtime/kernels/simd/reduced_float.h>

#include "row_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using Result = RoundedAffine::Result;

// The nearest number with so few bits, ties to even.
float round_to(DType type, float x) {
  const int mantissa_bits = type == DType::Float16 ? 10 : 7, bias = type == DType::Float16 ? 15 : 127;
  if (!std::isfinite(x) || x == 0) {
    return x;
  }
  int exponent = 0;
  std::frexp(x, &exponent);
  const int unit = std::max(exponent - 1, 1 - bias) - mantissa_bits;
  const double nearest = std::ldexp(std::nearbyint(std::ldexp(static_cast<double>(x), -unit)), unit);
  return std::fabs(nearest) >= std::ldexp(2.0, bias) ? std::copysign(kInfinity, x) : static_cast<float>(nearest);
}

// The value of 16 bits. Exponents and mantissas differ in size only.
float decoded(DType type, uint16_t bits) {
  const int mantissa_bits = type == DType::Float16 ? 10 : 7, bias = type == DType::Float16 ? 15 : 127;
  const int mantissa = bits & ((1 << mantissa_bits) - 1), exponent = (bits & 0x7FFF) >> mantissa_bits;
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 2 * bias + 1) {
    return mantissa == 0 ? sign * kInfinity : kNaN;
  }
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << mantissa_bits);
  return sign * std::ldexp(static_cast<float>(whole), std::max(exponent, 1) - bias - mantissa_bits);
}

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

// Numbers that round in different ways, between them ordinary ones.
Tensor some_operand(const Shape& shape, uint32_t seed) {
  const float special[] = {kNaN,          kInfinity,   -kInfinity,  0.0f,         -0.0f,       1e-45f,
                           -1e-45f,       1e-40f,      -1e-40f,     6e-8f,        -2.5e-8f,    1.17549e-38f,
                           2049,          1.00390625f, 1.01171875f, 65519.996f,   -65520.004f, 65520,
                           3.3895314e38f, -3.4e38f,    1,           -1.00390613f, 1.0004883f,  -2051};
  Tensor x = random_floats(shape, -4, 4);
  for (size_t i = 0; i < x.numel(); ++i) {
    if (const size_t k = (i * 7 + seed * 5) % 31; k < std::size(special)) {
      x.data<float>()[i] = special[k];
    }
  }
  return x;
}

std::vector<float> affine(const RoundedAffine& by, const Tensor& x, const Tensor& scale, const Tensor& shift) {
  std::vector<float> y;
  Index at(x.shape());
  for (size_t i = 0; i < x.numel(); ++i, at.next()) {
    const float narrow = round_to(by.type, x.data<float>()[i]);
    const float product = narrow * scale.data<float>()[at.in(scale.shape())];
    float sum = product + shift.data<float>()[at.in(shift.shape())];
    sum = sum < by.min ? by.min : sum > by.max ? by.max : sum;
    y.push_back(by.result == Result::Float32 ? sum : round_to(by.type, sum));
  }
  return y;
}

Tensor reduced(DType type, const Tensor& x) {
  Tensor result(type, x.shape());
  narrow(type, x.data<float>(), result.data<uint16_t>(), x.numel());
  return result;
}

void check_affine(const RoundedAffine& by, const Tensor& x, const Tensor& scale, const Tensor& shift) {
  const TensorSpec output{by.result == Result::Reduced ? by.type : DType::Float32, x.shape()};
  const Tensor read = by.reduced_x ? reduced(by.type, x) : x;
  const PlainCase plain_case = row_case([by] { return rounded_affine_row(by); }, {read, scale, shift}, output);
  const std::vector<float> expected = affine(by, x, scale, shift);
  for_each_isa([&] {
    for (const size_t threads : {0, 3}) {
      const Tensor y = run_kernel(plain_case, threads);
      for (size_t i = 0; i < y.numel(); ++i) {
        const float actual =
            by.result == Result::Reduced ? decoded(by.type, y.data<uint16_t>()[i]) : y.data<float>()[i];
        const bool is_bound = actual == 0 && expected[i] == 0 && by.min == 0; // the larger of -0 and 0 is either
        ASSERT_TRUE(is_bound || same(actual, expected[i]))
            << isa_name() << ": " << x.shape().to_string() << "[" << i << "] with " << name_of(by.type) << " is "
            << actual << ", must be " << expected[i];
      }
    }
  });
}

void check_all(const Tensor& x, const Tensor& scale, const Tensor& shift) {
  for (const DType type : {DType::BFloat16, DType::Float16}) {
    for (const Result result : {Result::Float32, Result::Rounded, Result::Reduced}) {
      for (const bool reduced_x : {false, true}) {
        check_affine({type, reduced_x, -kInfinity, kInfinity, result}, x, scale, shift);
        check_affine({type, reduced_x, 0, 6, result}, x, scale, shift);
        check_affine({type, reduced_x, -1.2345678f, kInfinity, result}, x, scale, shift);
      }
    }
  }
}

TEST(RoundedAffineTest, RoundsAtEachStep) {
  for (const size_t size : {0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 259, 1025}) {
    check_all(some_operand({size}, 1), some_operand({size}, 2), some_operand({size}, 3));
  }
}

// A batch norm of images with their channels last, and with their channels first, as few of them are.
TEST(RoundedAffineTest, BroadcastsItsScaleAndShift) {
  for (const size_t size : {1, 3, 19, 40, 600}) {
    check_all(some_operand({37, size}, 4), some_operand({size}, 5), some_operand({size}, 6));
    check_all(some_operand({5, size}, 7), some_operand({5, 1}, 8), some_operand({5, 1}, 9));
  }
  check_all(some_operand({3, 17}, 1), floats({}, {1.5f}), some_operand({17}, 2));
  check_all(some_operand({20000}, 1), floats({}, {-0.75f}), floats({}, {0.0f}));
}

// As most tensors are, which instructions that know no denormal numbers can round.
TEST(RoundedAffineTest, TakesOrdinaryNumbersAndFewDenormalOnes) {
  for (const size_t size : {31, 32, 33, 95, 512, 544, 1024, 2049}) {
    Tensor x = random_floats({3, size}, -4, 4);
    const Tensor scale = random_floats({size}, -2, 2), shift = random_floats({size}, -1, 1);
    check_all(x, scale, shift);
    x.data<float>()[size / 2] = 3e-40f;
    Tensor no_shift = shift;
    no_shift.data<float>()[size / 2] = 0;
    check_all(x, scale, no_shift);
    Tensor small = scale; // only the result is denormal
    x.data<float>()[size / 2] = 1;
    small.data<float>()[size / 2] = 5e-39f;
    check_all(x, small, no_shift);
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
