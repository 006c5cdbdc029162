// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "plan.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "fusion.h"

namespace executorch::backends::et_xnnpack {
namespace {

// Finding out whether a node may work in place takes time linear in the graph.
constexpr size_t kMaxInPlace = 1024;

class Planner {
 public:
  Planner(
      const Blob& blob,
      Span<const TensorType> types,
      const Sizes& sizes,
      const PlanOptions& options,
      const std::vector<bool>& empty)
      : blob_(blob), types_(types), sizes_(sizes), options_(options) {
    plan_.root.resize(blob.num_values());
    for (uint32_t id = 0; id < blob.num_values(); ++id) {
      plan_.root[id] = id;
    }
    for (uint32_t i = 0; i < blob.num_nodes(); ++i) {
      const bool alone = !empty.empty() && has_any(i, empty);
      ChoiceOptions choice;
      choice.xnnpack = !alone;
      choice.float16 = options.float16;
      plan_.choices.push_back(choose(i, choice));
      can_fuse_.push_back(options.fuse_elementwise && !alone && plan_.choices.back().row != nullptr);
    }
  }

  Plan run() && {
    find_roots();
    const std::vector<Unit> units = fuse_elementwise_nodes(blob_, order(), followers(), can_fuse_);
    for (const std::vector<const Unit*>& phase : phases(units)) {
      add_steps(phase);
    }
    connect();
    return std::move(plan_);
  }

 private:
  using Unit = std::vector<uint32_t>; // nodes that run as a whole

  Choice choose(uint32_t node, const ChoiceOptions& options) const {
    const BoundNode bound(blob_, node, types_, sizes_);
    return op_impl(blob_.node(node).attributes_type()).choose(bound.context(), Cpu::get(), options);
  }

  bool is_view(uint32_t node) const {
    return plan_.choices[node].kind == Choice::Kind::View;
  }
  bool is_in_xnnpack(const Unit& unit) const {
    return unit.size() == 1 && plan_.choices[unit.front()].kind == Choice::Kind::Xnnpack;
  }

  // Node inputs that are not absent.
  template <typename Function>
  void for_each_input(uint32_t node, const Function& function) const {
    const auto* inputs = blob_.node(node).inputs();
    for (uint32_t k = 0; inputs != nullptr && k < inputs->size(); ++k) {
      if (inputs->Get(k) != kNone) {
        function(inputs->Get(k));
      }
    }
  }

  // Whether a node reads or makes one of these.
  bool has_any(uint32_t node, const std::vector<bool>& values) const {
    const auto& outputs = *blob_.node(node).outputs();
    bool found = std::any_of(outputs.begin(), outputs.end(), [&](uint32_t id) { return values[id]; });
    for_each_input(node, [&](uint32_t id) { found = found || values[id]; });
    return found;
  }

  // Lets views have the memory of what they see, and nodes that can write in place that of
  // their input, wherever no one reads the old content afterwards.
  void find_roots() {
    std::vector<uint32_t> state_of(blob_.num_values(), kNone); // by value: what it is the update of
    for (size_t s = 0; s < blob_.num_states(); ++s) {
      state_of[blob_.state(s).update()] = blob_.state(s).value();
      is_state_.insert(blob_.state(s).value());
    }
    readers_.resize(blob_.num_values());
    users_.resize(blob_.num_values());
    std::vector<uint32_t> candidates;
    for (uint32_t i = 0; i < blob_.num_nodes(); ++i) {
      for_each_input(i, [&](uint32_t id) { users_[id].push_back(i); });
      const uint32_t output = blob_.node(i).outputs()->Get(0);
      if (is_view(i)) {
        const uint32_t root = plan_.root[blob_.node(i).inputs()->Get(0)];
        // An update that were another state's old content would change when that is set.
        if (state_of[output] != kNone && is_state_.count(root) > 0) {
          ChoiceOptions choice;
          choice.views = false;
          plan_.choices[i] = choose(i, choice);
        } else {
          plan_.root[output] = root;
          continue;
        }
      }
      for_each_input(i, [&](uint32_t id) { readers_[plan_.root[id]].push_back(i); });
      if (plan_.choices[i].in_place) {
        candidates.push_back(i);
      }
    }
    if (candidates.empty()) {
      return;
    }
    // Memory whose content matters after all steps.
    is_kept_.resize(blob_.num_values());
    for (uint32_t i = 0; i < blob_.num_outputs(); ++i) {
      is_kept_[plan_.root[blob_.graph().outputs()->Get(i)->value()]] = true;
    }
    for (size_t s = 0; s < blob_.num_states(); ++s) {
      is_kept_[plan_.root[blob_.state(s).update()]] = true;
    }
    for (uint32_t i = 0; i < blob_.num_inputs(); ++i) {
      const uint32_t id = blob_.graph().inputs()->Get(i)->value();
      if (id != kNone) {
        is_kept_[id] = true;
      }
    }
    candidates.resize(std::min(candidates.size(), kMaxInPlace));
    for (const uint32_t i : candidates) {
      work_in_place(i);
    }
  }

