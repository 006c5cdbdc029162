// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Products whose weights or scales are no constants, with other channels or groups in one call than in another, and those
// of integers.

#include "executable_call.h"
#include "graph_def.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::DimOp;

// A call of these sizes gives the same as the program that was planned for them.
void expect_results_of_planned(Executable& executable, const GraphDef& planned) {
  const std::unique_ptr<Executable> alone = load_executable(planned.build());
  std::mt19937 random(5);
  const GraphCall call = make_call(alone->blob(), &random);
  const Results expected = run(*alone, call);
  ASSERT_TRUE(expected.status.ok()) << expected.status.message();
  const std::unique_ptr<pthreadpool, decltype(&pthreadpool_destroy)> pool(pthreadpool_create(2), pthreadpool_destroy);
  for (const pthreadpool_t threads : {pthreadpool_t{nullptr}, pool.get()}) {
    const Results actual = run(executable, call, threads);
    ASSERT_TRUE(actual.status.ok()) << actual.status.message();
    EXPECT_EQ(actual.outputs, expected.outputs);
  }
}

GraphDef conv_of_runtime_weight(uint32_t groups, std::optional<int64_t> in, std::optional<int64_t> out) {
  GraphDef g;
  const int64_t channels = in ? *in : g.ranged(DimOp::InputDim, 1, 3, 1, 8, 1);
  const int64_t x_channels = in ? *in * groups : g.ranged(DimOp::InputDim, 0, 3, 1, 32, groups);
  const int64_t outputs = out ? *out : g.ranged(DimOp::InputDim, 1, 0, 1, 32, groups);
  const uint32_t x = g.input({2, 6, 5, x_channels}), w = g.input({outputs, 3, 3, channels});
  g.output(g.node(conv2d({1, 1}, {1, 1, 1, 1}, {1, 1}, groups), {x, w}, {2, 6, 5, outputs}));
  return g;
}

TEST(RuntimeWeightsTest, ConvolutionsTakeAnyChannels) {
  for (const uint32_t groups : {1u, 2u, 4u}) {
    const std::unique_ptr<Executable> executable =
        load_executable(conv_of_runtime_weight(groups, std::nullopt, std::nullopt).build());
    for (const int64_t in : {1, 4, 1, 3}) {
      for (const int64_t times : {1, 2, 3}) {
        SCOPED_TRACE(std::to_string(groups) + " groups, " + std::to_string(in) + " in, " + std::to_string(times));
        expect_results_of_planned(*executable, conv_of_runtime_weight(groups, in, times * groups));
      }
    }
  }
}

// Weights of 64 inputs and 5 outputs, in groups of which the scale of a call says how many there are.
GraphDef linear_of_runtime_scale(uint8_t bits, bool dynamic, int64_t rows, std::optional<int64_t> groups) {
  GraphDef g;
  const uint32_t x = g.input({rows, 64});
  const uint32_t scale = g.input({5, groups ? *groups : g.ranged(DimOp::InputDim, 1, 1, 1, 32, 1)});
  const uint32_t weight = g.value({5, bits == 4 ? 32 : 64}, bits == 4 ? DType::UInt8 : DType::Int8);
  std::vector<uint8_t> data(static_cast<size_t>(5 * 64 * bits / 8));
  for (size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<uint8_t>(i * 37);
  }
  g.values[weight].constant = ConstantDef{std::nullopt, std::move(data)};
  g.output(g.node(quantized_linear(bits, dynamic), {x, weight, scale}, {rows, 5}));
  return g;
}

TEST(RuntimeWeightsTest, LinearLayersTakeAnyGroups) {
  for (const uint8_t bits : {4, 8}) {
    for (const int64_t rows : {1, 3, 80}) {
      for (const bool dynamic : {false, true}) {
        SCOPED_TRACE(std::to_string(bits) + " bits, " + std::to_string(rows) + (dynamic ? " rows, dynamic" : " rows"));
        const std::unique_ptr<Executable> executable =
            load_executable(linear_of_runtime_scale(bits, dynamic, rows, std::nullopt).build());
        for (const int64_t groups : {1, 32, 2, 16, 1}) {
          SCOPED_TRACE(groups);
          expect_results_of_planned(*executable, linear_of_runtime_scale(bits, dynamic, rows, groups));
        }
      }
    }
  }
}

// Operands or the result of which may be integers; otherwise floats of the same numbers.
GraphDef linear_of_integers(
    uint8_t bits, bool dynamic, int64_t rows, bool integer_x, bool integer_bias, bool integer_y) {
  GraphDef g;
  const auto numbers = [&g](const std::vector<int64_t>& dims, float scale, bool integers) {
    const uint32_t id = g.integers(dims, {{scale}, {3}});
    if (!integers) {
      std::vector<float> floats;
      for (const uint8_t byte : *g.values[id].constant->data) {
        floats.push_back(scale * static_cast<float>(static_cast<int8_t>(byte) - 3));
      }
      return g.constant(dims, floats);
    }
    return id;
  };
  const uint32_t x = numbers({rows, 64}, 0.25f, integer_x), bias = numbers({5}, 0.5f, integer_bias);
  const uint32_t weight = g.value({5, bits == 4 ? 32 : 64}, bits == 4 ? DType::UInt8 : DType::Int8);
  g.values[weight].constant =
      ConstantDef{std::nullopt, std::vector<uint8_t>(static_cast<size_t>(5 * 64 * bits / 8), 0x31)};
  const uint32_t scale = g.constant({5, 1}, {0.5f, 0.25f, 1, 0.125f, 2});
  uint32_t y = g.node(quantized_linear(bits, dynamic), {x, weight, scale, bias}, {rows, 5});
  if (!integer_y) {
    y = g.node(unary(schema::UnaryKind::Copy), {y}, {rows, 5});
  }
  g.quantized(y, 16, -7);
  g.output(g.node(softmax(1), {y}, {rows, 5}));
  return g;
}

TEST(RuntimeWeightsTest, LinearLayersTakeAndMakeIntegers) {
  for (const uint8_t bits : {4, 8}) {
    for (const int64_t rows : {1, 3, 80}) {
      for (const bool dynamic : {false, true}) {
        for (int integers = 1; integers < 8; ++integers) {
          SCOPED_TRACE(
              std::to_string(bits) + " bits, " + std::to_string(rows) + (dynamic ? " rows, dynamic, " : " rows, ") +
              std::to_string(integers));
          const bool x = (integers & 1) != 0, bias = (integers & 2) != 0, y = (integers & 4) != 0;
          const std::unique_ptr<Executable> executable =
              load_executable(linear_of_integers(bits, dynamic, rows, x, bias, y).build());
          expect_results_of_planned(*executable, linear_of_integers(bits, dynamic, rows, false, false, false));
        }
      }
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
