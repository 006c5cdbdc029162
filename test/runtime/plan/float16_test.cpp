// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Plans in which XNNPACK computes in Float16.

#include <gmock/gmock.h>

#include <runtime/kernels/elementwise/fused_elementwise.h>

#include "executable_call.h"
#include "plan_of.h"
#include "xnnpack_parts.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BinaryKind;
using schema::UnaryKind;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

#define ETX_NEEDS_FLOAT16()                    \
  if (!Cpu::get().float16) {                   \
    GTEST_SKIP() << "this CPU has no Float16"; \
  }

Plan float16_plan_of(const GraphDef& def, bool fuse_elementwise = false) {
  PlanOptions options;
  options.fuse_elementwise = fuse_elementwise;
  options.float16 = Cpu::get().float16;
  return plan_of(def, options);
}

// What is beside a product is in Float16, too, if XNNPACK has it: one conversion at each end.
TEST(Float16PlanTest, ConvertsAroundProductsInFloat16) {
  ETX_NEEDS_ELEMENTWISE_IN_XNNPACK();
  ETX_NEEDS_FLOAT16();
  GraphDef g;
  const uint32_t x = g.input({4, 4});
  const uint32_t w = g.constant({4, 4}, std::vector<float>(16));
  const uint32_t a = g.node(unary(UnaryKind::Neg), {x}, {4, 4});
  const uint32_t b = g.node(linear(), {a, w}, {4, 4});
  const uint32_t v = g.node(reshape({16}), {b}, {16});
  const uint32_t c = g.node(unary(UnaryKind::Abs), {v}, {16});
  const uint32_t k = g.node(layer_norm(), {c}, {16});
  g.output(g.node(unary(UnaryKind::Neg), {k}, {16}));
  g.output(g.node(unary(UnaryKind::Neg), {v}, {16}));
  g.output(b);
  const Plan plan = float16_plan_of(g);
  ASSERT_EQ(kinds(plan), "CHHHCKXHCC");
  EXPECT_THAT(plan.float16_of, ElementsAre(x, a, b, c, g.outputs[1].value));
  const uint32_t first = static_cast<uint32_t>(g.values.size());
  EXPECT_THAT(plan.steps[0].inputs, ElementsAre(x));
  EXPECT_THAT(plan.steps[0].outputs, ElementsAre(first));
  EXPECT_THAT(plan.steps[2].inputs, ElementsAre(first + 1, w)) << "kernels round constants themselves";
  EXPECT_THAT(plan.steps[3].inputs, ElementsAre(first + 2)) << "a view of what is in Float16";
  EXPECT_THAT(plan.steps[4].inputs, ElementsAre(first + 3));
  EXPECT_THAT(plan.steps[4].outputs, ElementsAre(c));
}

// A kernel rounds constants, but takes a view of one for a tensor, which has to be in Float16.
TEST(Float16PlanTest, ConvertsViewsOfConstantsToFloat16) {
  ETX_NEEDS_ELEMENTWISE_IN_XNNPACK();
  ETX_NEEDS_FLOAT16();
  GraphDef g;
  const uint32_t x = g.input({4, 4});
  const uint32_t w = g.constant({4, 4}, std::vector<float>(16));
  const uint32_t c = g.constant({16}, std::vector<float>(16));
  const uint32_t product = g.node(linear(), {x, w}, {4, 4});
  const uint32_t v = g.node(reshape({4, 4}), {c}, {4, 4});
  g.output(g.node(binary(BinaryKind::Add), {product, v}, {4, 4}));
  const Plan plan = float16_plan_of(g);
  ASSERT_EQ(kinds(plan), "CHCHC");
  EXPECT_THAT(plan.steps[2].inputs, ElementsAre(v));
  EXPECT_THAT(plan.steps[3].inputs, ElementsAre(plan.steps[1].outputs[0], plan.steps[2].outputs[0]));
}

TEST(Float16PlanTest, ComputesInFloat32WithoutProducts) {
  ETX_NEEDS_ELEMENTWISE_IN_XNNPACK();
  GraphDef g;
  g.output(g.node(unary(UnaryKind::Abs), {g.node(unary(UnaryKind::Neg), {g.input({4})}, {4})}, {4}));
  const Plan plan = float16_plan_of(g);
  EXPECT_EQ(kinds(plan), "XX");
  EXPECT_THAT(plan.float16_of, IsEmpty());
}

// A graph of [4, 4] with operands in Float16, as those of model.half() are.
struct HalfGraph : GraphDef {
  uint32_t widen(uint32_t x) {
    return node(cast(DType::Float32), {x}, {4, 4});
  }
  uint32_t narrow(uint32_t x) {
    return node(cast(DType::Float16), {x}, {4, 4}, DType::Float16);
  }
  uint32_t product(uint32_t x) {
    std::vector<float> weight(16);
    for (size_t i = 0; i < weight.size(); ++i) {
      weight[i] = 0.25f * static_cast<float>(i % 5) - 0.5f;
    }
    return node(linear(), {x, constant({4, 4}, weight)}, {4, 4});
  }
};

TEST(Float16PlanTest, ReadsAndMakesFloat16OfTheProgram) {
  ETX_NEEDS_FLOAT16();
  HalfGraph g;
  const uint32_t x = g.input({4, 4}, DType::Float16);
  const uint32_t a = g.narrow(g.product(g.widen(x)));
  const uint32_t b = g.narrow(g.product(g.widen(a)));
  g.output(b);
  for (const bool fuse_elementwise : {false, true}) {
    const Plan plan = float16_plan_of(g, fuse_elementwise);
    ASSERT_EQ(kinds(plan), "HH");
    EXPECT_THAT(plan.float16_of, IsEmpty());
    EXPECT_TRUE(computes_in_float16(plan));
    EXPECT_EQ(reason_for_no_float16(plan), "");
    EXPECT_EQ(plan.steps[0].inputs[0], x);
    EXPECT_THAT(plan.steps[0].outputs, ElementsAre(a));
    EXPECT_EQ(plan.steps[1].inputs[0], a);
    EXPECT_THAT(plan.steps[1].outputs, ElementsAre(b));
  }
}

