// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
// The rules of Blob::open. serialization/format.md lists them with the names of these tests.
#include <runtime/program/blob.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "sample_graphs.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using flatbuffers::FlatBufferBuilder;
using schema::BinaryKind;
using schema::DimOp;
using schema::UnaryKind;
using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

// Ids of small_graph(), which most tests start from.
constexpr uint32_t kX = 0, kW = 1, kB = 2, kNegative = 3, kY = 4, kNorm = 5, kOut = 6;

// Whether the bytes are refused with this code and a message with all these parts.
AssertionResult refuses(Span<const uint8_t> bytes, Error code, std::initializer_list<const char*> parts) {
  const StatusOr<Blob> blob = Blob::open(bytes);
  if (blob.ok()) {
    return AssertionFailure() << "it was opened";
  }
  const Status& status = blob.status();
  if (status.code() != code) {
    return AssertionFailure() << "code " << static_cast<int>(status.code()) << ": " << status.message();
  }
  for (const char* part : parts) {
    if (status.message().find(part) == std::string::npos) {
      return AssertionFailure() << "'" << part << "' is not in: " << status.message();
    }
  }
  return AssertionSuccess();
}

AssertionResult refuses(const GraphDef& def, std::initializer_list<const char*> parts) {
  return refuses(span(def.build()), Error::InvalidProgram, parts);
}

AssertionResult opens(Span<const uint8_t> bytes) {
  const StatusOr<Blob> blob = Blob::open(bytes);
  return blob.ok() ? AssertionSuccess() : AssertionFailure() << blob.status().message();
}

AssertionResult opens(const GraphDef& def) {
  return opens(span(def.build()));
}

// The bytes of small_graph() at an address of any alignment.
class SmallBlob {
 public:
  SmallBlob() : bytes_(small_graph().build()) {}
  std::vector<uint8_t>& operator*() {
    return bytes_;
  }
  Span<const uint8_t> first(size_t size) const {
    return {bytes_.data(), size};
  }

 private:
  std::vector<uint8_t> bytes_;
};

// x [dims] -> one node -> output
GraphDef one_node(
    AttributesDef attributes_def, const std::vector<std::vector<int64_t>>& inputs, const std::vector<int64_t>& output) {
  GraphDef g;
  std::vector<uint32_t> operands;
  for (const auto& dims : inputs) {
    operands.push_back(g.input(dims));
  }
  g.output(g.node(std::move(attributes_def), operands, output));
  g.nodes[0].debug_handle = 77;
  return g;
}

// File and container

TEST(BlobTest, OpensEverySample) {
  for (const SampleGraph& sample : sample_graphs()) {
    EXPECT_TRUE(opens(sample.def)) << sample.name;
  }
}

TEST(BlobTest, SamplesHoldEveryOpAndDimOp) {
  std::vector<bool> ops(static_cast<size_t>(schema::Attributes::MAX) + 1);
  std::vector<bool> dim_ops(static_cast<size_t>(DimOp::MAX) + 1);
  ops[0] = true;
  for (const SampleGraph& sample : sample_graphs()) {
    for (const NodeDef& node : sample.def.nodes) {
      ops[static_cast<size_t>(node.attributes.type)] = true;
    }
    for (const schema::DimExpr& expr : sample.def.exprs) {
      dim_ops[static_cast<size_t>(expr.op())] = true;
    }
  }
  for (size_t i = 0; i < ops.size(); ++i) {
    EXPECT_TRUE(ops[i]) << schema::EnumNameAttributes(static_cast<schema::Attributes>(i));
  }
  for (size_t i = 0; i < dim_ops.size(); ++i) {
    EXPECT_TRUE(dim_ops[i]) << schema::EnumNameDimOp(static_cast<DimOp>(i));
  }
}

TEST(BlobTest, CopiesTheBytes) {
  StatusOr<Blob> blob(Status(Error::Internal, ""));
  {
    SmallBlob bytes;
    blob = Blob::open(span(*bytes));
    std::memset((*bytes).data(), 0xFF, (*bytes).size());
  }
  ASSERT_TRUE(blob.ok());
  EXPECT_EQ(blob->num_nodes(), 4u);
  EXPECT_EQ(blob->describe(1), "node 1 Linear (debug handle 11)");
}

TEST(BlobTest, OpensAtAnyAlignment) {
  const std::vector<uint8_t> bytes = small_graph().build();
  std::vector<uint8_t> shifted(bytes.size() + 16);
  for (size_t offset = 0; offset < 16; ++offset) {
    std::memcpy(shifted.data() + offset, bytes.data(), bytes.size());
    EXPECT_TRUE(opens({shifted.data() + offset, bytes.size()})) << offset;
  }
}

TEST(BlobTest, RefusesEveryTruncation) {
  const SmallBlob blob;
  const size_t size = small_graph().build().size();
  for (size_t length = 0; length < size; ++length) {
    // An allocation of exactly this size, so that a sanitizer sees a read behind it.
    const std::vector<uint8_t> part(blob.first(length).begin(), blob.first(length).end());
    const Status status = Blob::open(span(part)).status();
    EXPECT_EQ(status.code(), Error::InvalidProgram) << length;
    EXPECT_FALSE(status.message().empty()) << length;
  }
  EXPECT_TRUE(refuses(blob.first(0), Error::InvalidProgram, {"0 bytes"}));
  EXPECT_TRUE(refuses(blob.first(7), Error::InvalidProgram, {"7 bytes"}));
  EXPECT_TRUE(refuses(blob.first(8), Error::InvalidProgram, {"truncated or corrupt"}));
}

TEST(BlobTest, RefusesTwoGibibytes) {
  const uint8_t bytes[8] = {};
  // Only the size is looked at.
  EXPECT_TRUE(refuses({bytes, size_t{1} << 31}, Error::InvalidProgram, {"2147483648 bytes"}));
}

