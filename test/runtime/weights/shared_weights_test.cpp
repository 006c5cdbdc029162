// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/weights/packed_weights.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <runtime/execute/executable.h>
#include <runtime/ops/choice.h>
#include <runtime/xnnpack/parts.h>

#include "data_map.h"
#include "graph_def.h"
#include "xnnpack_parts.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pointwise;

// A loaded graph of one Float32 input and output.
struct Loaded {
  Loaded(const GraphDef& def, const DataMap& data, PackedWeights* shared, bool force_fp16 = false) {
    EXPECT_EQ(xnn_initialize(nullptr), xnn_status_success);
    const std::vector<uint8_t> bytes = def.build();
    StatusOr<Blob> blob = open_blob(span(bytes));
    EXPECT_TRUE(blob.ok()) << blob.status().message();
    Executable::Settings settings;
    settings.packed_weights = shared;
    settings.force_fp16 = force_fp16;
    StatusOr<std::unique_ptr<Executable>> created = Executable::create(std::move(*blob), &data, settings);
    status = created.status();
    executable = created.ok() ? std::move(*created) : nullptr;
  }

  std::vector<float> operator()(const std::vector<float>& x) {
    std::vector<float> padded = x;
    padded.resize(x.size() + 64);
    const Blob& blob = executable->blob();
    const StatusOr<Shape> shape = Sizes().resolve(blob.value(blob.graph().inputs()->Get(0)->value()).dims());
    const ArgumentSize size{*const_cast<StatusOr<Shape>&>(shape), 0};
    status = executable->reshape({&size, 1}, nullptr);
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<float> y(executable->output_type(0).shape.numel() + 64);
    const void* in = padded.data();
    void* out = y.data();
    status = executable->run({&in, 1}, {&out, 1});
    EXPECT_TRUE(status.ok()) << status.message();
    y.resize(y.size() - 64);
    return y;
  }

  std::unique_ptr<Executable> executable;
  Status status;
};

// Each kind of node that packs a weight "w" and a bias "b".
struct Packing {
  const char* name;
  AttributesDef attributes;
  std::vector<int64_t> x, weight, y;
  bool keeps_bias = false; // apart from the weight
  bool has_float16 = !keeps_bias; // where XNNPACK has it
};

std::vector<Packing> packings() {
  const bool in_xnnpack = xnnpack_keeps_nan(Limited::Depthwise, /*float16=*/false, 0);
  const Cpu& cpu = Cpu::get();
  return {
      {"Linear", linear(), {2, 12}, {20, 12}, {2, 20}},
      {"Deep Linear", linear(), {2, 192}, {20, 192}, {2, 20}, cpu.blocks.float32_linear == 0, /*has_float16=*/true},
      {"Windows", conv2d(), {1, 9, 9, 3}, {16, 6, 6, 3}, {1, 4, 4, 16}, cpu.float32_windows, /*has_float16=*/true},
      {"Conv2d", conv2d({1, 1}, {1, 1, 1, 1}), {1, 5, 5, 3}, {4, 3, 3, 3}, {1, 5, 5, 4}},
      {"Pointwise", conv2d(), {1, 5, 5, 3}, {4, 1, 1, 3}, {1, 5, 5, 4}},
      {"Depthwise", conv2d({1, 1}, {2, 2, 2, 2}, {2, 2}, 4), {1, 5, 5, 4}, {4, 3, 3, 1}, {1, 5, 5, 4}},
      {"Depthwise of a kernel of ours",
       conv2d({1, 1}, {3, 3, 3, 3}, {1, 1}, 4),
       {1, 8, 8, 4},
       {4, 7, 7, 1},
       {1, 8, 8, 4},
       true},
      {"Scale", conv2d({1, 1}, {}, {1, 1}, 4), {1, 5, 5, 4}, {4, 1, 1, 1}, {1, 5, 5, 4}, !in_xnnpack},
      {"ConvTranspose2d", conv_transpose2d({2, 2}), {1, 3, 3, 3}, {4, 2, 2, 3}, {1, 6, 6, 4}},
      {"ConvTranspose2d of stride 1", conv_transpose2d(), {1, 3, 3, 3}, {4, 2, 2, 3}, {1, 4, 4, 4}},
  };
}

size_t numel(const std::vector<int64_t>& dims) {
  return static_cast<size_t>(std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()));
}

