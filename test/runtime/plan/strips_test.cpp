// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Which convolutions run in strips; strip_chain_test.cpp has what they compute.

#include <algorithm>

#include <gmock/gmock.h>

#include "graph_def.h"
#include "plan_of.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BinaryKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Of images [1, 20, 20, channels]: between the nodes lie 20 * 20 * 32 numbers, twice.
struct Block : GraphDef {
  static constexpr size_t kBetween = 2 * 20 * 20 * 32 * sizeof(float);

  uint32_t pixels(uint32_t image, int64_t from, int64_t to) {
    const uint32_t w = constant({to, 1, 1, from}, some_numbers(static_cast<size_t>(from * to)));
    return node(conv2d(), {image, w}, {1, 20, 20, to});
  }
  uint32_t window(uint32_t image) {
    const uint32_t w = constant({32, 7, 7, 1}, some_numbers(1568)); // never in XNNPACK
    return node(conv2d({1, 1}, {3, 3, 3, 3}, {1, 1}, 32), {image, w}, {1, 20, 20, 32});
  }

  const uint32_t x = input({1, 20, 20, 8});
  const uint32_t wide = pixels(x, 8, 32), mixed = window(wide), narrow = pixels(mixed, 32, 8);
};

PlanOptions with_cache(size_t l2) {
  PlanOptions options;
  options.caches = Caches();
  options.caches.l2 = l2;
  return options;
}

// By step, the nodes of those in strips.
std::vector<std::vector<uint32_t>> strips(const GraphDef& g, const PlanOptions& options = with_cache(64 << 10)) {
  std::vector<std::vector<uint32_t>> result;
  const Plan plan = plan_of(g, options);
  for (const Step& step : plan.steps) {
    if (step.kind == Step::Kind::Strips) {
      result.push_back(step.nodes);
    }
  }
  return result;
}

TEST(StripsTest, JoinWhatIsBetweenNarrowImages) {
  Block g;
  g.output(g.narrow);
  const Plan plan = plan_of(g, with_cache(128 << 10));
  ASSERT_EQ(plan.steps.size(), 1u);
  const Step& step = plan.steps[0];
  EXPECT_EQ(step.kind, Step::Kind::Strips);
  EXPECT_THAT(step.nodes, ElementsAre(0u, 1u, 2u));
  ASSERT_EQ(step.inputs.size(), 6u);
  EXPECT_EQ(step.inputs[0], g.x);
  EXPECT_EQ(step.inputs[2], kNone);
  EXPECT_EQ(step.inputs[4], kNone);
  EXPECT_THAT(step.outputs, ElementsAre(g.narrow));
}

TEST(StripsTest, JoinOnlyWhereThatPays) {
  Block g;
  g.output(g.narrow);
  EXPECT_THAT(strips(g, with_cache(2 * Block::kBetween)), ElementsAre(ElementsAre(0u, 1u, 2u)));
  EXPECT_THAT(strips(g, with_cache(2 * Block::kBetween + 2)), IsEmpty()); // it stays in the cache
  EXPECT_THAT(strips(g, with_cache(8 << 10)), IsEmpty()); // not even a few rows do
  PlanOptions separate = with_cache(128 << 10);
  separate.fuse_elementwise = false;
  EXPECT_THAT(strips(g, separate), IsEmpty());
}

TEST(StripsTest, LeaveOutWhatOthersRead) {
  Block output;
  output.output(output.narrow);
  output.output(output.wide);
  EXPECT_THAT(strips(output), ElementsAre(ElementsAre(1u, 2u)));
  Block twice;
  const uint32_t sum = twice.node(binary(BinaryKind::Add), {twice.mixed, twice.wide}, {1, 20, 20, 32});
  twice.output(twice.narrow);
  twice.output(sum);
  EXPECT_THAT(strips(twice), IsEmpty());
  Block mixed;
  mixed.output(mixed.narrow);
  mixed.output(mixed.mixed);
  EXPECT_THAT(strips(mixed), ElementsAre(ElementsAre(0u, 1u)));
}

// An image that is widened, limited, mixed, scaled, narrowed, and added to what it was.
struct BlockWithTails : Block {
  uint32_t limited(uint32_t image) {
    return node(clamp(-1, 1), {image}, {1, 20, 20, 32});
  }
  uint32_t scaled(uint32_t image) {
    return node(binary(BinaryKind::Mul), {image, scale}, {1, 20, 20, 32});
  }
  uint32_t sum(uint32_t image) {
    return node(binary(BinaryKind::Add), {image, y}, {1, 20, 20, 8});
  }

  const uint32_t y = input({1, 20, 20, 8}), scale = constant({32}, some_numbers(32));
  const uint32_t first = pixels(y, 8, 32), second = limited(first), third = window(second), fourth = scaled(third),
                 fifth = pixels(fourth, 32, 8), last = sum(fifth);
};

TEST(StripsTest, TakeElementwiseNodesAlong) {
  BlockWithTails g;
  g.output(g.last);
  const Plan plan = plan_of(g, with_cache(64 << 10));
  const auto step = std::find_if(plan.steps.begin(), plan.steps.end(), [&](const Step& candidate) {
    return candidate.kind == Step::Kind::Strips && candidate.outputs.front() == g.last;
  });
  ASSERT_NE(step, plan.steps.end());
  EXPECT_THAT(step->nodes, ElementsAre(3u, 4u, 5u, 6u, 7u, 8u));
  ASSERT_EQ(step->parts.size(), 3u);
  EXPECT_THAT(step->parts[0].outputs, ElementsAre(g.second));
  EXPECT_THAT(step->parts[1].outputs, ElementsAre(g.fourth));
  EXPECT_THAT(step->parts[2].outputs, ElementsAre(g.last));
  for (const Step& part : step->parts) {
    EXPECT_EQ(part.kind, Step::Kind::Led);
    EXPECT_EQ(part.nodes.size(), 2u);
  }
  // Image and weight, and for the pass the result; likewise with a scale, and with the image of before.
  EXPECT_EQ(step->inputs.size(), 3u + 4u + 4u);
  EXPECT_EQ(step->inputs.front(), g.y);
  EXPECT_THAT(step->parts[1].inputs, ElementsAre(g.second, ::testing::_, kNone, g.scale));
  EXPECT_EQ(step->inputs[3], kNone);
  EXPECT_EQ(step->inputs.back(), g.y);
}

// The first result is needed in two places, and the second one is an output.
TEST(StripsTest, LeaveElementwiseNodesWhereOthersReadToo) {
  BlockWithTails twice;
  twice.output(twice.node(binary(BinaryKind::Add), {twice.first, twice.fourth}, {1, 20, 20, 32}));
  twice.output(twice.last);
  BlockWithTails output;
  output.output(output.third);
  output.output(output.last);
  for (const GraphDef& g : {static_cast<const GraphDef&>(twice), static_cast<const GraphDef&>(output)}) {
    for (const std::vector<uint32_t>& nodes : strips(g)) {
      EXPECT_EQ(std::count(nodes.begin(), nodes.end(), 6u), 0) << "the scale runs in strips";
    }
  }
}

TEST(StripsTest, NeedAWindow) {
  Block block;
  const uint32_t wider = block.pixels(block.pixels(block.narrow, 8, 64), 64, 8);
  block.output(wider);
  EXPECT_THAT(strips(block), ElementsAre(ElementsAre(0u, 1u, 2u)));
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
