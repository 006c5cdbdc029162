// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/kernels/elementwise/fused_elementwise.h"
#include "runtime/plan/plan.h"
#include "runtime/program/blob.h"

namespace executorch::backends::et_xnnpack {

// The pass over memory of a Fused step, or that of a Led one, whose inputs begin with the result of the first node.
// `inputs` are those of the pass. Neighbours that are a batch norm between operators of 16 bits become one row.
std::unique_ptr<FusedElementwise> make_pass(
    const Blob& blob,
    const Plan& plan,
    Span<const TensorType> types,
    const Sizes& sizes,
    const Step& step,
    Span<const uint32_t> inputs);

} // namespace executorch::backends::et_xnnpack
