// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <set>
#include <sstream>

#include <flatbuffers/minireflect.h>
#include <gmock/gmock.h>
#include <runtime/program/blob.h>

#include "sample_graphs.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using ::testing::HasSubstr;

std::string text_of(const GraphDef& def) {
  const std::vector<uint8_t> bytes = def.build();
  StatusOr<Blob> blob = open_blob(span(bytes));
  EXPECT_TRUE(blob.ok()) << blob.status().message();
  return blob.ok() ? inspect(*blob) : "";
}

TEST(InspectTest, TellsTheWholeGraph) {
  EXPECT_EQ(text_of(small_graph()), R"(size e0 = in0.0
size e1 = 2
size e2 = Mul(e0, e1)
in %0: Float32[in0.0, 3]
const %1: Float32[4, 3] = #w
const %2: Float32[4] = 16 bytes
%3: Float32[in0.0, 3] = Unary(%0) kind=Neg @10
%4: Float32[in0.0, 4] = Linear(%3, %1, %2) @11
%5: Float32[in0.0, 4] = LayerNorm(%4, none, %2) epsilon=1e-05 @12
%6: Float32[Mul(e0, e1), 2] = Reshape(%5) shape=(Mul(e0, e1), 2) @13
out %6
)");
}

TEST(InspectTest, TellsStructsVectorsAndEnums) {
  GraphDef g;
  const uint32_t x = g.input({1, 7, 6, 4});
  const uint32_t w = g.constant({2, 3, 2, 4}, some_numbers(48));
  const uint32_t y = g.node(conv2d({2, 1}, {1, 0, 2, 3}), {x, w}, {1, 4, 8, 2});
  const uint32_t z = g.node(clamp(-0.5f, std::numeric_limits<float>::infinity()), {y}, {1, 4, 8, 2});
  const uint32_t a = g.node(unary(schema::UnaryKind::Abs), {z}, {1, 4, 8, 2});
  g.output(g.node(reduce(schema::ReduceKind::Mean, {1, 2}, true), {a}, {1, 1, 1, 2}));
  const std::string text = text_of(g);
  EXPECT_THAT(text, HasSubstr("= Conv2d(%0, %1) stride=(2, 1) padding=(1, 0, 2, 3) dilation=(1, 1) @0"));
  EXPECT_THAT(text, HasSubstr("= Unary(%2) kind=Clamp clamp=(-0.5, inf) @0"));
  EXPECT_THAT(text, HasSubstr("= Unary(%3) kind=Abs @0"));
  EXPECT_THAT(text, HasSubstr("= Reduce(%4) kind=Mean axes=(1, 2) keep_dims=true @0"));
}

TEST(InspectTest, TellsStatesAndIntegers) {
  GraphDef g;
  g.inputs.push_back({kNone, {}});
  const int64_t start = g.ranged(schema::DimOp::InputInt, 0, 0, 0, 2, 1);
  const uint32_t x = g.input({1});
  const uint32_t cache = g.state("cache", {3}, {1, 2, 3});
  g.states[0].update = g.node(slice_scatter({start}, {1}), {cache, x}, {3});
  const std::string text = text_of(g);
  EXPECT_THAT(text, HasSubstr("in integer\nin %0: Float32[1]\nstate %1: Float32[3] of cache\n"));
  EXPECT_THAT(text, HasSubstr("= SliceScatter(%1, %0) start=(in0) step=(1) @0"));
  EXPECT_THAT(text, HasSubstr("set cache %2\n"));
}

TEST(InspectTest, EscapesNames) {
  GraphDef g;
  const uint32_t state = g.state("a\nb \xc3\xa9", {1}, {1});
  g.states[0].initial = ConstantDef{"\xc3\xa9-key", std::nullopt};
  g.states[0].update = g.node(unary(schema::UnaryKind::Neg), {state}, {1});
  const uint32_t w = g.constant({1}, {1});
  g.values[w].constant = ConstantDef{"\xc3\xa9-weight", std::nullopt};
  g.output(g.node(unary(schema::UnaryKind::Neg), {w}, {1}));
  const std::string text = text_of(g);
  EXPECT_THAT(text, HasSubstr(" of a\\x0ab \\xc3\\xa9\n"));
  EXPECT_THAT(text, HasSubstr("set a\\x0ab \\xc3\\xa9 %"));
  EXPECT_THAT(text, HasSubstr("= #\\xc3\\xa9-weigh\n"));
}

TEST(InspectTest, TellsHowConstantsAreStored) {
  GraphDef g = small_graph();
  g.values[1].constant->storage = schema::Storage::BFloat16;
  EXPECT_THAT(text_of(g), HasSubstr("const %1: Float32[4, 3] = #w stored as BFloat16\n"));
}

// Every operator, with every field that is written, whatever comes to the schema.
TEST(InspectTest, TellsEveryField) {
  std::set<schema::Attributes> seen;
  for (const SampleGraph& sample : sample_graphs()) {
    SCOPED_TRACE(sample.name);
    const std::vector<uint8_t> bytes = sample.def.build();
    StatusOr<Blob> blob = open_blob(span(bytes));
    ASSERT_TRUE(blob.ok()) << blob.status().message();
    std::istringstream lines(inspect(*blob));
    std::string line;
    size_t nodes = 0;
    while (std::getline(lines, line)) {
      if (line[0] != '%') {
        continue;
      }
      const schema::Node& node = blob->node(nodes++);
      const auto type = static_cast<size_t>(node.attributes_type());
      seen.insert(node.attributes_type());
      EXPECT_THAT(line, HasSubstr(std::string("= ") + schema::EnumNameAttributes(node.attributes_type()) + "("));
      const flatbuffers::TypeTable& all = *schema::AttributesTypeTable();
      const flatbuffers::TypeTable& fields = *all.type_refs[all.type_codes[type].sequence_ref]();
      const auto* table = static_cast<const flatbuffers::Table*>(node.attributes());
      for (size_t i = 0; i < fields.num_elems; ++i) {
        if (table->CheckField(flatbuffers::FieldIndexToOffset(static_cast<flatbuffers::voffset_t>(i)))) {
          EXPECT_THAT(line, HasSubstr(std::string(" ") + fields.names[i] + "="));
        }
      }
    }
    EXPECT_EQ(nodes, blob->num_nodes());
  }
  for (const schema::Attributes member : schema::EnumValuesAttributes()) {
    EXPECT_TRUE(member == schema::Attributes::NONE || seen.count(member) == 1)
        << "sample_graphs() has no " << schema::EnumNameAttributes(member);
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
