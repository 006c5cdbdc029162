// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/fft/fft.h>

#include <cmath>
#include <complex>
#include <random>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr double kPi = 3.141592653589793;

using Complex = std::complex<double>;

// The `n` complex numbers that are to be transformed, of which `real` and `imag` have one in `inner`.
template <typename T>
std::vector<Complex> numbers(FftTransform transform, const T* real, const T* imag, size_t n, size_t inner) {
  std::vector<Complex> x(n);
  const auto number = [](T value) { return static_cast<double>(value); };
  for (size_t k = 0; k < n; ++k) {
    if (transform == FftTransform::RealToComplex) {
      x[k] = number(real[k * inner]);
    } else if (transform != FftTransform::ComplexToReal) {
      x[k] = Complex(number(real[k * inner]), number(imag[k * inner]));
    } else {
      const size_t at = k <= n / 2 ? k : n - k;
      const Complex given(number(real[at * inner]), at == 0 || 2 * at == n ? 0 : number(imag[at * inner]));
      x[k] = k <= n / 2 ? given : std::conj(given);
    }
  }
  return x;
}

Complex transformed(const std::vector<Complex>& x, size_t k, bool inverse) {
  const size_t n = x.size();
  Complex sum = 0;
  for (size_t j = 0; j < n; ++j) {
    const double angle = 2 * kPi * static_cast<double>(j * k % n) / static_cast<double>(n);
    sum += x[j] * std::polar(1.0, inverse ? angle : -angle);
  }
  return sum;
}

// Compares both results with sums in double precision.
void check_fft(const FftParameters& p) {
  const bool from_real = p.transform == FftTransform::RealToComplex,
             to_real = p.transform == FftTransform::ComplexToReal;
  SCOPED_TRACE(
      "kind " + std::to_string(static_cast<int>(p.transform)) + ", " + std::to_string(p.outer) + " x " +
      std::to_string(p.length) + " x " + std::to_string(p.inner));
  const size_t half = p.length / 2 + 1;
  const Shape x_shape{p.outer, to_real ? half : p.length, p.inner};
  const Shape y_shape{p.outer, from_real && !p.full ? half : p.length, p.inner};
  std::vector<std::optional<Tensor>> inputs{random_floats(x_shape)};
  if (!from_real) {
    inputs.push_back(random_floats(x_shape));
  }
  Tensor real(DType::Float32, y_shape), imag(DType::Float32, y_shape);
  const bool inverse = to_real || p.transform == FftTransform::Inverse;
  double largest = 0;
  for (size_t row = 0; row < p.outer * p.inner; ++row) {
    const size_t x_at = row / p.inner * x_shape[1] * p.inner + row % p.inner;
    const size_t y_at = row / p.inner * y_shape[1] * p.inner + row % p.inner;
    const std::vector<Complex> x =
        numbers(p.transform, inputs[0]->data<float>() + x_at, inputs.back()->data<float>() + x_at, p.length, p.inner);
    for (size_t k = 0; k < y_shape[1]; ++k) {
      const Complex sum = p.scale * transformed(x, k, inverse);
      real.data<float>()[y_at + k * p.inner] = static_cast<float>(sum.real());
      imag.data<float>()[y_at + k * p.inner] = static_cast<float>(sum.imag());
      largest = std::max(largest, std::abs(sum));
    }
  }
  std::vector<TensorSpec> outputs{real.type};
  if (!to_real) {
    outputs.push_back(imag.type);
  }
  PlainCase fft = plain_case<Fft<float>>(p, inputs, outputs);
  const Tolerance tolerance{static_cast<float>(largest * 1e-6), 0};
  check_kernel(fft, real, tolerance);
  if (!to_real) {
    fft.checked = 1;
    check_kernel(fft, imag, tolerance);
  }
}

constexpr FftTransform kTransforms[] = {
    FftTransform::Complex, FftTransform::Inverse, FftTransform::RealToComplex, FftTransform::ComplexToReal};

TEST(FftKernel, Lengths) {
  for (const size_t length :
       {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 25, 30, 31, 32, 33, 64, 100, 121, 400}) {
    for (const FftTransform transform : kTransforms) {
      check_fft({transform, 1, length, 1});
      check_fft({transform, 9, length, 1});
    }
  }
}

TEST(FftKernel, LargePrimeFactors) {
  for (const size_t length : {37, 74, 97, 101, 202, 211, 401}) {
    for (const FftTransform transform : kTransforms) {
      check_fft({transform, 1, length, 1});
      check_fft({transform, 3, length, 3});
    }
  }
}

TEST(FftKernel, RowsAndAxes) {
  for (const FftTransform transform : kTransforms) {
    for (const size_t rows : {1, 2, 3, 7, 8, 9, 17}) {
      check_fft({transform, rows, 12, 1});
      check_fft({transform, 1, 12, rows});
      check_fft({transform, rows, 9, 3, 0.25f});
    }
    check_fft({transform, 300, 64, 1}); // divided over threads
    check_fft({transform, 3, 64, 130});
    check_fft({transform, 0, 5, 3});
    check_fft({transform, 3, 5, 0});
  }
}

