// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "plan.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "aliases.h"
#include "float16.h"
#include "fusion.h"

namespace executorch::backends::et_xnnpack {
namespace {

class Planner {
 public:
  Planner(
      const Blob& blob,
      Span<const TensorType> types,
      const Sizes& sizes,
      const PlanOptions& options,
      const std::vector<bool>& empty)
      : blob_(blob),
        types_(types),
        sizes_(sizes),
        plan_(),
        can_fuse_(choose_all(options, empty)),
        aliases_(blob, plan_.choices, [this](uint32_t node) {
          ChoiceOptions choice;
          choice.views = false;
          return choose(node, choice);
        }) {
    plan_.root = aliases_.root();
  }

  Plan run() && {
    const std::vector<Unit> units = fuse_elementwise_nodes(blob_, aliases_.order(), aliases_.followers(), can_fuse_);
    choose_float16(blob_, content(), units, plan_.choices);
    add_steps(units);
    return std::move(plan_);
  }

 private:
  using Unit = std::vector<uint32_t>; // nodes that run as a whole

  Choice choose(uint32_t node, const ChoiceOptions& options) const {
    const BoundNode bound(blob_, node, types_, sizes_);
    return op_impl(blob_.node(node).attributes_type()).choose(bound.context(), Cpu::get(), options);
  }

  // Returns, by node, what may be part of a pass.
  std::vector<bool> choose_all(const PlanOptions& options, const std::vector<bool>& empty) {
    std::vector<bool> can_fuse;
    for (uint32_t i = 0; i < blob_.num_nodes(); ++i) {
      const bool alone = !empty.empty() && has_any(i, empty);
      ChoiceOptions choice;
      choice.xnnpack = !alone;
      choice.float16 = options.float16;
      choice.winograd_tile = options.winograd_tile;
      choice.bfloat16 = options.bfloat16;
      plan_.choices.push_back(choose(i, choice));
      can_fuse.push_back(options.fuse_elementwise && !alone && plan_.choices.back().row != nullptr);
    }
    return can_fuse;
  }

  const std::vector<uint32_t>& content() const {
    return aliases_.content();
  }
  bool is_view(uint32_t node) const {
    return plan_.choices[node].kind == Choice::Kind::View;
  }
  bool is_in_float16(const Unit& unit) const {
    return unit.size() == 1 && plan_.choices[unit.front()].float16;
  }

  // Whether a node reads or makes one of these.
  bool has_any(uint32_t node, const std::vector<bool>& values) const {
    const auto& outputs = *blob_.node(node).outputs();
    bool found = std::any_of(outputs.begin(), outputs.end(), [&](uint32_t id) { return values[id]; });
    for_each_input(blob_, node, [&](uint32_t id) { found = found || values[id]; });
    return found;
  }

  // The value that has the content of `id` in Float16.
  uint32_t in_float16(uint32_t id) {
    const auto [found, is_new] =
        float16_.try_emplace(content()[id], static_cast<uint32_t>(blob_.num_values() + plan_.float16_of.size()));
    if (is_new) {
      plan_.float16_of.push_back(content()[id]);
      plan_.root.push_back(found->second);
    }
    return found->second;
  }

  void convert(uint32_t from, uint32_t to) {
    plan_.steps.push_back({Step::Kind::Convert, {}, {from}, {to}});
  }

  // Has a step before that makes the content of `id` in Float32.
  void need_float32(uint32_t id) {
    const auto found = float16_.find(content()[id]);
    if (found != float16_.end() && !has_float32_[content()[id]]) {
      convert(found->second, content()[id]);
      has_float32_[content()[id]] = true;
    }
  }

  uint32_t need_float16(uint32_t id) {
    const bool is_known = float16_.count(content()[id]) > 0;
    const uint32_t result = in_float16(id);
    if (!is_known) {
      convert(id, result);
    }
    return result;
  }

