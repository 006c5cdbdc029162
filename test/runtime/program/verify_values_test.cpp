// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
// Rules of verify_graph about values, constants and states. serialization/format.md lists them.
#include <runtime/program/verify.h>

#include <limits>

#include "blob_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BinaryKind;
using schema::DimOp;
using schema::UnaryKind;

TEST(VerifyTest, RefusesUnknownDType) { // Robustness: V7
  GraphDef g = small_graph();
  const int unknown = static_cast<int>(schema::DType::MAX) + 1;
  g.values[kNegative].dtype = static_cast<DType>(unknown);
  EXPECT_TRUE(refuses(g, {"value 3", ("dtype " + std::to_string(unknown)).c_str()}));
  g.values[kNegative].dtype = static_cast<DType>(255);
  EXPECT_TRUE(refuses(g, {"value 3", "dtype 255"}));
}

TEST(VerifyTest, RefusesRankAboveEight) { // Robustness: V2
  for (const size_t rank : {9, 255, 70000}) {
    GraphDef g = small_graph();
    g.values[kNegative].dims.assign(rank, 1);
    EXPECT_TRUE(refuses(g, {"value 3", "rank"})) << rank;
  }
}

TEST(VerifyTest, RefusesTooLargeSize) {
  GraphDef g = small_graph();
  g.values[kX].dims[1] = (int64_t{1} << 40) + 1;
  EXPECT_TRUE(refuses(g, {"value 0", "1099511627777"}));
  g.values[kX].dims[1] = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE(refuses(g, {"value 0", "9223372036854775807"}));
}

TEST(VerifyTest, RefusesUnknownSizeExpression) {
  GraphDef g = small_graph();
  g.values[kX].dims[0] = -4;
  EXPECT_TRUE(refuses(g, {"value 0", "size expression 3, which does not exist"}));
  g.values[kX].dims[0] = std::numeric_limits<int64_t>::min();
  EXPECT_TRUE(refuses(g, {"value 0", "size expression"}));
  g.exprs.clear();
  g.ranges.clear();
  g.values[kX].dims[0] = -1;
  EXPECT_TRUE(refuses(g, {"value 0", "size expression 0, which does not exist"}));
}

TEST(VerifyTest, RefusesTensorAboveOneTebibyte) { // Robustness: V5 V6
  const int64_t large = int64_t{1} << 38; // Float32 makes this 1 TiB
  EXPECT_TRUE(opens(one_node(unary(UnaryKind::Neg), {{large}}, {large})));
  EXPECT_TRUE(refuses(one_node(unary(UnaryKind::Neg), {{large + 1}}, {large + 1}), {"1 TiB", "274877906945"}));
  // The product of the sizes overflows 64 bits.
  const int64_t huge = int64_t{1} << 32;
  EXPECT_TRUE(refuses(one_node(unary(UnaryKind::Neg), {{huge, huge, 16}}, {huge, huge, 16}), {"1 TiB"}));
  EXPECT_TRUE(opens(one_node(unary(UnaryKind::Neg), {{huge, huge, 0}}, {huge, huge, 0})));
}

// Quantization

// x -> integers -> output
GraphDef quantized_graph() {
  GraphDef g;
  const uint32_t x = g.input({2, 3});
  const uint32_t q = g.quantized(g.node(unary(UnaryKind::Copy), {x}, {2, 3}));
  const uint32_t w = g.integers({4, 3}, {{1, 2, 3, 4}, {0, 1, 2, 3}, 0});
  g.output(g.node(linear(), {q, w}, {2, 4}));
  return g;
}
constexpr uint32_t kQuantized = 1, kIntegers = 2;

TEST(VerifyTest, OpensQuantizedValues) {
  EXPECT_TRUE(opens(quantized_graph()));
  GraphDef g = quantized_graph();
  g.values[kQuantized].dtype = DType::UInt8;
  g.values[kQuantized].quantization->zero_point = {255};
  EXPECT_TRUE(opens(g));
}

TEST(VerifyTest, RefusesQuantizationOfOtherTypes) {
  for (const DType dtype : {DType::Float32, DType::Int32, DType::Int64, DType::Bool}) {
    GraphDef g = quantized_graph();
    g.values[kQuantized].dtype = dtype;
    EXPECT_TRUE(refuses(g, {"value 1", name_of(dtype), "is quantized"}));
  }
}

