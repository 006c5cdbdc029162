// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/elementwise/fused_elementwise.h>

#include <algorithm>
#include <random>

#include <gmock/gmock.h>

#include "plan_of.h"
#include "sample_graphs.h"
#include "xnnpack_parts.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BinaryKind;
using schema::UnaryKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A graph over [4] whose nodes are of the three placements.
struct PlanGraph : GraphDef {
  uint32_t xnnpack(uint32_t x) {
    return node(unary(UnaryKind::Neg), {x}, {4});
  }
  uint32_t xnnpack(uint32_t a, uint32_t b) {
    return node(binary(BinaryKind::Add), {a, b}, {4});
  }
  uint32_t kernel(uint32_t x) {
    return node(layer_norm(), {x}, {4});
  }
  uint32_t view(uint32_t x) {
    return node(reshape({4}), {x}, {4});
  }
};

Plan plan_without_passes(const GraphDef& def) {
  PlanOptions options;
  options.fuse_elementwise = false;
  return plan_of(def, options);
}

TEST(PlanTest, MakesAStepOfEachNode) {
  ETX_NEEDS_ELEMENTWISE_IN_XNNPACK();
  PlanGraph g;
  const uint32_t x = g.input({4});
  const uint32_t a = g.xnnpack(x);
  const uint32_t b = g.xnnpack(a);
  const uint32_t k = g.kernel(a);
  g.output(b);
  g.output(g.xnnpack(b, k));
  const Plan plan = plan_without_passes(g);
  ASSERT_EQ(kinds(plan), "XXKX");
  EXPECT_THAT(plan.steps[0].nodes, ElementsAre(0u));
  EXPECT_THAT(plan.steps[0].inputs, ElementsAre(x));
  EXPECT_THAT(plan.steps[0].outputs, ElementsAre(a));
  EXPECT_THAT(plan.steps[2].inputs, ElementsAre(a));
  EXPECT_THAT(plan.steps[2].outputs, ElementsAre(k));
  EXPECT_THAT(plan.steps[3].inputs, ElementsAre(b, k));
}

TEST(PlanTest, GivesViewsTheMemoryOfTheirOperand) {
  ETX_NEEDS_ELEMENTWISE_IN_XNNPACK();
  PlanGraph g;
  const uint32_t x = g.input({4});
  const uint32_t v = g.view(g.view(x));
  const uint32_t a = g.xnnpack(v);
  const uint32_t w = g.view(a);
  g.output(g.kernel(w));
  const Plan plan = plan_without_passes(g);
  EXPECT_EQ(kinds(plan), "XK");
  EXPECT_EQ(plan.root[v], x);
  EXPECT_EQ(plan.root[v - 1], x);
  EXPECT_EQ(plan.root[a], a);
  EXPECT_EQ(plan.root[w], a);
  EXPECT_THAT(plan.steps[0].inputs, ElementsAre(v));
  EXPECT_THAT(plan.steps[0].outputs, ElementsAre(a));
  EXPECT_THAT(plan.steps[1].inputs, ElementsAre(w));
}

TEST(PlanTest, HasNoViewOfIntegersThatMeanSomethingElse) {
  const auto steps = [](const ValueDef& before, const ValueDef& after) {
    GraphDef g;
    const uint32_t x = g.integers(before.dims, *before.quantization, before.dtype);
    g.output(g.node(softmax(1), {x}, before.dims));
    const uint32_t y = g.node(reshape(after.dims), {x}, after.dims);
    g.quantized(y, 0, 0, after.dtype);
    g.values[y].quantization = after.quantization;
    g.output(g.node(softmax(1), {y}, after.dims));
    return plan_of(g).steps.size();
  };
  const auto integers = [](const std::vector<int64_t>& dims, const QuantizationDef& quantization, DType dtype) {
    return ValueDef{dtype, dims, std::nullopt, quantization};
  };
  const QuantizationDef one{{0.5f}, {3}}, other{{0.5f}, {4}}, of_rows{{0.5f, 0.25f}, {0, 0}, 0};
  const ValueDef x = integers({2, 6}, one, DType::Int8);
  EXPECT_EQ(steps(x, integers({3, 4}, one, DType::Int8)), 2u);
  EXPECT_EQ(steps(x, integers({3, 4}, other, DType::Int8)), 3u);
  EXPECT_EQ(steps(x, integers({3, 4}, one, DType::UInt8)), 3u);
  EXPECT_EQ(steps(integers({2, 6}, of_rows, DType::Int8), integers({3, 4}, one, DType::Int8)), 3u);
}

