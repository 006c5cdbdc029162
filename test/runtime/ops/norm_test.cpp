// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <limits>

#include "op_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

OpCase layer_norm(uint8_t axes, float epsilon, std::vector<Operand> operands) {
  const auto attributes = [&](Builder& builder) { return schema::CreateLayerNorm(builder, axes, epsilon); };
  return OpCase(attributes, std::move(operands));
}

const Operand kX = tensor({2, 3, 4});

TEST(LayerNorm, HasTheShapeOfItsInput) {
  expect_shape(layer_norm(1, 1e-5f, {kX}), {2, 3, 4});
  expect_shape(layer_norm(2, 0, {kX, weight({3, 4}), weight({3, 4})}), {2, 3, 4});
  expect_shape(layer_norm(1, 1e-5f, {kX, absent(), weight({4})}), {2, 3, 4});
  expect_shape(layer_norm(3, 1e-5f, {kX, tensor({2, 3, 4}), absent()}), {2, 3, 4});
  expect_shape(layer_norm(1, 1e-5f, {tensor({0, 4}), weight({4})}), {0, 4});
}

TEST(LayerNorm, Refuses) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  expect_refused(layer_norm(0, 1e-5f, {kX}), "normalizes over 0 of 3 axes");
  expect_refused(layer_norm(4, 1e-5f, {kX}), "normalizes over 4 of 3 axes");
  expect_refused(layer_norm(1, 1e-5f, {tensor({})}), "normalizes over 1 of 0 axes");
  expect_refused(layer_norm(1, nan, {kX}), "epsilon is nan");
  expect_refused(layer_norm(1, inf, {kX}), "epsilon is inf");
  expect_refused(layer_norm(1, -1, {kX}), "epsilon is -1");
  expect_refused(layer_norm(1, 1e-5f, {kX, weight({3})}), "input 1 is Float32[3], must have shape [4]");
  expect_refused(layer_norm(2, 1e-5f, {kX, absent(), weight({12})}), "must have shape [3, 4]");
  expect_refused(layer_norm(1, 1e-5f, {kX, typed(DType::Int32, {4})}), "must be Float32");
  expect_refused(layer_norm(1, 1e-5f, {kX, absent(), absent(), absent()}), "has 4 inputs");
  EXPECT_FALSE(layer_norm(1, 1e-5f, {kX}).in_xnnpack());
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