TEST(VerifyTest, RefusesScalesThatAreNoPositiveNormalNumbers) { // Robustness: Q1
  const float kBad[] = {0, -1, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e-40f};
  for (const float scale : kBad) {
    for (const uint32_t id : {kQuantized, kIntegers}) {
      GraphDef g = quantized_graph();
      g.values[id].quantization->scale.back() = scale;
      EXPECT_TRUE(refuses(g, {"value", "scale"})) << scale;
    }
  }
}

TEST(VerifyTest, RefusesZeroPointsOutOfRange) { // Robustness: Q2
  for (const int32_t zero_point : {-129, 128, INT32_MIN, INT32_MAX}) {
    GraphDef g = quantized_graph();
    g.values[kIntegers].quantization->zero_point[2] = zero_point;
    EXPECT_TRUE(refuses(g, {"value 2", "zero point 2"}));
  }
  GraphDef g = quantized_graph();
  g.values[kQuantized].dtype = DType::UInt8;
  g.values[kQuantized].quantization->zero_point = {-1};
  EXPECT_TRUE(refuses(g, {"value 1", "zero point 0 is -1"}));
  GraphDef h;
  const uint32_t bias = h.integers({4}, {{1}, {1}, 0}, DType::Int32);
  h.output(h.node(unary(UnaryKind::Neg), {bias}, {4}));
  EXPECT_TRUE(refuses(h, {"value 0", "zero point 0 is 1, but must be 0"}));
}

TEST(VerifyTest, RefusesMissingOrTooFewScales) { // Robustness: Q3 Q4
  GraphDef g = quantized_graph();
  g.values[kQuantized].quantization = QuantizationDef{};
  EXPECT_TRUE(refuses(g, {"value 1", "0 scales and 0 zero points"}));
  g.values[kQuantized].quantization = QuantizationDef{{1}, {}, 0};
  EXPECT_TRUE(refuses(g, {"value 1", "1 scales and 0 zero points"}));
  g = quantized_graph();
  g.values[kIntegers].quantization->zero_point.pop_back();
  EXPECT_TRUE(refuses(g, {"value 2", "4 scales and 3 zero points"}));
  g.values[kIntegers].quantization->scale.pop_back();
  EXPECT_TRUE(refuses(g, {"value 2", "3 scales for axis 0"}));
}

TEST(VerifyTest, RefusesScalesOfAnAxisThatIsNotThere) { // Robustness: Q5
  GraphDef g = quantized_graph();
  g.values[kIntegers].quantization->axis = 1;
  EXPECT_TRUE(refuses(g, {"value 2", "4 scales for axis 1"}));
  g.values[kIntegers].quantization->axis = 2;
  EXPECT_TRUE(refuses(g, {"value 2", "4 scales for axis 2"}));
  g.values[kIntegers].quantization->axis = 255;
  EXPECT_TRUE(refuses(g, {"value 2", "4 scales for axis 255"}));
}

TEST(VerifyTest, RefusesResultOrderThatIsNoPermutation) {
  GraphDef g = small_graph();
  const uint32_t id = g.nodes[0].outputs[0];
  const std::string value = "value " + std::to_string(id);
  for (const std::vector<uint8_t>& order : {std::vector<uint8_t>{}, {0}, {0, 0}, {0, 2}, {0, 1, 2}}) {
    g.values[id].result_order = order;
    EXPECT_TRUE(refuses(g, {value.c_str(), "result_order is not a permutation"}));
  }
  g.values[id].result_order = {1, 0};
  EXPECT_TRUE(open_blob(span(g.build())).ok());
}

TEST(VerifyTest, RefusesResultOrderOfIntegersThatStandForNumbers) {
  GraphDef g = quantized_graph();
  g.values[kQuantized].result_order = {0, 1};
  EXPECT_TRUE(refuses(g, {"it is quantized", "result_order"}));
}

TEST(VerifyTest, RefusesScalesByChannelOfActivations) {
  GraphDef g = quantized_graph();
  g.values[kQuantized].quantization = QuantizationDef{{1, 1, 1}, {0, 0, 0}, 1};
  EXPECT_TRUE(refuses(g, {"value 1", "is no constant"}));
}