  void work_in_place(uint32_t node) {
    const auto& inputs = *blob_.node(node).inputs();
    const uint32_t root = plan_.root[inputs.Get(0)];
    const uint32_t made = blob_.node(node).outputs()->Get(0);
    if (is_kept_[root] || blob_.is_constant(root)) {
      return;
    }
    for (uint32_t k = 1; k < inputs.size(); ++k) {
      if (inputs.Get(k) != kNone && plan_.root[inputs.Get(k)] == root) {
        return;
      }
    }
    for (size_t s = 0; s < blob_.num_states(); ++s) {
      // The memory of one state must not hold what another one will.
      if (is_state_.count(root) > 0 && plan_.root[blob_.state(s).update()] == made && blob_.state(s).value() != root) {
        return;
      }
    }
    const std::vector<bool> later = nodes_after(node);
    for (const uint32_t reader : readers_[root]) {
      if (reader != node && later[reader]) {
        return;
      }
    }
    for (const uint32_t reader : readers_[root]) {
      if (reader != node) {
        before_[node].push_back(reader);
        after_[reader].push_back(node);
      }
    }
    // `made` and the views of it.
    for (uint32_t& other : plan_.root) {
      other = other == made ? root : other;
    }
    readers_[root] = readers_[made];
    readers_[root].push_back(node); // after all that have read until now
    is_kept_[root] = is_kept_[made];
  }

  // Which nodes can only run when `node` has.
  std::vector<bool> nodes_after(uint32_t node) const {
    std::vector<bool> found(blob_.num_nodes());
    std::vector<uint32_t> work{node};
    const auto visit = [&](uint32_t next) {
      if (!found[next]) {
        found[next] = true;
        work.push_back(next);
      }
    };
    while (!work.empty()) {
      const uint32_t at = work.back();
      work.pop_back();
      for (const uint32_t id : *blob_.node(at).outputs()) {
        std::for_each(users_[id].begin(), users_[id].end(), visit);
      }
      const auto edges = after_.find(at);
      if (edges != after_.end()) {
        std::for_each(edges->second.begin(), edges->second.end(), visit);
      }
    }
    return found;
  }

  // The nodes in an order in which each runs after what it needs, that of the blob where possible.
  std::vector<uint32_t> order() const {
    std::vector<uint32_t> result;
    std::vector<uint32_t> waits_for(blob_.num_nodes());
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
    std::vector<uint32_t> maker(blob_.num_values(), kNone);
    for (uint32_t i = 0; i < blob_.num_nodes(); ++i) {
      for (const uint32_t id : *blob_.node(i).outputs()) {
        maker[id] = i;
      }
      for_each_input(i, [&](uint32_t id) { waits_for[i] += maker[id] != kNone; });
      const auto edges = before_.find(i);
      waits_for[i] += edges == before_.end() ? 0 : static_cast<uint32_t>(edges->second.size());
      if (waits_for[i] == 0) {
        ready.push(i);
      }
    }
    const auto done = [&](uint32_t next) {
      if (--waits_for[next] == 0) {
        ready.push(next);
      }
    };
    while (!ready.empty()) {
      const uint32_t i = ready.top();
      ready.pop();
      result.push_back(i);
      for (const uint32_t id : *blob_.node(i).outputs()) {
        std::for_each(users_[id].begin(), users_[id].end(), done);
      }
      const auto edges = after_.find(i);
      if (edges != after_.end()) {
        std::for_each(edges->second.begin(), edges->second.end(), done);
      }
    }
    return result;
  }

