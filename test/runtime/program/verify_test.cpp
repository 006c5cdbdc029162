// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
// Rules of verify_graph about arguments, sizes and nodes. serialization/format.md lists them.
#include <runtime/program/verify.h>

#include <limits>

#include "blob_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::DimOp;

// Inputs

TEST(VerifyTest, RefusesInputOfUnknownValue) {
  GraphDef g = small_graph();
  g.inputs[0].value = 7;
  EXPECT_TRUE(refuses(g, {"input 0", "value 7 does not exist"}));
  g.inputs[0].value = kNone - 1;
  EXPECT_TRUE(refuses(g, {"input 0", "value 4294967294 does not exist"}));
}

TEST(VerifyTest, RefusesInputThatIsConstant) { // Robustness: C11
  GraphDef g = small_graph();
  g.inputs.push_back({kW, {}});
  EXPECT_TRUE(refuses(g, {"input 1", "value 1 is a constant"}));
}

TEST(VerifyTest, RefusesValueThatIsTwoInputs) { // Robustness: G6
  GraphDef g = small_graph();
  g.inputs.push_back({kX, {}});
  EXPECT_TRUE(refuses(g, {"input 1", "value 0", "another input"}));
}

TEST(VerifyTest, RefusesInputDimOrderThatIsNoPermutation) {
  const std::vector<std::vector<uint8_t>> orders{{0}, {0, 0}, {0, 2}, {1, 255}, {0, 1, 2}, {1, 0, 1}};
  for (const std::vector<uint8_t>& order : orders) {
    GraphDef g = small_graph();
    g.inputs[0].dim_order = order;
    EXPECT_TRUE(refuses(g, {"input 0", "dim_order"}));
  }
  GraphDef g = small_graph();
  g.inputs[0].dim_order = {1, 0};
  EXPECT_TRUE(opens(g));
}

// Size expressions and ranges

TEST(VerifyTest, RefusesUnknownDimOp) {
  GraphDef g = small_graph();
  g.exprs[2] = schema::DimExpr(static_cast<DimOp>(11), 0, 0);
  EXPECT_TRUE(refuses(g, {"size expression 2", "unknown op 11"}));
}