TEST(PlanTest, ExportsOperandsOfViews) {
  ETX_NEEDS_ELEMENTWISE_IN_XNNPACK();
  PlanGraph g;
  const uint32_t a = g.xnnpack(g.input({4}));
  const uint32_t v = g.view(a);
  const uint32_t b = g.xnnpack(v);
  g.output(b);
  const Plan plan = plan_without_passes(g);
  ASSERT_EQ(kinds(plan), "XX");
  EXPECT_THAT(plan.steps[0].outputs, ElementsAre(a));
  EXPECT_THAT(plan.steps[1].inputs, ElementsAre(v));
}

TEST(PlanTest, NeedsNoStepForViewsAlone) {
  PlanGraph g;
  const uint32_t x = g.input({4});
  g.output(g.view(x));
  const Plan plan = plan_without_passes(g);
  EXPECT_THAT(plan.steps, IsEmpty());
  EXPECT_EQ(plan.root[1], x);
}

TEST(PlanTest, GivesConstantsAndViewsOfThemToSteps) {
  ETX_NEEDS_ELEMENTWISE_IN_XNNPACK();
  PlanGraph g;
  const uint32_t x = g.input({4});
  const uint32_t c = g.constant({4}, {1, 2, 3, 4});
  const uint32_t v = g.view(c);
  const uint32_t a = g.xnnpack(x, v);
  g.output(g.node(layer_norm(), {a, c, c}, {4}));
  const Plan plan = plan_without_passes(g);
  ASSERT_EQ(kinds(plan), "XK");
  EXPECT_EQ(plan.root[v], c);
  EXPECT_THAT(plan.steps[0].inputs, ElementsAre(x, v));
  EXPECT_THAT(plan.steps[1].inputs, ElementsAre(a, c, c)) << "as the node has them";
}

// Every step must find what it reads, whatever the graph; nothing may be lost or run twice.
TEST(PlanTest, KeepsTheOrderOfComputationInRandomGraphs) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    PlanGraph g;
    g.input({4});
    g.constant({4}, {1, 2, 3, 4});
    const size_t count = 1 + random() % 40;
    for (size_t i = 0; i < count; ++i) {
      const auto a = static_cast<uint32_t>(random() % g.values.size());
      const auto b = static_cast<uint32_t>(random() % g.values.size());
      switch (random() % 4) {
        case 0:
          g.view(a);
          break;
        case 1:
          g.kernel(a);
          break;
        default:
          g.xnnpack(a, b);
      }
    }
    g.output(static_cast<uint32_t>(g.values.size() - 1));
    const Plan plan = plan_without_passes(g);

    std::vector<bool> made(g.values.size());
    made[0] = made[1] = true;
    size_t nodes = 0;
    for (const Step& step : plan.steps) {
      nodes += step.nodes.size();
      for (const uint32_t id : step.inputs) {
        EXPECT_TRUE(made[plan.root[id]]);
      }
      std::vector<uint32_t> inside;
      for (const uint32_t node : step.nodes) {
        for (const uint32_t id : g.nodes[node].inputs) {
          const bool known = std::count(inside.begin(), inside.end(), id) > 0 ||
              std::count(step.inputs.begin(), step.inputs.end(), id) > 0;
          EXPECT_TRUE(known) << "value " << id << " of node " << node;
        }
        inside.push_back(g.nodes[node].outputs[0]);
      }
      for (const uint32_t id : step.outputs) {
        EXPECT_FALSE(made[id]);
        made[id] = true;
      }
    }
    EXPECT_TRUE(made[plan.root[g.outputs[0].value]]);
    const auto is_view = [](const NodeDef& node) { return node.attributes.type == schema::Attributes::Reshape; };
    const auto views = static_cast<size_t>(std::count_if(g.nodes.begin(), g.nodes.end(), is_view));
    EXPECT_EQ(nodes + views, g.nodes.size());
  }
}

