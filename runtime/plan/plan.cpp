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
      : blob_(blob), types_(types), sizes_(sizes) {
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
    choose_float16(units);
    add_steps(units);
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
  bool is_in_float16(const Unit& unit) const {
    return unit.size() == 1 && plan_.choices[unit.front()].float16;
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
    content_ = plan_.root;
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

  // Leaves Float16 to products, and to what is between or beside them: elsewhere converting costs more than it gains.
  void choose_float16(const std::vector<Unit>& units) {
    std::vector<uint32_t> group(blob_.num_values() + units.size()); // by content, then by unit: disjoint sets
    for (uint32_t i = 0; i < group.size(); ++i) {
      group[i] = i;
    }
    const auto find = [&group](uint32_t i) {
      while (group[i] != i) {
        i = group[i] = group[group[i]];
      }
      return i;
    };
    std::vector<bool> has_product(group.size());
    for (uint32_t u = 0; u < units.size(); ++u) {
      if (!is_in_float16(units[u])) {
        continue;
      }
      const uint32_t node = units[u].front(), self = static_cast<uint32_t>(blob_.num_values()) + u;
      has_product[self] = is_product(node);
      const auto join = [&](uint32_t id) {
        const uint32_t a = find(content_[id]), b = find(self);
        group[a] = b;
        has_product[b] = has_product[b] || has_product[a];
      };
      for_each_input(node, [&](uint32_t id) {
        if (!blob_.is_constant(content_[id])) {
          join(id);
        }
      });
      std::for_each(blob_.node(node).outputs()->begin(), blob_.node(node).outputs()->end(), join);
    }
    for (uint32_t u = 0; u < units.size(); ++u) {
      if (is_in_float16(units[u]) && !has_product[find(static_cast<uint32_t>(blob_.num_values()) + u)]) {
        Choice& choice = plan_.choices[units[u].front()];
        choice = std::move(choice).in_float32();
      }
    }
  }

  bool is_product(uint32_t node) const {
    switch (blob_.node(node).attributes_type()) {
      case schema::Attributes::BatchMatMul:
      case schema::Attributes::Conv2d:
      case schema::Attributes::ConvTranspose2d:
      case schema::Attributes::Linear:
        return true;
      default:
        return false;
    }
  }

  // The value that has the content of `id` in Float16.
  uint32_t in_float16(uint32_t id) {
    const auto [found, is_new] =
        float16_.try_emplace(content_[id], static_cast<uint32_t>(blob_.num_values() + plan_.float16_of.size()));
    if (is_new) {
      plan_.float16_of.push_back(content_[id]);
      plan_.root.push_back(found->second);
    }
    return found->second;
  }

  void convert(uint32_t from, uint32_t to) {
    plan_.steps.push_back({Step::Kind::Convert, {}, {from}, {to}});
  }

  // Has a step before that makes the content of `id` in Float32.
  void need_float32(uint32_t id) {
    const auto found = float16_.find(content_[id]);
    if (found != float16_.end() && !has_float32_[content_[id]]) {
      convert(found->second, content_[id]);
      has_float32_[content_[id]] = true;
    }
  }

  uint32_t need_float16(uint32_t id) {
    const bool is_known = float16_.count(content_[id]) > 0;
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
          for_each_input(node, [this](uint32_t id) { need_float32(id); });
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
      for_each_input(node, [&](uint32_t id) {
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
  std::vector<bool> can_fuse_; // by node
  std::unordered_set<uint32_t> is_state_;
  std::vector<std::vector<uint32_t>> users_; // nodes by value that they read
  std::vector<std::vector<uint32_t>> readers_; // and, but for views, by root
  std::vector<bool> is_kept_; // by root
  std::vector<uint32_t> content_; // by value, that whose elements it has, in the same order
  std::unordered_map<uint32_t, uint32_t> float16_; // by content: the value that has it in Float16
  std::vector<bool> has_float32_; // by content: whether a step has made it in Float32, if it is made
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
    text += "step " + std::to_string(s);
    if (step.kind == Step::Kind::Convert) {
      text += step.inputs.front() < blob.num_values() ? ": to Float16\n" : ": to Float32\n";
      continue;
    }
    text += "\n";
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