TEST(VerifyTest, RefusesExpressionOfUnknownInput) {
  for (const int64_t input : {int64_t{1}, int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    for (const DimOp op : {DimOp::InputDim, DimOp::InputInt}) {
      GraphDef g = small_graph();
      g.exprs[0] = schema::DimExpr(op, input, 0);
      EXPECT_TRUE(refuses(g, {"size expression 0", (std::to_string(input) + " does not exist").c_str()}));
    }
  }
}

TEST(VerifyTest, RefusesExpressionOfInputOfTheOtherKind) {
  GraphDef g = small_graph();
  g.exprs[0] = schema::DimExpr(DimOp::InputInt, 0, 0);
  EXPECT_TRUE(refuses(g, {"size expression 0", "input 0 is a tensor, not an integer"}));
  g = small_graph();
  g.inputs.push_back({kNone, {}});
  g.exprs[0] = schema::DimExpr(DimOp::InputDim, 1, 0);
  EXPECT_TRUE(refuses(g, {"size expression 0", "input 1 is an integer, not a tensor"}));
}

TEST(VerifyTest, RefusesExpressionOfUnknownAxis) {
  for (const int64_t axis : {int64_t{2}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    GraphDef g = small_graph();
    g.exprs[0] = schema::DimExpr(DimOp::InputDim, 0, axis);
    EXPECT_TRUE(refuses(g, {"size expression 0", ("no axis " + std::to_string(axis)).c_str()}));
  }
}

TEST(VerifyTest, RefusesExpressionOfLaterOne) {
  for (const DimOp op : {DimOp::Add, DimOp::Mul, DimOp::FloorDiv, DimOp::Mod, DimOp::Min, DimOp::Max}) {
    for (const int64_t operand : {int64_t{2}, int64_t{3}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
      GraphDef g = small_graph();
      g.exprs[2] = schema::DimExpr(op, operand, 0);
      EXPECT_TRUE(refuses(g, {"size expression 2", "does not come before"}));
      g.exprs[2] = schema::DimExpr(op, 0, operand);
      EXPECT_TRUE(refuses(g, {"size expression 2", "does not come before"}));
    }
  }
}

TEST(VerifyTest, RefusesScaledExpressionOfLaterOne) {
  for (const int64_t operand : {int64_t{2}, int64_t{3}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    GraphDef g = small_graph();
    g.exprs[2] = schema::DimExpr(DimOp::Scale, operand, bits_of(1.7));
    EXPECT_TRUE(refuses(g, {"size expression 2", "does not come before"}));
  }
}

TEST(VerifyTest, RefusesFactorThatIsNotPositiveAndFinite) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double factor : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(), -0.5, 0.0, -0.0}) {
    GraphDef g = small_graph();
    g.exprs[2] = schema::DimExpr(DimOp::Scale, 0, bits_of(factor));
    EXPECT_TRUE(refuses(g, {"size expression 2", "scales by"})) << factor;
  }
}

TEST(VerifyTest, RefusesScaledSizeThatOverflows) {
  for (const double factor : {1e19, 1e300, std::numeric_limits<double>::max()}) {
    GraphDef g = small_graph();
    g.exprs[2] = schema::DimExpr(DimOp::Scale, 0, bits_of(factor));
    EXPECT_TRUE(refuses(g, {"overflows"})) << factor;
  }
}

TEST(VerifyTest, RefusesRangeOfUnknownExpression) {
  GraphDef g = small_graph();
  g.ranges[0] = schema::DimRange(3, 1, 6, 2);
  EXPECT_TRUE(refuses(g, {"range 0", "expression 3"}));
  g.ranges[0] = schema::DimRange(kNone, 1, 6, 2);
  EXPECT_TRUE(refuses(g, {"range 0", "expression 4294967295"}));
}

TEST(VerifyTest, RefusesTwoRangesOfOneExpression) {
  GraphDef g = small_graph();
  g.ranges.push_back(g.ranges[0]);
  EXPECT_TRUE(refuses(g, {"range 1", "expression 0"}));
}

TEST(VerifyTest, RefusesUnorderedRange) {
  const int64_t bad[][3] = {{-1, 6, 2}, {3, 6, 2}, {1, 6, 7}, {6, 1, 2}, {1, (int64_t{1} << 40) + 1, 2}, {5, 4, 5}};
  for (const auto& [min, max, planned] : bad) {
    GraphDef g = small_graph();
    g.ranges[0] = schema::DimRange(0, min, max, planned);
    EXPECT_TRUE(refuses(g, {"range 0 is not ordered"})) << min << " " << max << " " << planned;
  }
}

TEST(VerifyTest, RefusesPlannedSizesThatCannotBeComputed) {
  GraphDef g = small_graph();
  g.exprs[1] = schema::DimExpr(DimOp::Const, 0, 0);
  g.exprs[2] = schema::DimExpr(DimOp::FloorDiv, 0, 1);
  EXPECT_TRUE(refuses(g, {"divided by 0"}));
  g.exprs[2] = schema::DimExpr(DimOp::Mod, 0, 1);
  EXPECT_TRUE(refuses(g, {"divided by 0"}));
  g.exprs[1] = schema::DimExpr(DimOp::Const, std::numeric_limits<int64_t>::max(), 0);
  g.exprs[2] = schema::DimExpr(DimOp::Mul, 0, 1);
  EXPECT_TRUE(refuses(g, {"overflows"}));
  g.exprs[2] = schema::DimExpr(DimOp::Add, 0, 1);
  EXPECT_TRUE(refuses(g, {"overflows"}));
}

TEST(VerifyTest, RefusesNegativePlannedSize) {
  GraphDef g = small_graph();
  g.exprs[1] = schema::DimExpr(DimOp::Const, -2, 0);
  EXPECT_TRUE(refuses(g, {"value 6", "size of -4"}));
}

TEST(VerifyTest, RefusesPlannedTensorAboveOneTebibyte) {
  GraphDef g = small_graph();
  g.ranges[0] = schema::DimRange(0, 0, int64_t{1} << 40, int64_t{1} << 40);
  EXPECT_TRUE(refuses(g, {"value 0", "1 TiB"}));
}

// Nodes

TEST(VerifyTest, RefusesNodeWithoutAttributes) { // Robustness: G16
  GraphDef g = small_graph();
  g.nodes[1].attributes.make = nullptr;
  EXPECT_TRUE(refuses(g, {"node 1", "no attributes"}));
  g.nodes[1].attributes.type = schema::Attributes::NONE;
  EXPECT_TRUE(refuses(g, {"node 1", "no attributes"}));
}

TEST(VerifyTest, RefusesUnknownAttributes) { // Robustness: G17
  for (const int type : {static_cast<int>(schema::Attributes::MAX) + 1, 255}) {
    GraphDef g = small_graph();
    g.nodes[1].attributes.type = static_cast<schema::Attributes>(type);
    EXPECT_TRUE(refuses(g, {"node 1", "known type"}));
  }
}

TEST(VerifyTest, RefusesUnknownOperand) {
  GraphDef g = small_graph();
  g.nodes[1].inputs[0] = 7;
  EXPECT_TRUE(refuses(g, {"node 1 Linear (debug handle 11)", "input 0 is value 7"}));
}

TEST(VerifyTest, RefusesOperandThatIsMadeLater) { // Robustness: G9
  GraphDef g = small_graph();
  g.nodes[0].inputs[0] = kY;
  EXPECT_TRUE(refuses(g, {"node 0 Unary (debug handle 10)", "input 0 is value 4, which nothing before it makes"}));
  g.nodes[0].inputs[0] = kNegative; // its own output
  EXPECT_TRUE(refuses(g, {"node 0", "input 0 is value 3"}));
}

TEST(VerifyTest, RefusesOperandThatNothingMakes) { // Robustness: G10
  GraphDef g = small_graph();
  g.nodes[1].inputs[0] = g.value({-1, 3});
  EXPECT_TRUE(refuses(g, {"node 1", "input 0 is value 7, which nothing before it makes"}));
}

TEST(VerifyTest, RefusesAbsentRequiredOperand) { // Robustness: G14
  GraphDef g = small_graph();
  g.nodes[1].inputs[1] = kNone;
  EXPECT_TRUE(refuses(g, {"node 1 Linear", "input 1 is absent"}));
  g = small_graph();
  g.nodes[1].inputs.clear();
  EXPECT_TRUE(refuses(g, {"node 1 Linear", "has 0 inputs"}));
}

TEST(VerifyTest, OpensWithAbsentOptionalOperand) { // Robustness: G15
  GraphDef g = small_graph();
  g.nodes[1].inputs[2] = kNone;
  EXPECT_TRUE(opens(g));
  g.nodes[1].inputs.pop_back();
  EXPECT_TRUE(opens(g));
}

TEST(VerifyTest, RefusesTooManyOperands) {
  GraphDef g = small_graph();
  g.nodes[1].inputs.push_back(kNone);
  EXPECT_TRUE(refuses(g, {"node 1 Linear", "has 4 inputs"}));
}

TEST(VerifyTest, RefusesNodeWithoutOutputs) {
  GraphDef g = small_graph();
  g.nodes[1].outputs.clear();
  EXPECT_TRUE(refuses(g, {"node 1 Linear", "no outputs"}));
}

TEST(VerifyTest, RefusesNodeWithTooManyOutputs) {
  GraphDef g = small_graph();
  g.nodes[0].outputs.push_back(g.value({-1, 3}));
  EXPECT_TRUE(refuses(g, {"node 0 Unary", "has 2 outputs"}));
}

TEST(VerifyTest, RefusesNodeThatWritesUnknownValue) {
  GraphDef g = small_graph();
  g.nodes[1].outputs[0] = 7;
  EXPECT_TRUE(refuses(g, {"node 1 Linear", "value 7"}));
  g.nodes[1].outputs[0] = kNone;
  EXPECT_TRUE(refuses(g, {"node 1 Linear", "value 4294967295"}));
}

TEST(VerifyTest, RefusesNodeThatWritesConstant) { // Robustness: G12
  GraphDef g = small_graph();
  g.nodes[1].outputs[0] = kW;
  EXPECT_TRUE(refuses(g, {"node 1 Linear", "value 1", "made elsewhere"}));
}

TEST(VerifyTest, RefusesNodeThatWritesInput) { // Robustness: G13
  GraphDef g = small_graph();
  g.nodes[1].outputs[0] = kX;
  EXPECT_TRUE(refuses(g, {"node 1 Linear", "value 0", "made elsewhere"}));
}

TEST(VerifyTest, RefusesValueThatIsMadeTwice) { // Robustness: G11
  GraphDef g = small_graph();
  g.nodes[2].outputs[0] = kY;
  EXPECT_TRUE(refuses(g, {"node 2 LayerNorm", "value 4", "made elsewhere"}));
}

// Outputs

TEST(VerifyTest, RefusesOutputOfUnknownValue) {
  for (const uint32_t value : {7u, kNone}) {
    GraphDef g = small_graph();
    g.outputs[0].value = value;
    EXPECT_TRUE(refuses(g, {"output 0", ("value " + std::to_string(value)).c_str()}));
  }
}

TEST(VerifyTest, RefusesOutputThatNoNodeMakes) { // Robustness: G4
  GraphDef g = small_graph();
  for (const uint32_t value : {kX, kW, g.value({2})}) {
    g.outputs[0].value = value;
    EXPECT_TRUE(refuses(g, {"output 0", "no node makes"}));
  }
}

TEST(VerifyTest, RefusesValueThatIsTwoOutputs) { // Robustness: G6
  GraphDef g = small_graph();
  g.output(kOut);
  EXPECT_TRUE(refuses(g, {"output 1", "value 6", "another output"}));
}

TEST(VerifyTest, RefusesOutputDimOrderThatIsNoPermutation) {
  GraphDef g = small_graph();
  g.outputs[0].dim_order = {0, 0};
  EXPECT_TRUE(refuses(g, {"output 0", "dim_order"}));
}

TEST(VerifyTest, OpensWithOutputThatIsAlsoRead) {
  GraphDef g = small_graph();
  g.output(kNorm);
  EXPECT_TRUE(opens(g));
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
