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
    made_.resize(blob.num_values());
    for (uint32_t id = 0; id < blob.num_values(); ++id) {
      plan_.root[id] = id;
      made_[id] = true;
    }
    for (uint32_t i = 0; i < blob.num_nodes(); ++i) {
      placements_.push_back(place(blob, i, types, sizes));
      pending_.push_back(i);
      for (const uint32_t id : *blob.node(i).outputs()) {
        made_[id] = false;
      }
    }
  }

  Plan run() && {
    while (!pending_.empty()) {
      // Kernels and views first: what is left then opens the largest XNNPACK step.
      take([this](uint32_t node) { return placements_[node] != Placement::Xnnpack; }, nullptr);
      Step step{Step::Kind::Xnnpack, {}, {}, {}};
      take([this](uint32_t node) { return placements_[node] == Placement::Xnnpack; }, &step.nodes);
      if (!step.nodes.empty()) {
        plan_.steps.push_back(std::move(step));
      }
    }
    connect();
    return std::move(plan_);
  }

 private:
  bool is_ready(uint32_t node) const {
    const auto* inputs = blob_.node(node).inputs();
    return inputs == nullptr || std::all_of(inputs->begin(), inputs->end(), [this](uint32_t id) {
             return id == kNone || made_[id];
           });
  }

  // Moves the pending nodes that satisfy `wanted` and whose inputs are made, in order,
  // to `segment`, or to steps of their own if that is null. One sweep finds them all,
  // as nodes are in topological order.
  template <typename Wanted>
  void take(const Wanted& wanted, std::vector<uint32_t>* segment) {
    std::vector<uint32_t> rest;
    for (const uint32_t node : pending_) {
      if (!wanted(node) || !is_ready(node)) {
        rest.push_back(node);
        continue;
      }
      for (const uint32_t id : *blob_.node(node).outputs()) {
        made_[id] = true;
      }
      if (segment != nullptr) {
        segment->push_back(node);
      } else if (placements_[node] == Placement::View) {
        plan_.root[blob_.node(node).outputs()->Get(0)] = plan_.root[blob_.node(node).inputs()->Get(0)];
      } else {
        plan_.steps.push_back({Step::Kind::Kernel, {node}, {}, {}});
      }
    }
    pending_ = std::move(rest);
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
    for (uint32_t s = 0; s < plan_.steps.size(); ++s) {
      connect_inputs(s, maker, leaves);
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

  void connect_inputs(uint32_t s, const std::vector<uint32_t>& maker, std::vector<bool>& leaves) {
    Step& step = plan_.steps[s];
    for (const uint32_t node : step.nodes) {
      const auto* inputs = blob_.node(node).inputs();
      for (uint32_t k = 0; inputs != nullptr && k < inputs->size(); ++k) {
        const uint32_t id = inputs->Get(k);
        if (id == kNone || maker[id] == s || (blob_.is_constant(id) && step.kind == Step::Kind::Xnnpack)) {
          continue;
        }
        leaves[plan_.root[id]] = true;
        if (std::find(step.inputs.begin(), step.inputs.end(), id) == step.inputs.end()) {
          step.inputs.push_back(id);
        }
      }
    }
  }

  const Blob& blob_;
  Plan plan_;
  std::vector<Placement> placements_; // by node
  std::vector<uint32_t> pending_; // nodes without a step, in order
  std::vector<bool> made_; // by value: is there once the steps so far have run
};

} // namespace

Plan make_plan(const Blob& blob, Span<const TensorType> types, const Sizes& sizes) {
  return Planner(blob, types, sizes).run();
}

} // namespace executorch::backends::et_xnnpack
