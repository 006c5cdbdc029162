// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Passes that a kernel leads; plan_test.cpp has those without.

#include <gmock/gmock.h>

#include "graph_def.h"
#include "plan_of.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BinaryKind;
using ::testing::ElementsAre;

// A graph over [1, 8, 8, 4] with a convolution that a kernel of ours computes: its windows are too large for XNNPACK.
struct LeadingGraph : GraphDef {
  const uint32_t x = input({1, 8, 8, 4});
  const uint32_t w = named({4, 7, 7, 1}, "w");
  const uint32_t conv = node(conv2d({1, 1}, {3, 3, 3, 3}, {1, 1}, 4), {x, w, kNone}, {1, 8, 8, 4});
  uint32_t add(uint32_t a, uint32_t b) {
    return node(binary(BinaryKind::Add), {a, b}, {1, 8, 8, 4});
  }
};

TEST(FusionTest, LeadsAPassByTheKernelThatItReads) {
  LeadingGraph g;
  const uint32_t a = g.add(g.x, g.x); // runs before, but joins the pass
  const uint32_t b = g.add(g.conv, a);
  const uint32_t c = g.add(b, g.conv);
  g.output(b);
  g.output(c);
  const Plan plan = plan_of(g);
  ASSERT_EQ(plan.steps.size(), 1u);
  ASSERT_EQ(plan.steps[0].kind, Step::Kind::Led);
  EXPECT_THAT(plan.steps[0].nodes, ElementsAre(0u, 1u, 2u, 3u));
  EXPECT_THAT(plan.steps[0].inputs, ElementsAre(g.x, g.w, kNone, kNone, g.x));
  EXPECT_THAT(plan.steps[0].outputs, ElementsAre(b, c));
  PlanOptions separate;
  separate.fuse_elementwise = false;
  EXPECT_FALSE(has_led_step(plan_of(g, separate)));
}

TEST(FusionTest, LeadsNoPassByWhatOthersRead) {
  LeadingGraph output;
  output.output(output.add(output.conv, output.x));
  output.output(output.conv);
  EXPECT_FALSE(has_led_step(plan_of(output)));
  LeadingGraph view;
  view.output(view.add(view.conv, view.x));
  view.output(view.node(reshape({8, 32}), {view.conv}, {8, 32}));
  EXPECT_FALSE(has_led_step(plan_of(view)));
  LeadingGraph broadcast; // the result of the pass has more elements
  const uint32_t y = broadcast.input({2, 8, 8, 4});
  broadcast.output(broadcast.node(binary(BinaryKind::Add), {broadcast.conv, y}, {2, 8, 8, 4}));
  EXPECT_FALSE(has_led_step(plan_of(broadcast)));
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
