// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/gemm/fixed_point_product.h>
#include <runtime/kernels/gemm/fixed_point_rows.h>
#include <runtime/kernels/gemm/int4_linear.h>
#include <runtime/kernels/gemm/matmul.h>

#include <array>
#include <cmath>
#include <random>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// What a row is in fixed point.
struct Converted {
  bool fits = false;
  std::vector<double> numbers; // without what fills groups up
  std::vector<double> units; // of each
};

Converted convert(const std::vector<float>& x, const FixedPointDepth& depth, size_t digits) {
  constexpr size_t kFour = 4, kMax = FixedPointRows::kMaxDigits, kRows = 2;
  StatusOr<Buffer> memory = Buffer::allocate(fixed_point_rows_bytes(depth, kRows));
  FixedPointRows rows = place_fixed_point_rows(depth, kRows, memory->data());
  rows.digits = digits;
  Converted converted;
  converted.fits = convert_to_fixed_point(x.data(), rows, 1);
  if (!converted.fits) {
    return converted;
  }
  const int8_t* digit = rows.digit + rows.stride();
  size_t block = depth.blocks();
  for (size_t g = 0; g < depth.groups; ++g) {
    for (size_t first = 0; first < depth.group_size; first += FixedPointDepth::kBlock, ++block) {
      const size_t count = std::min(FixedPointDepth::kBlock, depth.group_size - first);
      std::array<int64_t, kMax> digit_sum{};
      int64_t sum = 0;
      for (size_t k = 0; k < round_up(count, FixedPointDepth::kEight); ++k) {
        const size_t eight = k / 8, half = k % 2, place = k % 8 / 2;
        int64_t number = 0;
        for (size_t d = 0; d < kMax; ++d) {
          const int64_t value = digit[((eight * 2 + half) * kMax + d) * kFour + place];
          EXPECT_TRUE(d < digits || value == 0) << value;
          number += value * (int64_t{1} << (8 * d));
          digit_sum[d] += value;
        }
        sum += number;
        if (k < count) {
          converted.numbers.push_back(static_cast<double>(number) * static_cast<double>(rows.unit[block]));
          converted.units.push_back(static_cast<double>(rows.unit[block]));
        } else {
          EXPECT_EQ(number, 0);
        }
      }
      for (size_t d = 0; d < kMax; ++d) {
        EXPECT_EQ(rows.digit_sum[block * kMax + d], digit_sum[d]);
      }
      EXPECT_EQ(rows.sum[block], static_cast<float>(sum));
      digit += round_up(count, FixedPointDepth::kEight) * kMax;
    }
  }
  return converted;
}

class FixedPoint : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_byte_dot()) {
      GTEST_SKIP() << "this CPU multiplies no bytes";
    }
  }
};

std::vector<float> normal_numbers(size_t count, float scale = 1) {
  std::mt19937 generator(7);
  std::normal_distribution<float> distribution(0, scale);
  std::vector<float> x(count);
  std::generate(x.begin(), x.end(), [&] { return distribution(generator); });
  return x;
}

TEST_F(FixedPoint, NumbersAreThoseOfDigits) {
  for (const size_t digits : {3, 4}) {
    for (const FixedPointDepth& depth :
         std::vector<FixedPointDepth>{{1, 1}, {1, 8}, {3, 32}, {4, 20}, {1, 300}, {2, 129}, {5, 128}, {1, 1000}}) {
      for (const float scale : {1e-20f, 1.0f, 1e30f}) {
        const std::vector<float> x = normal_numbers(depth.groups * depth.group_size, scale);
        const Converted converted = convert(x, depth, digits);
        ASSERT_TRUE(converted.fits);
        ASSERT_EQ(converted.numbers.size(), x.size());
        for (size_t i = 0; i < x.size(); ++i) {
          EXPECT_LE(std::abs(converted.numbers[i] - static_cast<double>(x[i])), 0.5 * converted.units[i]) << i;
        }
      }
    }
  }
}