TEST(PlanFusionTest, JoinsElementwiseNodesThatReadEachOther) {
  PlanGraph g;
  const uint32_t x = g.input({4});
  const uint32_t a = g.xnnpack(x);
  const uint32_t k = g.kernel(x);
  const uint32_t b = g.xnnpack(a, k);
  g.output(b);
  const Plan plan = plan_of(g);
  ASSERT_EQ(kinds(plan), "KF");
  EXPECT_THAT(plan.steps[1].nodes, ElementsAre(0u, 2u));
  EXPECT_THAT(plan.steps[1].inputs, ElementsAre(x, k));
  EXPECT_THAT(plan.steps[1].outputs, ElementsAre(b));
}

TEST(PlanFusionTest, LeavesASingleNodeToXnnpack) {
  ETX_NEEDS_ELEMENTWISE_IN_XNNPACK();
  PlanGraph g;
  g.output(g.xnnpack(g.kernel(g.xnnpack(g.input({4})))));
  EXPECT_EQ(kinds(plan_of(g)), "XKX");
}

TEST(PlanFusionTest, ExportsWhatOthersRead) {
  PlanGraph g;
  const uint32_t a = g.xnnpack(g.input({4}));
  const uint32_t b = g.xnnpack(a, a);
  g.output(a);
  g.output(g.kernel(b));
  const Plan plan = plan_of(g);
  ASSERT_EQ(kinds(plan), "FK");
  EXPECT_THAT(plan.steps[0].outputs, ElementsAre(a, b));
}

// The pass would need a result that is computed from its own.
TEST(PlanFusionTest, DoesNotJoinAroundAnotherNode) {
  ETX_NEEDS_ELEMENTWISE_IN_XNNPACK();
  PlanGraph g;
  const uint32_t a = g.xnnpack(g.input({4}));
  const uint32_t k = g.kernel(a);
  g.output(g.xnnpack(a, k));
  EXPECT_EQ(kinds(plan_of(g)), "XKX");
}

TEST(PlanFusionTest, DoesNotJoinOtherShapes) {
  ETX_NEEDS_ELEMENTWISE_IN_XNNPACK();
  GraphDef g;
  const uint32_t a = g.node(unary(UnaryKind::Neg), {g.input({1})}, {1});
  g.output(g.node(binary(BinaryKind::Add), {a, g.input({4})}, {4}));
  EXPECT_EQ(kinds(plan_of(g)), "XX");
}

TEST(PlanFusionTest, LimitsTheInputsOfAPass) {
  PlanGraph g;
  uint32_t sum = g.input({4});
  for (size_t i = 0; i < 2 * FusedElementwise::kMaxInputs; ++i) {
    sum = g.xnnpack(sum, g.input({4}));
  }
  g.output(sum);
  const Plan plan = plan_of(g);
  for (const Step& step : plan.steps) {
    EXPECT_LE(step.inputs.size(), FusedElementwise::kMaxInputs);
  }
  EXPECT_LE(plan.steps.size(), 4u);
}

