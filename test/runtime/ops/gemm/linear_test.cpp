// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "ops/op_test.h"

#include <limits>
#include <optional>

namespace executorch::backends::et_xnnpack::testing {
namespace {

OpCase linear(std::vector<Operand> operands, std::optional<schema::Clamp> clamp = {}) {
  const auto attributes = [&](Builder& builder) { return schema::CreateLinear(builder, clamp ? &*clamp : nullptr); };
  return OpCase(attributes, std::move(operands));
}

OpCase batch_matmul(Operand a, Operand b, bool transpose_b = false) {
  const auto attributes = [&](Builder& builder) { return schema::CreateBatchMatMul(builder, transpose_b); };
  return OpCase(attributes, {std::move(a), std::move(b)});
}

TEST(Linear, ReplacesTheLastAxis) {
  expect_shape(linear({tensor({3}), weight({5, 3})}), {5});
  expect_shape(linear({tensor({2, 4, 3}), weight({5, 3}), weight({5})}), {2, 4, 5});
  expect_shape(linear({tensor({0, 3}), weight({5, 3})}), {0, 5});
  expect_shape(linear({tensor({2, 0}), weight({5, 0})}), {2, 5});
  expect_shape(linear({tensor({2, 3}), weight({5, 3}), absent()}), {2, 5});
}

TEST(Linear, Refuses) { // Robustness: N3 N5
  expect_refused(linear({tensor({3})}), "has 1 inputs");
  expect_refused(linear({tensor({}), weight({5, 3})}), "does not match weight");
  expect_refused(linear({tensor({4}), weight({5, 3})}), "input [4] does not match weight [5, 3]");
  expect_refused(linear({tensor({3}), weight({5, 3, 1})}), "must have rank 2");
  expect_refused(linear({tensor({3}), weight({5, 3}), weight({3})}), "input 2 is Float32[3], but must have shape [5]");
  expect_refused(linear({tensor({3}), weight({5, 3}), weight({1, 5})}), "must have shape [5]");
  expect_refused(linear({tensor({3}), weight({5, 3}), typed(DType::Int32, {5})}), "must be Float32");
  expect_refused(linear({tensor({3}), weight({5, 3})}, schema::Clamp(1, -1)), "clamps to [1, -1]");
  expect_refused(linear({tensor({size_t{1} << 36, 1}), weight({16, 1})}), "larger than 1 TiB");
}

TEST(Linear, OfFloat64) {
  const Operand x = typed(DType::Float64, {2, 3}), w = typed(DType::Float64, {5, 3}), b = typed(DType::Float64, {5});
  EXPECT_EQ(linear({x, w, b}).infer()->to_string(), "Float64[2, 5]");
  EXPECT_FALSE(linear({x, w, b}).in_xnnpack());
  expect_refused(linear({x, weight({5, 3})}), "input 1 is Float32[5, 3], but must be Float64 like input 0");
  expect_refused(linear({tensor({2, 3}), w}), "must be Float32");
  expect_refused(linear({x, w, weight({5})}), "must be Float64 like input 0");
  expect_refused(linear({x, w}, schema::Clamp(0, 1)), "only Float32 can be limited");
  EXPECT_EQ(batch_matmul(x, typed(DType::Float64, {3, 4})).infer()->to_string(), "Float64[2, 4]");
  EXPECT_FALSE(batch_matmul(x, typed(DType::Float64, {3, 4})).in_xnnpack());
  expect_refused(batch_matmul(x, tensor({3, 4})), "must be Float64 like input 0");
}

TEST(Linear, XnnpackAgrees) {
  expect_agreement(linear({tensor({3}), weight({5, 3})}));
  expect_agreement(linear({tensor({1, 1}), weight({1, 1}), weight({1})}));
  expect_agreement(linear({tensor({2, 3, 17}), weight({33, 17}), weight({33})}));
  expect_agreement(linear({tensor({7, 100}), weight({19, 100}), weight({19})}, schema::Clamp(-0.5f, 1)));
  expect_agreement(linear({tensor({2, 2, 2, 2, 2, 8}), weight({3, 8})}));
}

// Its microkernels take rows and columns in tiles and blocks.
TEST(Linear, XnnpackAgreesAtAnySize) {
  for (size_t rows = 1; rows <= 70; ++rows) {
    for (const size_t columns : {5, 16, 31, 32, 33, 48, 65}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
      expect_agreement(linear({tensor({rows, 13}), weight({columns, 13}), weight({columns})}, schema::Clamp(-2, 2)));
    }
  }
}

TEST(Linear, XnnpackKeepsNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const std::vector<float> x{1, nan, 2, 3, 4, 5, inf, -inf, 6, 7, -inf, 8};
  for (const size_t columns : {1, 2, 3, 4, 5, 15, 16, 17, 40}) {
    const Operand w = weight({columns, 3}, std::vector<float>(columns * 3, 1));
    for (const std::optional<schema::Clamp>& limits : {std::optional<schema::Clamp>(), {schema::Clamp(-2, 2)}}) {
      expect_agreement(linear({tensor({4, 3}, x), w}, limits));
      expect_agreement(linear({tensor({4, 3}, x), tensor({columns, 3}, w.data)}, limits));
    }
  }
}

TEST(Linear, IsInBlocksWhereThatPays) {
  const auto reason = [](const OpCase& op, bool float32_blocks) {
    return op.choose(*op.infer(), ChoiceOptions(), cpu_with_blocks(float32_blocks)).reason;
  };
  const Operand x = tensor({2, 8, 192}), w = weight({32, 192});
  EXPECT_EQ(reason(linear({x, w, weight({32})}), true), kInBlocks);
  EXPECT_NE(reason(linear({x, w, weight({32})}), false), kInBlocks);
  EXPECT_EQ(reason(linear({tensor({192}), w}), true), kInBlocks) << "as methods of many rows";
  EXPECT_NE(reason(linear({tensor({2, 8, 191}), weight({32, 191})}), true), kInBlocks) << "shallow";
  EXPECT_NE(reason(linear({x, tensor({32, 192})}), true), kInBlocks);
  EXPECT_NE(reason(linear({x, w, tensor({32})}), true), kInBlocks);
}

TEST(Linear, IsNotPackedForFewProducts) {
  const auto choice = [](const OpCase& op, bool has_unpacked) {
    return op.choose(*op.infer(), ChoiceOptions(), cpu_with_blocks(has_unpacked)).kind;
  };
  const Operand x = tensor({4, 9}), many = tensor({5, 9});
  for (const OpCase& op : {
           linear({x, tensor({6, 9})}),
           linear({x, weight({6, 9}), tensor({6})}),
           linear({many, weight({1, 9}), weight({1})}),
           batch_matmul(tensor({2, 4, 9}), tensor({2, 9, 6})),
           batch_matmul(tensor({2, 5, 9}), tensor({2, 9, 1})),
           batch_matmul(tensor({2, 5, 9}), weight({2, 9, 1})),
       }) {
    EXPECT_EQ(choice(op, true), Choice::Kind::Kernel);
    EXPECT_EQ(choice(op, false), Choice::Kind::Xnnpack);
    expect_agreement(op);
  }
  EXPECT_EQ(choice(linear({many, tensor({6, 9})}), true), Choice::Kind::Xnnpack);
  EXPECT_EQ(choice(linear({tensor({1, 9}), weight({6, 9})}), false), Choice::Kind::Xnnpack) << "packed once";
  EXPECT_EQ(choice(batch_matmul(tensor({2, 4, 9}), weight({2, 9, 6})), true), Choice::Kind::Xnnpack);
}

TEST(Linear, XnnpackTakesRuntimeWeights) {
  expect_agreement(linear({tensor({4, 9}), tensor({6, 9})}));
  expect_agreement(linear({tensor({4, 9}), tensor({6, 9}), tensor({6})}));
  expect_agreement(linear({tensor({4, 9}), tensor({6, 9}), weight({6})}));
  expect_agreement(linear({tensor({4, 9}), weight({6, 9}), tensor({6})}));
  for (const size_t columns : {1, 2, 3, 4, 5}) {
    expect_agreement(linear({tensor({5, 7}), tensor({columns, 7}), tensor({columns})}));
  }
}

TEST(Linear, KernelTakesEmptyOperands) {
  EXPECT_FALSE(linear({tensor({0, 3}), weight({5, 3})}).in_xnnpack());
  const OpCase no_inputs = linear({tensor({2, 0}), weight({3, 0}), weight({3}, {1, 2, 3})});
  EXPECT_FALSE(no_inputs.in_xnnpack());
  EXPECT_EQ(no_inputs.run_kernel(), (std::vector<float>{1, 2, 3, 1, 2, 3}));
}

TEST(Linear, IsInBFloat16OnlyIfThereIsAWeight) {
  ChoiceOptions options;
  options.bfloat16 = true;
  Cpu cpu = Cpu::get();
  cpu.bfloat16 = true;
  const auto is_in_bfloat16 = [&](const OpCase& op) { return op.choose(*op.infer(), options, cpu).bfloat16; };
  EXPECT_TRUE(is_in_bfloat16(linear({tensor({2, 1}), weight({3, 1})})));
  EXPECT_FALSE(is_in_bfloat16(linear({tensor({2, 0}), weight({3, 0})})));
  EXPECT_FALSE(is_in_bfloat16(linear({tensor({2, 1}), weight({0, 1})})));
}

TEST(BatchMatMul, MultipliesTheLastTwoAxes) {
  expect_shape(batch_matmul(tensor({2, 3}), tensor({3, 4})), {2, 4});
  expect_shape(batch_matmul(tensor({2, 3}), tensor({4, 3}), true), {2, 4});
  expect_shape(batch_matmul(tensor({5, 6, 2, 3}), tensor({5, 6, 3, 4})), {5, 6, 2, 4});
  expect_shape(batch_matmul(tensor({2, 0}), tensor({0, 4})), {2, 4});
}

TEST(BatchMatMul, Refuses) { // Robustness: N15
  expect_refused(batch_matmul(tensor({3}), tensor({3})), "do not match");
  expect_refused(batch_matmul(tensor({2, 3}), tensor({4, 3})), "operands [2, 3] and [4, 3] do not match");
  expect_refused(batch_matmul(tensor({2, 3}), tensor({3, 4}), true), "(transposed) do not match");
  expect_refused(batch_matmul(tensor({1, 2, 3}), tensor({2, 3, 4})), "do not match");
  expect_refused(batch_matmul(tensor({2, 2, 3}), tensor({3, 4})), "do not match");
  expect_refused(batch_matmul(tensor({2, 3}), typed(DType::Bool, {3, 4})), "must be Float32");
}

TEST(BatchMatMul, XnnpackAgrees) {
  for (const bool transpose : {false, true}) {
    const auto b = [&](size_t k, size_t n) { return transpose ? Shape{2, 3, n, k} : Shape{2, 3, k, n}; };
    expect_agreement(batch_matmul(tensor({2, 3, 4, 5}), tensor(b(5, 6)), transpose));
    expect_agreement(batch_matmul(tensor({2, 3, 1, 33}), weight(b(33, 17)), transpose));
    expect_agreement(batch_matmul(tensor({7, 3}), tensor(transpose ? Shape{1, 3} : Shape{3, 1}), transpose));
    expect_agreement(batch_matmul(tensor({1, 1}), tensor({1, 1}), transpose));
  }
  expect_agreement(batch_matmul(tensor({2, 1, 2, 1, 3, 4}), tensor({2, 1, 2, 1, 4, 5})));
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