  // By node, those that read its result or overwrite what it reads.
  std::vector<std::vector<uint32_t>> followers() const {
    std::vector<std::vector<uint32_t>> result(blob_.num_nodes());
    for (uint32_t i = 0; i < blob_.num_nodes(); ++i) {
      for (const uint32_t id : *blob_.node(i).outputs()) {
        result[i].insert(result[i].end(), users_[id].begin(), users_[id].end());
      }
      const auto edges = after_.find(i);
      if (edges != after_.end()) {
        result[i].insert(result[i].end(), edges->second.begin(), edges->second.end());
      }
    }
    return result;
  }

  // Units by when they run. Phases 0, 2, ... hold kernels, passes and views, 1, 3, ... each the
  // nodes of one XNNPACK step. Every unit is in the first phase that has its operands and
  // comes after those that read what it overwrites.
  std::vector<std::vector<const Unit*>> phases(const std::vector<Unit>& units) const {
    std::vector<std::vector<const Unit*>> result;
    std::vector<size_t> phase_of(blob_.num_values()); // in which a value is made
    for (const Unit& unit : units) {
      size_t phase = 0;
      for (const uint32_t i : unit) {
        for_each_input(i, [&](uint32_t id) { phase = std::max(phase, phase_of[id]); });
        const auto edges = before_.find(i);
        if (edges != before_.end()) {
          for (const uint32_t reader : edges->second) {
            phase = std::max(phase, phase_of[blob_.node(reader).outputs()->Get(0)]);
          }
        }
      }
      phase += (phase % 2 == 1) != is_in_xnnpack(unit);
      result.resize(std::max(result.size(), phase + 1));
      result[phase].push_back(&unit);
      for (const uint32_t i : unit) {
        for (const uint32_t id : *blob_.node(i).outputs()) {
          phase_of[id] = phase;
        }
      }
    }
    return result;
  }

  void add_steps(const std::vector<const Unit*>& phase) {
    for (const Unit* unit : phase) {
      if (is_in_xnnpack(*unit)) {
        if (unit == phase.front()) {
          plan_.steps.push_back({Step::Kind::Xnnpack, {}, {}, {}});
        }
        plan_.steps.back().nodes.push_back(unit->front());
      } else if (!is_view(unit->front())) {
        plan_.steps.push_back({unit->size() > 1 ? Step::Kind::Fused : Step::Kind::Kernel, *unit, {}, {}});
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
  const Span<const TensorType> types_;
  const Sizes& sizes_;
  const PlanOptions& options_;
  Plan plan_;
  std::vector<bool> can_fuse_; // by node
  std::unordered_set<uint32_t> is_state_;
  std::vector<std::vector<uint32_t>> users_; // nodes by value that they read
  std::vector<std::vector<uint32_t>> readers_; // and, but for views, by root
  std::vector<bool> is_kept_; // by root
  // Order beyond that of operands: a node that works in place, and those that read before it.
  std::unordered_map<uint32_t, std::vector<uint32_t>> before_, after_;
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

std::string describe(const Plan& plan, const Blob& blob) {
  std::string text;
  for (size_t i = 0; i < plan.choices.size(); ++i) {
    if (plan.choices[i].kind == Choice::Kind::View) {
      text += "node " + blob.name(i) + ": view. " + plan.choices[i].reason + "\n";
    }
  }
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    text += "step " + std::to_string(s) + "\n";
    for (const uint32_t i : step.nodes) {
      const Choice& choice = plan.choices[i];
      text += "  node " + blob.name(i) + ": " +
          (step.kind == Step::Kind::Fused ? "row of a pass with the others of this step."
                                          : name_of(choice) + std::string(". ") + choice.reason) +
          "\n";
    }
  }
  return text;
}

} // namespace executorch::backends::et_xnnpack
