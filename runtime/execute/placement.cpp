// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "placement.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace executorch::backends::et_xnnpack {

Placement::Placement(const Blob& blob, const Plan& plan, const std::vector<RunnableStep>& steps)
    : places_(plan.root.size(), Place::Nowhere),
      offsets_(plan.root.size()),
      arena_bytes_(blob.waves().num_found() + 1) {
  for (uint32_t id = 0; id < plan.root.size(); ++id) {
    waves_.push_back(wave_of(plan, blob, id));
  }
  const auto place_constant = [&](uint32_t root) {
    if (root < blob.num_values() && blob.is_constant(root)) {
      places_[root] = Place::Constant;
    }
  };
  for (size_t s = 0; s < steps.size(); ++s) {
    const Step& step = plan.steps[s];
    for (size_t k = 0; k < step.inputs.size(); ++k) {
      if (steps[s].reads(k)) {
        place_constant(plan.root[step.inputs[k]]);
      }
    }
    for (const uint32_t id : step.outputs) {
      places_[id] = Place::Arena;
    }
  }
  for (uint32_t i = 0; i < blob.num_inputs(); ++i) {
    const uint32_t id = blob.graph().inputs()->Get(i)->value();
    if (id != kNone) {
      places_[id] = Place::Input;
    }
  }
  for (size_t i = 0; i < blob.num_states(); ++i) {
    places_[blob.state(i).value()] = Place::State;
  }
  for (size_t i = 0; i < blob.num_states(); ++i) {
    const uint32_t root = plan.root[blob.state(i).update()];
    place_constant(root);
    if (root != blob.state(i).value()) {
      updates_.push_back({root, blob.state(i).value()});
    }
  }
  for (uint32_t i = 0; i < blob.num_outputs(); ++i) {
    const uint32_t id = blob.graph().outputs()->Get(i)->value(), root = plan.root[id];
    output_waves_.push_back(std::max(waves_[id], waves_[root]));
    place_constant(root);
    if (places_[root] == Place::Arena && output_waves_.back() == waves_[root]) {
      places_[root] = Place::Output;
      direct_outputs_.push_back(i);
    } else {
      copies_out_.push_back({root, i});
    }
  }
}

namespace {

constexpr size_t kNever = SIZE_MAX;

// When the roots that are in the arena are needed, by root; `first` of all others is kNever.
std::vector<Lifetime> find_lives(
    const Plan& plan,
    const std::vector<Placement::CopyOut>& copies_out,
    const std::vector<Placement::Update>& updates,
    const std::vector<TensorType>& types,
    const std::function<bool(uint32_t)>& is_in_arena) {
  std::vector<Lifetime> lives(plan.root.size(), {0, kNever, 0});
  const auto touch = [&](uint32_t id, size_t step) {
    if (id == kNone || !is_in_arena(plan.root[id])) {
      return;
    }
    Lifetime& life = lives[plan.root[id]];
    life = {types[plan.root[id]].bytes(), std::min(life.first, step), step};
  };
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    for (const uint32_t id : plan.steps[s].inputs) {
      touch(id, s);
    }
    for (const uint32_t id : plan.steps[s].outputs) {
      touch(id, s);
    }
  }
  for (const Placement::CopyOut& copy : copies_out) {
    touch(copy.root, plan.steps.size());
  }
  for (const Placement::Update& update : updates) {
    touch(update.root, plan.steps.size());
  }
  return lives;
}

// An input of a step that nobody reads later, and over which the step may write output 0; kNone if there is none.
uint32_t find_overwritten(const Plan& plan, size_t s, const RunnableStep& step, const std::vector<Lifetime>& lives) {
  const std::vector<uint32_t>& inputs = plan.steps[s].inputs;
  const uint32_t output = plan.root[plan.steps[s].outputs.front()];
  const auto may_go = [&](uint32_t root) {
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (inputs[k] != kNone && plan.root[inputs[k]] == root && !step.can_overwrite(k)) {
        return false;
      }
    }
    return lives[root].first < s && lives[root].last == s && lives[root].bytes == lives[output].bytes;
  };
  for (const uint32_t id : inputs) {
    if (id != kNone && may_go(plan.root[id])) {
      return plan.root[id];
    }
  }
  return kNone;
}

} // namespace

void Placement::lay_out(
    const Plan& plan, const std::vector<TensorType>& types, std::vector<RunnableStep>& steps, uint32_t wave) {
  std::vector<Lifetime> lives = find_lives(plan, copies_out_, updates_, types, [this, wave](uint32_t root) {
    return places_[root] == Place::Arena && waves_[root] == wave;
  });
  std::vector<uint32_t> owner(lives.size()); // by root: whose memory it has
  std::iota(owner.begin(), owner.end(), 0u);
  for (size_t s = 0; s < steps.size(); ++s) {
    const uint32_t output = plan.steps[s].outputs.empty() ? kNone : plan.root[plan.steps[s].outputs.front()];
    if (output == kNone || lives[output].first != s) {
      continue;
    }
    const uint32_t overwritten = find_overwritten(plan, s, steps[s], lives);
    if (overwritten != kNone) {
      owner[output] = owner[overwritten];
      lives[owner[output]].last = lives[output].last;
    }
  }

  std::vector<Lifetime> pieces;
  constexpr size_t kNoPiece = SIZE_MAX;
  const auto add = [&pieces](const Lifetime& life) {
    pieces.push_back(life);
    return pieces.size() - 1;
  };
  std::vector<size_t> piece_of(lives.size(), kNoPiece); // by root
  for (uint32_t root = 0; root < lives.size(); ++root) {
    if (lives[root].first != kNever && owner[root] == root) {
      piece_of[root] = add(lives[root]);
    }
  }
  std::vector<size_t> scratch_of, undo_of; // by step
  for (size_t s = 0; s < steps.size(); ++s) {
    const bool is_here = steps[s].wave() == wave;
    const size_t scratch = is_here ? steps[s].scratch_bytes() : 0, undo = is_here ? steps[s].undo_bytes() : 0;
    scratch_of.push_back(scratch == 0 ? kNoPiece : add({scratch, s, s}));
    undo_of.push_back(undo == 0 ? kNoPiece : add({undo, s, steps.size()}));
  }
  const ArenaLayout layout = lay_out_arena(pieces);
  const auto offset = [&](size_t piece) { return piece == kNoPiece ? 0 : layout.offsets[piece]; };
  arena_bytes_[wave] = layout.bytes;
  for (uint32_t root = 0; root < lives.size(); ++root) {
    if (waves_[root] == wave) {
      offsets_[root] = offset(piece_of[owner[root]]);
    }
  }
  for (size_t s = 0; s < steps.size(); ++s) {
    if (steps[s].wave() == wave) {
      steps[s].place(offset(scratch_of[s]), offset(undo_of[s]));
    }
  }
}

} // namespace executorch::backends::et_xnnpack
