// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <limits>

#include "ops/op_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::Clamp;
using schema::QParamsKind;

OpCase product(
    uint8_t bits, std::vector<Operand> operands, bool dynamic_quantization = false, const Clamp* clamp = nullptr) {
  const auto attributes = [&](Builder& builder) {
    return schema::CreateQuantizedLinear(builder, bits, dynamic_quantization, clamp);
  };
  return OpCase(attributes, std::move(operands));
}

Operand constant(DType dtype, const Shape& shape) {
  return {TensorType{dtype, shape}, true, {}};
}

const Operand kX = tensor({3, 64});
const Operand kWeight = constant(DType::Int8, {5, 64});
const Operand kWeight4 = constant(DType::UInt8, {5, 32});

TEST(QuantizedLinear, MakesColumns) {
  expect_shape(product(8, {kX, kWeight, weight({5, 1})}), {3, 5});
  expect_shape(product(8, {tensor({64}), kWeight, weight({5, 4}), weight({5})}), {5});
  expect_shape(product(4, {tensor({0, 2, 64}), kWeight4, weight({5, 2})}, true), {0, 2, 5});
  expect_shape(product(4, {kX, kWeight4, weight({5, 32}), absent(), constant(DType::Int32, {5, 32})}), {3, 5});
}

TEST(QuantizedLinear, RunsInXnnpackWhereThatHasIt) {
  const auto rounded = [](uint8_t bits, std::vector<Operand> operands) { return product(bits, operands, true); };
  EXPECT_TRUE(rounded(8, {kX, kWeight, weight({5, 1}), weight({5})}).in_xnnpack());
  EXPECT_TRUE(rounded(4, {kX, kWeight4, weight({5, 1})}).in_xnnpack());
  EXPECT_TRUE(rounded(4, {kX, kWeight4, weight({5, 2})}).in_xnnpack());
  EXPECT_FALSE(rounded(8, {kX, kWeight, weight({5, 2})}).in_xnnpack());
  EXPECT_FALSE(rounded(4, {kX, kWeight4, weight({5, 4})}).in_xnnpack()) << "groups of 16";
  EXPECT_FALSE(rounded(8, {kX, kWeight, tensor({5, 1})}).in_xnnpack()) << "a scale that is no constant";
  const Operand zero_point = constant(DType::Int32, {5, 1});
  EXPECT_FALSE(rounded(8, {kX, kWeight, weight({5, 1}), absent(), zero_point}).in_xnnpack());
  EXPECT_FALSE(rounded(8, {tensor({0, 64}), kWeight, weight({5, 1})}).in_xnnpack());
}

TEST(QuantizedLinear, OfFloatsRunsInOurKernels) {
  EXPECT_FALSE(product(8, {kX, kWeight, weight({5, 1}), weight({5})}).in_xnnpack());
  EXPECT_FALSE(product(4, {kX, kWeight4, weight({5, 1})}).in_xnnpack());
  EXPECT_FALSE(product(4, {kX, kWeight4, weight({5, 2})}).in_xnnpack());
}

TEST(QuantizedLinear, Refuses) { // Robustness: V11 Q7
  const Clamp clamp(2, 1);
  expect_refused(product(8, {kX, kWeight}), "has 2 inputs");
  expect_refused(product(8, {kX, kWeight, weight({5, 1}), weight({5}), kX, kX}), "has 6 inputs");
  expect_refused(product(8, {kX, kWeight, weight({5, 1})}, false, &clamp), "clamps to [2, 1]");
  expect_refused(product(3, {kX, kWeight, weight({5, 1})}), "weights of 3 bits");
  expect_refused(product(0, {kX, kWeight, weight({5, 1})}), "weights of 0 bits");
  expect_refused(product(8, {kX, constant(DType::Int8, {64}), weight({5, 1})}), "rank 2");
  expect_refused(product(8, {kX, kWeight, weight({5})}), "rank 2");
  expect_refused(product(8, {tensor({}), kWeight, weight({5, 1})}), "input 0 is Float32[]");
  expect_refused(product(8, {tensor({3, 0}), constant(DType::Int8, {5, 0}), weight({5, 1})}), "input 0 is");
  expect_refused(product(8, {typed(DType::Float16, {3, 64}), kWeight, weight({5, 1})}), "input 0 is Float16");
  expect_refused(product(8, {kX, kWeight, weight({5, 0})}), "0 groups");
  expect_refused(product(8, {kX, kWeight, weight({5, 3})}), "3 groups of 64");
  expect_refused(product(4, {kX, kWeight4, weight({5, 64})}), "64 groups of 64 weights of 4 bits");
  expect_refused(product(8, {kX, constant(DType::Int8, {5, 63}), weight({5, 1})}), "must be Int8[5, 64]");
  expect_refused(product(8, {kX, constant(DType::UInt8, {5, 64}), weight({5, 1})}), "must be Int8");
  expect_refused(product(4, {kX, kWeight, weight({5, 1})}), "must be UInt8[5, 32]");
  expect_refused(product(8, {kX, kWeight, weight({4, 1})}), "must be Float32[5, 1]");
  expect_refused(product(8, {kX, kWeight, constant(DType::Int32, {5, 1})}), "must be Float32");
  expect_refused(product(8, {kX, kWeight, weight({5, 1}), weight({4})}), "must be Float32[5]");
  expect_refused(product(8, {kX, kWeight, weight({5, 1}), absent(), weight({5, 1})}), "must be Int32[5, 1]");
  expect_refused(product(8, {kX, kWeight, weight({5, 2}), absent(), constant(DType::Int32, {5, 1})}), "must be Int32");
}

OpCase choose(int32_t min, int32_t max, uint8_t axes, Operand x, float epsilon = 1e-6f, QParamsKind kind = {}) {
  const auto attributes = [=](Builder& builder) {
    return schema::CreateChooseQParams(builder, kind, axes, min, max, epsilon);
  };
  return OpCase(attributes, {std::move(x)}, {}, 2);
}

TEST(ChooseQParams, MakesOneOfEachRow) {
  expect_types(choose(-128, 127, 1, kX), {"Float32[3, 1]", "Int32[3, 1]"});
  expect_types(choose(0, 255, 0, kX), {"Float32[3, 64]", "Int32[3, 64]"});
  expect_types(choose(0, 255, 2, kX), {"Float32[1, 1]", "Int32[1, 1]"});
  expect_types(choose(0, 255, 1, tensor({2, 0})), {"Float32[2, 1]", "Int32[2, 1]"});
  expect_types(choose(0, 255, 0, tensor({})), {"Float32[]", "Int32[]"});
}

TEST(ChooseQParams, Refuses) { // Robustness: Q8
  expect_refused(choose(-128, 127, 3, kX), "3 axes of rank 2");
  expect_refused(choose(-128, -128, 1, kX), "a range of -128 to -128");
  expect_refused(choose(INT32_MIN, INT32_MAX, 1, kX), "a range");
  expect_refused(choose(-128, 127, 1, typed(DType::Int32, {3})), "must be Float32");
  for (const float epsilon :
       {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    expect_refused(choose(-128, 127, 1, kX, epsilon), "epsilon");
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
