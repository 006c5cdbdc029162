// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "float16.h"

#include <algorithm>

#include "aliases.h"

namespace executorch::backends::et_xnnpack {
namespace {

bool is_product(const Blob& blob, uint32_t node) {
  switch (blob.node(node).attributes_type()) {
    case schema::Attributes::BatchMatMul:
    case schema::Attributes::Conv2d:
    case schema::Attributes::ConvTranspose2d:
    case schema::Attributes::Linear:
      return true;
    default:
      return false;
  }
}

bool is_cast(const Float16Problem& problem, uint32_t node, DType from, DType to) {
  const schema::Node& cast = problem.blob.node(node);
  return cast.attributes_type() == schema::Attributes::Cast && problem.types[cast.inputs()->Get(0)].storage() == from &&
      problem.types[cast.outputs()->Get(0)].storage() == to;
}

// By value: whether its memory never has other elements.
std::vector<bool> find_unshared(const std::vector<uint32_t>& root, const std::vector<uint32_t>& content) {
  std::vector<bool> unshared(content.size(), true); // by root
  for (uint32_t id = 0; id < content.size(); ++id) {
    unshared[root[id]] = unshared[root[id]] && content[id] == root[id];
  }
  for (uint32_t id = 0; id < content.size(); ++id) {
    unshared[id] = unshared[root[id]];
  }
  return unshared;
}

} // namespace

bool is_in_float16(const std::vector<uint32_t>& unit, const std::vector<Choice>& choices) {
  return unit.size() == 1 && choices[unit.front()].float16;
}

void choose_float16(const Float16Problem& problem, std::vector<Choice>& choices) {
  const Blob& blob = problem.blob;
  const std::vector<std::vector<uint32_t>>& units = problem.units;
  std::vector<uint32_t> group(blob.num_values() + units.size()); // by content, then by unit: disjoint sets
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
  const auto join = [&](uint32_t i, uint32_t j) {
    const uint32_t a = find(i), b = find(j);
    group[a] = b;
    has_product[b] = has_product[b] || has_product[a];
  };
  for (uint32_t u = 0; u < units.size(); ++u) {
    if (!is_in_float16(units[u], choices)) {
      continue;
    }
    const uint32_t node = units[u].front(), self = static_cast<uint32_t>(blob.num_values()) + u;
    has_product[self] = is_product(blob, node);
    for_each_input(blob, node, [&](uint32_t id) {
      if (!blob.is_constant(problem.content[id])) {
        join(problem.content[id], self);
      }
    });
    for (const uint32_t id : *blob.node(node).outputs()) {
      join(problem.content[id], self);
    }
  }
  for (uint32_t i = 0; i < blob.num_nodes(); ++i) {
    if (is_cast(problem, i, DType::Float16, DType::Float32) || is_cast(problem, i, DType::Float32, DType::Float16)) {
      join(problem.content[blob.node(i).inputs()->Get(0)], problem.content[blob.node(i).outputs()->Get(0)]);
    }
  }
  for (uint32_t u = 0; u < units.size(); ++u) {
    if (is_in_float16(units[u], choices) && !has_product[find(static_cast<uint32_t>(blob.num_values()) + u)]) {
      Choice& choice = choices[units[u].front()];
      choice = std::move(choice).in_float32();
    }
  }
}

Float16Steps::Float16Steps(
    const Float16Problem& problem,
    const std::vector<std::vector<uint32_t>>& uncast,
    const std::vector<bool>& results,
    Plan& plan)
    : blob_(problem.blob),
      content_(problem.content),
      plan_(plan),
      widened_from_(blob_.num_values(), kNone),
      narrowed_to_(blob_.num_values(), kNone),
      is_idle_(blob_.num_nodes()),
      has_float32_(blob_.num_values(), true) {
  find_casts(problem);
  find_idle(problem, uncast, results);
}

// Finds what steps may read and make instead of what the program says, and has the casts to what they make idle.
void Float16Steps::find_casts(const Float16Problem& problem) {
  const std::vector<bool> unshared = find_unshared(plan_.root, content_);
  std::vector<bool> is_made(blob_.num_values()); // by content, in Float16
  std::vector<size_t> unit_of(blob_.num_nodes());
  for (size_t u = 0; u < problem.units.size(); ++u) {
    const std::vector<uint32_t>& unit = problem.units[u];
    for (const uint32_t node : unit) {
      unit_of[node] = u;
    }
    if (is_in_float16(unit, plan_.choices)) {
      for (const uint32_t id : *blob_.node(unit.front()).outputs()) {
        is_made[id] = true;
      }
    }
  }
  // Whether the unit of an idle Cast would still need its operand, and so read more tensors than before.
  const auto is_read_beside = [&](uint32_t cast) {
    const std::vector<uint32_t>& unit = problem.units[unit_of[cast]];
    return std::any_of(unit.begin(), unit.end(), [&](uint32_t node) {
      const auto* inputs = blob_.node(node).inputs();
      return node != cast &&
          std::find(inputs->begin(), inputs->end(), blob_.node(cast).inputs()->Get(0)) != inputs->end();
    });
  };
  const Waves& waves = blob_.waves();
  for (uint32_t i = 0; i < blob_.num_nodes(); ++i) {
    if (is_cast(problem, i, DType::Float16, DType::Float32)) {
      const uint32_t from = blob_.node(i).inputs()->Get(0), to = blob_.node(i).outputs()->Get(0);
      if (unshared[from] && !blob_.is_constant(content_[from])) {
        widened_from_[to] = from;
      }
    } else if (is_cast(problem, i, DType::Float32, DType::Float16)) {
      const uint32_t from = content_[blob_.node(i).inputs()->Get(0)], to = blob_.node(i).outputs()->Get(0);
      if (unshared[to] && is_made[from] && narrowed_to_[from] == kNone && !is_read_beside(i) &&
          waves.of_value(from) == waves.of_value(to)) { // before, `to` has no memory
        narrowed_to_[from] = to;
        is_idle_[i] = true;
      }
    }
  }
}

// Finds casts that widen what all that need it read in 16 bits.
void Float16Steps::find_idle(
    const Float16Problem& problem, const std::vector<std::vector<uint32_t>>& uncast, const std::vector<bool>& results) {
  std::vector<bool> is_needed(blob_.num_values()); // by content
  const auto need = [&](uint32_t id) { is_needed[content_[id]] = true; };
  for (uint32_t id = 0; id < blob_.num_values(); ++id) {
    if (results[id]) {
      need(id);
    }
  }
  for (const std::vector<uint32_t>& unit : problem.units) {
    const bool reads_float16 = is_in_float16(unit, plan_.choices);
    for (const uint32_t node : unit) {
      const Choice& choice = plan_.choices[node];
      const auto* inputs = blob_.node(node).inputs();
      const uint32_t count = inputs == nullptr || choice.kind == Choice::Kind::View ? 0 : inputs->size();
      for (uint32_t k = 0; k < count; ++k) {
        const std::vector<uint32_t>& reduced = choice.reduced_inputs;
        const bool is_uncast = !uncast[node].empty() && std::find(reduced.begin(), reduced.end(), k) != reduced.end();
        if (inputs->Get(k) != kNone && !is_uncast && !is_idle_[node] &&
            !(reads_float16 && widened_from_[content_[inputs->Get(k)]] != kNone)) {
          need(inputs->Get(k));
        }
      }
    }
  }
  for (uint32_t i = 0; i < blob_.num_nodes(); ++i) {
    const bool widens = blob_.node(i).attributes_type() == schema::Attributes::Cast &&
        is_reduced_float(problem.types[blob_.node(i).inputs()->Get(0)].storage()) &&
        problem.types[blob_.node(i).outputs()->Get(0)].storage() == DType::Float32;
    is_idle_[i] = is_idle_[i] || (widens && !is_needed[blob_.node(i).outputs()->Get(0)]);
  }
}

void Float16Steps::add_step(uint32_t node) {
  Step step{Step::Kind::Kernel, {node}, {}, {}, {}};
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

void Float16Steps::need_float32(uint32_t value) {
  const uint32_t content = content_[value];
  const auto found = float16_.find(content);
  if (found != float16_.end() && !has_float32_[content]) {
    convert(found->second, content);
    has_float32_[content] = true;
  }
}

void Float16Steps::finish() {
  for (uint32_t i = 0; i < blob_.num_outputs(); ++i) {
    need_float32(blob_.graph().outputs()->Get(i)->value());
  }
  for (size_t s = 0; s < blob_.num_states(); ++s) {
    need_float32(blob_.state(s).update());
  }
}

uint32_t Float16Steps::need_float16(uint32_t value) {
  if (const uint32_t from = widened_from_[content_[value]]; from != kNone) {
    return from;
  }
  const bool is_known = float16_.count(content_[value]) > 0;
  const uint32_t result = in_float16(value);
  if (!is_known) {
    convert(value, result);
  }
  return result;
}

// The value that has this content in Float16.
uint32_t Float16Steps::in_float16(uint32_t value) {
  const uint32_t content = content_[value], narrowed = narrowed_to_[content];
  const auto next = static_cast<uint32_t>(blob_.num_values() + plan_.float16_of.size());
  const auto [found, is_new] = float16_.try_emplace(content, narrowed != kNone ? narrowed : next);
  if (is_new && narrowed == kNone) {
    plan_.float16_of.push_back(content);
    plan_.root.push_back(next);
  }
  return found->second;
}

void Float16Steps::convert(uint32_t from, uint32_t to) {
  plan_.steps.push_back({Step::Kind::Convert, {}, {from}, {to}, {}});
}

} // namespace executorch::backends::et_xnnpack
