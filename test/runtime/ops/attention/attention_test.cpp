// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <limits>

#include "ops/op_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

OpCase attention(std::vector<Operand> operands, float scale = 0.5f) {
  const auto attributes = [&](Builder& builder) { return schema::CreateAttention(builder, scale, false); };
  return OpCase(attributes, std::move(operands));
}

const Operand kQuery = tensor({2, 8, 5, 16});
const Operand kKey = tensor({2, 8, 7, 16});
const Operand kValue = tensor({2, 8, 7, 24});

TEST(Attention, HasOneRowForEachQuery) {
  expect_shape(attention({kQuery, kKey, kValue}), {2, 8, 5, 24});
  expect_shape(attention({tensor({5, 16}), tensor({7, 16}), tensor({7, 24})}), {5, 24});
  expect_shape(attention({kQuery, tensor({2, 2, 7, 16}), tensor({2, 2, 7, 24})}), {2, 8, 5, 24});
  expect_shape(attention({tensor({0, 8, 5, 16}), tensor({0, 8, 7, 16}), tensor({0, 8, 7, 24})}), {0, 8, 5, 24});
}

TEST(Attention, BroadcastsItsMask) {
  for (const Shape& mask : {Shape{5, 7}, Shape{1, 7}, Shape{}, Shape{2, 1, 5, 7}, Shape{2, 8, 5, 7}, Shape{8, 1, 1}}) {
    expect_shape(attention({kQuery, kKey, kValue, tensor(mask)}), {2, 8, 5, 24});
    expect_shape(attention({kQuery, kKey, kValue, typed(DType::Bool, mask)}), {2, 8, 5, 24});
  }
  expect_shape(attention({kQuery, kKey, kValue, absent()}), {2, 8, 5, 24});
}

TEST(Attention, Refuses) { // Robustness: N18
  expect_refused(attention({kQuery, kKey}), "has 2 inputs");
  expect_refused(attention({kQuery, kKey, kValue}, std::numeric_limits<float>::quiet_NaN()), "scale is nan");
  expect_refused(attention({typed(DType::Bool, {2, 8, 5, 16}), kKey, kValue}), "input 0 is Bool");
  expect_refused(attention({tensor({16}), tensor({16}), tensor({16})}), "do not match");
  expect_refused(attention({kQuery, tensor({2, 8, 7, 15}), kValue}), "do not match");
  expect_refused(attention({kQuery, kKey, tensor({2, 8, 6, 24})}), "do not match");
  expect_refused(attention({kQuery, tensor({1, 8, 7, 16}), tensor({1, 8, 7, 24})}), "do not match");
  expect_refused(attention({kQuery, tensor({2, 3, 7, 16}), tensor({2, 3, 7, 24})}), "do not match");
  expect_refused(attention({kQuery, tensor({2, 0, 7, 16}), tensor({2, 0, 7, 24})}), "do not match");
  expect_refused(attention({kQuery, tensor({2, 4, 7, 16}), tensor({2, 2, 7, 24})}), "do not match");
  expect_refused(attention({kQuery, tensor({8, 7, 16}), tensor({8, 7, 24})}), "do not match");
  expect_refused(attention({kQuery, kKey, kValue, typed(DType::Int64, {5, 7})}), "mask is Int64[5, 7]");
  expect_refused(attention({kQuery, kKey, kValue, tensor({5, 8})}), "mask Float32[5, 8] does not broadcast");
  expect_refused(attention({kQuery, kKey, kValue, tensor({3, 2, 8, 5, 7})}), "does not broadcast");
  expect_refused(attention({tensor({1, 16}), tensor({7, 16}), tensor({7, 24}), tensor({5, 7})}), "does not broadcast");
}

OpCase cached(std::vector<Operand> operands, bool causal, int64_t start, bool by_token) {
  const auto attributes = [=](Builder& builder) {
    const schema::Size first(start);
    return schema::CreateAttention(builder, 0.5f, causal, &first, by_token);
  };
  return OpCase(attributes, std::move(operands));
}

