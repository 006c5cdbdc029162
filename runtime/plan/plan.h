// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/caches.h"
#include "runtime/ops/infer.h"

namespace executorch::backends::et_xnnpack {

// One thing that execute() does.
struct Step {
  enum class Kind : uint8_t {
    Kernel, // runs the kernel of the one node
    Fused, // runs `nodes`, which are elementwise, in one pass over memory
    Led, // runs the kernel of the first node, and the others, which are elementwise, on each part of its only result
    Strips, // runs `parts` one after the other on strips of rows of images
    Convert, // makes the one output of the one input, from Float32 to Float16 or back
  };
  Kind kind;
  std::vector<uint32_t> nodes;
  // Values that a step before it, the caller or nobody (constants) makes: of a Kernel like the operands of its node,
  // kNone for an absent one; of a Fused step each one once. A Led step has both, and kNone between for the result of the
  // first node, as the first thing that the others read. Strips has those of its parts, and kNone for what the one before
  // makes. A Kernel that reads 16 bits (Choice::reduced_inputs) may have those in the place of what a Cast makes of them.
  std::vector<uint32_t> inputs;
  // Values made here: of elementwise nodes those that something outside the step reads.
  std::vector<uint32_t> outputs;
  // Of Strips: its nodes as steps, each Kernel or Led, of which one makes what the next one reads first.
  std::vector<Step> parts;
};

// How a blob is executed: which steps, and which values share memory. Depends on the
// blob alone, not on sizes, unless values are known to be empty.
struct Plan {
  std::vector<Step> steps;
  // What the values behind those of the blob are in Float16.
  std::vector<uint32_t> float16_of;
  // For each value the one whose memory it is: itself unless made by a view or in place.
  std::vector<uint32_t> root;
  // Who computes each node, unless it is part of a Fused step.
  std::vector<Choice> choices;
};

// The wave (Waves) of a value of a plan.
uint32_t wave_of(const Plan& plan, const Blob& blob, uint32_t value);

struct PlanOptions {
  bool fuse_elementwise = true;
  bool float16 = false; // lets XNNPACK compute in Float16 around products
  size_t winograd_tile = 0; // as in ChoiceOptions
  bool bfloat16 = false; // as in ChoiceOptions
  Caches caches = Caches::get(); // that strips are made for
};

// Puts as many elementwise nodes as the order of computation allows into each pass, if that is asked for. `types` are
// those of the planned sizes. `empty`, by value, are those without elements, if that is known: a node that has one among
// its operands or results is a step of its own, not for XNNPACK, which computes nothing or divides by zero where a
// result is not empty, too. Without passes there are no strips either.
Plan make_plan(
    const Blob& blob,
    Span<const TensorType> types,
    const Sizes& sizes,
    const PlanOptions& options = {},
    const std::vector<bool>& empty = {});

// Whether XNNPACK computes anything in Float16.
bool computes_in_float16(const Plan& plan);

// Why nothing is in Float16, and why no product is in BFloat16, though the options let it; empty if something is.
std::string reason_for_no_float16(const Plan& plan);
std::string reason_for_no_bfloat16(const Plan& plan);

// The steps, and for each node who computes it and why, one line each.
std::string describe(const Plan& plan, const Blob& blob);

} // namespace executorch::backends::et_xnnpack
