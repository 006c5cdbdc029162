// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/simd/reduced_float.h>

#include <algorithm>
#include <cmath>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// The layout of a type with sign and exponent in front.
struct Format {
  DType dtype;
  int exponent_bits;
  int mantissa_bits;

  int bias() const {
    return (1 << (exponent_bits - 1)) - 1;
  }
};

constexpr Format kFormats[] = {{DType::Float16, 5, 10}, {DType::BFloat16, 8, 7}};

float decoded(const Format& format, uint16_t bits) {
  const int mantissa = bits & ((1 << format.mantissa_bits) - 1);
  const int exponent = (bits & 0x7FFF) >> format.mantissa_bits;
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == (1 << format.exponent_bits) - 1) {
    return mantissa == 0 ? sign * kInfinity : kNaN;
  }
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << format.mantissa_bits);
  return sign * std::ldexp(static_cast<float>(whole), std::max(exponent, 1) - format.bias() - format.mantissa_bits);
}

float rounded(const Format& format, float x) {
  if (!std::isfinite(x) || x == 0) {
    return x;
  }
  int exponent = 0;
  std::frexp(x, &exponent);
  const int unit = std::max(exponent - 1, 1 - format.bias()) - format.mantissa_bits;
  const double result = std::ldexp(std::nearbyint(std::ldexp(static_cast<double>(x), -unit)), unit);
  const double limit = std::ldexp(2.0, format.bias());
  return std::fabs(result) >= limit ? std::copysign(kInfinity, x) : static_cast<float>(result);
}

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

std::vector<uint16_t> all_bits() {
  std::vector<uint16_t> bits(1 << 16);
  for (size_t i = 0; i < bits.size(); ++i) {
    bits[i] = static_cast<uint16_t>(i);
  }
  return bits;
}

TEST(ReducedFloatTest, WidensEveryNumber) {
  const std::vector<uint16_t> bits = all_bits();
  std::vector<float> y(bits.size());
  for (const Format& format : kFormats) {
    for_each_isa([&] {
      widen(format.dtype, bits.data(), y.data(), y.size());
      for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_TRUE(same(y[i], decoded(format, bits[i]))) << isa_name() << ": " << i << " is " << y[i];
      }
    });
  }
}

// Of neighbours, the middle between them, and what lies just beside the middle.
TEST(ReducedFloatTest, RoundsToTheNearest) {
  for (const Format& format : kFormats) {
    std::vector<float> x = {65519.996f, 65520, 1e30f, -1e30f, 3.4e38f, 1e-45f, -1e-45f, kInfinity, -kInfinity, kNaN};
    for (const uint16_t bits : all_bits()) {
      const float low = decoded(format, bits), high = decoded(format, static_cast<uint16_t>(bits + 1));
      const float middle = low / 2 + high / 2;
      x.insert(x.end(), {low, middle, std::nextafter(middle, low), std::nextafter(middle, high)});
    }
    std::vector<uint16_t> y(x.size());
    for_each_isa([&] {
      narrow(format.dtype, x.data(), y.data(), y.size());
      for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_TRUE(same(decoded(format, y[i]), rounded(format, x[i])))
            << isa_name() << " " << name_of(format.dtype) << ": " << x[i] << " becomes " << decoded(format, y[i])
            << ", must be " << rounded(format, x[i]);
      }
    });
  }
}

TEST(ReducedFloatTest, StaysInsideItsArrays) {
  for (const Format& format : kFormats) {
    for_each_isa([&] {
      for (size_t count = 0; count < 70; ++count) {
        std::vector<float> x(count, 1.5f), back(count + 1, -1.0f);
        std::vector<uint16_t> y(count + 1, 0x1234);
        narrow(format.dtype, x.data(), y.data(), count);
        widen(format.dtype, y.data(), back.data(), count);
        EXPECT_EQ(y[count], 0x1234);
        EXPECT_EQ(back[count], -1.0f);
        EXPECT_TRUE(std::all_of(back.begin(), back.end() - 1, [](float b) { return b == 1.5f; }));
      }
    });
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