TEST_F(FixedPoint, LargestAndSmallestNumbers) {
  constexpr float kMax = std::numeric_limits<float>::max(), kMin = std::numeric_limits<float>::denorm_min();
  for (const size_t digits : {3, 4}) {
    for (const float x : {0.0f, -0.0f, 1.0f, -1.0f, 1.9921874f, 1.9921876f, -1.9999999f, kMax, -kMax, 1e-28f}) {
      const Converted converted = convert({x, x, -x, x / 2, 0}, {1, 5}, digits);
      ASSERT_TRUE(converted.fits) << x;
      EXPECT_LE(std::abs(converted.numbers[0] - static_cast<double>(x)), 0.5 * converted.units[0]) << x;
      EXPECT_LE(converted.units[0], std::max(std::abs(static_cast<double>(x)) * 0x1.02p-22, 0x1p-118)) << x;
      EXPECT_EQ(converted.numbers[4], 0);
    }
    EXPECT_FALSE(convert({kMin, kMin, kMin}, {1, 3}, digits).fits);
  }
}

// So they are in models that compute in 16 bits.
TEST_F(FixedPoint, NumbersOf16BitsAreExact) {
  std::vector<float> x = normal_numbers(512);
  const Tensor reduced = rounded(floats({x.size()}, x), DType::BFloat16);
  x.assign(reduced.data<float>(), reduced.data<float>() + x.size());
  for (float& number : x) {
    number = std::abs(number) < 0x1p-11f ? 0 : number;
  }
  const Converted converted = convert(x, {1, x.size()}, 3);
  ASSERT_TRUE(converted.fits);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(converted.numbers[i], static_cast<double>(x[i]));
  }
}

TEST_F(FixedPoint, RefusesWhatItCannotHold) {
  std::vector<float> x = normal_numbers(64);
  EXPECT_TRUE(convert(x, {1, 64}, 3).fits);
  x[20] = 1e4f; // beside which three digits are too few for others
  EXPECT_FALSE(convert(x, {1, 64}, 3).fits);
  EXPECT_TRUE(convert(x, {1, 64}, 4).fits);
  x[20] = 1e8f;
  EXPECT_FALSE(convert(x, {1, 64}, 4).fits);
  std::fill(x.begin(), x.end(), 0.0f);
  x[20] = 1e8f; // nothing is lost
  EXPECT_TRUE(convert(x, {1, 64}, 3).fits);
  for (const float number : {kNaN, kInfinity, -kInfinity}) {
    x[20] = number;
    EXPECT_FALSE(convert(x, {1, 64}, 4).fits) << number;
    x[63] = 1;
    EXPECT_FALSE(convert(x, {1, 64}, 4).fits) << number;
  }
}

// A weight of `columns` x `depth` numbers and what kernel multiplies by it.
struct Weight {
  size_t bits, depth, columns, groups;
  Tensor quantized, scale;

  Weight(size_t bits_of_each, size_t rows_of_it, size_t columns_of_it, size_t groups_of_it)
      : bits(bits_of_each), depth(rows_of_it), columns(columns_of_it), groups(groups_of_it) {
    quantized = Tensor(bits == 4 ? DType::UInt8 : DType::Int8, {columns, depth * bits / 8});
    std::mt19937 generator(3);
    for (size_t i = 0; i < quantized.numel(); ++i) {
      quantized.data<uint8_t>()[i] = static_cast<uint8_t>(generator());
    }
    scale = random_floats({columns, groups}, 0.01f, 0.05f);
  }

  float scale_of(size_t column, size_t k) const {
    return scale.data<float>()[column * groups + k / (depth / groups)];
  }

  int integer(size_t column, size_t k) const {
    const size_t i = column * depth + k;
    if (bits == 8) {
      return quantized.data<int8_t>()[i];
    }
    return (quantized.data<uint8_t>()[i / 2] >> (i % 2 * 4) & 15) - 8;
  }