TEST(FftKernel, AllElementsOfRealNumbers) {
  for (const size_t length : {1, 2, 3, 8, 9, 30, 74, 97}) {
    check_fft({FftTransform::RealToComplex, 5, length, 1, 1, true});
    check_fft({FftTransform::RealToComplex, 1, length, 2, 0.5f, true});
  }
}

TEST(FftKernel, OneRowDoesNotSpoilAnother) {
  Tensor x = random_floats({9, 16});
  x.data<float>()[3] = kNaN;
  const FftParameters p{FftTransform::RealToComplex, 9, 16, 1};
  const Tensor y = run_kernel(plain_case<Fft<float>>(p, {x}, {{DType::Float32, {9, 9}}, {DType::Float32, {9, 9}}}));
  for (size_t i = 0; i < y.numel(); ++i) {
    EXPECT_EQ(std::isnan(y.data<float>()[i]), i < 9) << i;
  }
}

TEST(FftKernel, LengthsThatChange) {
  Fft<float> fft;
  for (const size_t length : {8, 9, 8, 74, 37, 16, 1, 16}) {
    SCOPED_TRACE(length);
    auto scratch = fft.reshape({FftTransform::RealToComplex, 4, length, 1}, 1);
    ASSERT_TRUE(scratch.ok()) << scratch.status().message();
    StatusOr<Buffer> memory = Buffer::allocate(*scratch);
    ASSERT_TRUE(memory.ok());
    const std::vector<float> x(4 * length, 1.0f);
    std::vector<float> real(4 * (length / 2 + 1)), imag(real.size());
    const void* const inputs[] = {x.data()};
    void* const outputs[] = {real.data(), imag.data()};
    Status status;
    fft.run({{inputs, 1}, {outputs, 2}, memory->data(), nullptr, &status});
    for (size_t i = 0; i < real.size(); ++i) {
      const float expected = i % (length / 2 + 1) == 0 ? static_cast<float>(length) : 0.0f;
      EXPECT_NEAR(real[i], expected, 1e-4f) << i;
      EXPECT_NEAR(imag[i], 0.0f, 1e-4f) << i;
    }
  }
}

TEST(FftKernel, Doubles) {
  Fft<double> fft;
  for (const size_t length : {1, 2, 3, 4, 8, 9, 30, 31, 37, 64, 74, 97, 100, 401}) {
    for (const FftTransform transform : kTransforms) {
      SCOPED_TRACE(std::to_string(length) + " of kind " + std::to_string(static_cast<int>(transform)));
      const bool from_real = transform == FftTransform::RealToComplex,
                 to_real = transform == FftTransform::ComplexToReal;
      const size_t half = length / 2 + 1, rows = 3, inner = 2;
      const size_t x_length = to_real ? half : length, y_length = from_real ? half : length;
      auto scratch = fft.reshape({transform, rows, length, inner, 0.25}, 1);
      ASSERT_TRUE(scratch.ok()) << scratch.status().message();
      StatusOr<Buffer> memory = Buffer::allocate(*scratch);
      ASSERT_TRUE(memory.ok());
      std::vector<double> x[2], y[2];
      std::mt19937 random(static_cast<uint32_t>(length));
      for (size_t part = 0; part < 2; ++part) {
        y[part].resize(rows * y_length * inner);
        for (size_t i = 0; i < rows * x_length * inner; ++i) {
          x[part].push_back(std::uniform_real_distribution<double>(-1, 1)(random));
        }
      }
      const void* const inputs[] = {x[0].data(), x[1].data()};
      void* const outputs[] = {y[0].data(), y[1].data()};
      Status status;
      fft.run(
          {{inputs, from_real ? size_t{1} : 2}, {outputs, to_real ? size_t{1} : 2}, memory->data(), nullptr, &status});
      for (size_t row = 0; row < rows * inner; ++row) {
        const size_t x_at = row / inner * x_length * inner + row % inner;
        const size_t y_at = row / inner * y_length * inner + row % inner;
        const std::vector<Complex> given = numbers(transform, &x[0][x_at], &x[1][x_at], length, inner);
        for (size_t k = 0; k < y_length; ++k) {
          const Complex sum = 0.25 * transformed(given, k, to_real || transform == FftTransform::Inverse);
          EXPECT_NEAR(y[0][y_at + k * inner], sum.real(), 1e-13 * static_cast<double>(length)) << row << ", " << k;
          if (!to_real) {
            EXPECT_NEAR(y[1][y_at + k * inner], sum.imag(), 1e-13 * static_cast<double>(length)) << row << ", " << k;
          }
        }
      }
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