TEST(BlobTest, RefusesOtherFiles) {
  const std::string text = "This is a text file, not a delegate blob.";
  EXPECT_TRUE(refuses(
      {reinterpret_cast<const uint8_t*>(text.data()), text.size()}, Error::InvalidProgram, {"not an et_xnnpack blob"}));
  GraphDef g = small_graph();
  g.identifier = "ET12";
  EXPECT_TRUE(refuses(g, {"not an et_xnnpack blob"}));
}

TEST(BlobTest, RefusesNewerFormat) {
  GraphDef g = small_graph();
  g.identifier = "ETX2";
  EXPECT_TRUE(refuses(span(g.build()), Error::DelegateInvalidCompatibility, {"ETX2", "ETX1", "update the runtime"}));
  g.identifier = "ETX\n";
  EXPECT_TRUE(refuses(span(g.build()), Error::DelegateInvalidCompatibility, {"ETX?"}));
}

TEST(BlobTest, RefusesMissingFeatures) {
  for (unsigned bit = 2; bit < 64; ++bit) {
    GraphDef g = small_graph();
    g.required_features |= uint64_t{1} << bit;
    char name[32];
    std::snprintf(name, sizeof(name), "0x%llx", 1ull << bit);
    EXPECT_TRUE(refuses(span(g.build()), Error::DelegateInvalidCompatibility, {name, "update the runtime"}));
  }
}

TEST(BlobTest, RefusesRootOffsetBehindTheEnd) {
  for (const uint32_t root : {0u, 8u, 0x7FFFFFF0u, 0xFFFFFFFFu}) {
    SmallBlob blob;
    std::memcpy((*blob).data(), &root, sizeof(root));
    EXPECT_TRUE(refuses(span(*blob), Error::InvalidProgram, {"truncated or corrupt"})) << root;
  }
}

TEST(BlobTest, SurvivesEverySingleBitFlip) {
  SmallBlob blob;
  size_t opened = 0;
  for (size_t bit = 0; bit < (*blob).size() * 8; ++bit) {
    const auto mask = static_cast<uint8_t>(1 << bit % 8);
    (*blob)[bit / 8] ^= mask;
    StatusOr<Blob> result = Blob::open(span(*blob));
    if (result.ok()) {
      ++opened;
      EXPECT_FALSE(inspect(*result).empty());
    } else {
      EXPECT_FALSE(result.status().message().empty()) << bit;
    }
    (*blob)[bit / 8] ^= mask;
  }
  // Bits of weights, debug handles and padding do no harm.
  EXPECT_GT(opened, 100u);
  EXPECT_LT(opened, (*blob).size() * 8 * 3 / 4);
}

TEST(BlobTest, RefusesTooManyTables) {
  FlatBufferBuilder builder;
  const auto value = schema::CreateValueDirect(builder);
  const std::vector<flatbuffers::Offset<schema::Value>> values((1 << 22) + 1, value);
  builder.Finish(schema::CreateGraphDirect(builder, 1, nullptr, nullptr, &values), "ETX1");
  EXPECT_TRUE(
      refuses({builder.GetBufferPointer(), builder.GetSize()}, Error::InvalidProgram, {"truncated or corrupt"}));
}

// Counts

TEST(BlobTest, RefusesNoGraph) {
  FlatBufferBuilder builder;
  builder.Finish(schema::CreateGraph(builder, 1), "ETX1");
  EXPECT_TRUE(refuses({builder.GetBufferPointer(), builder.GetSize()}, Error::InvalidProgram, {"no values"}));
}

TEST(BlobTest, RefusesNoOutputs) {
  GraphDef g = small_graph();
  g.outputs.clear();
  EXPECT_TRUE(refuses(g, {"no outputs"}));
}

TEST(BlobTest, RefusesNoNodes) {
  GraphDef g;
  g.output(g.input({2}));
  EXPECT_TRUE(refuses(g, {"output 0", "value 0"}));
}

TEST(BlobTest, OpensWithoutInputs) {
  GraphDef g;
  const uint32_t one = g.constant({1}, {1});
  g.output(g.node(expand({3}), {one}, {3}));
  EXPECT_TRUE(opens(g));
}

TEST(BlobTest, RefusesTooManyEntries) {
  GraphDef g = small_graph();
  g.exprs.resize((1 << 20) + 1, schema::DimExpr(DimOp::Const, 1, 0));
  EXPECT_TRUE(refuses(g, {"1048577 entries"}));
}

// Values

TEST(BlobTest, RefusesUnknownDType) {
  GraphDef g = small_graph();
  const int unknown = static_cast<int>(schema::DType::MAX) + 1;
  g.values[kNegative].dtype = static_cast<DType>(unknown);
  EXPECT_TRUE(refuses(g, {"value 3", ("dtype " + std::to_string(unknown)).c_str()}));
  g.values[kNegative].dtype = static_cast<DType>(255);
  EXPECT_TRUE(refuses(g, {"value 3", "dtype 255"}));
}

TEST(BlobTest, RefusesRankAboveEight) {
  for (const size_t rank : {9, 255, 70000}) {
    GraphDef g = small_graph();
    g.values[kNegative].dims.assign(rank, 1);
    EXPECT_TRUE(refuses(g, {"value 3", "rank"})) << rank;
  }
}

TEST(BlobTest, RefusesTooLargeSize) {
  GraphDef g = small_graph();
  g.values[kX].dims[1] = (int64_t{1} << 40) + 1;
  EXPECT_TRUE(refuses(g, {"value 0", "1099511627777"}));
  g.values[kX].dims[1] = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE(refuses(g, {"value 0", "9223372036854775807"}));
}

TEST(BlobTest, RefusesUnknownSizeExpression) {
  GraphDef g = small_graph();
  g.values[kX].dims[0] = -4;
  EXPECT_TRUE(refuses(g, {"value 0", "size expression 3 does not exist"}));
  g.values[kX].dims[0] = std::numeric_limits<int64_t>::min();
  EXPECT_TRUE(refuses(g, {"value 0", "size expression"}));
  g.exprs.clear();
  g.ranges.clear();
  g.values[kX].dims[0] = -1;
  EXPECT_TRUE(refuses(g, {"value 0", "size expression 0 does not exist"}));
}

