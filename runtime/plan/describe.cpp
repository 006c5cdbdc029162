// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "plan.h"

namespace executorch::backends::et_xnnpack {

std::string describe(const Plan& plan, const Blob& blob) {
  std::string text;
  for (size_t i = 0; i < plan.choices.size(); ++i) {
    if (plan.choices[i].kind == Choice::Kind::View) {
      text += "node " + blob.name(i) + ": view. " + plan.choices[i].reason + "\n";
    }
  }
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    text += "step " + std::to_string(s);
    if (step.kind == Step::Kind::Convert) {
      text += step.inputs.front() < blob.num_values() ? ": to Float16\n" : ": to Float32\n";
      continue;
    }
    text += "\n";
    for (const uint32_t i : step.nodes) {
      const Choice& choice = plan.choices[i];
      const char* const in_strips =
          step.kind == Step::Kind::Strips ? "In strips of rows with the others of this step. " : "";
      const bool is_led = step.kind == Step::Kind::Led && i != step.nodes.front();
      text += "  node " + blob.name(i) + ": " +
          (step.kind == Step::Kind::Fused ? "row of a pass with the others of this step."
               : is_led                   ? "row of a pass over the parts of the first result of this step."
                                          : name_of(choice) + std::string(". ") + in_strips + choice.reason) +
          "\n";
    }
  }
  return text;
}

} // namespace executorch::backends::et_xnnpack
