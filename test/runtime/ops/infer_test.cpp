// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/ops/infer.h>

#include <limits>

#include "../program/blob_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using flatbuffers::FlatBufferBuilder;
using schema::BinaryKind;
using schema::UnaryKind;

// Types

TEST(InferTest, RefusesDeclaredTypeThatIsNotTheMadeOne) {
  GraphDef g = small_graph();
  g.values[kNegative].dims[1] = 2;
  EXPECT_TRUE(refuses(g, {"node 0 Unary", "makes Float32[2, 3]", "the program declares Float32[2, 2]"}));
  g = small_graph();
  g.values[kNegative].dims = {-1, 3, 1};
  EXPECT_TRUE(refuses(g, {"node 0 Unary", "the program declares Float32[2, 3, 1]"}));
  g = small_graph();
  g.values[kNegative].dtype = DType::Int32;
  EXPECT_TRUE(refuses(g, {"node 0 Unary", "the program declares Int32[2, 3]"}));
}

TEST(InferTest, IntegersStandForNumbersThatAreExactInFloat32Alone) {
  GraphDef g;
  const uint32_t x = g.input({4}, DType::BFloat16);
  const uint32_t y = g.node(cast(DType::Float32), {x}, {4}), q = g.quantized(g.node(cast(DType::Float32), {x}, {4}));
  g.output(y);
  g.output(g.node(softmax(0), {q}, {4}));
  const std::vector<uint8_t> bytes = g.build();
  StatusOr<Blob> blob = open_blob(span(bytes));
  ASSERT_TRUE(blob.ok()) << blob.status().message();
  StatusOr<Sizes> sizes = planned_sizes(blob->graph());
  ASSERT_TRUE(sizes.ok());
  StatusOr<std::vector<TensorType>> types = infer_types(*blob, *sizes);
  ASSERT_TRUE(types.ok()) << types.status().message();
  EXPECT_EQ((*types)[y].exact_in, DType::BFloat16);
  EXPECT_EQ((*types)[q].exact_in, DType::Float32);
}

TEST(InferTest, RefusesUnknownSizeExpressionOfAttributes) {
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

TEST(InferTest, RefusesTooLargeSizeOfAttributes) {
  EXPECT_TRUE(refuses(one_node(reshape({int64_t{1} << 41}), {{2}}, {2}), {"node 0 Reshape", "2199023255552"}));
  EXPECT_TRUE(refuses(
      one_node(slice(0, std::numeric_limits<int64_t>::max(), 1), {{2}}, {1}), {"node 0 Slice", "9223372036854775807"}));
}

TEST(InferTest, RefusesReshapeToRankAboveEight) {
  EXPECT_TRUE(refuses(one_node(reshape(std::vector<int64_t>(9, 1)), {{1}}, {1}), {"node 0 Reshape", "rank 9"}));
}

// Operators: what XNNPACK would not notice. runtime/ops tests every rule of every op.

struct BadNode {
  const char* name;
  GraphDef def;
  const char* message;
};

class InferNodeTest : public ::testing::TestWithParam<BadNode> {};

TEST_P(InferNodeTest, IsRefused) { // Robustness: N1 N2 N3 N4 N5 N6 N7 N8 N10 N11 N12 N13 N14 N15 N19 N21 N22
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
               const std::vector<schema::Size> shape = sizes_of({2, 2});
               return schema::CreateResize2dDirect(b, schema::ResizeKind::Nearest, &shape, false, 1e300, 1).Union();
             }},
         {{1, 2, 2, 1}},
         {1, 2, 2, 1}),
     "its scale is 1e+300, but must be"},
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

INSTANTIATE_TEST_SUITE_P(, InferNodeTest, ::testing::ValuesIn(kBadNodes), [](const auto& test) {
  return test.param.name;
});

TEST(InferTest, RefusesMissingStructs) {
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

TEST(InferTest, RefusesNodeOfAnotherDType) { // Robustness: N20
  for (const DType dtype : {DType::Int32, DType::Int64, DType::Bool, DType::Float16, DType::BFloat16}) {
    GraphDef g = small_graph();
    g.values[kB].dtype = dtype;
    g.values[kB].constant->data->resize(4 * element_size(dtype));
    EXPECT_TRUE(refuses(g, {"node 1 Linear", "must be Float32"}));
  }
}

// Sizes and types of another call

TEST(InferTest, InfersTypesAtOtherSizes) {
  const std::vector<uint8_t> bytes = small_graph().build();
  StatusOr<Blob> blob = open_blob(span(bytes));
  ASSERT_TRUE(blob.ok());
  ArgumentSize argument;
  argument.shape = {5, 3};
  StatusOr<Sizes> sizes = evaluate_sizes(blob->graph(), {&argument, 1});
  ASSERT_TRUE(sizes.ok());
  StatusOr<std::vector<TensorType>> types = infer_types(*blob, *sizes);
  ASSERT_TRUE(types.ok());
  EXPECT_EQ((*types)[kOut].to_string(), "Float32[10, 2]");
  EXPECT_EQ((*types)[kW].to_string(), "Float32[4, 3]");
}

TEST(InferTest, WithWhatIsKnownItGivesWhatItGivesWithout) {
  GraphDef g;
  const int64_t rows = g.ranged(schema::DimOp::InputDim, 0, 0, 0, 9, 4);
  const int64_t start = g.ranged(schema::DimOp::InputInt, 1, 0, 0, 9, 1);
  const uint32_t x = g.input({rows, 6});
  g.inputs.push_back({kNone, {}});
  const uint32_t root = g.node(unary(UnaryKind::Abs), {x}, {rows, 6});
  const uint32_t part = g.node(slice(1, start, 4), {root}, {rows, 4});
  g.output(g.node(unary(UnaryKind::Neg), {part}, {rows, 4}));
  const std::vector<uint8_t> bytes = g.build();
  StatusOr<Blob> blob = open_blob(span(bytes));
  ASSERT_TRUE(blob.ok()) << blob.status().message();
  Inference known;
  std::vector<TensorType> types; // of the last call with other shapes
  struct Call {
    size_t rows;
    int64_t start;
    bool same, fits; // shapes as before; the slice is inside
  };
  for (const Call& call : std::initializer_list<Call>{
           {4, 1, false, true},
           {4, 2, true, true},
           {4, 3, true, false},
           {4, 0, true, true},
           {7, 5, false, false},
           {7, 0, false, true},
           {7, 2, true, true},
           {0, 2, false, true},
           {4, 2, false, true}}) {
    const ArgumentSize arguments[] = {{Shape{call.rows, 6}, 0}, {Shape{}, call.start}};
    StatusOr<Sizes> sizes = evaluate_sizes(blob->graph(), {arguments, 2});
    ASSERT_TRUE(sizes.ok());
    StatusOr<std::vector<TensorType>> inferred = infer_types(*blob, *sizes);
    ASSERT_EQ(inferred.ok(), call.fits) << call.rows << " rows from " << call.start;
    StatusOr<bool> again = infer_again(*blob, *sizes, known, types);
    if (call.same && !call.fits) {
      EXPECT_EQ(again.status().message(), inferred.status().message());
      continue;
    }
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(*again, call.same);
    if (*again) {
      EXPECT_EQ(types, *inferred);
    } else if (StatusOr<std::vector<TensorType>> found = infer_types(*blob, *sizes, &known); found.ok()) {
      types = *found;
      EXPECT_EQ(known.asks, (std::vector<bool>{false, true, false}));
      EXPECT_EQ(known.dynamic, (std::vector<uint32_t>{x, root, part, part + 1}));
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