GraphDef graph_of(const Packing& p, const std::string& weight = "w", const std::string& bias = "b") {
  GraphDef g;
  const uint32_t x = g.input(p.x);
  const uint32_t w = g.named(p.weight, weight);
  const uint32_t b = g.named({p.weight[0]}, bias);
  g.output(g.node(p.attributes, {x, w, b}, p.y));
  return g;
}

void add_data(DataMap* data, const Packing& p) {
  data->add("w", some_numbers(numel(p.weight)));
  data->add("b", some_numbers(static_cast<size_t>(p.weight[0]), 2));
  data->add("other", some_numbers(static_cast<size_t>(p.weight[0]), 3));
}

TEST(SharedWeightsTest, EveryKindIsPackedOnceAndGoesWithTheLastUser) { // Robustness: I2
  for (const Packing& p : packings()) {
    SCOPED_TRACE(p.name);
    DataMap data;
    add_data(&data, p);
    const std::vector<float> x = some_numbers(numel(p.x), 4);
    PackedWeights shared;
    auto alone = std::make_unique<Loaded>(graph_of(p), data, nullptr);
    auto first = std::make_unique<Loaded>(graph_of(p), data, &shared);
    ASSERT_TRUE(first->status.ok()) << first->status.message();
    EXPECT_EQ(shared.count(), p.keeps_bias ? 2u : 1u);
    data.forget();
    auto second = std::make_unique<Loaded>(graph_of(p), data, &shared);
    EXPECT_EQ(shared.count(), p.keeps_bias ? 2u : 1u);
    EXPECT_THAT(data.asked(), IsEmpty());
    EXPECT_EQ(data.in_use(), 0);
    const std::vector<float> y = (*alone)(x);
    EXPECT_EQ((*first)(x), y);
    first = nullptr;
    EXPECT_EQ(shared.count(), p.keeps_bias ? 2u : 1u);
    EXPECT_EQ((*second)(x), y);
    second = nullptr;
    EXPECT_EQ(shared.count(), 0u);
  }
}

TEST(SharedWeightsTest, AnotherBiasIsAnotherCopy) {
  for (const Packing& p : packings()) {
    SCOPED_TRACE(p.name);
    DataMap data;
    add_data(&data, p);
    const std::vector<float> x = some_numbers(numel(p.x), 4);
    PackedWeights shared;
    Loaded first(graph_of(p), data, &shared), second(graph_of(p, "w", "other"), data, &shared);
    EXPECT_EQ(shared.count(), p.keeps_bias ? 3u : 2u);
    EXPECT_EQ(second(x), Loaded(graph_of(p, "w", "other"), data, nullptr)(x));
  }
}

// XNNPACK itself takes these for the same.
TEST(SharedWeightsTest, OtherParametersAreAnotherCopy) {
  const Packing a{"stride 1, 2", conv_transpose2d({1, 2}), {1, 3, 3, 3}, {4, 2, 2, 3}, {1, 4, 6, 4}, true};
  const Packing b{"stride 2, 1", conv_transpose2d({2, 1}), {1, 3, 3, 3}, {4, 2, 2, 3}, {1, 6, 4, 4}, true};
  DataMap data;
  add_data(&data, a);
  const std::vector<float> x = some_numbers(numel(a.x), 4);
  PackedWeights shared;
  Loaded first(graph_of(a), data, &shared), second(graph_of(b), data, &shared);
  EXPECT_EQ(shared.count(), 2u);
  EXPECT_EQ(first(x), Loaded(graph_of(a), data, nullptr)(x));
  EXPECT_EQ(second(x), Loaded(graph_of(b), data, nullptr)(x));
}

// Two layers.
GraphDef two_layers(int64_t size) {
  GraphDef g;
  const uint32_t x = g.input({1, size});
  const uint32_t first = g.named({size, size}, "first");
  const uint32_t second = g.named({size, size}, "second");
  g.output(g.node(linear(), {g.node(linear(), {x, first}, {1, size}), second}, {1, size}));
  return g;
}