  void add_steps(const std::vector<Unit>& units) {
    has_float32_.resize(blob_.num_values(), true);
    for (const Unit& unit : units) {
      if (is_in_float16(unit)) {
        add_float16_step(unit.front());
      } else if (!is_view(unit.front())) {
        for (const uint32_t node : unit) {
          for_each_input(blob_, node, [this](uint32_t id) { need_float32(id); });
        }
        plan_.steps.push_back({unit.size() > 1 ? Step::Kind::Fused : Step::Kind::Kernel, unit, {}, {}});
        connect(plan_.steps.back());
      }
    }
    for (uint32_t i = 0; i < blob_.num_outputs(); ++i) {
      need_float32(blob_.graph().outputs()->Get(i)->value());
    }
    for (size_t s = 0; s < blob_.num_states(); ++s) {
      need_float32(blob_.state(s).update());
    }
    connect_passes();
  }

  void add_float16_step(uint32_t node) {
    Step step{Step::Kind::Kernel, {node}, {}, {}};
    for (const uint32_t id : *blob_.node(node).inputs()) {
      // Kernels round constants themselves, but not what a view makes of one.
      step.inputs.push_back(id == kNone || blob_.is_constant(id) ? id : need_float16(id));
    }
    for (const uint32_t id : *blob_.node(node).outputs()) {
      step.outputs.push_back(in_float16(id));
      has_float32_[id] = false;
    }
    plan_.steps.push_back(std::move(step));
  }

  // Fills in what a step of Float32 reads and, unless it is a pass, makes.
  void connect(Step& step) const {
    if (step.kind == Step::Kind::Kernel) {
      const schema::Node& node = blob_.node(step.nodes.front());
      if (node.inputs() != nullptr) {
        step.inputs.assign(node.inputs()->begin(), node.inputs()->end());
      }
      step.outputs.assign(node.outputs()->begin(), node.outputs()->end());
      return;
    }
    std::unordered_set<uint32_t> known;
    for (const uint32_t node : step.nodes) {
      for_each_input(blob_, node, [&](uint32_t id) {
        if (known.insert(id).second) {
          step.inputs.push_back(id);
        }
      });
      known.insert(blob_.node(node).outputs()->Get(0));
    }
  }

  // Fills in what passes make that something outside of them reads.
  void connect_passes() {
    std::vector<bool> leaves(plan_.root.size()); // by value
    for (uint32_t i = 0; i < blob_.num_outputs(); ++i) {
      leaves[plan_.root[blob_.graph().outputs()->Get(i)->value()]] = true;
    }
    for (size_t i = 0; i < blob_.num_states(); ++i) {
      leaves[plan_.root[blob_.state(i).update()]] = true;
    }
    for (uint32_t i = 0; i < blob_.num_nodes(); ++i) {
      if (is_view(i)) {
        leaves[plan_.root[blob_.node(i).inputs()->Get(0)]] = true;
      }
    }
    for (const Step& step : plan_.steps) {
      for (const uint32_t id : step.inputs) {
        if (id != kNone) {
          leaves[plan_.root[id]] = true;
        }
      }
    }
    for (Step& step : plan_.steps) {
      for (size_t i = 0; step.kind == Step::Kind::Fused && i < step.nodes.size(); ++i) {
        const uint32_t id = blob_.node(step.nodes[i]).outputs()->Get(0);
        if (leaves[id]) {
          step.outputs.push_back(id);
        }
      }
    }
  }

  const Blob& blob_;
  const Span<const TensorType> types_;
  const Sizes& sizes_;
  Plan plan_;
  const std::vector<bool> can_fuse_; // by node
  const Aliases aliases_;
  std::unordered_map<uint32_t, uint32_t> float16_; // by content: the value that has it in Float16
  std::vector<bool> has_float32_; // by content: whether a step has made it in Float32, if it is made
};

} // namespace

Plan make_plan(
    const Blob& blob,
    Span<const TensorType> types,
    const Sizes& sizes,
    const PlanOptions& options,
    const std::vector<bool>& empty) {
  return Planner(blob, types, sizes, options, empty).run();
}

std::string reason_for_no_float16(const Plan& plan) {
  if (!plan.float16_of.empty()) {
    return "";
  }
  return Cpu::get().float16 ? "no product of float32 runs in XNNPACK" : "this CPU has no float16";
}

std::string reason_for_no_bfloat16(const Plan& plan) {
  if (std::any_of(plan.choices.begin(), plan.choices.end(), [](const Choice& choice) { return choice.bfloat16; })) {
    return "";
  }
  return Cpu::get().bfloat16 ? "there is none of float32 with a constant that is large enough"
                             : "this CPU has no instructions for it";
}

} // namespace executorch::backends::et_xnnpack
