// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/execute/executable.h>

#include <cstring>
#include <memory>
#include <random>

#include <gtest/gtest.h>
#include <runtime/base/threadpool.h>

#include "data_map.h"
#include "executable_call.h"
#include "sample_graphs.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BinaryKind;
using schema::DimOp;
using schema::UnaryKind;

// Operands that are broadcast in one call and not in the next: XNNPACK computes in place where sizes
// are equal, and must notice that they no longer are.
GraphDef broadcasts() {
  GraphDef g;
  const int64_t n = g.ranged(DimOp::InputDim, 0, 0, 1, 2, 2);
  const int64_t m = g.ranged(DimOp::InputDim, 1, 0, 1, 2, 2);
  const int64_t most = g.expr(DimOp::Max, -1 - n, -1 - m);
  const uint32_t a = g.input({n, 8});
  const uint32_t b = g.input({m, 8});
  const uint32_t c = g.node(unary(UnaryKind::Neg), {a}, {n, 8});
  const uint32_t d = g.node(unary(UnaryKind::Abs), {b}, {m, 8});
  const uint32_t sum = g.node(binary(BinaryKind::Add), {c, d}, {most, 8});
  const uint32_t product = g.node(binary(BinaryKind::Mul), {sum, c}, {most, 8});
  const uint32_t difference = g.node(binary(BinaryKind::Sub), {d, product}, {most, 8});
  g.output(g.node(softmax(1), {difference}, {most, 8}));
  return g;
}

// Images that XNNPACK rounds itself, one by one: more of them in one call, larger ones in the next.
GraphDef dynamically_quantized_images() {
  GraphDef g;
  const int64_t n = g.ranged(DimOp::InputDim, 0, 0, 1, 5, 5);
  const int64_t height = g.ranged(DimOp::InputDim, 0, 1, 3, 9, 9);
  const int64_t width = g.ranged(DimOp::InputDim, 0, 2, 3, 5, 5);
  const uint32_t x = g.input({n, height, width, 4});
  const QuantizationDef by_channel{{0.01f, 0.02f, 0.03f, 0.01f}, {0, 0, 0, 0}, 0};
  const schema::Size2D one(1, 1);
  const schema::Padding2D border(1, 1, 1, 1);
  const auto conv = attributes([=](flatbuffers::FlatBufferBuilder& b) {
    return schema::CreateConv2d(b, &one, &border, &one, 1, nullptr, /*dynamic_quantization=*/true);
  });
  const auto transposed = attributes([=](flatbuffers::FlatBufferBuilder& b) {
    const schema::Size2D none(0, 0);
    return schema::CreateConvTranspose2d(b, &one, &border, &none, &one, 1, nullptr, /*dynamic_quantization=*/true);
  });
  const uint32_t y = g.node(conv, {x, g.integers({4, 3, 3, 4}, by_channel)}, {n, height, width, 4});
  g.output(g.node(transposed, {y, g.integers({4, 3, 3, 4}, by_channel)}, {n, height, width, 4}));
  return g;
}

// Pools of images with any number of channels.
GraphDef pools() {
  GraphDef g;
  const int64_t n = g.ranged(DimOp::InputDim, 0, 0, 1, 3, 3);
  const int64_t height = g.ranged(DimOp::InputDim, 0, 1, 2, 4, 4);
  const int64_t width = g.ranged(DimOp::InputDim, 0, 2, 2, 3, 3);
  const int64_t channels = g.ranged(DimOp::InputDim, 0, 3, 1, 40, 40);
  const uint32_t x = g.input({n, height, width, channels});
  const schema::Size2D one(1, 1), three(3, 3);
  const schema::Padding2D border(1, 1, 1, 1);
  const uint32_t q = g.quantized(g.node(unary(UnaryKind::Copy), {x}, {n, height, width, channels}), 0.02f, 3);
  const uint32_t most = g.node(max_pool2d(three, one, border), {q}, {n, height, width, channels});
  g.output(g.node(unary(UnaryKind::Copy), {g.quantized(most, 0.02f, 3)}, {n, height, width, channels}));
  const uint32_t mean = g.node(avg_pool2d(three, one, border), {x}, {n, height, width, channels});
  g.output(mean);
  g.output(g.node(adaptive_pool2d(schema::AdaptivePoolKind::Average, one), {mean}, {n, 1, 1, channels}));
  return g;
}

// Rows that a linear layer rounds to 8 bits, each to its own scale.
GraphDef dynamically_quantized_rows() {
  GraphDef g;
  const int64_t rows = g.ranged(DimOp::InputDim, 0, 0, 1, 40, 7);
  const uint32_t x = g.input({rows, 64});
  const uint32_t w = g.value({20, 32}, DType::UInt8);
  std::vector<uint8_t> bytes(20 * 32);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(i * 37);
  }
  g.values[w].constant = ConstantDef{std::nullopt, bytes};
  const uint32_t scales = g.constant({20, 2}, std::vector<float>(40, 0.02f));
  g.output(g.node(quantized_linear(4, true), {x, w, scales}, {rows, 20}));
  return g;
}

