// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "ops/op_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::RecurrentKind;

OpCase recurrent(RecurrentKind kind, std::vector<Operand> operands, size_t num_outputs = 0) {
  const auto attributes = [&](Builder& builder) { return schema::CreateRecurrent(builder, kind); };
  const size_t made = kind == RecurrentKind::Lstm ? 3 : 2;
  return OpCase(attributes, std::move(operands), {}, num_outputs == 0 ? made : num_outputs);
}

const Operand kX = tensor({7, 2, 12});

TEST(Recurrent, Shapes) {
  expect_types(
      recurrent(RecurrentKind::Lstm, {kX, weight({12, 3})}), {"Float32[7, 2, 3]", "Float32[2, 3]", "Float32[2, 3]"});
  expect_types(
      recurrent(RecurrentKind::Lstm, {kX, weight({12, 5}), absent(), tensor({2, 5}), tensor({2, 3}), weight({5, 3})}),
      {"Float32[7, 2, 5]", "Float32[2, 5]", "Float32[2, 3]"});
  expect_types(
      recurrent(RecurrentKind::Gru, {kX, weight({12, 4}), weight({12}), tensor({2, 4})}),
      {"Float32[7, 2, 4]", "Float32[2, 4]"});
  expect_types(recurrent(RecurrentKind::Relu, {kX, weight({12, 12})}), {"Float32[7, 2, 12]", "Float32[2, 12]"});
  expect_types(
      recurrent(RecurrentKind::Tanh, {tensor({0, 0, 4}), weight({4, 4})}), {"Float32[0, 0, 4]", "Float32[0, 4]"});
}

TEST(Recurrent, Refuses) {
  const Operand w = weight({12, 3});
  expect_refused(recurrent(RecurrentKind::Lstm, {kX}), "has 1 inputs");
  expect_refused(recurrent(RecurrentKind::Lstm, {kX, w}, 2), "has 2 outputs, but the operator makes 3");
  expect_refused(recurrent(RecurrentKind::Gru, {kX, weight({12, 4})}, 1), "has 1 outputs, but the operator makes 2");
  expect_refused(recurrent(RecurrentKind::Lstm, {tensor({2, 12}), w}), "must have rank 3");
  expect_refused(recurrent(RecurrentKind::Lstm, {kX, weight({12})}), "must have rank 2");
  expect_refused(recurrent(RecurrentKind::Lstm, {kX, weight({16, 4})}), "do not match");
  expect_refused(recurrent(RecurrentKind::Lstm, {tensor({7, 2, 13}), weight({13, 3})}), "do not match");
  expect_refused(recurrent(RecurrentKind::Lstm, {tensor({7, 2, 0}), weight({0, 3})}), "do not match");
  expect_refused(recurrent(RecurrentKind::Tanh, {kX, weight({12, 0})}), "do not match");
  expect_refused(recurrent(RecurrentKind::Lstm, {kX, w, weight({3})}), "must have shape [12]");
  expect_refused(recurrent(RecurrentKind::Lstm, {kX, w, absent(), tensor({3, 2})}), "must have shape [2, 3]");
  expect_refused(recurrent(RecurrentKind::Lstm, {kX, w, absent(), absent(), tensor({2, 4})}), "must have shape [2, 3]");
  expect_refused(recurrent(RecurrentKind::Lstm, {kX, weight({12, 5})}), "needs a projection");
  expect_refused(
      recurrent(RecurrentKind::Lstm, {kX, weight({12, 5}), absent(), absent(), absent(), weight({3, 5})}),
      "must have shape [5, 3]");
  expect_refused(
      recurrent(RecurrentKind::Gru, {kX, weight({12, 4}), absent(), absent(), tensor({2, 4})}), "has 5 inputs");
  expect_refused(recurrent(RecurrentKind::Lstm, {typed(DType::Int32, {7, 2, 12}), w}), "must be Float32");
  const size_t huge = size_t{1} << 36;
  expect_refused(recurrent(RecurrentKind::Tanh, {tensor({0, huge, 16}), weight({16, 16})}), "Float32");
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
