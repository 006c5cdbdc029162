// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "ops/op_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::FftKind;
using schema::FftNorm;

OpCase fft(FftKind kind, uint8_t axis, std::vector<Operand> inputs, int64_t length = 0, bool full = false) {
  const auto attributes = [=](Builder& builder) {
    const schema::Size size(length);
    return schema::CreateFft(builder, kind, axis, FftNorm::Unscaled, full, &size);
  };
  return OpCase(attributes, std::move(inputs), {}, kind == FftKind::ComplexToReal ? 1 : 2);
}

TEST(Fft, Shapes) {
  expect_shape(fft(FftKind::Complex, 1, {tensor({2, 5}), tensor({2, 5})}), {2, 5});
  expect_shape(fft(FftKind::Inverse, 0, {tensor({2, 5}), tensor({2, 5})}), {2, 5});
  expect_shape(fft(FftKind::RealToComplex, 1, {tensor({2, 5})}), {2, 3});
  expect_shape(fft(FftKind::RealToComplex, 1, {tensor({2, 6})}), {2, 4});
  expect_shape(fft(FftKind::RealToComplex, 1, {tensor({2, 6})}, 0, true), {2, 6});
  expect_shape(fft(FftKind::ComplexToReal, 1, {tensor({2, 4}), tensor({2, 4})}, 6), {2, 6});
  expect_shape(fft(FftKind::ComplexToReal, 1, {tensor({2, 4}), tensor({2, 4})}, 7), {2, 7});
  expect_shape(fft(FftKind::Complex, 1, {tensor({0, 5}), tensor({0, 5})}), {0, 5});
}

TEST(Fft, Types) {
  const Operand x = typed(DType::Float64, {2, 4});
  expect_types(fft(FftKind::RealToComplex, 1, {x}), {"Float64[2, 3]", "Float64[2, 3]"});
  expect_types(fft(FftKind::Complex, 1, {x, x}), {"Float64[2, 4]", "Float64[2, 4]"});
  expect_types(fft(FftKind::ComplexToReal, 1, {x, x}, 6), {"Float64[2, 6]"});
  expect_refused(fft(FftKind::Complex, 1, {x, tensor({2, 4})}), "must be Float64 like input 0");
}

TEST(Fft, Refuses) {
  const Operand x = tensor({2, 5});
  expect_refused(fft(FftKind::Complex, 1, {x}), "2");
  expect_refused(fft(FftKind::RealToComplex, 1, {x, x}), "1");
  expect_refused(fft(FftKind::Complex, 2, {x, x}), "axis 2 is not below rank 2");
  expect_refused(fft(FftKind::Complex, 0, {tensor({}), tensor({})}), "axis 0 is not below rank 0");
  expect_refused(fft(FftKind::RealToComplex, 1, {typed(DType::Int64, {2, 5})}), "Int64");
  expect_refused(fft(FftKind::Complex, 1, {x, tensor({2, 4})}), "[2, 4]");
  expect_refused(fft(FftKind::Complex, 1, {x, x}, 5), "only a transform to real numbers has a length");
  expect_refused(fft(FftKind::Complex, 1, {x, x}, 0, true), "only a transform of real numbers gives all or half");
  expect_refused(fft(FftKind::RealToComplex, 1, {tensor({2, 0})}), "there is no transform of 0 elements");
  expect_refused(fft(FftKind::ComplexToReal, 1, {x, x}), "there is no transform of 0 elements");
  expect_refused(
      fft(FftKind::ComplexToReal, 1, {x, x}, 7), "5 complex elements are not those of 7 real ones, which are 4");
  expect_refused(fft(FftKind::ComplexToReal, 1, {x, x}, int64_t{1} << 40), "there is no transform of 1099511627776");
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
