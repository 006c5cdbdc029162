// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "plan.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "aliases.h"
#include "float16.h"
#include "fusion.h"
#include "strips.h"

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
        caches_(options.caches),
        plan_(),
        can_fuse_(choose_all(options, empty)),
        uncast_(find_uncast()),
        aliases_(blob, uncast_, plan_.choices, [this](uint32_t node) {
          ChoiceOptions choice;
          choice.views = false;
          return choose(node, choice);
        }) {
    plan_.root = aliases_.root();
  }

  Plan run() && {
    std::vector<Unit> units =
        fuse_elementwise_nodes(blob_, aliases_.order(), aliases_.followers(), can_fuse_, find_leaders());
    choose_float16({blob_, types_, content(), units}, plan_.choices);
    units = join_strips({blob_, types_, plan_.choices, can_fuse_, uncast_, find_results(), caches_}, std::move(units));
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
    const std::vector<DType> rounded = find_rounded();
    for (uint32_t i = 0; i < blob_.num_nodes(); ++i) {
      const bool alone = !empty.empty() && has_any(i, empty);
      ChoiceOptions choice;
      choice.xnnpack = !alone && !may_lack_operand(i);
      choice.float16 = options.float16;
      choice.winograd_tile = options.winograd_tile;
      choice.bfloat16 = options.bfloat16;
      choice.rounds_result_to = rounded[blob_.node(i).outputs()->Get(0)];
      plan_.choices.push_back(choose(i, choice));
      const Choice& chosen = plan_.choices.back();
      const bool fuses = options.fuse_elementwise && !alone;
      can_fuse.push_back(fuses && chosen.row != nullptr);
      can_lead_.push_back(fuses && chosen.leads && blob_.node(i).outputs()->size() == 1);
      if (!fuses) {
        plan_.choices.back().reduced_inputs.clear();
      }
      if (!fuses || options.float16) {
        plan_.choices.back().make_for_strips = nullptr;
      }
    }
    return can_fuse;
  }

  // Whether an operand may turn out to be empty, because of a size that is found in data, while the results are not.
  bool may_lack_operand(uint32_t node) const {
    bool found = false;
    for_each_input(blob_, node, [&](uint32_t id) {
      const auto* dims = blob_.value(id).dims();
      for (uint32_t k = 0; blob_.waves().of_value(id) > 0 && dims != nullptr && k < dims->size(); ++k) {
        const int64_t entry = dims->Get(k)->value();
        found = found || (blob_.waves().of_size(entry) > 0 && !are_all_of_size(node, entry));
      }
    });
    return found;
  }

  // Whether each result of a node has an axis of this size.
  bool are_all_of_size(uint32_t node, int64_t entry) const {
    const auto& outputs = *blob_.node(node).outputs();
    return std::all_of(outputs.begin(), outputs.end(), [&](uint32_t id) {
      const auto* dims = blob_.value(id).dims();
      return dims != nullptr &&
          std::any_of(dims->begin(), dims->end(), [&](const schema::Size* size) { return size->value() == entry; });
    });
  }

  // Whether a value is an output or a new state.
  std::vector<bool> find_results() const {
    std::vector<bool> result(blob_.num_values());
    for (uint32_t i = 0; i < blob_.num_outputs(); ++i) {
      result[blob_.graph().outputs()->Get(i)->value()] = true;
    }
    for (size_t s = 0; s < blob_.num_states(); ++s) {
      result[blob_.state(s).update()] = true;
    }
    return result;
  }

  // By value: the type of 16 bits to which all that reads it casts it, else Float32.
  std::vector<DType> find_rounded() const {
    const std::vector<bool> results = find_results();
    std::vector<std::optional<DType>> types(blob_.num_values());
    for (uint32_t i = 0; i < blob_.num_nodes(); ++i) {
      const schema::Node& node = blob_.node(i);
      const DType made = types_[node.outputs()->Get(0)].dtype;
      const bool rounds = node.attributes_type() == schema::Attributes::Cast && is_reduced_float(made);
      for_each_input(blob_, i, [&](uint32_t id) {
        const bool agrees = rounds && !results[id] && types[id].value_or(made) == made;
        types[id] = agrees ? made : DType::Float32;
      });
    }
    std::vector<DType> rounded;
    for (const std::optional<DType>& type : types) {
      rounded.push_back(type.value_or(DType::Float32));
    }
    return rounded;
  }

  // By node.
  std::vector<bool> find_leaders() const {
    std::vector<bool> leaders(blob_.num_nodes());
    const std::vector<bool> results = find_results();
    for (uint32_t i = 0; i < leaders.size(); ++i) {
      leaders[i] = can_lead_[i] && !results[blob_.node(i).outputs()->Get(0)];
    }
    return leaders;
  }

  // Finds, for kernels that read 16 bits, what to read instead of what a Cast makes of it: by node, one for each of its
  // `reduced_inputs`, or nothing.
  std::vector<std::vector<uint32_t>> find_uncast() const {
    std::vector<uint32_t> cast_of(blob_.num_values(), kNone); // by value: the node that casts it from 16 bits
    for (uint32_t i = 0; i < blob_.num_nodes(); ++i) {
      const schema::Node& node = blob_.node(i);
      const uint32_t output = node.outputs()->Get(0);
      if (can_fuse_[i] && node.attributes_type() == schema::Attributes::Cast &&
          types_[output].storage() == DType::Float32 && is_reduced_float(types_[node.inputs()->Get(0)].storage())) {
        cast_of[output] = i;
      }
    }
    std::vector<std::vector<uint32_t>> uncast;
    for (uint32_t i = 0; i < blob_.num_nodes(); ++i) {
      uncast.push_back(uncast_operands(i, cast_of));
    }
    return uncast;
  }

  // `cast_of`, by value: the Cast that widened it. Nothing if not all come from numbers of one type that the kernel reads.
  std::vector<uint32_t> uncast_operands(uint32_t node, const std::vector<uint32_t>& cast_of) const {
    std::vector<uint32_t> result;
    const Choice& choice = plan_.choices[node];
    if (choice.reduced_inputs.empty()) {
      return result;
    }
    for (const uint32_t k : choice.reduced_inputs) {
      const uint32_t cast = cast_of[blob_.node(node).inputs()->Get(k)];
      if (cast == kNone) {
        return {};
      }
      result.push_back(blob_.node(cast).inputs()->Get(0));
    }
    const DType type = types_[result.front()].storage();
    const auto is_of_type = [&](uint32_t id) { return types_[id].storage() == type; };
    const std::vector<DType>& types = choice.reduced_types;
    const bool reads_type = std::find(types.begin(), types.end(), type) != types.end();
    return reads_type && std::all_of(result.begin(), result.end(), is_of_type) ? result : std::vector<uint32_t>();
  }

  const std::vector<uint32_t>& content() const {
    return aliases_.content();
  }
  bool is_view(uint32_t node) const {
    return plan_.choices[node].kind == Choice::Kind::View;
  }

  // Whether a node reads or makes one of these.
  bool has_any(uint32_t node, const std::vector<bool>& values) const {
    const auto& outputs = *blob_.node(node).outputs();
    bool found = std::any_of(outputs.begin(), outputs.end(), [&](uint32_t id) { return values[id]; });
    for_each_input(blob_, node, [&](uint32_t id) { found = found || values[id]; });
    return found;
  }

  void add_steps(const std::vector<Unit>& units) {
    Float16Steps float16({blob_, types_, content(), units}, uncast_, find_results(), plan_);
    is_idle_ = float16.idle();
    for (const Unit& unit : units) {
      if (is_in_float16(unit, plan_.choices)) {
        float16.add_step(unit.front());
      } else if (!is_view(unit.front())) {
        Step step = step_of(unit);
        for (const uint32_t node : step.nodes) {
          for_each_input(blob_, node, [&](uint32_t id) { float16.need_float32(id); });
        }
        if (!step.nodes.empty()) {
          connect(step);
          plan_.steps.push_back(std::move(step));
        }
      }
    }
    float16.finish();
    connect_passes();
  }

  // Without casts that nobody needs.
  Step step_of(const Unit& unit) const {
    const auto has_strips = [this](uint32_t node) { return plan_.choices[node].make_for_strips != nullptr; };
    if (std::any_of(unit.begin() + 1, unit.end(), has_strips)) {
      Step step{Step::Kind::Strips, {}, {}, {}, {}};
      for (auto part = unit.begin(); part != unit.end();) {
        const auto end = std::find_if(part + 1, unit.end(), has_strips);
        step.parts.push_back(step_of(Unit(part, end)));
        step.nodes.insert(step.nodes.end(), step.parts.back().nodes.begin(), step.parts.back().nodes.end());
        part = end;
      }
      return step;
    }
    const bool is_led = unit.size() > 1 && !can_fuse_[unit.front()];
    Step step{is_led ? Step::Kind::Led : Step::Kind::Fused, {}, {}, {}, {}};
    std::copy_if(unit.begin(), unit.end(), std::back_inserter(step.nodes), [this](uint32_t i) { return !is_idle_[i]; });
    if (step.nodes.size() < 2) {
      step.kind = Step::Kind::Kernel;
    }
    return step;
  }

  // Fills in what a step of Float32 reads and, unless it is a pass, makes.
  void connect(Step& step) const {
    if (step.kind == Step::Kind::Strips) {
      connect_strips(step);
      return;
    }
    std::unordered_set<uint32_t> known;
    if (step.kind != Step::Kind::Fused) {
      const schema::Node& node = blob_.node(step.nodes.front());
      if (node.inputs() != nullptr) {
        step.inputs.assign(node.inputs()->begin(), node.inputs()->end());
      }
      const std::vector<uint32_t>& uncast = uncast_[step.nodes.front()];
      for (size_t k = 0; k < uncast.size(); ++k) {
        step.inputs[plan_.choices[step.nodes.front()].reduced_inputs[k]] = uncast[k];
      }
      if (step.kind == Step::Kind::Kernel) {
        step.outputs.assign(node.outputs()->begin(), node.outputs()->end());
        return;
      }
      known.insert(node.outputs()->Get(0));
      step.inputs.push_back(kNone);
    }
    for (size_t n = step.kind == Step::Kind::Led ? 1 : 0; n < step.nodes.size(); ++n) {
      const uint32_t node = step.nodes[n];
      for_each_input(blob_, node, [&](uint32_t id) {
        if (known.insert(id).second) {
          step.inputs.push_back(id);
        }
      });
      known.insert(blob_.node(node).outputs()->Get(0));
    }
  }

  void connect_strips(Step& step) const {
    for (size_t p = 0; p < step.parts.size(); ++p) {
      Step& part = step.parts[p];
      connect(part);
      const size_t first = step.inputs.size();
      step.inputs.insert(step.inputs.end(), part.inputs.begin(), part.inputs.end());
      if (p > 0) {
        step.inputs[first] = kNone;
        step.parts[p - 1].outputs = {part.inputs.front()};
      }
    }
    step.outputs = step.parts.back().outputs;
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
    const auto find_outputs = [&](Step& step) {
      const bool is_pass = step.kind == Step::Kind::Fused || step.kind == Step::Kind::Led;
      for (size_t i = step.kind == Step::Kind::Led ? 1 : 0; is_pass && i < step.nodes.size(); ++i) {
        const uint32_t id = blob_.node(step.nodes[i]).outputs()->Get(0);
        if (leaves[id]) {
          step.outputs.push_back(id);
        }
      }
    };
    for (Step& step : plan_.steps) {
      find_outputs(step);
      if (step.kind == Step::Kind::Strips) {
        find_outputs(step.parts.back());
        step.outputs = step.parts.back().outputs;
      }
    }
  }

  const Blob& blob_;
  const Span<const TensorType> types_;
  const Sizes& sizes_;
  const Caches caches_;
  Plan plan_;
  std::vector<bool> can_lead_; // by node
  std::vector<bool> is_idle_; // by node: a Cast that nobody needs
  const std::vector<bool> can_fuse_; // by node
  const std::vector<std::vector<uint32_t>> uncast_;
  const Aliases aliases_;
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

uint32_t wave_of(const Plan& plan, const Blob& blob, uint32_t value) {
  return blob.waves().of_value(value < blob.num_values() ? value : plan.float16_of[value - blob.num_values()]);
}

bool computes_in_float16(const Plan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
    return step.kind == Step::Kind::Kernel && plan.choices[step.nodes.front()].float16;
  });
}

std::string reason_for_no_float16(const Plan& plan) {
  if (computes_in_float16(plan)) {
    return "";
  }
  return Cpu::get().float16 ? "no product of float32 runs in XNNPACK" : "this CPU has no float16";
}

std::string reason_for_no_bfloat16(const Plan& plan) {
  if (std::any_of(plan.choices.begin(), plan.choices.end(), [](const Choice& choice) { return choice.bfloat16; })) {
    return "";
  }
  return Cpu::get().bfloat16 ? "there is no attention, and none of float32 with a constant that is large enough"
                             : "this CPU has no instructions for it";
}

} // namespace executorch::backends::et_xnnpack