std::vector<Operand> integers() {
  const Operand key = typed(DType::Int8, {2, 7, 4, 16}), value = typed(DType::Int8, {2, 7, 4, 24});
  const Operand scale = tensor({2, 7, 4, 1}), zero_point = typed(DType::Int8, {2, 7, 4, 1});
  return {tensor({2, 5, 8, 16}), key, value, absent(), scale, zero_point, scale, zero_point};
}

TEST(Attention, ReadsCaches) {
  const Operand query = tensor({2, 5, 8, 16}), key = tensor({2, 7, 4, 16}), value = tensor({2, 7, 4, 24});
  expect_shape(cached({query, key, value}, true, 2, true), {2, 5, 8, 24});
  expect_shape(cached({query, key, value, tensor({5, 7})}, false, 0, true), {2, 5, 8, 24});
  expect_shape(cached(integers(), true, 0, true), {2, 5, 8, 24});
  expect_shape(cached({kQuery, kKey, kValue}, true, 1, false), {2, 8, 5, 24});
}

TEST(Attention, RefusesCaches) {
  const Operand query = tensor({2, 5, 8, 16}), key = tensor({2, 7, 4, 16}), value = tensor({2, 7, 4, 24});
  expect_refused(cached({query, key, value}, true, 3, true), "5 rows from position 3 are not among 7 keys");
  expect_refused(cached({query, key, value}, false, 1, true), "or not causal");
  expect_refused(cached({tensor({8, 16}), tensor({7, 16}), tensor({7, 24})}, true, 0, true), "do not match in rank");
  expect_refused(cached({query, key, value}, true, 0, false), "do not match");
  expect_refused(cached({query, key, value, tensor({8, 7})}, false, 0, true), "does not broadcast");
  std::vector<Operand> operands = integers();
  operands[7] = absent();
  expect_refused(cached(operands, true, 0, true), "input 7, a scale or zero point, is missing");
  operands = integers();
  operands[2] = value;
  expect_refused(cached(operands, true, 0, true), "input 2 is Float32");
  operands = integers();
  operands[4] = tensor({2, 7, 4, 16});
  expect_refused(cached(operands, true, 0, true), "input 4");
  operands = integers();
  operands[5] = tensor({2, 7, 4, 1});
  expect_refused(cached(operands, true, 0, true), "input 5 is Float32");
  expect_refused(
      cached({query, key, value, absent(), tensor({2, 7, 4, 1})}, true, 0, true),
      "input 4, a scale or zero point, is not one");
}

OpCase rotary(std::vector<Operand> operands) {
  const auto attributes = [&](Builder& builder) { return schema::CreateRotaryEmbedding(builder, true); };
  return OpCase(attributes, std::move(operands));
}

TEST(RotaryEmbedding, HasTheShapeOfItsInput) {
  expect_shape(rotary({kQuery, tensor({5, 16}), tensor({2, 1, 5, 16})}), {2, 8, 5, 16});
  expect_shape(rotary({kQuery, tensor({16}), kQuery}), {2, 8, 5, 16});
  expect_shape(rotary({tensor({0, 4}), tensor({0, 4}), tensor({1, 4})}), {0, 4});
}

TEST(RotaryEmbedding, Refuses) { // Robustness: N18
  const Operand angles = tensor({5, 16});
  expect_refused(rotary({kQuery, angles}), "has 2 inputs");
  expect_refused(rotary({tensor({}), angles, angles}), "its last axis must have an even size");
  expect_refused(rotary({tensor({5, 15}), tensor({15}), tensor({15})}), "its last axis must have an even size");
  expect_refused(rotary({kQuery, tensor({5, 1}), angles}), "input 1 is Float32[5, 1], which does not fit");
  expect_refused(rotary({kQuery, angles, tensor({})}), "input 2 is Float32[], which does not fit");
  expect_refused(rotary({kQuery, angles, tensor({4, 16})}), "does not fit");
  expect_refused(rotary({tensor({16}), angles, angles}), "does not fit");
  expect_refused(rotary({kQuery, typed(DType::Int32, {16}), angles}), "must be Float32");
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