// XNNPACK gets operands that are empty in one call and not in the next, while its results are not.
GraphDef empties() {
  GraphDef g;
  const int64_t n = g.ranged(DimOp::InputDim, 0, 0, 0, 2, 2);
  const int64_t m = g.ranged(DimOp::InputDim, 1, 0, 0, 1, 1);
  const int64_t rows = g.expr(DimOp::Add, -1 - n, -1 - m);
  const uint32_t past = g.input({n, 4});
  const uint32_t x = g.input({m, 3});
  const uint32_t w = g.named({4, 3}, "w");
  const uint32_t y = g.node(linear(), {x, w}, {m, 4});
  const uint32_t both = g.node(concat(0), {past, y}, {rows, 4});
  g.output(g.node(softmax(1), {both}, {rows, 4}));
  const uint32_t turned = g.node(transpose({1, 0}), {past}, {4, n});
  g.output(g.node(unary(UnaryKind::Neg), {g.node(batch_matmul(), {turned, past}, {4, 4})}, {4, 4}));
  const uint32_t b = g.constant({4}, some_numbers(4));
  g.output(g.node(binary(BinaryKind::Add), {g.node(unary(UnaryKind::Abs), {past}, {n, 4}), b}, {n, 4}));
  return g;
}

std::vector<SampleGraph> graphs() {
  std::vector<SampleGraph> result = sample_graphs();
  result.push_back({"dynamically_quantized_images", dynamically_quantized_images()});
  result.push_back({"dynamically_quantized_rows", dynamically_quantized_rows()});
  result.push_back({"broadcasts", broadcasts()});
  result.push_back({"pools", pools()});
  result.push_back({"empties", empties()});
  return result;
}

class ExecutableTest : public ::testing::TestWithParam<SampleGraph> {
 protected:
  ExecutableTest() : bytes_(GetParam().def.build()) {
    EXPECT_EQ(xnn_initialize(nullptr), xnn_status_success);
    weights_.add("w", some_numbers(12));
    weights_.add("table", some_numbers(6));
  }

  std::unique_ptr<Executable> load(bool fuse_elementwise = true, bool force_fp16 = false) {
    Executable::Settings settings;
    settings.fuse_elementwise = fuse_elementwise;
    settings.force_fp16 = force_fp16;
    return load_executable(bytes_, settings, &weights_);
  }

  std::vector<uint8_t> bytes_;
  DataMap weights_;
};

// Whatever was called before, a call gives what it gives as the first one.
TEST_P(ExecutableTest, ForgetsEarlierSizes) { // Robustness: I1
  for (const auto& [fuse_elementwise, force_fp16] : {std::pair{true, false}, {false, false}, {false, true}}) {
    std::mt19937 random(11);
    const std::unique_ptr<Executable> reused = load(fuse_elementwise, force_fp16);
    for (int round = 0; round < 25; ++round) {
      SCOPED_TRACE(round);
      const GraphCall call = make_call(reused->blob(), round == 0 ? nullptr : &random);
      const Results again = run(*reused, call, nullptr, round % 2 == 0);
      const Results first = run(*load(fuse_elementwise, force_fp16), call);
      ASSERT_TRUE(first.status.ok()) << first.status.message();
      ASSERT_TRUE(again.status.ok()) << again.status.message();
      EXPECT_EQ(again.outputs, first.outputs);
    }
  }
}

TEST_P(ExecutableTest, RecoversFromFailedCalls) { // Robustness: R3
  std::mt19937 random(12);
  const std::unique_ptr<Executable> executable = load();
  const GraphCall good = make_call(executable->blob(), nullptr);
  const Results expected = run(*executable, good);
  ASSERT_TRUE(expected.status.ok()) << expected.status.message();
  for (size_t i = 0; i < good.sizes.size(); ++i) {
    for (size_t axis = 0; axis < good.sizes[i].shape.rank; ++axis) {
      GraphCall bad = good;
      bad.sizes[i].shape[axis] += 1000;
      const Status status = executable->reshape({bad.sizes.data(), bad.sizes.size()}, nullptr);
      EXPECT_EQ(status.code(), Error::InvalidArgument);
      EXPECT_FALSE(status.message().empty());
      const GraphCall next = axis % 2 == 0 ? good : make_call(executable->blob(), &random);
      EXPECT_EQ(run(*executable, next).outputs, run(*load(), next).outputs);
    }
  }
  EXPECT_EQ(run(*executable, good).outputs, expected.outputs);
}

TEST_P(ExecutableTest, TakesAnotherPoolAtEveryCall) {
  std::mt19937 random(13);
  const std::unique_ptr<Executable> executable = load();
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(round);
    const GraphCall call = make_call(executable->blob(), &random);
    const Results alone = run(*load(), call);
    ASSERT_TRUE(alone.status.ok()) << alone.status.message();
    pthreadpool_t pool = pthreadpool_create(1 + round % 4);
    for (int repeat = 0; repeat < 2; ++repeat) {
      const Results together = run(*executable, call, pool);
      ASSERT_TRUE(together.status.ok()) << together.status.message();
      EXPECT_EQ(together.outputs, alone.outputs);
    }
    pthreadpool_destroy(pool); // nothing may keep it
    EXPECT_EQ(run(*executable, call).outputs, alone.outputs);
  }
}

