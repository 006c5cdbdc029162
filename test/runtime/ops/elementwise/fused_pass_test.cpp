// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/execute/executable.h>

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "graph_def.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BinaryKind;
using schema::UnaryKind;

// What a graph computes for `inputs`, fused or node by node.
std::vector<std::vector<float>> outputs_of(
    const GraphDef& def, const std::vector<std::vector<float>>& inputs, bool fuse, pthreadpool_t pool) {
  const std::vector<uint8_t> bytes = def.build();
  StatusOr<Blob> blob = open_blob(span(bytes));
  EXPECT_TRUE(blob.ok()) << blob.status().message();
  EXPECT_EQ(xnn_initialize(nullptr), xnn_status_success);
  Executable::Settings settings;
  settings.fuse_elementwise = fuse;
  StatusOr<std::unique_ptr<Executable>> executable = Executable::create(std::move(*blob), nullptr, settings);
  EXPECT_TRUE(executable.ok()) << executable.status().message();
  std::vector<ArgumentSize> sizes;
  std::vector<const void*> data;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Shape shape;
    for (const int64_t dim : def.values[def.inputs[i].value].dims) {
      shape.dims[shape.rank++] = static_cast<size_t>(dim);
    }
    sizes.push_back({shape, 0});
    data.push_back(inputs[i].data());
  }
  Status status = (*executable)->reshape({sizes.data(), sizes.size()}, pool);
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<std::vector<float>> outputs;
  std::vector<void*> to;
  for (size_t i = 0; i < def.outputs.size(); ++i) {
    outputs.emplace_back((*executable)->output_type(i).shape.numel());
  }
  for (std::vector<float>& output : outputs) {
    to.push_back(output.data());
  }
  status = (*executable)->run({data.data(), data.size()}, {to.data(), to.size()});
  EXPECT_TRUE(status.ok()) << status.message();
  return outputs;
}

// Shapes to combine: all broadcast to the first one.
struct Shapes {
  std::vector<std::vector<int64_t>> dims;
};

class FusedPassTest : public ::testing::TestWithParam<Shapes> {};

// Random expressions over inputs of all these shapes give the same fused, bit by bit, as each
// kernel alone.
TEST_P(FusedPassTest, EqualsNodeByNode) {
  const std::vector<std::vector<int64_t>>& dims = GetParam().dims;
  const std::unique_ptr<pthreadpool, void (*)(pthreadpool_t)> two(pthreadpool_create(2), pthreadpool_destroy);
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    GraphDef g;
    std::vector<uint32_t> any, whole; // values of any shape; of the first shape
    std::vector<std::vector<float>> inputs;
    for (const std::vector<int64_t>& shape : dims) {
      any.push_back(g.input(shape));
      size_t count = 1;
      for (const int64_t dim : shape) {
        count *= static_cast<size_t>(dim);
      }
      inputs.push_back(some_numbers(count, static_cast<uint32_t>(any.size())));
    }
    whole.push_back(any.front());
    for (int i = 0; i < 8; ++i) {
      const uint32_t a = whole[random() % whole.size()];
      const uint32_t b = any[random() % any.size()];
      // None of these runs in XNNPACK, whose results differ in the last bit.
      switch (random() % 4) {
        case 0:
          whole.push_back(g.node(unary(UnaryKind::Silu), {a}, dims.front()));
          break;
        case 1:
          whole.push_back(g.node(binary(BinaryKind::Maximum), {b, a}, dims.front()));
          break;
        case 2:
          whole.push_back(g.node(unary(UnaryKind::Sin), {a}, dims.front()));
          break;
        default:
          whole.push_back(g.node(binary(BinaryKind::Atan2), {a, b}, dims.front()));
      }
      any.push_back(whole.back());
    }
    g.output(whole.back());
    g.output(whole[whole.size() / 2]);
    const auto alone = outputs_of(g, inputs, false, nullptr);
    EXPECT_EQ(outputs_of(g, inputs, true, nullptr), alone) << "round " << round;
    EXPECT_EQ(outputs_of(g, inputs, true, two.get()), alone) << "round " << round << ", two threads";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes,
    FusedPassTest,
    ::testing::Values(
        Shapes{{{7}, {1}, {}}},
        Shapes{{{2, 3, 5000}, {5000}, {3, 1}, {2, 1, 5000}}},
        Shapes{{{1025}, {1}, {1025}}},
        Shapes{{{300, 5}, {5}, {300, 1}, {1, 1}}}, // short rows
        Shapes{{{40, 3, 2, 3}, {3, 1, 3}, {40, 1, 2, 1}, {2, 3}}},
        Shapes{{{}, {}}},
        Shapes{{{2, 1, 3, 1, 5, 7}, {3, 1, 1, 7}, {2, 1, 1, 1, 1, 1}}}));

TEST(FusedPassTest, MixesTypes) {
  GraphDef g;
  const uint32_t x = g.input({2, 40});
  const uint32_t zero = g.constant({}, {0});
  const uint32_t positive = g.node(compare(schema::CompareKind::Greater), {x, zero}, {2, 40}, DType::Bool);
  const uint32_t root = g.node(unary(UnaryKind::Sqrt), {x}, {2, 40});
  const uint32_t chosen = g.node(where(), {positive, root, zero}, {2, 40});
  g.output(g.node(binary(BinaryKind::Add), {chosen, x}, {2, 40}));
  const std::vector<float> numbers = some_numbers(80);
  const std::vector<float> sums = outputs_of(g, {numbers}, true, nullptr)[0];
  for (size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_FLOAT_EQ(sums[i], (numbers[i] > 0 ? std::sqrt(numbers[i]) : 0) + numbers[i]);
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
