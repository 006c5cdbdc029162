// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "plan_of.h"

#include <algorithm>

namespace executorch::backends::et_xnnpack::testing {

Plan plan_of(const GraphDef& def, const PlanOptions& options) {
  const std::vector<uint8_t> bytes = def.build();
  StatusOr<Blob> blob = open_blob(span(bytes));
  EXPECT_TRUE(blob.ok()) << blob.status().message();
  StatusOr<Sizes> sizes = planned_sizes(blob->graph());
  EXPECT_TRUE(sizes.ok());
  StatusOr<std::vector<TensorType>> types = infer_types(*blob, *sizes);
  EXPECT_TRUE(types.ok());
  return make_plan(*blob, {types->data(), types->size()}, *sizes, options);
}

bool has_led_step(const Plan& plan) {
  return std::any_of(
      plan.steps.begin(), plan.steps.end(), [](const Step& step) { return step.kind == Step::Kind::Led; });
}

std::string kinds(const Plan& plan) {
  std::string text;
  for (const Step& step : plan.steps) {
    switch (step.kind) {
      case Step::Kind::Fused:
        text += "F";
        break;
      case Step::Kind::Led:
        text += "L";
        break;
      case Step::Kind::Strips:
        text += "S";
        break;
      case Step::Kind::Convert:
        text += "C";
        break;
      case Step::Kind::Kernel: {
        const Choice& choice = plan.choices[step.nodes.front()];
        text += choice.kind != Choice::Kind::Xnnpack ? "K" : choice.float16 ? "H" : "X";
      }
    }
  }
  return text;
}

} // namespace executorch::backends::et_xnnpack::testing
