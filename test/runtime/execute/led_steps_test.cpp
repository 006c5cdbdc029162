// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Kernels that give their results to passes, as an Executable runs them.

#include <algorithm>
#include <cstring>

#include "executable_call.h"
#include "plan_of.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BinaryKind;
using schema::DimOp;

// A convolution [n, h, w, channels] -> [n, h, w, 24], and what reads it: in Float32 a kernel of ours because its window is
// large, and in BFloat16 with either window, where this CPU has products of that.
struct Led {
  int64_t channels, window;
  bool bfloat16;

  GraphDef graph() const {
    GraphDef g;
    const int64_t n = g.ranged(DimOp::InputDim, 0, 0, 0, 3, 2);
    const int64_t h = g.ranged(DimOp::InputDim, 0, 1, 1, 9, 4);
    const int64_t w = g.ranged(DimOp::InputDim, 0, 2, 1, 30, 7);
    const DType type = bfloat16 ? DType::BFloat16 : DType::Float32;
    const std::vector<int64_t> dims{n, h, w, 24};
    const auto in_float32 = [&](uint32_t id, const std::vector<int64_t>& sizes) {
      return bfloat16 ? g.node(cast(DType::Float32), {id}, sizes) : id;
    };
    const auto narrow = [&](uint32_t id) { return bfloat16 ? g.node(cast(type), {id}, dims, type) : id; };
    const uint32_t x = in_float32(g.input({n, h, w, channels}, type), {n, h, w, channels});
    const int64_t depth = bfloat16 ? channels : 1;
    const uint32_t weight =
        g.constant({24, window, window, depth}, some_numbers(static_cast<size_t>(24 * window * window * depth)));
    const auto edge = static_cast<uint32_t>(window / 2);
    const uint32_t groups = bfloat16 ? 1 : 24;
    const uint32_t conv = g.node(conv2d({1, 1}, {edge, edge, edge, edge}, {1, 1}, groups), {x, weight}, dims);
    const uint32_t rounded = in_float32(narrow(conv), dims);
    const uint32_t scaled = g.node(binary(BinaryKind::Mul), {rounded, g.constant({24}, some_numbers(24, 2))}, dims);
    const uint32_t shifted = g.node(binary(BinaryKind::Add), {scaled, g.constant({24}, some_numbers(24, 3))}, dims);
    g.output(narrow(shifted));
    g.output(g.node(binary(BinaryKind::Add), {shifted, g.input({1, h, w, 1})}, dims));
    return g;
  }

  std::unique_ptr<Executable> load(const std::vector<uint8_t>& bytes, bool fuse_elementwise) const {
    Executable::Settings settings;
    settings.fuse_elementwise = fuse_elementwise;
    settings.force_bf16 = bfloat16;
    return load_executable(bytes, settings);
  }
};

bool leads(const Led& led, const GraphDef& graph) {
  PlanOptions options;
  options.bfloat16 = led.bfloat16;
  return has_led_step(plan_of(graph, options));
}

// With fewer and more threads than a kernel has parts, more in one call than in those before, and with empty batches.
TEST(LedStepsTest, HasTheBitsOfSeparateSteps) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  std::vector<pthreadpool_t> pools{nullptr};
  for (const size_t threads : {2, 3, 16}) {
    pools.push_back(pthreadpool_create(threads));
  }
  for (const Led& led : {Led{24, 7, false}, Led{16, 3, true}, Led{48, 1, true}, Led{17, 1, true}}) {
    SCOPED_TRACE("channels " + std::to_string(led.channels) + ", window " + std::to_string(led.window));
    const GraphDef graph = led.graph();
    const std::vector<uint8_t> bytes = graph.build();
    EXPECT_EQ(leads(led, graph), !led.bfloat16 || Cpu::get().bfloat16);
    const std::unique_ptr<Executable> together = led.load(bytes, true), alone = led.load(bytes, false);
    std::mt19937 random(14);
    bool was_empty = false;
    for (int round = 0; round < 24; ++round) {
      const GraphCall call = make_call(alone->blob(), round == 0 ? nullptr : &random);
      const Results expected = run(*alone, call);
      ASSERT_TRUE(expected.status.ok()) << expected.status.message();
      was_empty = was_empty || call.sizes[0].shape[0] == 0;
      for (size_t repeat = 0; repeat < 2; ++repeat) {
        const Results actual = run(*together, call, pools[(static_cast<size_t>(round) + repeat) % pools.size()]);
        ASSERT_TRUE(actual.status.ok()) << actual.status.message();
        EXPECT_EQ(actual.outputs, expected.outputs) << call.sizes[0].shape.to_string() << ", round " << round;
      }
    }
    EXPECT_TRUE(was_empty);
  }
  std::for_each(pools.begin() + 1, pools.end(), pthreadpool_destroy);
}

// A state that the kernel reads changes only when all has been computed, and an error inside the pass is one of the call.
TEST(LedStepsTest, ReadsStatesAndFails) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  constexpr size_t kSize = 20 * 20 * 8;
  GraphDef g;
  const std::vector<int64_t> dims{1, 20, 20, 8};
  const uint32_t a = g.input(dims, DType::Int32), b = g.input({8}, DType::Int32);
  const uint32_t state = g.state("image", dims, some_numbers(kSize));
  const uint32_t w = g.constant({8, 7, 7, 1}, some_numbers(392));
  const uint32_t conv = g.node(conv2d({1, 1}, {3, 3, 3, 3}, {1, 1}, 8), {state, w}, dims);
  const uint32_t quotient = g.node(binary(BinaryKind::FloorDiv), {a, b}, dims, DType::Int32);
  const uint32_t sum = g.node(binary(BinaryKind::Add), {conv, state}, dims);
  const uint32_t update = g.node(binary(BinaryKind::Add), {sum, g.node(cast(DType::Float32), {quotient}, dims)}, dims);
  g.states[0].update = g.node(clamp(-2, 2), {update}, dims);
  g.output(update);
  const std::vector<uint8_t> bytes = g.build();
  const Led led{8, 7, false};
  ASSERT_TRUE(leads(led, g));
  const pthreadpool_t pool = pthreadpool_create(4);
  const std::unique_ptr<Executable> together = led.load(bytes, true), alone = led.load(bytes, false);
  for (const int32_t divisor : {3, 0, 2, -1, 0, 1}) {
    std::vector<int32_t> numbers(kSize, 7), divisors(8, divisor);
    GraphCall call{{ArgumentSize{Shape{1, 20, 20, 8}}, ArgumentSize{Shape{8}}}, {}};
    for (const std::vector<int32_t>& input : {numbers, divisors}) {
      std::vector<uint8_t>& content = call.inputs.emplace_back(input.size() * 4);
      std::memcpy(content.data(), input.data(), content.size());
    }
    const Results expected = run(*alone, call), actual = run(*together, call, pool);
    ASSERT_EQ(actual.status.code(), expected.status.code()) << actual.status.message();
    ASSERT_EQ(actual.status.ok(), divisor != 0);
    if (divisor == 0) {
      EXPECT_NE(actual.status.message().find("an integer is divided by zero"), std::string::npos);
    } else {
      EXPECT_EQ(actual.outputs, expected.outputs) << "divisor " << divisor;
    }
  }
  pthreadpool_destroy(pool);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
