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

enum class Placement : uint8_t { View, Kernel, Xnnpack, Fused };

Placement place(const OpImpl& op, const NodeContext& node) {
  if (is_view(op, node)) {
    return Placement::View;
  }
  return runs_in_xnnpack(op, node) ? Placement::Xnnpack : Placement::Kernel;
}

// Finding out whether a node may work in place takes time linear in the graph.
constexpr size_t kMaxInPlace = 1024;

class Planner {
 public:
  Planner(
      const Blob& blob,
      Span<const TensorType> types,
      const Sizes& sizes,
      bool fuse_elementwise,
      const std::vector<bool>& empty)
      : blob_(blob) {
    plan_.root.resize(blob.num_values());
    for (uint32_t id = 0; id < blob.num_values(); ++id) {
      plan_.root[id] = id;
    }
    for (uint32_t i = 0; i < blob.num_nodes(); ++i) {
      const OpImpl& op = op_impl(blob.node(i).attributes_type());
      const BoundNode bound(blob, i, types, sizes);
      const bool alone = !empty.empty() && has_any(i, empty);
      placements_.push_back(place(op, bound.context()));
      if (alone && placements_.back() == Placement::Xnnpack) {
        placements_.back() = Placement::Kernel;
      }
      can_fuse_.push_back(fuse_elementwise && !alone && make_row(op, bound.context()) != nullptr);
    }
  }

  Plan run() && {
    find_roots();
    const std::vector<Unit> units = fuse_elementwise_nodes(blob_, order(), followers(), can_fuse_);
    for (const Unit& unit : units) {
      if (unit.size() > 1) {
        placements_[unit.front()] = Placement::Fused;
      }
    }
    for (const std::vector<const Unit*>& phase : phases(units)) {
      add_steps(phase);
    }
    connect();
    return std::move(plan_);
  }

 private:
  using Unit = std::vector<uint32_t>; // nodes that run as a whole

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
      if (placements_[i] == Placement::View) {
        const uint32_t root = plan_.root[blob_.node(i).inputs()->Get(0)];
        // An update that were another state's old content would change when that is set.
        if (state_of[output] != kNone && is_state_.count(root) > 0) {
          placements_[i] = Placement::Kernel;
        } else {
          plan_.root[output] = root;
          continue;
        }
      }
      for_each_input(i, [&](uint32_t id) { readers_[plan_.root[id]].push_back(i); });
      if (placements_[i] == Placement::Kernel && op_impl(blob_.node(i).attributes_type()).in_place) {
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
      phase += (phase % 2 == 1) != (placements_[unit.front()] == Placement::Xnnpack);
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
      switch (placements_[unit->front()]) {
        case Placement::Xnnpack:
          if (unit == phase.front()) {
            plan_.steps.push_back({Step::Kind::Xnnpack, {}, {}, {}});
          }
          plan_.steps.back().nodes.push_back(unit->front());
          break;
        case Placement::Kernel:
          plan_.steps.push_back({Step::Kind::Kernel, *unit, {}, {}});
          break;
        case Placement::Fused:
          plan_.steps.push_back({Step::Kind::Fused, *unit, {}, {}});
          break;
        case Placement::View:
          break;
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
  std::vector<Placement> placements_; // by node; of a unit that of its first node counts
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
    bool fuse_elementwise,
    const std::vector<bool>& empty) {
  return Planner(blob, types, sizes, fuse_elementwise, empty).run();
}

} // namespace executorch::backends::et_xnnpack