TEST(BlobTest, RefusesTensorAboveOneTebibyte) {
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

TEST(BlobTest, OpensQuantizedValues) {
  EXPECT_TRUE(opens(quantized_graph()));
  GraphDef g = quantized_graph();
  g.values[kQuantized].dtype = DType::UInt8;
  g.values[kQuantized].quantization->zero_point = {255};
  EXPECT_TRUE(opens(g));
}

TEST(BlobTest, RefusesQuantizationOfOtherTypes) {
  for (const DType dtype : {DType::Float32, DType::Int32, DType::Int64, DType::Bool}) {
    GraphDef g = quantized_graph();
    g.values[kQuantized].dtype = dtype;
    EXPECT_TRUE(refuses(g, {"value 1", name_of(dtype), "is quantized"}));
  }
}

TEST(BlobTest, RefusesScalesThatAreNoPositiveNormalNumbers) {
  const float kBad[] = {0, -1, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e-40f};
  for (const float scale : kBad) {
    for (const uint32_t id : {kQuantized, kIntegers}) {
      GraphDef g = quantized_graph();
      g.values[id].quantization->scale.back() = scale;
      EXPECT_TRUE(refuses(g, {"value", "scale"})) << scale;
    }
  }
}

TEST(BlobTest, RefusesZeroPointsOutOfRange) {
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
  EXPECT_TRUE(refuses(h, {"value 0", "zero point 0 is 1, which is no 0"}));
}

TEST(BlobTest, RefusesMissingOrTooFewScales) {
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

TEST(BlobTest, RefusesScalesOfAnAxisThatIsNotThere) {
  GraphDef g = quantized_graph();
  g.values[kIntegers].quantization->axis = 1;
  EXPECT_TRUE(refuses(g, {"value 2", "4 scales for axis 1"}));
  g.values[kIntegers].quantization->axis = 2;
  EXPECT_TRUE(refuses(g, {"value 2", "4 scales for axis 2"}));
  g.values[kIntegers].quantization->axis = 255;
  EXPECT_TRUE(refuses(g, {"value 2", "4 scales for axis 255"}));
}

TEST(BlobTest, RefusesScalesByChannelOfActivations) {
  GraphDef g = quantized_graph();
  g.values[kQuantized].quantization = QuantizationDef{{1, 1, 1}, {0, 0, 0}, 1};
  EXPECT_TRUE(refuses(g, {"value 1", "is no constant"}));
}

TEST(BlobTest, RefusesQuantizedArguments) {
  GraphDef g = quantized_graph();
  g.quantized(0);
  EXPECT_TRUE(refuses(g, {"input 0", "value 0 is quantized"}));
  g = quantized_graph();
  g.quantized(3);
  EXPECT_TRUE(refuses(g, {"output 0", "value 3 is quantized"}));
}

TEST(BlobTest, RefusesQuantizedOperandsOfWhatWorksInPlace) {
  GraphDef g;
  const uint32_t x = g.input({2, 3});
  const uint32_t places = g.input({2}, DType::Int64);
  const uint32_t q = g.quantized(g.node(unary(UnaryKind::Copy), {x}, {2, 3}));
  g.output(g.node(index_put(0), {q, x, places}, {2, 3}));
  EXPECT_TRUE(refuses(g, {"node 1 IndexPut", "The operator takes no quantized operands."}));
}

// Constants

TEST(BlobTest, RefusesConstantWithoutData) {
  GraphDef g = small_graph();
  g.values[kB].constant = ConstantDef{};
  EXPECT_TRUE(refuses(g, {"value 2", "either a key or data"}));
}

TEST(BlobTest, RefusesConstantWithKeyAndData) {
  GraphDef g = small_graph();
  g.values[kB].constant->key = "b";
  EXPECT_TRUE(refuses(g, {"value 2", "either a key or data"}));
}

TEST(BlobTest, RefusesEmptyKey) {
  GraphDef g = small_graph();
  g.values[kW].constant->key = "";
  EXPECT_TRUE(refuses(g, {"value 1", "key of a constant is empty"}));
}

TEST(BlobTest, RefusesConstantOfDynamicSize) {
  GraphDef g = small_graph();
  g.values[kW].dims[0] = -1;
  EXPECT_TRUE(refuses(g, {"value 1", "size of a constant"}));
}

TEST(BlobTest, RefusesInlineDataOfAnotherSize) {
  for (const size_t bytes : {0, 15, 17, 20}) {
    GraphDef g = small_graph();
    g.values[kB].constant->data->resize(bytes);
    EXPECT_TRUE(refuses(g, {"value 2", "Float32[4]", (std::to_string(bytes) + " bytes").c_str()}));
  }
}

TEST(BlobTest, OpensFloatsStoredInHalf) {
  for (const schema::Storage storage : {schema::Storage::Float16, schema::Storage::BFloat16}) {
    GraphDef g = small_graph();
    g.values[kB].constant->storage = storage;
    EXPECT_TRUE(refuses(g, {"value 2", "Float32[4]", "16 bytes"}));
    g.values[kB].constant->data->resize(8);
    EXPECT_TRUE(opens(g));
  }
}

TEST(BlobTest, RefusesStorageOfAnotherType) {
  GraphDef g = small_graph();
  g.values[kB].constant->storage = static_cast<schema::Storage>(3);
  EXPECT_TRUE(refuses(g, {"value 2", "storage 3"}));
  g.values[kB].constant->storage = schema::Storage::Float16;
  g.values[kB].dtype = DType::Int32;
  EXPECT_TRUE(refuses(g, {"value 2", "Int32[4]", "storage 1"}));
}

TEST(BlobTest, RefusesTooLargeConstant) {
  GraphDef g = small_graph();
  g.values[kW].dims = {1 << 30, 1 << 30};
  EXPECT_TRUE(refuses(g, {"value 1", "1 TiB"}));
}

TEST(BlobTest, OpensEmptyConstant) {
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

TEST(BlobTest, OpensStates) {
  GraphDef g = stateful();
  EXPECT_TRUE(opens(g)); // also without any output
  g.output(g.node(unary(UnaryKind::Neg), {0}, {2}));
  EXPECT_TRUE(opens(g));
  g.states[1].initial = ConstantDef{"key", std::nullopt};
  EXPECT_TRUE(opens(g));
}

TEST(BlobTest, RefusesStatesWithoutNameOrInitialContent) {
  GraphDef g = stateful();
  g.states[1].name = std::nullopt;
  EXPECT_TRUE(refuses(g, {"state 1", "name"}));
  g.states[1].name = "";
  EXPECT_TRUE(refuses(g, {"state 1", "name"}));
  g.states[1].name = "a";
  EXPECT_TRUE(refuses(g, {"state 1", "another one named a"}));
  g = stateful();
  g.states[0].initial = std::nullopt;
  EXPECT_TRUE(refuses(g, {"state 0", "initial content"}));
  g.states[0].initial = ConstantDef{};
  EXPECT_TRUE(refuses(g, {"state 0", "either a key or data"}));
  g.states[0].initial = ConstantDef{std::nullopt, std::vector<uint8_t>(7)};
  EXPECT_TRUE(refuses(g, {"state 0", "has 7 bytes"}));
}

TEST(BlobTest, RefusesNamesThatAreNotUtf8) {
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
  EXPECT_TRUE(refuses(g, {"another one named gr\\xc3\\xb6\\xc3\\x9fe"}));
}

TEST(BlobTest, RefusesStatesOfOtherValues) {
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

TEST(BlobTest, RefusesUpdatesThatNoNodeMakesForTheStateAlone) {
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

// Inputs

TEST(BlobTest, RefusesInputOfUnknownValue) {
  GraphDef g = small_graph();
  g.inputs[0].value = 7;
  EXPECT_TRUE(refuses(g, {"input 0", "value 7 does not exist"}));
  g.inputs[0].value = kNone - 1;
  EXPECT_TRUE(refuses(g, {"input 0", "value 4294967294 does not exist"}));
}

TEST(BlobTest, RefusesInputThatIsConstant) {
  GraphDef g = small_graph();
  g.inputs.push_back({kW, {}});
  EXPECT_TRUE(refuses(g, {"input 1", "value 1 is a constant"}));
}

TEST(BlobTest, RefusesValueThatIsTwoInputs) {
  GraphDef g = small_graph();
  g.inputs.push_back({kX, {}});
  EXPECT_TRUE(refuses(g, {"input 1", "value 0", "another input"}));
}

TEST(BlobTest, RefusesInputDimOrderThatIsNoPermutation) {
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

TEST(BlobTest, RefusesUnknownDimOp) {
  GraphDef g = small_graph();
  g.exprs[2] = schema::DimExpr(static_cast<DimOp>(10), 0, 0);
  EXPECT_TRUE(refuses(g, {"size expression 2", "unknown op 10"}));
}

TEST(BlobTest, RefusesExpressionOfUnknownInput) {
  for (const int64_t input : {int64_t{1}, int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    for (const DimOp op : {DimOp::InputDim, DimOp::InputInt}) {
      GraphDef g = small_graph();
      g.exprs[0] = schema::DimExpr(op, input, 0);
      EXPECT_TRUE(refuses(g, {"size expression 0", (std::to_string(input) + " does not exist").c_str()}));
    }
  }
}

TEST(BlobTest, RefusesExpressionOfInputOfTheOtherKind) {
  GraphDef g = small_graph();
  g.exprs[0] = schema::DimExpr(DimOp::InputInt, 0, 0);
  EXPECT_TRUE(refuses(g, {"size expression 0", "input 0 is of the other kind"}));
  g = small_graph();
  g.inputs.push_back({kNone, {}});
  g.exprs[0] = schema::DimExpr(DimOp::InputDim, 1, 0);
  EXPECT_TRUE(refuses(g, {"size expression 0", "input 1 is of the other kind"}));
}

TEST(BlobTest, RefusesExpressionOfUnknownAxis) {
  for (const int64_t axis : {int64_t{2}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    GraphDef g = small_graph();
    g.exprs[0] = schema::DimExpr(DimOp::InputDim, 0, axis);
    EXPECT_TRUE(refuses(g, {"size expression 0", ("no axis " + std::to_string(axis)).c_str()}));
  }
}

TEST(BlobTest, RefusesExpressionOfLaterOne) {
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

TEST(BlobTest, RefusesScaledExpressionOfLaterOne) {
  for (const int64_t operand : {int64_t{2}, int64_t{3}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    GraphDef g = small_graph();
    g.exprs[2] = schema::DimExpr(DimOp::Scale, operand, bits_of(1.7));
    EXPECT_TRUE(refuses(g, {"size expression 2", "does not come before"}));
  }
}

TEST(BlobTest, RefusesFactorThatIsNotPositiveAndFinite) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double factor : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(), -0.5, 0.0, -0.0}) {
    GraphDef g = small_graph();
    g.exprs[2] = schema::DimExpr(DimOp::Scale, 0, bits_of(factor));
    EXPECT_TRUE(refuses(g, {"size expression 2", "scales by"})) << factor;
  }
}

TEST(BlobTest, RefusesScaledSizeThatOverflows) {
  for (const double factor : {1e19, 1e300, std::numeric_limits<double>::max()}) {
    GraphDef g = small_graph();
    g.exprs[2] = schema::DimExpr(DimOp::Scale, 0, bits_of(factor));
    EXPECT_TRUE(refuses(g, {"overflows"})) << factor;
  }
}

TEST(BlobTest, RefusesRangeOfUnknownExpression) {
  GraphDef g = small_graph();
  g.ranges[0] = schema::DimRange(3, 1, 6, 2);
  EXPECT_TRUE(refuses(g, {"range 0", "expression 3"}));
  g.ranges[0] = schema::DimRange(kNone, 1, 6, 2);
  EXPECT_TRUE(refuses(g, {"range 0", "expression 4294967295"}));
}

TEST(BlobTest, RefusesTwoRangesOfOneExpression) {
  GraphDef g = small_graph();
  g.ranges.push_back(g.ranges[0]);
  EXPECT_TRUE(refuses(g, {"range 1", "expression 0"}));
}

TEST(BlobTest, RefusesUnorderedRange) {
  const int64_t bad[][3] = {{-1, 6, 2}, {3, 6, 2}, {1, 6, 7}, {6, 1, 2}, {1, (int64_t{1} << 40) + 1, 2}, {5, 4, 5}};
  for (const auto& [min, max, planned] : bad) {
    GraphDef g = small_graph();
    g.ranges[0] = schema::DimRange(0, min, max, planned);
    EXPECT_TRUE(refuses(g, {"range 0 is not ordered"})) << min << " " << max << " " << planned;
  }
}

TEST(BlobTest, RefusesPlannedSizesThatCannotBeComputed) {
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

TEST(BlobTest, RefusesNegativePlannedSize) {
  GraphDef g = small_graph();
  g.exprs[1] = schema::DimExpr(DimOp::Const, -2, 0);
  EXPECT_TRUE(refuses(g, {"value 6", "size of -4"}));
}

TEST(BlobTest, RefusesPlannedTensorAboveOneTebibyte) {
  GraphDef g = small_graph();
  g.ranges[0] = schema::DimRange(0, 0, int64_t{1} << 40, int64_t{1} << 40);
  EXPECT_TRUE(refuses(g, {"value 0", "1 TiB"}));
}

// Nodes

TEST(BlobTest, RefusesNodeWithoutAttributes) {
  GraphDef g = small_graph();
  g.nodes[1].attributes.make = nullptr;
  EXPECT_TRUE(refuses(g, {"node 1", "no attributes"}));
  g.nodes[1].attributes.type = schema::Attributes::NONE;
  EXPECT_TRUE(refuses(g, {"node 1", "no attributes"}));
}

TEST(BlobTest, RefusesUnknownAttributes) {
  for (const int type : {static_cast<int>(schema::Attributes::MAX) + 1, 255}) {
    GraphDef g = small_graph();
    g.nodes[1].attributes.type = static_cast<schema::Attributes>(type);
    EXPECT_TRUE(refuses(g, {"node 1", "known type"}));
  }
}

TEST(BlobTest, RefusesUnknownOperand) {
  GraphDef g = small_graph();
  g.nodes[1].inputs[0] = 7;
  EXPECT_TRUE(refuses(g, {"node 1 Linear (debug handle 11)", "input 0 is value 7"}));
}

TEST(BlobTest, RefusesOperandThatIsMadeLater) {
  GraphDef g = small_graph();
  g.nodes[0].inputs[0] = kY;
  EXPECT_TRUE(refuses(g, {"node 0 Unary (debug handle 10)", "input 0 is value 4, which nothing before it makes"}));
  g.nodes[0].inputs[0] = kNegative; // its own output
  EXPECT_TRUE(refuses(g, {"node 0", "input 0 is value 3"}));
}

TEST(BlobTest, RefusesOperandThatNothingMakes) {
  GraphDef g = small_graph();
  g.nodes[1].inputs[0] = g.value({-1, 3});
  EXPECT_TRUE(refuses(g, {"node 1", "input 0 is value 7, which nothing before it makes"}));
}

TEST(BlobTest, RefusesAbsentRequiredOperand) {
  GraphDef g = small_graph();
  g.nodes[1].inputs[1] = kNone;
  EXPECT_TRUE(refuses(g, {"node 1 Linear", "input 1 is absent"}));
  g = small_graph();
  g.nodes[1].inputs.clear();
  EXPECT_TRUE(refuses(g, {"node 1 Linear", "has 0 inputs"}));
}

TEST(BlobTest, OpensWithAbsentOptionalOperand) {
  GraphDef g = small_graph();
  g.nodes[1].inputs[2] = kNone;
  EXPECT_TRUE(opens(g));
  g.nodes[1].inputs.pop_back();
  EXPECT_TRUE(opens(g));
}

TEST(BlobTest, RefusesTooManyOperands) {
  GraphDef g = small_graph();
  g.nodes[1].inputs.push_back(kNone);
  EXPECT_TRUE(refuses(g, {"node 1 Linear", "has 4 inputs"}));
}

TEST(BlobTest, RefusesNodeWithoutOutputs) {
  GraphDef g = small_graph();
  g.nodes[1].outputs.clear();
  EXPECT_TRUE(refuses(g, {"node 1 Linear", "no outputs"}));
}

TEST(BlobTest, RefusesNodeWithTooManyOutputs) {
  GraphDef g = small_graph();
  g.nodes[0].outputs.push_back(g.value({-1, 3}));
  EXPECT_TRUE(refuses(g, {"node 0 Unary", "has 2 outputs"}));
}

TEST(BlobTest, RefusesNodeThatWritesUnknownValue) {
  GraphDef g = small_graph();
  g.nodes[1].outputs[0] = 7;
  EXPECT_TRUE(refuses(g, {"node 1 Linear", "value 7"}));
  g.nodes[1].outputs[0] = kNone;
  EXPECT_TRUE(refuses(g, {"node 1 Linear", "value 4294967295"}));
}

TEST(BlobTest, RefusesNodeThatWritesConstant) {
  GraphDef g = small_graph();
  g.nodes[1].outputs[0] = kW;
  EXPECT_TRUE(refuses(g, {"node 1 Linear", "value 1", "made elsewhere"}));
}

TEST(BlobTest, RefusesNodeThatWritesInput) {
  GraphDef g = small_graph();
  g.nodes[1].outputs[0] = kX;
  EXPECT_TRUE(refuses(g, {"node 1 Linear", "value 0", "made elsewhere"}));
}

TEST(BlobTest, RefusesValueThatIsMadeTwice) {
  GraphDef g = small_graph();
  g.nodes[2].outputs[0] = kY;
  EXPECT_TRUE(refuses(g, {"node 2 LayerNorm", "value 4", "made elsewhere"}));
}

// Outputs

TEST(BlobTest, RefusesOutputOfUnknownValue) {
  for (const uint32_t value : {7u, kNone}) {
    GraphDef g = small_graph();
    g.outputs[0].value = value;
    EXPECT_TRUE(refuses(g, {"output 0", ("value " + std::to_string(value)).c_str()}));
  }
}

TEST(BlobTest, RefusesOutputThatNoNodeMakes) {
  GraphDef g = small_graph();
  for (const uint32_t value : {kX, kW, g.value({2})}) {
    g.outputs[0].value = value;
    EXPECT_TRUE(refuses(g, {"output 0", "no node makes"}));
  }
}

TEST(BlobTest, RefusesValueThatIsTwoOutputs) {
  GraphDef g = small_graph();
  g.output(kOut);
  EXPECT_TRUE(refuses(g, {"output 1", "value 6", "another output"}));
}

TEST(BlobTest, RefusesOutputDimOrderThatIsNoPermutation) {
  GraphDef g = small_graph();
  g.outputs[0].dim_order = {0, 0};
  EXPECT_TRUE(refuses(g, {"output 0", "dim_order"}));
}

TEST(BlobTest, OpensWithOutputThatIsAlsoRead) {
  GraphDef g = small_graph();
  g.output(kNorm);
  EXPECT_TRUE(opens(g));
}

// Types

TEST(BlobTest, RefusesDeclaredTypeThatIsNotTheMadeOne) {
  GraphDef g = small_graph();
  g.values[kNegative].dims[1] = 2;
  EXPECT_TRUE(refuses(g, {"node 0 Unary", "makes Float32[2, 3]", "declared is Float32[2, 2]"}));
  g = small_graph();
  g.values[kNegative].dims = {-1, 3, 1};
  EXPECT_TRUE(refuses(g, {"node 0 Unary", "declared is Float32[2, 3, 1]"}));
  g = small_graph();
  g.values[kNegative].dtype = DType::Int32;
  EXPECT_TRUE(refuses(g, {"node 0 Unary", "declared is Int32[2, 3]"}));
}

TEST(BlobTest, RefusesUnknownSizeExpressionOfAttributes) {
  const GraphDef bad[] = {
      one_node(reshape({-1}), {{2}}, {2}),
      one_node(expand({-9, 2}), {{2}}, {3, 2}),
      one_node(slice(0, -1, 1), {{2}}, {1}),
      one_node(slice(0, 0, -1), {{2}}, {1}),
      one_node(slice_scatter({-1}, {1}), {{2}, {1}}, {2}),
      one_node(slice(0, std::numeric_limits<int64_t>::min(), 1), {{2}}, {1}),
  };
  for (const GraphDef& g : bad) {
    EXPECT_TRUE(refuses(g, {"node 0", "debug handle 77", "size expression"}));
  }
}

TEST(BlobTest, RefusesTooLargeSizeOfAttributes) {
  EXPECT_TRUE(refuses(one_node(reshape({int64_t{1} << 41}), {{2}}, {2}), {"node 0 Reshape", "2199023255552"}));
  EXPECT_TRUE(refuses(
      one_node(slice(0, std::numeric_limits<int64_t>::max(), 1), {{2}}, {1}), {"node 0 Slice", "9223372036854775807"}));
}

TEST(BlobTest, RefusesReshapeToRankAboveEight) {
  EXPECT_TRUE(refuses(one_node(reshape(std::vector<int64_t>(9, 1)), {{1}}, {1}), {"node 0 Reshape", "rank 9"}));
}

// Operators: what XNNPACK would not notice. runtime/ops tests every rule of every op.

struct BadNode {
  const char* name;
  GraphDef def;
  const char* message;
};

class BlobNodeTest : public ::testing::TestWithParam<BadNode> {};

TEST_P(BlobNodeTest, IsRefused) {
  EXPECT_TRUE(refuses(GetParam().def, {"node 0", "debug handle 77", GetParam().message}));
}

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

const BadNode kBadNodes[] = {
    {"ConvFilterChannels", one_node(conv2d(), {{1, 4, 4, 3}, {2, 3, 3, 4}}, {1, 2, 2, 2}), "do not match"},
    {"ConvGroupsZero", one_node(conv2d({1, 1}, {}, {1, 1}, 0), {{1, 4, 4, 3}, {2, 3, 3, 3}}, {1, 2, 2, 2}), "0 groups"},
    {"ConvGroupsOverflow",
     one_node(conv2d({1, 1}, {}, {1, 1}, 0x80000000u), {{1, 4, 4, 4}, {2, 3, 3, 2}}, {1, 2, 2, 2}),
     "2147483648 groups"},
    {"ConvBiasLength", one_node(conv2d(), {{1, 4, 4, 3}, {2, 3, 3, 3}, {3}}, {1, 2, 2, 2}), "must have shape [2]"},
    {"ConvStrideZero", one_node(conv2d({0, 1}), {{1, 4, 4, 3}, {2, 3, 3, 3}}, {1, 2, 2, 2}), "stride 0"},
    {"ConvKernelZero", one_node(conv2d(), {{1, 4, 4, 3}, {2, 0, 3, 3}}, {1, 5, 2, 2}), "do not match"},
    {"ConvKernelLargerThanInput", one_node(conv2d(), {{1, 2, 4, 3}, {2, 3, 3, 3}}, {1, 1, 2, 2}), "does not fit"},
    {"ConvPaddingOverflow",
     one_node(conv2d({1, 1}, {~0u, 0, ~0u, 0}), {{1, 4, 4, 3}, {2, 3, 3, 3}}, {1, 2, 2, 2}),
     "table of windows"},
    {"ConvDilationOverflow",
     one_node(conv2d({1, 1}, {}, {~0u, 1}), {{1, 4, 4, 3}, {2, 3, 3, 3}}, {1, 2, 2, 2}),
     "does not fit"},
    {"ConvRank", one_node(conv2d(), {{4, 4, 3}, {2, 3, 3, 3}}, {1, 2, 2, 2}), "rank 4"},
    {"DepthwiseFilter",
     one_node(conv2d({1, 1}, {}, {1, 1}, 4), {{1, 4, 4, 4}, {4, 3, 3, 2}}, {1, 2, 2, 4}),
     "do not match"},
    {"ConvTransposeFilter", one_node(conv_transpose2d(), {{1, 2, 2, 3}, {2, 3, 3, 4}}, {1, 4, 4, 2}), "do not match"},
    {"ConvTransposeAdjustment",
     one_node(conv_transpose2d({1, 1}, {}, {1, 0}), {{1, 2, 2, 3}, {2, 3, 3, 3}}, {1, 5, 4, 2}),
     "output padding 1"},
    {"LinearRankZero", one_node(linear(), {{}, {2, 3}}, {2}), "does not match weight"},
    {"LinearK", one_node(linear(), {{1, 4}, {2, 3}}, {1, 2}), "does not match weight"},
    {"LinearWeightRank", one_node(linear(), {{1, 3}, {1, 2, 3}}, {1, 2}), "rank 2"},
    {"LinearBiasLength", one_node(linear(), {{1, 3}, {2, 3}, {1}}, {1, 2}), "must have shape [2]"},
    {"ConcatRanks", one_node(concat(0), {{2, 3}, {2}}, {4, 3}), "does not fit"},
    {"ConcatSizes", one_node(concat(0), {{2, 3}, {2, 4}}, {4, 3}), "does not fit"},
    {"ConcatAxis", one_node(concat(2), {{2, 3}, {2, 3}}, {4, 3}), "axis 2"},
    {"ConcatNothing", one_node(concat(0), {}, {0}), "no inputs"},
    {"PadShortVectors", one_node(pad({1}, {1}), {{2, 3}}, {4, 3}), "pads 1 and 1 axes"},
    {"PadLongVectors", one_node(pad({0, 0, 0}, {0, 0, 0}), {{2, 3}}, {2, 3}), "pads 3 and 3 axes"},
    {"PadOverflow", one_node(pad({~0u, ~0u, ~0u, ~0u}, {0, 0, 0, 0}), {{1, 1, 1, 1}}, {1, 1, 1, 1}), "1 TiB"},
    {"SliceBehindTheEnd", one_node(slice(0, 2, 2), {{3}}, {2}), "not inside"},
    {"SliceStepZero", one_node(slice(0, 0, 1, 0), {{3}}, {1}), "step is 0"},
    {"SliceStepOverflow", one_node(slice(0, 0, int64_t{1} << 40, ~0u), {{3}}, {1}), "not inside"},
    {"SliceAxis", one_node(slice(1, 0, 1), {{3}}, {1}), "axis 1"},
    {"ResizeScale",
     one_node(
         AttributesDef{
             schema::Attributes::Resize2d,
             [](FlatBufferBuilder& b) {
               const std::vector<int64_t> shape{2, 2};
               return schema::CreateResize2dDirect(b, schema::ResizeKind::Nearest, &shape, false, 1e300, 1).Union();
             }},
         {{1, 2, 2, 1}},
         {1, 2, 2, 1}),
     "scale is 1e+300"},
    {"ReshapeCount", one_node(reshape({2, 2}), {{3}}, {2, 2}), "cannot be reshaped"},
    {"TransposeDuplicate", one_node(transpose({0, 0}), {{2, 3}}, {2, 2}), "taken twice"},
    {"TransposeAxis", one_node(transpose({0, 2}), {{2, 3}}, {2, 3}), "out of range"},
    {"TransposeLength", one_node(transpose({0}), {{2, 3}}, {2}), "permutes 1 axes"},
    {"ExpandSizes", one_node(expand({4}), {{2}}, {4}), "does not expand"},
    {"ReduceNoAxes", one_node(reduce(schema::ReduceKind::Sum, {}), {{2, 3}}, {2, 3}), "no axes"},
    {"ReduceAxis", one_node(reduce(schema::ReduceKind::Sum, {2}), {{2, 3}}, {2, 3}), "axis 2"},
    {"ReduceDuplicate", one_node(reduce(schema::ReduceKind::Sum, {0, 0}), {{2, 3}}, {3}), "ascend"},
    {"ReduceManyAxes",
     one_node(reduce(schema::ReduceKind::Mean, std::vector<uint8_t>(200, 0)), {{2, 3}}, {3}),
     "ascend"},
    {"ReduceUnknownKind", one_node(reduce(static_cast<schema::ReduceKind>(9), {0}), {{2, 3}}, {3}), "kind 9"},
    {"SortCount", one_node(sort(1, true, 4), {{2, 3}}, {2, 4}), "the first 4 of 3"},
    {"SortHugeCount", one_node(sort(1, false, ~0u), {{2, 3}}, {2, 3}), "the first 4294967295 of 3"},
    {"SoftmaxRankZero", one_node(softmax(0), {{}}, {}), "axis 0"},
    {"PoolRank", one_node(max_pool2d({2, 2}, {1, 1}), {{4, 4, 3}}, {3, 3, 3}), "rank 4"},
    {"PoolWindowZero", one_node(avg_pool2d({0, 2}, {1, 1}), {{1, 4, 4, 3}}, {1, 5, 3, 3}), "kernel 0"},
    {"PoolPadding", one_node(max_pool2d({2, 2}, {1, 1}, {2, 0, 0, 0}), {{1, 4, 4, 3}}, {1, 5, 3, 3}), "as large"},
    {"PoolEmptyImage", one_node(max_pool2d({2, 2}, {1, 1}), {{1, 0, 4, 3}}, {1, 0, 3, 3}), "empty"},
    {"MatMulInnerSize", one_node(batch_matmul(), {{2, 3}, {4, 2}}, {2, 2}), "do not match"},
    {"MatMulRank", one_node(batch_matmul(), {{3}, {3}}, {}), "do not match"},
    {"MatMulBatch", one_node(batch_matmul(), {{2, 2, 3}, {3, 3, 2}}, {2, 2, 2}), "do not match"},
    {"BinaryBroadcast", one_node(binary(BinaryKind::Add), {{2, 3}, {2}}, {2, 3}), "do not broadcast"},
    {"BinaryUnknownKind", one_node(binary(static_cast<BinaryKind>(200)), {{2}, {2}}, {2}), "kind 200"},
    {"UnaryUnknownKind", one_node(unary(static_cast<UnaryKind>(200)), {{2}}, {2}), "kind 200"},
    {"UnaryClampMissing", one_node(unary(UnaryKind::Clamp), {{2}}, {2}), "clamp"},
    {"ClampReversed", one_node(clamp(1, -1), {{2}}, {2}), "clamps to [1, -1]"},
    {"ClampNaN", one_node(clamp(0, kNaN), {{2}}, {2}), "clamps to"},
    {"LayerNormAxes", one_node(layer_norm(3), {{2, 3}}, {2, 3}), "3 of 2 axes"},
    {"LayerNormWeight", one_node(layer_norm(), {{2, 3}, {2}}, {2, 3}), "must have shape [3]"},
    {"LayerNormEpsilon", one_node(layer_norm(1, kNaN), {{2, 3}}, {2, 3}), "epsilon"},
    {"AttentionRank", one_node(attention(1), {{3}, {3}, {3}}, {3}), "do not match"},
    {"AttentionHeads", one_node(attention(1), {{3, 2, 4}, {2, 2, 4}, {2, 2, 4}}, {3, 2, 4}), "do not match"},
    {"AttentionMask", one_node(attention(1), {{2, 4}, {3, 4}, {3, 4}, {2, 2}}, {2, 4}), "mask"},
    {"AttentionScale", one_node(attention(kNaN), {{2, 4}, {3, 4}, {3, 4}}, {2, 4}), "scale"},
    {"AdaptivePoolKind",
     one_node(adaptive_pool2d(static_cast<schema::AdaptivePoolKind>(2), {1, 1}), {{1, 2, 2, 1}}, {1, 1, 1, 1}),
     "kind 2"},
};

INSTANTIATE_TEST_SUITE_P(, BlobNodeTest, ::testing::ValuesIn(kBadNodes), [](const auto& test) {
  return test.param.name;
});

TEST(BlobTest, RefusesMissingStructs) {
  const GraphDef bad[] = {
      one_node(
          attributes([](FlatBufferBuilder& b) { return schema::CreateConv2d(b); }),
          {{1, 4, 4, 3}, {2, 3, 3, 3}},
          {1, 2, 2, 2}),
      one_node(
          attributes([](FlatBufferBuilder& b) { return schema::CreateConvTranspose2d(b); }),
          {{1, 4, 4, 3}, {2, 3, 3, 3}},
          {1, 6, 6, 2}),
      one_node(
          attributes([](FlatBufferBuilder& b) { return schema::CreateAvgPool2d(b); }), {{1, 4, 4, 3}}, {1, 2, 2, 3}),
      one_node(
          attributes([](FlatBufferBuilder& b) { return schema::CreateMaxPool2d(b); }), {{1, 4, 4, 3}}, {1, 2, 2, 3}),
      one_node(
          attributes([](FlatBufferBuilder& b) { return schema::CreateAdaptivePool2d(b); }),
          {{1, 4, 4, 3}},
          {1, 2, 2, 3}),
      one_node(attributes([](FlatBufferBuilder& b) { return schema::CreateReduce(b); }), {{1, 4}}, {1}),
      one_node(attributes([](FlatBufferBuilder& b) { return schema::CreateTranspose(b); }), {{1, 4}}, {4, 1}),
      one_node(attributes([](FlatBufferBuilder& b) { return schema::CreatePad(b); }), {{1, 4}}, {4, 1}),
      one_node(attributes([](FlatBufferBuilder& b) { return schema::CreateReshape(b); }), {{1, 4}}, {4, 1}),
      one_node(attributes([](FlatBufferBuilder& b) { return schema::CreateExpand(b); }), {{1, 4}}, {4, 1}),
  };
  for (const GraphDef& g : bad) {
    EXPECT_TRUE(refuses(g, {"node 0", "debug handle 77"}));
  }
}

TEST(BlobTest, RefusesNodeOfAnotherDType) {
  for (const DType dtype : {DType::Int32, DType::Int64, DType::Bool, DType::Float16, DType::BFloat16}) {
    GraphDef g = small_graph();
    g.values[kB].dtype = dtype;
    g.values[kB].constant->data->resize(4 * element_size(dtype));
    EXPECT_TRUE(refuses(g, {"node 1 Linear", "must be Float32"}));
  }
}

// Sizes and types of another call

TEST(BlobTest, InfersTypesAtOtherSizes) {
  const std::vector<uint8_t> bytes = small_graph().build();
  StatusOr<Blob> blob = Blob::open(span(bytes));
  ASSERT_TRUE(blob.ok());
  ArgumentSize argument;
  argument.shape = {5, 3};
  StatusOr<Sizes> sizes = evaluate_sizes(blob->graph(), {&argument, 1});
  ASSERT_TRUE(sizes.ok());
  StatusOr<std::vector<TensorType>> types = blob->infer_types(*sizes);
  ASSERT_TRUE(types.ok());
  EXPECT_EQ((*types)[kOut].to_string(), "Float32[10, 2]");
  EXPECT_EQ((*types)[kW].to_string(), "Float32[4, 3]");
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
