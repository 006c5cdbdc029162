// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// The part of Executable that runs steps.

#include <algorithm>
#include <cstring>

#include "executable.h"
#include "runtime/ops/infer.h"

namespace executorch::backends::et_xnnpack {
namespace {

bool overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const auto begin_a = reinterpret_cast<uintptr_t>(a);
  const auto begin_b = reinterpret_cast<uintptr_t>(b);
  return begin_a < begin_b + b_bytes && begin_b < begin_a + a_bytes;
}

} // namespace

// Others that share the memory may have moved it.
Status Executable::reserve_memory() {
  Workspace& workspace = *settings_.workspace;
  const size_t bytes = arena_bytes();
  if (settings_.shrink_memory) {
    if (bytes < most_bytes_ / 2) {
      workspace.release();
      most_bytes_ = 0;
    }
    most_bytes_ = std::max(most_bytes_, bytes);
  }
  ETX_RETURN_IF_ERROR(workspace.reserve(placement_.arena_bytes(0)));
  bound_.is_bound = bound_.is_bound && bound_.arena == workspace.arena();
  return {};
}

Status Executable::bind(Span<const void* const> inputs, Span<void* const> outputs) {
  bound_.is_bound = false;
  for (WaveState& wave : waves_) {
    wave.is_bound = false; // what inputs overlap may have changed
  }
  bound_.inputs.assign(inputs.begin(), inputs.end());
  bound_.outputs.assign(outputs.begin(), outputs.end());
  ETX_RETURN_IF_ERROR(bind_inputs(inputs));
  ETX_RETURN_IF_ERROR(bind_wave(0, /*first_step=*/0));
  bound_.arena = settings_.workspace->arena();
  bound_.is_bound = true;
  return {};
}

// Takes over where values of a wave are, and has steps from `first_step` on know it.
Status Executable::bind_wave(uint32_t wave, size_t first_step) {
  char* const arena = settings_.workspace->arena(wave);
  for (uint32_t id = 0; id < data_.size(); ++id) {
    if (placement_.place(id) == Placement::Place::Arena && placement_.wave(id) == wave) {
      data_[id] = arena + placement_.arena_offset(id);
    }
  }
  ETX_RETURN_IF_ERROR(bind_outputs(wave));
  for (uint32_t id = 0; id < data_.size(); ++id) {
    data_[id] = data_[plan_.root[id]];
  }
  for (size_t s = first_step; s < steps_.size(); ++s) {
    steps_[s].bind(data_);
  }
  return {};
}

Status Executable::bind_inputs(Span<const void* const> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const uint32_t id = input_value(i);
    if (id == kNone) {
      continue;
    }
    const size_t bytes = types_[id].bytes();
    Stage& stage = input_stages_[i];
    ETX_RETURN_IF_ERROR(stage.prepare(read_by_xnnpack_[id] && !is_tail_readable(inputs[i], bytes), bytes));
    data_[id] = stage.is_active() ? stage.data() : static_cast<char*>(const_cast<void*>(inputs[i]));
  }
  return {};
}

bool Executable::overlaps_inputs(const void* data, size_t bytes, Span<const void* const> inputs) const {
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (input_value(k) != kNone && overlap(data, bytes, inputs[k], types_[input_value(k)].bytes())) {
      return true;
    }
  }
  return false;
}

Status Executable::bind_outputs(uint32_t wave) {
  for (size_t i = 0; i < bound_.outputs.size(); ++i) {
    if (placement_.output_wave(i) != wave) {
      continue;
    }
    const uint32_t root = output_root(i);
    const size_t bytes = types_[root].bytes();
    void* const data = bound_.outputs[i];
    const bool active =
        overlaps_inputs(data, bytes, view(bound_.inputs)) || (read_by_xnnpack_[root] && !is_tail_readable(data, bytes));
    ETX_RETURN_IF_ERROR(output_stages_[i].prepare(active, bytes));
  }
  for (const size_t i : placement_.direct_outputs()) {
    if (placement_.output_wave(i) == wave) {
      data_[output_root(i)] = output_data(i);
    }
  }
  return {};
}

// Whether outputs that are there before a call runs are where they were.
bool Executable::has_same_outputs(Span<void* const> outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (placement_.output_wave(i) == 0 && outputs[i] != bound_.outputs[i]) {
      return false;
    }
  }
  return outputs.size() == bound_.outputs.size();
}

// Finds the size of the result of step `s`, and prepares for what depends on it.
Status Executable::find_size(size_t s, const PrepareOutput& prepare_output) {
  RunnableStep& step = steps_[s];
  ETX_ASSIGN_OR_RETURN(const size_t found, step.find_size(settings_.workspace->arena(step.wave()), prepared_.pool));
  if (step.begun_wave() > 0) {
    return begin_wave(step.begun_wave(), s, static_cast<int64_t>(found), prepare_output);
  }
  const size_t expected = types_[plan_.steps[s].outputs.front()].shape[0];
  ETX_CHECK(
      found == expected, InvalidArgument, "it finds %zu elements, but the model was exported for %zu", found, expected);
  return {};
}