  PlainCase times(const Tensor& x) const {
    const size_t rows = x.numel() / depth;
    const TensorSpec y{DType::Float32, {rows, columns}};
    if (bits == 4) {
      const Int4LinearParameters p{{rows, depth, columns, groups}};
      return plain_case<Int4Linear>(p, {x, quantized, scale}, {y}, {1, 2});
    }
    LowPrecisionMatMulParameters p;
    p.rows = rows;
    p.depth = depth;
    p.columns = columns;
    p.b_transposed = true;
    p.precision = {DType::Int8, /*rounds_x=*/false, /*fixed_point=*/true};
    p.has_scale_input = true;
    return plain_case<LowPrecisionMatMul>(p, {x, quantized, scale}, {y}, {1});
  }

  // With sums of each group in Float, and of these.
  template <typename Float>
  std::vector<double> product(const Tensor& x) const {
    std::vector<double> y;
    for (size_t row = 0; row < x.numel() / depth; ++row) {
      for (size_t column = 0; column < columns; ++column) {
        Float total = 0;
        for (size_t first = 0; first < depth; first += depth / groups) {
          Float sum = 0;
          for (size_t k = first; k < first + depth / groups; ++k) {
            sum += static_cast<Float>(x.data<float>()[row * depth + k]) * static_cast<Float>(integer(column, k));
          }
          total += sum * static_cast<Float>(scale_of(column, first));
        }
        y.push_back(static_cast<double>(total));
      }
    }
    return y;
  }
};

std::vector<Weight> weights() {
  return {{8, 520, 70, 1}, {4, 520, 70, 1}, {4, 512, 130, 16}, {4, 520, 70, 13}};
}

// The root of mean squares of differences.
double error(const std::vector<double>& y, const std::vector<double>& expected) {
  double sum = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    sum += (y[i] - expected[i]) * (y[i] - expected[i]);
  }
  return std::sqrt(sum / static_cast<double>(expected.size()));
}

TEST_F(FixedPoint, ProductsAreAsExactAsThoseOfFloats) {
  for (const Weight& weight : weights()) {
    for (const size_t rows : {1, 2, 3, 4, 5, 50}) {
      for (const char* const kind :
           {"normal", "positive", "six powers of ten", "one in 100 is 300 times as large", "tiny"}) {
        Tensor x = floats({rows, weight.depth}, normal_numbers(rows * weight.depth));
        for (size_t i = 0; i < x.numel(); ++i) {
          float& number = x.data<float>()[i];
          switch (kind[0]) {
            case 'p':
              number = std::abs(number);
              break;
            case 's':
              number = std::exp(6.9f * number / 3);
              break;
            case 't':
              number *= 1e-29f;
              break;
            case 'o':
              number *= i % 100 == 17 ? 300 : 1;
              break;
            default:
              break;
          }
        }
        const Tensor y = run_kernel(weight.times(x));
        const std::vector<double> expected = weight.product<double>(x);
        const double of_fixed_point = error({y.data<float>(), y.data<float>() + y.numel()}, expected);
        const double of_floats = error(weight.product<float>(x), expected);
        EXPECT_LE(of_fixed_point, 1.5 * of_floats);
      }
    }
  }
}

// Where they cannot be in fixed point, whole calls are computed in floats.
TEST_F(FixedPoint, OtherNumbersAreMultipliedAsFloats) {
  for (const Weight& weight : weights()) {
    for (const size_t rows : {1, 5, 70}) {
      for (const float number : {1e9f, kNaN, kInfinity}) {
        Tensor x = random_floats({rows, weight.depth});
        const size_t row = rows / 2;
        x.data<float>()[row * weight.depth + 77] = number;
        const std::vector<double> expected = weight.product<double>(x);
        Tensor y(DType::Float32, {rows, weight.columns});
        for (size_t i = 0; i < y.numel(); ++i) {
          y.data<float>()[i] = static_cast<float>(expected[i]);
        }
        const Tolerance tolerance{1e-4f * static_cast<float>(weight.bits), 1e-5f};
        check_kernel(weight.times(x), y, tolerance, Isas::WithoutByteDot);
      }
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