TEST(VerifyTest, RefusesQuantizedArguments) { // Robustness: V9
  GraphDef g = quantized_graph();
  g.quantized(0);
  EXPECT_TRUE(refuses(g, {"input 0", "value 0 is quantized"}));
  g = quantized_graph();
  g.quantized(3);
  EXPECT_TRUE(refuses(g, {"output 0", "value 3 is quantized"}));
}

TEST(VerifyTest, RefusesQuantizedOperandsOfWhatWorksInPlace) {
  GraphDef g;
  const uint32_t x = g.input({2, 3});
  const uint32_t places = g.input({2}, DType::Int64);
  const uint32_t q = g.quantized(g.node(unary(UnaryKind::Copy), {x}, {2, 3}));
  g.output(g.node(index_put(0), {q, x, places}, {2, 3}));
  EXPECT_TRUE(refuses(g, {"node 1 IndexPut", "the operator takes no quantized operands"}));
}

// Constants

TEST(VerifyTest, RefusesConstantWithoutData) {
  GraphDef g = small_graph();
  g.values[kB].constant = ConstantDef{};
  EXPECT_TRUE(refuses(g, {"value 2", "either a key or data"}));
}

TEST(VerifyTest, RefusesConstantWithKeyAndData) {
  GraphDef g = small_graph();
  g.values[kB].constant->key = "b";
  EXPECT_TRUE(refuses(g, {"value 2", "either a key or data"}));
}

TEST(VerifyTest, RefusesEmptyKey) { // Robustness: C9
  GraphDef g = small_graph();
  g.values[kW].constant->key = "";
  EXPECT_TRUE(refuses(g, {"value 1", "key of a constant is empty"}));
}

TEST(VerifyTest, RefusesConstantOfDynamicSize) {
  GraphDef g = small_graph();
  g.values[kW].dims[0] = -1;
  EXPECT_TRUE(refuses(g, {"value 1", "size of a constant"}));
}

TEST(VerifyTest, RefusesInlineDataOfAnotherSize) { // Robustness: C4 C5
  for (const size_t bytes : {0, 15, 17, 20}) {
    GraphDef g = small_graph();
    g.values[kB].constant->data->resize(bytes);
    EXPECT_TRUE(refuses(g, {"value 2", "Float32[4]", (std::to_string(bytes) + " bytes").c_str()}));
  }
}

TEST(VerifyTest, OpensFloatsStoredAsReducedFloats) {
  for (const schema::Storage storage : {schema::Storage::Float16, schema::Storage::BFloat16}) {
    GraphDef g = small_graph();
    g.values[kB].constant->storage = storage;
    EXPECT_TRUE(refuses(g, {"value 2", "Float32[4]", "16 bytes"}));
    g.values[kB].constant->data->resize(8);
    EXPECT_TRUE(opens(g));
  }
}

TEST(VerifyTest, RefusesStorageOfAnotherType) {
  GraphDef g = small_graph();
  g.values[kB].constant->storage = static_cast<schema::Storage>(3);
  EXPECT_TRUE(refuses(g, {"value 2", "storage 3"}));
  g.values[kB].constant->storage = schema::Storage::Float16;
  g.values[kB].dtype = DType::Int32;
  EXPECT_TRUE(refuses(g, {"value 2", "Int32[4]", "storage 1"}));
}

TEST(VerifyTest, RefusesTooLargeConstant) {
  GraphDef g = small_graph();
  g.values[kW].dims = {1 << 30, 1 << 30};
  EXPECT_TRUE(refuses(g, {"value 1", "1 TiB"}));
}

TEST(VerifyTest, OpensEmptyConstant) { // Robustness: V4
  GraphDef g;
  const uint32_t nothing = g.constant({0, 3}, {});
  g.output(g.node(unary(UnaryKind::Neg), {nothing}, {0, 3}));
  EXPECT_TRUE(opens(g));
}

// States

GraphDef stateful() {
  GraphDef g;
  const uint32_t a = g.state("a", {2}, {1, 2});
  const uint32_t b = g.state("b", {2}, {3, 4});
  g.states[0].update = g.node(binary(BinaryKind::Add), {a, b}, {2});
  g.states[1].update = g.node(unary(UnaryKind::Neg), {b}, {2});
  return g;
}

TEST(VerifyTest, OpensStates) {
  GraphDef g = stateful();
  EXPECT_TRUE(opens(g)); // also without any output
  g.output(g.node(unary(UnaryKind::Neg), {0}, {2}));
  EXPECT_TRUE(opens(g));
  g.states[1].initial = ConstantDef{"key", std::nullopt};
  EXPECT_TRUE(opens(g));
}

