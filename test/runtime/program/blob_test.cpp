// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/program/blob.h>

#include <cstring>

#include "blob_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using flatbuffers::FlatBufferBuilder;
using schema::DimOp;

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

TEST(BlobTest, NoneIsWhatTheSchemaSays) {
  FlatBufferBuilder builder;
  builder.Finish(schema::CreateInput(builder));
  EXPECT_EQ(flatbuffers::GetRoot<schema::Input>(builder.GetBufferPointer())->value(), kNone);
}

TEST(BlobTest, CopiesTheBytes) {
  StatusOr<Blob> blob(Status(Error::Internal, ""));
  {
    SmallBlob bytes;
    blob = open_blob(span(*bytes));
    std::memset((*bytes).data(), 0xFF, (*bytes).size());
  }
  ASSERT_TRUE(blob.ok());
  EXPECT_EQ(blob->num_nodes(), 4u);
  EXPECT_EQ(blob->describe(1), "node 1 Linear (debug handle 11)");
}

TEST(BlobTest, OpensAtAnyAlignment) { // Robustness: H8
  const std::vector<uint8_t> bytes = small_graph().build();
  std::vector<uint8_t> shifted(bytes.size() + 16);
  for (size_t offset = 0; offset < 16; ++offset) {
    std::memcpy(shifted.data() + offset, bytes.data(), bytes.size());
    EXPECT_TRUE(opens({shifted.data() + offset, bytes.size()})) << offset;
  }
}

TEST(BlobTest, RefusesEveryTruncation) { // Robustness: H1 H9
  const SmallBlob blob;
  const size_t size = small_graph().build().size();
  for (size_t length = 0; length < size; ++length) {
    // An allocation of exactly this size, so that a sanitizer sees a read behind it.
    const std::vector<uint8_t> part(blob.first(length).begin(), blob.first(length).end());
    const Status status = open_blob(span(part)).status();
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

TEST(BlobTest, RefusesOtherFiles) { // Robustness: H2
  const std::string text = "This is a text file, not a delegate blob.";
  EXPECT_TRUE(refuses(
      {reinterpret_cast<const uint8_t*>(text.data()), text.size()}, Error::InvalidProgram, {"not an et_xnnpack blob"}));
  GraphDef g = small_graph();
  g.identifier = "ET12";
  EXPECT_TRUE(refuses(g, {"not an et_xnnpack blob"}));
}

TEST(BlobTest, RefusesNewerFormat) { // Robustness: H3
  GraphDef g = small_graph();
  g.identifier = "ETX2";
  EXPECT_TRUE(refuses(span(g.build()), Error::DelegateInvalidCompatibility, {"ETX2", "ETX1", "update the runtime"}));
  g.identifier = "ETX\n";
  EXPECT_TRUE(refuses(span(g.build()), Error::DelegateInvalidCompatibility, {"ETX?"}));
}

TEST(BlobTest, RefusesMissingFeatures) {
  for (unsigned bit = 6; bit < 64; ++bit) {
    GraphDef g = small_graph();
    g.required_features |= uint64_t{1} << bit;
    char name[32];
    std::snprintf(name, sizeof(name), "0x%llx", 1ull << bit);
    EXPECT_TRUE(refuses(span(g.build()), Error::DelegateInvalidCompatibility, {name, "update the runtime"}));
  }
}

TEST(BlobTest, RefusesRootOffsetBehindTheEnd) { // Robustness: H4
  for (const uint32_t root : {0u, 8u, 0x7FFFFFF0u, 0xFFFFFFFFu}) {
    SmallBlob blob;
    std::memcpy((*blob).data(), &root, sizeof(root));
    EXPECT_TRUE(refuses(span(*blob), Error::InvalidProgram, {"truncated or corrupt"})) << root;
  }
}

TEST(BlobTest, SurvivesEverySingleBitFlip) { // Robustness: H10
  SmallBlob blob;
  size_t opened = 0;
  for (size_t bit = 0; bit < (*blob).size() * 8; ++bit) {
    const auto mask = static_cast<uint8_t>(1 << bit % 8);
    (*blob)[bit / 8] ^= mask;
    StatusOr<Blob> result = open_blob(span(*blob));
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

TEST(BlobTest, RefusesTooManyTables) { // Robustness: H11
  FlatBufferBuilder builder;
  const auto value = schema::CreateValueDirect(builder);
  const std::vector<flatbuffers::Offset<schema::Value>> values((1 << 22) + 1, value);
  builder.Finish(schema::CreateGraphDirect(builder, 1, nullptr, nullptr, &values), "ETX1");
  EXPECT_TRUE(
      refuses({builder.GetBufferPointer(), builder.GetSize()}, Error::InvalidProgram, {"truncated or corrupt"}));
}

// Counts

TEST(BlobTest, RefusesNoGraph) { // Robustness: G1
  FlatBufferBuilder builder;
  builder.Finish(schema::CreateGraph(builder, 1), "ETX1");
  EXPECT_TRUE(refuses({builder.GetBufferPointer(), builder.GetSize()}, Error::InvalidProgram, {"no values"}));
}

TEST(BlobTest, RefusesNoOutputs) { // Robustness: G3
  GraphDef g = small_graph();
  g.outputs.clear();
  EXPECT_TRUE(refuses(g, {"no outputs"}));
}

TEST(BlobTest, RefusesNoNodes) { // Robustness: G2
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

TEST(BlobTest, RefusesTooManyEntries) { // Robustness: G5
  GraphDef g = small_graph();
  g.exprs.resize((1 << 20) + 1, schema::DimExpr(DimOp::Const, 1, 0));
  EXPECT_TRUE(refuses(g, {"1048577 entries"}));
  g = small_graph();
  g.nodes.resize((1 << 16) + 1, g.nodes[0]);
  EXPECT_TRUE(refuses(g, {"65537 nodes"}));
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