// What depends on a size that step `s` has found; does nothing if all is as in the last call.
Status Executable::begin_wave(uint32_t wave, size_t s, int64_t found, const PrepareOutput& prepare_output) {
  WaveState& state = waves_[wave - 1];
  if (!state.is_shaped || found_[wave - 1] != found) {
    forget_waves(wave);
    found_[wave - 1] = found;
    ETX_RETURN_IF_ERROR(reshape_wave(wave));
    state.is_shaped = true;
  }
  Workspace& workspace = *settings_.workspace;
  ETX_RETURN_IF_ERROR(workspace.reserve(placement_.arena_bytes(wave), wave));
  state.is_bound = state.is_bound && state.arena == workspace.arena(wave);
  for (size_t i = 0; i < bound_.outputs.size(); ++i) {
    if (placement_.output_wave(i) == wave) {
      StatusOr<void*> data = prepare_output(i, output_type(i));
      if (!data.ok()) {
        return Status(data.status()).in("output " + std::to_string(i) + " of the delegate");
      }
      state.is_bound = state.is_bound && *data == bound_.outputs[i];
      bound_.outputs[i] = *data;
    }
  }
  if (!state.is_bound) {
    ETX_RETURN_IF_ERROR(bind_wave(wave, s));
    state.arena = workspace.arena(wave);
    state.is_bound = true;
  }
  return {};
}

Status Executable::reshape_wave(uint32_t wave) {
  StatusOr<Sizes> sizes = evaluate_sizes(blob_.graph(), view(prepared_.inputs), blob_.waves(), {found_.data(), wave});
  ETX_RETURN_IF_ERROR(sizes.status());
  std::vector<TensorType> types = types_;
  if (const Status status = infer_wave(blob_, *sizes, wave, types); !status.ok()) {
    return Status(Error::InvalidArgument, status.message());
  }
  set_types(std::move(types));
  return reshape_steps(*sizes, wave, /*same_types=*/false);
}

// After a change of sizes everything from this wave on is prepared anew.
void Executable::forget_waves(uint32_t first) {
  for (size_t wave = first; wave <= waves_.size(); ++wave) {
    waves_[wave - 1] = {};
  }
}

std::string Executable::describe(const Step& step) const {
  std::string text;
  for (const uint32_t node : step.nodes) {
    text += (text.empty() ? "" : ", ") + blob_.describe(node);
  }
  return text;
}

Status Executable::run_steps(const PrepareOutput& prepare_output, Profiler* profiler) {
  const auto arena = [this](size_t s) { return settings_.workspace->arena(steps_[s].wave()); };
  for (size_t s = 0; s < steps_.size(); ++s) {
    const std::vector<uint32_t>& nodes = plan_.steps[s].nodes;
    size_t written = s; // steps that have run
    Status status = guarded([&]() -> Status {
      const et_timestamp_t start = profiler == nullptr ? 0 : et_pal_current_ticks();
      if (steps_[s].finds_size()) {
        ETX_RETURN_IF_ERROR_IN(find_size(s, prepare_output), describe(plan_.steps[s]));
      }
      if (Status failed = steps_[s].run(arena(s), prepared_.pool); !failed.ok()) {
        return std::move(failed).in(describe(plan_.steps[s]));
      }
      ++written;
      if (profiler != nullptr && !steps_[s].is_idle() && !nodes.empty()) {
        profiler->record(blob_, view(nodes), start, et_pal_current_ticks());
        return record_results(*profiler, blob_, view(plan_.steps[s].outputs), view(types_), data_);
      }
      return {};
    });
    if (status.ok()) {
      continue;
    }
    while (written-- > 0) {
      steps_[written].undo(arena(written), prepared_.pool);
    }
    return status;
  }
  return {};
}

Status Executable::run(Span<const void* const> inputs, Span<void* const> outputs, Profiler* profiler) {
  const auto given = [outputs](size_t i, const TensorType&) -> StatusOr<void*> { return outputs[i]; };
  return run(inputs, outputs, std::cref(given), profiler);
}

Status Executable::run(
    Span<const void* const> inputs,
    Span<void* const> outputs,
    const PrepareOutput& prepare_output,
    Profiler* profiler) {
  if (with_empty_is_next_) {
    return with_empty_->run(inputs, outputs, prepare_output, profiler);
  }
  ETX_RETURN_IF_ERROR(reserve_memory());
  if (!bound_.is_bound || !std::equal(inputs.begin(), inputs.end(), bound_.inputs.begin()) ||
      !has_same_outputs(outputs)) {
    ETX_RETURN_IF_ERROR(bind(inputs, outputs));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (input_stages_[i].is_active()) {
      std::memcpy(input_stages_[i].data(), inputs[i], types_[input_value(i)].bytes());
    }
  }
  ETX_RETURN_IF_ERROR(run_steps(prepare_output, profiler));
  for (const Placement::CopyOut& copy : placement_.copies_out()) {
    if (types_[copy.root].bytes() > 0) {
      std::memmove(output_data(copy.output), data_[copy.root], types_[copy.root].bytes());
    }
  }
  // Before outputs are written over inputs, of which an update may be a view.
  for (const Placement::Update& update : placement_.updates()) {
    if (types_[update.state].bytes() > 0) {
      std::memcpy(data_[update.state], data_[update.root], types_[update.state].bytes());
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (output_stages_[i].is_active()) {
      std::memcpy(bound_.outputs[i], output_stages_[i].data(), types_[output_root(i)].bytes());
    }
  }
  if (settings_.shrink_memory && !waves_.empty()) { // now that all sizes are known
    (void)guarded([this]() -> Status { // what there is no memory for the next call asks for
      ETX_RETURN_IF_ERROR(reserve_memory());
      for (uint32_t wave = 1; wave <= waves_.size(); ++wave) {
        ETX_RETURN_IF_ERROR(settings_.workspace->reserve(placement_.arena_bytes(wave), wave));
      }
      return {};
    });
  }
  return {};
}

} // namespace executorch::backends::et_xnnpack