TEST(SharedWeightsTest, InFloat16AreAnotherCopy) {
  for (const Packing& p : packings()) {
    SCOPED_TRACE(p.name);
    DataMap data;
    add_data(&data, p);
    const std::vector<float> x = some_numbers(numel(p.x), 4);
    const std::vector<float> expected = Loaded(graph_of(p), data, nullptr)(x);
    PackedWeights shared;
    Loaded full(graph_of(p), data, &shared);
    const size_t count = shared.count();
    Loaded half(graph_of(p), data, &shared, /*force_fp16=*/true);
    EXPECT_EQ(full(x), expected);
    const std::vector<float> y = half(x);
    const bool loses_nan = is_xnnpack_of_executorch() && !half.executable->why_not_float16().empty();
    if (!p.has_float16 || !Cpu::get().float16 || loses_nan) {
      EXPECT_EQ(y, expected);
      EXPECT_THAT(half.executable->why_not_float16(), Not(IsEmpty()));
      EXPECT_EQ(shared.count(), count);
      continue;
    }
    EXPECT_THAT(half.executable->why_not_float16(), IsEmpty());
    EXPECT_NE(y, expected);
    // Each product is added in float16; the errors of these sums add up as the steps of a random walk.
    const auto terms = static_cast<float>(numel(p.weight) / static_cast<size_t>(p.weight[0]));
    const float bound = std::sqrt(terms) * 0x1p-10f * *std::max_element(expected.begin(), expected.end());
    EXPECT_THAT(y, Pointwise(FloatNear(bound), expected));
    EXPECT_EQ(shared.count(), count + 1);
    Loaded again(graph_of(p), data, &shared, /*force_fp16=*/true);
    EXPECT_EQ(shared.count(), count + 1);
    EXPECT_EQ(again(x), y);
    EXPECT_EQ(data.in_use(), 0);
  }
}

TEST(SharedWeightsTest, InFloat16TakeHalfTheMemory) {
  DataMap data;
  data.add("first", some_numbers(128 * 128));
  data.add("second", some_numbers(128 * 128, 2));
  PackedWeights full, half;
  const Loaded one(two_layers(128), data, &full), other(two_layers(128), data, &half, /*force_fp16=*/true);
  const bool is_half = Cpu::get().float16 && xnnpack_keeps_nan(Limited::Linear, /*float16=*/true, 128);
  EXPECT_EQ(half.bytes(), full.bytes() / (is_half ? 2 : 1));
  EXPECT_EQ(data.peak_bytes(), 128 * 128 * sizeof(float));
}

// Limits that are one number in float16.
TEST(SharedWeightsTest, WhatXnnpackRefusesInFloat16RunsInFloat32) {
  for (const auto& [low, high] : {std::pair{0.0f, 1e-9f}, {1e5f, 1e6f}}) {
    GraphDef g;
    g.output(g.node(linear(schema::Clamp(low, high)), {g.input({2, 12}), g.named({20, 12}, "w")}, {2, 20}));
    DataMap data;
    data.add("w", some_numbers(20 * 12));
    const std::vector<float> x = some_numbers(24, 4);
    PackedWeights shared;
    Loaded half(g, data, &shared, /*force_fp16=*/true);
    ASSERT_TRUE(half.status.ok()) << half.status.message();
    EXPECT_THAT(half.executable->why_not_float16(), Not(IsEmpty()));
    EXPECT_EQ(half(x), Loaded(g, data, nullptr)(x));
  }
}

TEST(SharedWeightsTest, OriginalsAreReadInOrderAndOneAtATime) {
  const size_t numbers = 40 * 40;
  DataMap data;
  data.add("first", some_numbers(numbers));
  data.add("second", some_numbers(numbers, 2));
  PackedWeights shared;
  const Loaded loaded(two_layers(40), data, &shared);
  EXPECT_THAT(data.asked(), ElementsAre("first", "second"));
  EXPECT_EQ(data.peak_bytes(), numbers * sizeof(float));
  EXPECT_EQ(data.in_use(), 0);
}

TEST(SharedWeightsTest, EqualLayersOfOneGraphShare) {
  const std::vector<float> same = some_numbers(16 * 16);
  GraphDef g;
  const uint32_t x = g.input({1, 16});
  const uint32_t first = g.named({16, 16}, "same");
  const uint32_t second = g.named({16, 16}, "same");
  g.output(g.node(linear(), {g.node(linear(), {x, first}, {1, 16}), second}, {1, 16}));
  DataMap data;
  data.add("same", same);
  PackedWeights shared;
  Loaded loaded(g, data, &shared);
  EXPECT_EQ(shared.count(), 1u);
  EXPECT_THAT(data.asked(), ElementsAre("same"));
}