// DataMap puts weights before an unmapped page, as at the end of a mapped file, or at odd addresses.
TEST_P(ExecutableTest, TakesWeightsWhereverTheyAre) { // Robustness: C10
  const std::unique_ptr<Executable> usual = load();
  const GraphCall call = make_call(usual->blob(), nullptr);
  const Results expected = run(*usual, call);
  GraphDef g = GetParam().def;
  for (size_t id = 0; id < g.values.size(); ++id) {
    std::optional<ConstantDef>& constant = g.values[id].constant;
    if (constant && constant->data) {
      const std::string key = "constant " + std::to_string(id);
      weights_.add(key, *constant->data);
      constant = ConstantDef{key, std::nullopt};
    }
  }
  bytes_ = g.build();
  for (const size_t misalignment : {0, 1, 2, 4, 20}) {
    weights_.misalign(misalignment);
    const std::unique_ptr<Executable> executable = load();
    EXPECT_EQ(weights_.in_use(), 0);
    EXPECT_EQ(run(*executable, call).outputs, expected.outputs) << misalignment;
  }
}

// What stands for numbers is part of what a packed weight is known by, not only its bytes.
TEST(ExecutableWeightsTest, TellsTypesOfEqualBytesApart) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  const std::vector<uint8_t> bytes{200, 100, 255};
  const std::vector<float> x{3, 1, 2};
  const auto run_with = [&](const std::vector<std::pair<DType, float>>& gammas) {
    GraphDef g;
    const uint32_t input = g.input({1, 3});
    for (const auto& [dtype, scale] : gammas) {
      const uint32_t gamma = g.integers({3}, {{scale}, {0}}, dtype);
      g.values[gamma].constant->data = bytes;
      g.output(g.node(layer_norm(), {input, gamma}, {1, 3}));
    }
    const std::vector<uint8_t> built = g.build();
    StatusOr<Blob> blob = open_blob(span(built));
    EXPECT_TRUE(blob.ok()) << blob.status().message();
    Executable::Settings settings;
    settings.packed_weights = &PackedWeights::of_process();
    StatusOr<std::unique_ptr<Executable>> executable = Executable::create(std::move(*blob), nullptr, settings);
    EXPECT_TRUE(executable.ok()) << executable.status().message();
    GraphCall call{{ArgumentSize{Shape{1, 3}}}, {std::vector<uint8_t>(12)}};
    std::memcpy(call.inputs[0].data(), x.data(), 12);
    return run(**executable, call).outputs;
  };
  const std::vector<std::pair<DType, float>> all{{DType::Int8, 0.5f}, {DType::UInt8, 0.5f}, {DType::Int8, 0.25f}};
  const auto together = run_with(all);
  ASSERT_EQ(together.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(together[i], run_with({all[i]})[0]) << i;
    for (size_t k = 0; k < i; ++k) {
      EXPECT_NE(together[i], together[k]);
    }
  }
}

// A node that fails fails the call, alone or in a pass with others.
TEST(ExecutableFailureTest, SaysWhichNodesDivideByZero) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  GraphDef g;
  const uint32_t a = g.input({3}, DType::Int32), b = g.input({3}, DType::Int32);
  const uint32_t quotient = g.node(binary(BinaryKind::FloorDiv), {a, b}, {3}, DType::Int32);
  g.output(g.node(binary(BinaryKind::Add), {quotient, a}, {3}, DType::Int32));
  const std::vector<uint8_t> built = g.build();
  for (const bool fuse_elementwise : {false, true}) {
    StatusOr<Blob> blob = open_blob(span(built));
    ASSERT_TRUE(blob.ok()) << blob.status().message();
    Executable::Settings settings;
    settings.fuse_elementwise = fuse_elementwise;
    StatusOr<std::unique_ptr<Executable>> executable = Executable::create(std::move(*blob), nullptr, settings);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    for (const int32_t divisor : {0, 2}) {
      GraphCall call{{ArgumentSize{Shape{3}}, ArgumentSize{Shape{3}}}, {}};
      for (const int32_t number : {6, divisor}) {
        const std::vector<int32_t> numbers(3, number);
        std::vector<uint8_t>& bytes = call.inputs.emplace_back(12);
        std::memcpy(bytes.data(), numbers.data(), bytes.size());
      }
      const Status status = run(**executable, call).status;
      EXPECT_EQ(status.ok(), divisor != 0) << fuse_elementwise;
      if (divisor == 0) {
        EXPECT_EQ(status.code(), Error::InvalidArgument);
        EXPECT_NE(status.message().find("an integer is divided by zero"), std::string::npos) << status.message();
        EXPECT_NE(status.message().find("node "), std::string::npos) << status.message();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, ExecutableTest, ::testing::ValuesIn(graphs()), [](const auto& sample) {
  return sample.param.name;
});

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