TEST(VerifyTest, RefusesStatesWithoutNameOrInitialContent) {
  GraphDef g = stateful();
  g.states[1].name = std::nullopt;
  EXPECT_TRUE(refuses(g, {"state 1", "name"}));
  g.states[1].name = "";
  EXPECT_TRUE(refuses(g, {"state 1", "name"}));
  g.states[1].name = "a";
  EXPECT_TRUE(refuses(g, {"state 1", "another state is named a"}));
  g = stateful();
  g.states[0].initial = std::nullopt;
  EXPECT_TRUE(refuses(g, {"state 0", "initial content"}));
  g.states[0].initial = ConstantDef{};
  EXPECT_TRUE(refuses(g, {"state 0", "either a key or data"}));
  g.states[0].initial = ConstantDef{std::nullopt, std::vector<uint8_t>(7)};
  EXPECT_TRUE(refuses(g, {"state 0", "has 7 bytes"}));
}

TEST(VerifyTest, RefusesNamesThatAreNotUtf8) {
  using namespace std::string_literals;
  for (const std::string& name :
       {"a\xff"s,
        "\xc3"s,
        "\xc3\x28"s,
        "\xc0\x80"s,
        "\xe2\x82"s,
        "\xed\xa0\x80"s,
        "\xf4\x90\x80\x80"s,
        "\x80"s,
        "a\0b"s}) {
    GraphDef g = stateful();
    g.states[1].name = name;
    EXPECT_TRUE(refuses(g, {"state 1", "its name is not UTF-8"}));
    g = stateful();
    g.states[1].initial = ConstantDef{name, std::nullopt};
    EXPECT_TRUE(refuses(g, {"state 1", "the key of a constant is not UTF-8"}));
    g = small_graph();
    g.values[kW].constant->key = name;
    EXPECT_TRUE(refuses(g, {"value 1", "the key of a constant is not UTF-8"}));
  }
  GraphDef g = stateful();
  g.states[0].name =
      "gr\xc3\xb6\xc3\x9f"
      "e \xe2\x82\xac \xf0\x9f\x99\x82";
  EXPECT_TRUE(opens(g));
  g.states[1].name = g.states[0].name;
  EXPECT_TRUE(refuses(g, {"another state is named gr\\xc3\\xb6\\xc3\\x9fe"}));
}

TEST(VerifyTest, RefusesStatesOfOtherValues) {
  GraphDef g = stateful();
  g.states[1].value = 9;
  EXPECT_TRUE(refuses(g, {"state 1", "value 9 does not exist"}));
  g.states[1].value = 0;
  EXPECT_TRUE(refuses(g, {"state 1", "value 0", "another state"}));
  g.states[1].value = g.input({2});
  EXPECT_TRUE(refuses(g, {"state 1", "value 4", "an input"}));
  g.states[1].value = g.constant({2}, {1, 2});
  EXPECT_TRUE(refuses(g, {"state 1", "value 5", "a constant"}));
  g = stateful();
  g.values[1].dims[0] = g.expr(DimOp::Const, 2);
  EXPECT_TRUE(refuses(g, {"state 1", "not a literal"}));
}

TEST(VerifyTest, RefusesUpdatesThatNoNodeMakesForTheStateAlone) {
  GraphDef g = stateful();
  g.states[1].update = 9;
  EXPECT_TRUE(refuses(g, {"update of state 1", "value 9"}));
  g.states[1].update = 0;
  EXPECT_TRUE(refuses(g, {"update of state 1", "value 0"}));
  g.states[1].update = g.states[0].update;
  EXPECT_TRUE(refuses(g, {"update of state 1", "value 2"}));
  g = stateful();
  g.output(g.states[0].update);
  EXPECT_TRUE(refuses(g, {"update of state 0", "an output"}));
  g = stateful();
  g.states[0].update = g.node(reshape({2, 1}), {2}, {2, 1});
  EXPECT_TRUE(refuses(g, {"update of state 0", "another type"}));
  g = stateful();
  g.states[0].update = g.node(cast(DType::Int32), {2}, {2}, DType::Int32);
  EXPECT_TRUE(refuses(g, {"update of state 0", "another type"}));
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