// Every step comes behind those whose results it reads.
TEST(PlanFusionTest, KeepsTheOrderInRandomGraphs) {
  std::mt19937 random(7);
  size_t passes = 0;
  for (int round = 0; round < 300; ++round) {
    PlanGraph g;
    g.input({4});
    for (size_t i = 1 + random() % 40; i > 0; --i) {
      const auto a = static_cast<uint32_t>(random() % g.values.size());
      const auto b = static_cast<uint32_t>(random() % g.values.size());
      switch (random() % 5) {
        case 0:
          g.kernel(a);
          break;
        case 1:
          g.view(a);
          break;
        default:
          g.xnnpack(a, b);
      }
    }
    g.output(static_cast<uint32_t>(g.values.size() - 1));
    const Plan plan = plan_of(g);
    std::vector<bool> made(g.values.size());
    made[0] = true;
    size_t nodes = 0;
    for (const Step& step : plan.steps) {
      passes += step.kind == Step::Kind::Fused;
      for (const uint32_t id : step.inputs) {
        EXPECT_TRUE(made[plan.root[id]]) << id;
      }
      for (const uint32_t id : step.outputs) {
        made[id] = true;
      }
      nodes += step.nodes.size();
    }
    const auto is_view = [](const NodeDef& node) { return node.attributes.type == schema::Attributes::Reshape; };
    nodes += static_cast<size_t>(std::count_if(g.nodes.begin(), g.nodes.end(), is_view));
    EXPECT_EQ(nodes, g.nodes.size());
  }
  EXPECT_GT(passes, 100u);
}

TEST(PlanFusionTest, PlansManyNodesQuickly) {
  PlanGraph g;
  uint32_t last = g.input({4});
  for (int i = 0; i < 20000; ++i) {
    last = g.xnnpack(last, last);
  }
  g.output(last);
  EXPECT_EQ(plan_of(g).steps.size(), 20000u / 32);
}

// Planning takes time in proportion to the graph, not to its square.
TEST(PlanTest, PlansManyStepsQuickly) {
  PlanGraph g;
  uint32_t last = g.input({4});
  for (int i = 0; i < 20000; ++i) {
    last = g.xnnpack(g.kernel(last));
  }
  g.output(last);
  EXPECT_EQ(plan_without_passes(g).steps.size(), 40000u);
}

TEST(PlanTest, SaysWhoComputesWhatAndWhy) {
  ETX_NEEDS_ELEMENTWISE_IN_XNNPACK();
  PlanGraph g;
  const uint32_t x = g.xnnpack(g.input({4}));
  const uint32_t root = g.node(unary(schema::UnaryKind::Sqrt), {g.kernel(x)}, {4});
  g.output(g.node(unary(schema::UnaryKind::Exp), {root}, {4}));
  g.output(g.node(binary(BinaryKind::Maximum), {x, g.view(x)}, {4}));
  const std::vector<uint8_t> bytes = g.build();
  StatusOr<Blob> blob = open_blob(span(bytes));
  ASSERT_TRUE(blob.ok()) << blob.status().message();
  const std::string text = describe(plan_of(g), *blob);
  EXPECT_EQ(
      text,
      "node 4 Reshape: view. The result has the elements of the operand in the same order.\n"
      "step 0\n"
      "  node 0 Unary: XNNPACK. XNNPACK has this operator.\n"
      "step 1\n"
      "  node 1 LayerNorm: kernel. XNNPACK has no such operator.\n"
      "step 2\n"
      "  node 2 Unary: row of a pass with the others of this step.\n"
      "  node 3 Unary: row of a pass with the others of this step.\n"
      "step 3\n"
      "  node 5 Binary: row. XNNPACK's maximum and minimum drop a NaN in one of the operands.\n");
}

// Somebody who asks why a node is not in XNNPACK reads these.
TEST(PlanTest, ReasonsAreSentences) {
  for (const SampleGraph& sample : sample_graphs()) {
    const Plan plan = plan_without_passes(sample.def);
    for (const Choice& choice : plan.choices) {
      ASSERT_FALSE(choice.reason.empty()) << sample.name;
      EXPECT_TRUE(choice.reason[0] >= 'A' && choice.reason[0] <= 'Z') << choice.reason;
      EXPECT_EQ(choice.reason.back(), '.') << choice.reason;
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
