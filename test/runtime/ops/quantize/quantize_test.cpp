// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "graph_def.h"
#include "ops/op_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

OpCase quantize(DType dtype, int32_t min, int32_t max, std::vector<Operand> operands) {
  const auto attributes = [&](Builder& builder) { return schema::CreateQuantize(builder, to_schema(dtype), min, max); };
  return OpCase(attributes, std::move(operands));
}

OpCase dequantize(std::vector<Operand> operands) {
  return OpCase([](Builder& builder) { return schema::CreateDequantize(builder); }, std::move(operands));
}

const Operand kX = tensor({4, 6});
const Operand kScale = tensor({});
const Operand kZeroPoint = typed(DType::Int32, {});

TEST(Quantize, MakesIntegersOfTheShapeOfItsInput) {
  expect_types(quantize(DType::Int8, -128, 127, {kX, kScale, kZeroPoint}), {"Int8[4, 6]"});
  expect_types(quantize(DType::UInt8, 0, 255, {kX, kScale, kZeroPoint}), {"UInt8[4, 6]"});
  for (const Shape& scale : {Shape{1, 1}, Shape{4, 1}, Shape{2, 3}, Shape{4, 6}}) {
    const std::vector<Operand> operands{kX, tensor(scale), typed(DType::Int32, scale)};
    expect_types(quantize(DType::Int8, -7, 7, operands), {"Int8[4, 6]"});
  }
  const std::vector<Operand> empty{tensor({0, 6}), tensor({0, 1}), typed(DType::Int32, {0, 1})};
  expect_types(quantize(DType::Int8, 0, 0, empty), {"Int8[0, 6]"});
}

TEST(Quantize, Refuses) {
  expect_refused(quantize(DType::Int8, -128, 127, {kX, kScale}), "has 2 inputs");
  expect_refused(quantize(DType::Int32, -128, 127, {kX, kScale, kZeroPoint}), "not Int8 or UInt8");
  expect_refused(quantize(static_cast<DType>(99), 0, 1, {kX, kScale, kZeroPoint}), "to dtype 99");
  expect_refused(quantize(DType::Int8, -129, 127, {kX, kScale, kZeroPoint}), "a range of -129 to 127 of Int8");
  expect_refused(quantize(DType::Int8, -128, 128, {kX, kScale, kZeroPoint}), "a range of -128 to 128 of Int8");
  expect_refused(quantize(DType::UInt8, -1, 127, {kX, kScale, kZeroPoint}), "a range of -1 to 127 of UInt8");
  expect_refused(quantize(DType::Int8, 5, 4, {kX, kScale, kZeroPoint}), "a range of 5 to 4");
  expect_refused(quantize(DType::Int8, 0, 1, {typed(DType::Int32, {4}), kScale, kZeroPoint}), "of Int32[4]");
  expect_refused(quantize(DType::Int8, 0, 1, {kX, kScale, kScale}), "zero point Float32[]");
  expect_refused(quantize(DType::Int8, 0, 1, {kX, kZeroPoint, kZeroPoint}), "scale Int32[]");
  expect_refused(quantize(DType::Int8, 0, 1, {kX, tensor({1, 1}), kZeroPoint}), "zero point Int32[]");
  for (const Shape& scale : {Shape{1}, Shape{3, 1}, Shape{1, 12}, Shape{0, 1}, Shape{1, 1, 1}}) {
    const std::vector<Operand> operands{kX, tensor(scale), typed(DType::Int32, scale)};
    expect_refused(quantize(DType::Int8, 0, 1, operands), "a scale of shape");
  }
}

TEST(Dequantize, MakesFloats) {
  for (const DType dtype : {DType::Int8, DType::UInt8, DType::Int32}) {
    expect_types(dequantize({typed(dtype, {4, 6}), kScale, kZeroPoint}), {"Float32[4, 6]"});
  }
}

TEST(Dequantize, Refuses) {
  expect_refused(dequantize({typed(DType::Int64, {4}), kScale, kZeroPoint}), "of Int64[4]");
  expect_refused(dequantize({kX, kScale, kZeroPoint}), "of Float32[4, 6]");
  expect_refused(dequantize({typed(DType::Int8, {4}), tensor({3}), typed(DType::Int32, {3})}), "a scale of shape [3]");
  expect_refused(dequantize({typed(DType::Int8, {4}), kScale}), "has 2 inputs");
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
