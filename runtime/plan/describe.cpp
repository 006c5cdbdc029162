// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "plan.h"

#include <algorithm>

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
    const auto is_led = [](const Step& led, uint32_t i) {
      return led.kind == Step::Kind::Led && i != led.nodes.front() &&
          std::find(led.nodes.begin(), led.nodes.end(), i) != led.nodes.end();
    };
    for (const uint32_t i : step.nodes) {
      const Choice& choice = plan.choices[i];
      const char* const in_strips =
          step.kind == Step::Kind::Strips ? "In strips of rows with the others of this step. " : "";
      const bool is_led_in_strips =
          std::any_of(step.parts.begin(), step.parts.end(), [&](const Step& part) { return is_led(part, i); });
      text += "  node " + blob.name(i) + ": " +
          (step.kind == Step::Kind::Fused ? "row of a pass with the others of this step."
               : is_led(step, i)          ? "row of a pass over the parts of the first result of this step."
               : is_led_in_strips         ? "row of a pass over the strips of what the convolution before it makes."
                                          : name_of(choice) + std::string(". ") + in_strips + choice.reason) +
          "\n";
    }
  }
  return text;
}

} // namespace executorch::backends::et_xnnpack
