// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <limits>

#include "ops/op_test.h"

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
  expect_refused(layer_norm(0, 1e-5f, {kX}), "it cannot normalize over 0 of 3 axes");
  expect_refused(layer_norm(4, 1e-5f, {kX}), "it cannot normalize over 4 of 3 axes");
  expect_refused(layer_norm(1, 1e-5f, {tensor({})}), "it cannot normalize over 1 of 0 axes");
  expect_refused(layer_norm(1, nan, {kX}), "epsilon is nan");
  expect_refused(layer_norm(1, inf, {kX}), "epsilon is inf");
  expect_refused(layer_norm(1, -1, {kX}), "epsilon is -1");
  expect_refused(layer_norm(1, 1e-5f, {kX, weight({3})}), "input 1 is Float32[3], but must have shape [4]");
  expect_refused(layer_norm(2, 1e-5f, {kX, absent(), weight({12})}), "must have shape [3, 4]");
  expect_refused(layer_norm(1, 1e-5f, {kX, typed(DType::Int32, {4})}), "must be Float32");
  expect_refused(layer_norm(1, 1e-5f, {kX, absent(), absent(), absent()}), "has 4 inputs");
  EXPECT_FALSE(layer_norm(1, 1e-5f, {kX}).in_xnnpack());
}

TEST(LayerNorm, MakesStatistics) {
  const auto attributes = [](Builder& builder) { return schema::CreateLayerNorm(builder, 2, 1e-5f); };
  expect_types(OpCase(attributes, {kX}, {}, 3), {"Float32[2, 3, 4]", "Float32[2, 1, 1]", "Float32[2, 1, 1]"});
  expect_refused(OpCase(attributes, {kX}, {}, 2), "has 2 outputs");
}

OpCase rms_norm(uint8_t axes, float epsilon, std::vector<Operand> operands) {
  const auto attributes = [&](Builder& builder) { return schema::CreateRmsNorm(builder, axes, epsilon); };
  return OpCase(attributes, std::move(operands));
}

TEST(RmsNorm, HasTheShapeOfItsInput) {
  expect_shape(rms_norm(1, 1e-5f, {kX}), {2, 3, 4});
  expect_shape(rms_norm(2, 0, {kX, weight({3, 4})}), {2, 3, 4});
  expect_shape(rms_norm(1, 0, {tensor({0, 4}), weight({4})}), {0, 4});
}

TEST(RmsNorm, Refuses) {
  expect_refused(rms_norm(0, 1e-5f, {kX}), "it cannot normalize over 0 of 3 axes");
  expect_refused(rms_norm(4, 1e-5f, {kX}), "it cannot normalize over 4 of 3 axes");
  expect_refused(rms_norm(1, -1, {kX}), "epsilon is -1");
  expect_refused(rms_norm(1, 1e-5f, {kX, weight({3})}), "must have shape [4]");
  expect_refused(rms_norm(1, 1e-5f, {typed(DType::Int32, {4})}), "must be Float32");
  expect_refused(rms_norm(1, 1e-5f, {kX, absent(), absent()}), "has 3 inputs");
}

OpCase group_norm(
    uint8_t axis, uint32_t groups, std::vector<Operand> operands, float epsilon = 1e-5f, size_t num_outputs = 1) {
  const auto attributes = [&](Builder& builder) { return schema::CreateGroupNorm(builder, axis, groups, epsilon); };
  return OpCase(attributes, std::move(operands), {}, num_outputs);
}

TEST(GroupNorm, HasTheShapeOfItsInput) {
  expect_shape(group_norm(1, 3, {tensor({2, 6, 4, 5}), weight({6}), weight({6})}), {2, 6, 4, 5});
  expect_shape(group_norm(3, 6, {tensor({2, 4, 5, 6}), absent(), weight({6})}), {2, 4, 5, 6});
  expect_shape(group_norm(1, 2, {tensor({0, 6})}), {0, 6});
  expect_types(group_norm(2, 2, {tensor({3, 5, 6})}, 1e-5f, 3), {"Float32[3, 5, 6]", "Float32[3, 2]", "Float32[3, 2]"});
}

TEST(GroupNorm, Refuses) {
  const Operand x = tensor({2, 6, 4});
  expect_refused(group_norm(0, 2, {x}), "it cannot normalize 2 groups on axis 0");
  expect_refused(group_norm(3, 2, {x}), "it cannot normalize 2 groups on axis 3");
  expect_refused(group_norm(1, 2, {tensor({6})}), "it cannot normalize 2 groups on axis 1");
  expect_refused(group_norm(1, 0, {x}), "it cannot normalize 0 groups");
  expect_refused(group_norm(1, 4, {x}), "it cannot normalize 4 groups");
  expect_refused(group_norm(1, 2, {x}, std::numeric_limits<float>::quiet_NaN()), "epsilon is nan");
  expect_refused(group_norm(1, 2, {x, weight({4})}), "must have shape [6]");
  expect_refused(group_norm(1, 2, {x, absent(), weight({4})}), "must have shape [6]");
  expect_refused(group_norm(1, 2, {typed(DType::Int64, {2, 6})}), "must be Float32");
  expect_refused(group_norm(1, 2, {x}, 1e-5f, 2), "has 2 outputs");
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