TEST(Float16PlanTest, HasPassesReadAndMakeFloat16) {
  ETX_NEEDS_FLOAT16();
  HalfGraph g;
  const uint32_t a = g.narrow(g.product(g.widen(g.input({4, 4}, DType::Float16))));
  const uint32_t y = g.node(unary(UnaryKind::Exp), {g.widen(a)}, {4, 4});
  const uint32_t b = g.narrow(y);
  g.output(g.narrow(g.product(g.widen(b))));
  const Plan plan = float16_plan_of(g, /*fuse_elementwise=*/true);
  ASSERT_EQ(kinds(plan), "HFH");
  EXPECT_THAT(plan.steps[1].inputs, ElementsAre(a));
  EXPECT_THAT(plan.steps[1].outputs, ElementsAre(b));
  EXPECT_EQ(plan.steps[2].inputs[0], b);
}

TEST(Float16PlanTest, ConvertsWhatIsNeededInFloat32) {
  ETX_NEEDS_FLOAT16();
  HalfGraph g;
  const uint32_t a = g.product(g.widen(g.input({4, 4}, DType::Float16)));
  const uint32_t narrow = g.narrow(a), again = g.narrow(a);
  const uint32_t wide = g.widen(narrow);
  g.output(a);
  g.output(g.product(wide));
  g.output(wide);
  g.output(again);
  const Plan plan = float16_plan_of(g, /*fuse_elementwise=*/true);
  ASSERT_THAT(plan.steps, Not(IsEmpty()));
  EXPECT_THAT(plan.steps[0].outputs, ElementsAre(narrow));
  const auto makes = [](uint32_t id) { return ::testing::Field(&Step::outputs, Contains(id)); };
  EXPECT_THAT(plan.steps, Contains(makes(a)));
  EXPECT_THAT(plan.steps, Contains(makes(wide))) << "an output";
  EXPECT_THAT(plan.steps, Contains(makes(again))) << "of two casts one is what the product makes";
}

// The product would make what a Cast of the pass narrows to, and the pass read both: with that it may read too many.
TEST(Float16PlanTest, MakesFloat32OfWhatAPassNarrowsAndReads) {
  ETX_NEEDS_FLOAT16();
  for (size_t others = 1; others <= FusedElementwise::kMaxInputs; ++others) {
    HalfGraph g;
    const uint32_t y = g.product(g.input({4, 4}));
    uint32_t sum = g.node(binary(BinaryKind::Add), {y, g.widen(g.narrow(y))}, {4, 4});
    for (size_t i = 0; i < others; ++i) {
      sum = g.node(binary(BinaryKind::Add), {sum, g.input({4, 4})}, {4, 4});
    }
    g.output(sum);
    size_t passes = 0;
    for (const Step& step : float16_plan_of(g, /*fuse_elementwise=*/true).steps) {
      passes += step.kind == Step::Kind::Fused;
      if (step.kind == Step::Kind::Fused) {
        EXPECT_LE(step.inputs.size(), FusedElementwise::kMaxInputs);
      }
    }
    EXPECT_GT(passes, 0u);
  }
}

// What has the size found has no memory when the product runs.
TEST(Float16PlanTest, MakesNothingOfALaterSize) {
  ETX_NEEDS_FLOAT16();
  HalfGraph g;
  const uint32_t y = g.product(g.input({4, 4}));
  const uint32_t mask = g.input({4}, DType::Bool);
  const int64_t found = g.ranged(schema::DimOp::FoundSize, static_cast<int64_t>(g.nodes.size()), 0, 0, 4, 4);
  g.output(g.node(nonzero(found), {mask}, {found, 1}, DType::Int64));
  const uint32_t view = g.node(reshape({found, 4}), {y}, {found, 4});
  const uint32_t narrow = g.node(cast(DType::Float16), {view}, {found, 4}, DType::Float16);
  g.output(narrow);
  const Plan plan = float16_plan_of(g);
  ASSERT_EQ(kinds(plan).front(), 'C');
  EXPECT_THAT(plan.steps[1].nodes, ElementsAre(0u));
  EXPECT_THAT(plan.steps[1].outputs, Not(Contains(narrow)));
}

// A later node writes where the state is: a product has to have read it before, so it reads what was cast then.
TEST(Float16PlanTest, ReadsNoFloat16ThatChanges) {
  ETX_NEEDS_FLOAT16();
  HalfGraph g;
  const uint32_t token = g.input({1, 4}, DType::Float16);
  const uint32_t s = g.state("s", {4, 4}, {});
  g.values[s].dtype = DType::Float16;
  g.states[0].initial = ConstantDef{std::nullopt, std::vector<uint8_t>(4 * 4 * sizeof(uint16_t))};
  const uint32_t wide = g.widen(s);
  g.states[0].update = g.node(slice_scatter({0, 0}, {1, 1}), {s, token}, {4, 4}, DType::Float16);
  g.output(g.product(wide));
  const Plan plan = float16_plan_of(g);
  for (const Step& step : plan.steps) {
    if (step.kind == Step::Kind::Kernel && plan.choices[step.nodes.front()].float16) {
      EXPECT_THAT(step.inputs, Not(Contains(s)));
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
