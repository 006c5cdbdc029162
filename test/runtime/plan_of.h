// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <runtime/plan/plan.h>

#include "graph_def.h"

namespace executorch::backends::et_xnnpack::testing {

// The plan of a graph at its planned sizes.
Plan plan_of(const GraphDef& def, const PlanOptions& options = {});

bool has_led_step(const Plan& plan);

} // namespace executorch::backends::et_xnnpack::testing
