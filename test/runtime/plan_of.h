// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <string>

#include <runtime/plan/plan.h>

#include "graph_def.h"

namespace executorch::backends::et_xnnpack::testing {

// The plan of a graph at its planned sizes.
Plan plan_of(const GraphDef& def, const PlanOptions& options = {});

bool has_led_step(const Plan& plan);

// "X" for a kernel of XNNPACK, "H" for one in Float16, "K" for a kernel of ours, "F" for a pass, "L" for a kernel of ours
// with a pass, "S" for kernels in strips, "C" for a conversion.
std::string kinds(const Plan& plan);

} // namespace executorch::backends::et_xnnpack::testing
