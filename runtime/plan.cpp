// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "plan.h"

#include <algorithm>

namespace executorch::backends::et_xnnpack {
namespace {

enum class Placement : uint8_t { View, Kernel, Xnnpack };

Placement place(const Blob& blob, size_t node, Span<const TensorType> types, const Sizes& sizes) {
  const OpImpl& op = op_impl(blob.node(node).attributes_type());
  if (op.is_view) {
    return Placement::View;
  }
  const BoundNode bound(blob, node, types, sizes);
  return op.in_xnnpack != nullptr && op.in_xnnpack(bound.context()) ? Placement::Xnnpack : Placement::Kernel;
}

class Planner {
 public:
  Planner(const Blob& blob, Span<const TensorType> types, const Sizes& sizes) : blob_(blob) {
    plan_.root.resize(blob.num_values());
    for (uint32_t id = 0; id < blob.num_values(); ++id) {
      plan_.root[id] = id;
    }
    for (uint32_t i = 0; i < blob.num_nodes(); ++i) {
      placements_.push_back(place(blob, i, types, sizes));
    }
  }

  Plan run() && {
    for (const std::vector<uint32_t>& phase : phases()) {
      add_steps(phase);
    }
    connect();
    return std::move(plan_);
  }

 private:
  // Nodes by when they run. Phases 0, 2, ... hold kernels and views, 1, 3, ... each the
  // nodes of one XNNPACK step. Every node is in the first phase that has its operands.
  std::vector<std::vector<uint32_t>> phases() const {
    std::vector<std::vector<uint32_t>> result;
    std::vector<size_t> phase_of(blob_.num_values()); // in which a value is made
    for (uint32_t i = 0; i < blob_.num_nodes(); ++i) {
      size_t phase = 0;
      const auto* inputs = blob_.node(i).inputs();
      for (uint32_t k = 0; inputs != nullptr && k < inputs->size(); ++k) {
        if (inputs->Get(k) != kNone) {
          phase = std::max(phase, phase_of[inputs->Get(k)]);
        }
      }
      phase += (phase % 2 == 1) != (placements_[i] == Placement::Xnnpack);
      result.resize(std::max(result.size(), phase + 1));
      result[phase].push_back(i);
      for (const uint32_t id : *blob_.node(i).outputs()) {
        phase_of[id] = phase;
      }
    }
    return result;
  }

  void add_steps(const std::vector<uint32_t>& phase) {
    for (const uint32_t node : phase) {
      if (placements_[node] == Placement::Xnnpack) {
        plan_.steps.push_back({Step::Kind::Xnnpack, phase, {}, {}});
        return;
      }
      if (placements_[node] == Placement::View) {
        plan_.root[blob_.node(node).outputs()->Get(0)] = plan_.root[blob_.node(node).inputs()->Get(0)];
      } else {
        plan_.steps.push_back({Step::Kind::Kernel, {node}, {}, {}});
      }
    }
  }

  // Fills in what each step reads and makes.
  void connect() {
    std::vector<uint32_t> maker(blob_.num_values(), kNone); // step that makes a root
    for (uint32_t s = 0; s < plan_.steps.size(); ++s) {
      for (const uint32_t node : plan_.steps[s].nodes) {
        for (const uint32_t id : *blob_.node(node).outputs()) {
          maker[id] = s;
        }
      }
    }
    std::vector<bool> leaves(blob_.num_values()); // by value: is read outside its step
    for (const schema::Output* output : *blob_.graph().outputs()) {
      leaves[plan_.root[output->value()]] = true;
    }
    for (uint32_t i = 0; i < blob_.num_nodes(); ++i) {
      if (placements_[i] == Placement::View) {
        leaves[plan_.root[blob_.node(i).inputs()->Get(0)]] = true;
      }
    }
    std::vector<uint32_t> reader(blob_.num_values(), kNone); // the last step known to read a value
    for (uint32_t s = 0; s < plan_.steps.size(); ++s) {
      connect_inputs(s, maker, reader, leaves);
    }
    for (Step& step : plan_.steps) {
      for (const uint32_t node : step.nodes) {
        for (const uint32_t id : *blob_.node(node).outputs()) {
          if (leaves[id] || step.kind == Step::Kind::Kernel) {
            step.outputs.push_back(id);
          }
        }
      }
    }
  }

  void connect_inputs(
      uint32_t s, const std::vector<uint32_t>& maker, std::vector<uint32_t>& reader, std::vector<bool>& leaves) {
    Step& step = plan_.steps[s];
    for (const uint32_t node : step.nodes) {
      const auto* inputs = blob_.node(node).inputs();
      for (uint32_t k = 0; inputs != nullptr && k < inputs->size(); ++k) {
        const uint32_t id = inputs->Get(k);
        if (id == kNone || maker[id] == s || (blob_.is_constant(id) && step.kind == Step::Kind::Xnnpack)) {
          continue;
        }
        leaves[plan_.root[id]] = true;
        if (reader[id] != s) {
          step.inputs.push_back(id);
        }
        reader[id] = s;
      }
    }
  }

  const Blob& blob_;
  Plan plan_;
  std::vector<Placement> placements_; // by node
};

} // namespace

Plan make_plan(const Blob& blob, Span<const TensorType> types, const Sizes& sizes) {
  return Planner(blob, types, sizes).run();
}

} // namespace executorch::backends::et_xnnpack