TEST(SharedWeightsTest, AFailedLoadLeavesNothing) {
  DataMap incomplete, data;
  incomplete.add("first", some_numbers(40 * 40));
  data.add("first", some_numbers(40 * 40));
  data.add("second", some_numbers(40 * 40, 2));
  PackedWeights shared;
  {
    const Loaded failed(two_layers(40), incomplete, &shared);
    EXPECT_THAT(failed.status.message(), HasSubstr("second"));
    EXPECT_EQ(shared.count(), 0u);
    EXPECT_EQ(incomplete.in_use(), 0);
  }
  Loaded loaded(two_layers(40), data, &shared);
  EXPECT_TRUE(loaded.status.ok()) << loaded.status.message();
  EXPECT_EQ(shared.count(), 2u);
}

TEST(SharedWeightsTest, AreTheSameForThreadsThatLoadAtOnce) {
  DataMap data;
  data.add("first", some_numbers(64 * 64));
  data.add("second", some_numbers(64 * 64, 2));
  const std::vector<float> x = some_numbers(64, 3);
  const std::vector<float> y = Loaded(two_layers(64), data, nullptr)(x);
  PackedWeights shared;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(Loaded(two_layers(64), data, &shared)(x), y);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(shared.count(), 0u);
}

// table[i] for a table that is read in place, of at least 64 KiB.
GraphDef lookup(int64_t rows) {
  GraphDef g;
  const uint32_t x = g.input({rows, 64});
  const uint32_t table = g.named({rows, 64}, "table");
  g.output(g.node(binary(schema::BinaryKind::Add), {x, table}, {rows, 64}));
  return g;
}

TEST(SharedWeightsTest, LargeConstantsReadInPlaceAreNotCopied) {
  const std::vector<float> table = some_numbers(64 * 300 - 64), x = some_numbers(table.size(), 2);
  DataMap data;
  data.add("table", table);
  data.misalign(64); // and leave room behind
  PackedWeights shared;
  auto first = std::make_unique<Loaded>(lookup(299), data, &shared);
  EXPECT_EQ(data.in_use(), 1);
  Loaded second(lookup(299), data, &shared);
  EXPECT_EQ(shared.count(), 1u);
  EXPECT_THAT(data.asked(), ElementsAre("table"));
  const std::vector<float> y = (*first)(x);
  EXPECT_FLOAT_EQ(y[77], table[77] + x[77]);
  first = nullptr;
  EXPECT_EQ(second(x), y);
}

TEST(SharedWeightsTest, LargeConstantsAtTheEndOfAPageAreCopied) { // Robustness: C12
  const std::vector<float> table = some_numbers(64 * 299), x = some_numbers(table.size(), 2);
  DataMap data;
  data.add("table", table);
  PackedWeights shared;
  Loaded loaded(lookup(299), data, &shared);
  EXPECT_EQ(data.in_use(), 0);
  EXPECT_FLOAT_EQ(loaded(x)[77], table[77] + x[77]);
}

TEST(SharedWeightsTest, LargeConstantsGoWithTheirProgram) { // Robustness: C13
  const std::vector<float> table = some_numbers(64 * 299), x = some_numbers(table.size(), 2);
  PackedWeights shared;
  auto program = std::make_unique<DataMap>();
  program->add("table", table);
  program->misalign(64);
  auto first = std::make_unique<Loaded>(lookup(299), *program, &shared);
  DataMap other;
  other.add("table", table);
  Loaded second(lookup(299), other, &shared);
  first = nullptr;
  EXPECT_EQ(program->in_use(), 0);
  program = nullptr;
  EXPECT_FLOAT_EQ(second(x)[77], table[77] + x[77]);
}

TEST(SharedWeightsTest, SmallConstantsOutliveTheirProgram) { // Robustness: C13
  GraphDef g;
  const uint32_t x = g.input({8});
  g.output(g.node(binary(schema::BinaryKind::Add), {x, g.named({8}, "c")}, {8}));
  PackedWeights shared;
  auto program = std::make_unique<DataMap>();
  program->add("c", some_numbers(8));
  Loaded first(g, *program, &shared);
  EXPECT_EQ(program->in_use(), 0);
  program->forget();
  Loaded second(g, *program, &shared);
  EXPECT_THAT(program->asked(), IsEmpty());
  program = nullptr;
  EXPECT_EQ(first({0, 0, 0, 0, 0, 0, 0, 0}), some_numbers(8));
  EXPECT_EQ(shared.count(), 1u);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
