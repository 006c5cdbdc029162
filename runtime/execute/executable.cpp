// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "executable.h"

#include <algorithm>

#include "runtime/kernels/common/parallel.h"
#include "runtime/ops/infer.h"

namespace executorch::backends::et_xnnpack {
namespace {

// What inference says of the sizes of a call: the blob is good, so it is the call that is not.
Status of_call(const Status& status) {
  return status.ok() ? Status() : Status(Error::InvalidArgument, status.message());
}

} // namespace

StatusOr<std::unique_ptr<Executable>> Executable::create(Blob blob, const NamedDataMap* named_data, Settings settings) {
  if (settings.states == nullptr) {
    settings.states = std::make_shared<States>();
  }
  if (settings.workspace == nullptr) {
    settings.workspace = std::make_shared<Workspace>();
  }
  StatusOr<std::unique_ptr<Executable>> executable = create_once(blob, named_data, settings);
  if (executable.ok() || executable.status().code() != Error::Internal || !settings.force_fp16) {
    return executable;
  }
  // XNNPACK refuses something in Float16 that nobody knows of.
  std::string reason = executable.status().message();
  settings.force_fp16 = false;
  executable = create_once(std::move(blob), named_data, std::move(settings));
  if (executable.ok()) {
    (*executable)->why_not_float16_ = std::move(reason);
  }
  return executable;
}

StatusOr<std::unique_ptr<Executable>> Executable::create_once(
    Blob blob, const NamedDataMap* named_data, Settings settings) {
  PackedWeights* const shared = settings.packed_weights;
  PackedFile* const file = settings.packed_file;
  const pthreadpool_t pool = settings.pool;
  Profiler* const profiler = settings.profiler;
  std::unique_ptr<Executable> executable(new Executable(std::move(blob), named_data, std::move(settings)));
  Weights weights(executable->blob_, named_data, shared, file);
  ETX_RETURN_IF_ERROR(executable->load(weights, pool, profiler));
  if (file != nullptr) {
    file->finish(weights.packed());
  }
  executable->unfinished_.unverified = weights.unverified();
  if (executable->blob_.graph().exprs() != nullptr) {
    executable->known_ = weights.known();
  }
  return executable;
}

Status Executable::load(Weights& weights, pthreadpool_t pool, Profiler* profiler) {
  ETX_ASSIGN_OR_RETURN(const Sizes sizes, planned_sizes(blob_.graph()));
  ETX_RETURN_IF_ERROR(make_plan_for(sizes, profiler));
  ETX_RETURN_IF_ERROR(load_steps(sizes, weights, pool, profiler));
  placement_ = Placement(blob_, plan_, steps_);
  find_written_states();
  const Phase phase(profiler, "load constants");
  ETX_RETURN_IF_ERROR(load_states(weights));
  ETX_RETURN_IF_ERROR(load_constants(weights));
  constants_ = std::move(weights).take_kept();
  return {};
}

Status Executable::make_plan_for(const Sizes& sizes, Profiler* profiler) {
  const Phase phase(profiler, "plan");
  ETX_ASSIGN_OR_RETURN(std::vector<TensorType> types, infer_types(blob_, sizes));
  const bool float16 = settings_.force_fp16 && Cpu::get().float16;
  PlanOptions options;
  options.fuse_elementwise = settings_.fuse_elementwise;
  options.float16 = float16;
  options.winograd_tile = settings_.winograd_tile;
  options.bfloat16 = settings_.force_bf16;
  plan_ = make_plan(blob_, view(types), sizes, options, empty_);
  why_not_float16_ = settings_.force_fp16 ? reason_for_no_float16(plan_) : "";
  why_not_bfloat16_ = settings_.force_bf16 ? reason_for_no_bfloat16(plan_) : "";
  set_types(std::move(types));
  data_.resize(plan_.root.size());
  waves_.resize(blob_.waves().num_found());
  found_.resize(waves_.size());
  input_stages_.resize(blob_.num_inputs());
  output_stages_.resize(blob_.num_outputs());
  return {};
}

// Those of the blob, and behind them those of the plan.
void Executable::set_types(std::vector<TensorType> types) {
  for (const uint32_t id : plan_.float16_of) {
    types.push_back({DType::Float16, types[id].shape});
  }
  types_ = std::move(types);
}

Status Executable::load_steps(const Sizes& sizes, Weights& weights, pthreadpool_t pool, Profiler* profiler) {
  const PlannedGraph graph{blob_, plan_, view(types_), sizes};
  read_by_xnnpack_.resize(plan_.root.size());
  std::vector<PackingTask> packing;
  const Phase phase(profiler, "pack");
  steps_.reserve(plan_.steps.size()); // tasks refer to them
  for (const Step& step : plan_.steps) {
    RunnableStep& runnable = steps_.emplace_back(step);
    ETX_RETURN_IF_ERROR(runnable.load(graph, empty_, weights, packing));
    for (const uint32_t id : step.inputs) {
      if (id != kNone && runnable.is_in_xnnpack()) {
        read_by_xnnpack_[plan_.root[id]] = true;
      }
    }
  }
  ETX_RETURN_IF_ERROR(weights.run(packing, pool));
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (steps_[s].reads_output()) {
      read_by_xnnpack_[plan_.root[plan_.steps[s].outputs.front()]] = true;
    }
  }
  return {};
}

void Executable::find_written_states() {
  for (size_t s = 0; s < steps_.size(); ++s) {
    const std::vector<uint32_t>& outputs = plan_.steps[s].outputs;
    steps_[s].set_writes_state(
        !outputs.empty() && placement_.place(plan_.root[outputs.front()]) == Placement::Place::State);
  }
}

Status Executable::load_states(Weights& weights) {
  for (size_t i = 0; i < blob_.num_states(); ++i) {
    const uint32_t id = blob_.state(i).value();
    ETX_ASSIGN_OR_RETURN(data_[id], settings_.states->find_or_add(blob_.state(i), types_[id], weights));
  }
  return {};
}

Status Executable::load_constants(Weights& weights) {
  for (uint32_t id = 0; id < blob_.num_values(); ++id) {
    if (placement_.place(id) != Placement::Place::Constant) {
      continue;
    }
    if (weights.can_wait(id)) {
      unfinished_.late_constants.push_back(id);
    } else {
      ETX_RETURN_IF_ERROR(load_constant(id, weights));
    }
  }
  return {};
}

Status Executable::load_constant(uint32_t value, Weights& weights) {
  ETX_ASSIGN_OR_RETURN(const void* data, weights.constant(value));
  data_[value] = static_cast<char*>(const_cast<void*>(data));
  return {};
}

Status Executable::reshape(Span<const ArgumentSize> inputs, pthreadpool_t pool, Profiler* profiler) {
  const Phase phase(profiler, "reshape"); // of every call: the Inspector puts calls together that have the same events
  const size_t num_threads = threads_of(pool);
  const bool same_threads = prepared_.is_shaped && pool == prepared_.pool && num_threads == prepared_.num_threads;
  if (same_threads && std::equal(inputs.begin(), inputs.end(), prepared_.inputs.begin(), prepared_.inputs.end())) {
    return {};
  }
  ETX_RETURN_IF_ERROR(finish_loading(pool));
  prepared_.is_shaped = false;
  prepared_.pool = pool;
  prepared_.num_threads = num_threads;
  ETX_RETURN_IF_ERROR(reshape_to(inputs, same_threads));
  prepared_.inputs.assign(inputs.begin(), inputs.end());
  prepared_.is_shaped = true;
  return {};
}

Status Executable::finish_loading(pthreadpool_t pool) {
  ETX_RETURN_IF_ERROR(verify_packed(pool));
  return load_late_constants();
}

Status Executable::verify_packed(pthreadpool_t pool) {
  const std::vector<std::string> damaged = find_damaged(unfinished_.unverified, pool);
  for (const std::string& key : damaged) {
    if (settings_.packed_weights != nullptr) {
      settings_.packed_weights->forget(key, unfinished_.unverified[key]);
    }
  }
  ETX_CHECK(damaged.empty(), InvalidExternalData, "%zu packed weights are damaged", damaged.size());
  unfinished_.unverified.clear();
  return {};
}

Status Executable::load_late_constants() {
  if (unfinished_.late_constants.empty()) {
    return {};
  }
  Weights weights(blob_, unfinished_.named_data, settings_.packed_weights);
  for (const uint32_t value : unfinished_.late_constants) {
    ETX_RETURN_IF_ERROR(load_constant(value, weights));
    known_.kept[value] = data_[value];
  }
  for (PackedPtr& kept : std::move(weights).take_kept()) {
    constants_.push_back(std::move(kept));
  }
  unfinished_.late_constants.clear();
  return {};
}

Status Executable::reshape_to(Span<const ArgumentSize> inputs, bool same_threads) {
  ETX_ASSIGN_OR_RETURN(const Sizes sizes, evaluate_sizes(blob_.graph(), inputs, blob_.waves(), {}));
  ETX_RETURN_IF_ERROR(check_inputs(inputs, sizes));
  if (same_threads) {
    StatusOr<bool> same_types = infer_again(blob_, sizes, inference_, types_);
    ETX_RETURN_IF_ERROR(of_call(same_types.status()));
    if (*same_types) {
      return with_empty_is_next_ ? with_empty_->reshape(inputs, prepared_.pool)
                                 : reshape_steps(sizes, /*wave=*/0, /*same_types=*/true);
    }
  }
  StatusOr<std::vector<TensorType>> types = first_types(sizes);
  ETX_RETURN_IF_ERROR(of_call(types.status()));
  // The steps know the types of the last call unless with_empty_ did its work.
  const bool same_types =
      same_threads && !with_empty_is_next_ && std::equal(types->begin(), types->end(), types_.begin());
  set_types(std::move(*types));
  forget_waves(1);
  with_empty_is_next_ = false;
  if (needs_plan_with_empty(sizes)) {
    ETX_RETURN_IF_ERROR(plan_with_empty(sizes));
    ETX_RETURN_IF_ERROR(with_empty_->reshape(inputs, prepared_.pool));
    with_empty_is_next_ = true;
    return {};
  }
  return reshape_steps(sizes, /*wave=*/0, same_types);
}

// Those of wave 0; others are as in the last call.
StatusOr<std::vector<TensorType>> Executable::first_types(const Sizes& sizes) {
  if (waves_.empty()) {
    return infer_types(blob_, sizes, &inference_);
  }
  std::vector<TensorType> types = types_;
  ETX_RETURN_IF_ERROR(infer_wave(blob_, sizes, /*wave=*/0, types));
  return types;
}

Status Executable::check_inputs(Span<const ArgumentSize> inputs, const Sizes& sizes) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (input_value(i) == kNone) {
      continue;
    }
    ETX_ASSIGN_OR_RETURN(const Shape expected, sizes.resolve(blob_.value(input_value(i)).dims()));
    ETX_CHECK(
        inputs[i].shape == expected,
        InvalidArgument,
        "input %zu of the delegate has sizes %s (in memory order), but the model takes %s",
        i,
        inputs[i].shape.to_string().c_str(),
        expected.to_string().c_str());
  }
  return {};
}

Status Executable::reshape_steps(const Sizes& sizes, uint32_t wave, bool same_types) {
  const PlannedGraph graph{blob_, plan_, view(types_), sizes};
  bool same_memory = same_types;
  for (RunnableStep& step : steps_) {
    if (step.wave() != wave) {
      continue;
    }
    const size_t scratch_bytes = step.scratch_bytes(), undo_bytes = step.undo_bytes();
    ETX_RETURN_IF_ERROR(step.reshape(graph, same_types, prepared_.pool, prepared_.num_threads));
    same_memory = same_memory && scratch_bytes == step.scratch_bytes() && undo_bytes == step.undo_bytes();
  }
  if (!same_memory) {
    bound_.is_bound = bound_.is_bound && wave > 0;
    placement_.lay_out(plan_, types_, steps_, wave);
  }
  return {};
}

// Whether a value has no elements whatever sizes are found.
bool Executable::is_empty(uint32_t id, const Sizes& sizes) const {
  if (wave_of(plan_, blob_, id) == 0) {
    return types_[id].shape.numel() == 0;
  }
  const uint32_t value = id < blob_.num_values() ? id : plan_.float16_of[id - blob_.num_values()];
  const auto* dims = blob_.value(value).dims();
  return dims != nullptr && std::any_of(dims->begin(), dims->end(), [&](const schema::Size* size) {
           return blob_.waves().of_size(size->value()) == 0 && sizes.resolve(size) == 0;
         });
}

// Whether a node in XNNPACK that has something to compute has operands or results that are empty in any case; others
// never are where it matters (see make_plan).
bool Executable::needs_plan_with_empty(const Sizes& sizes) const {
  const auto empty = [&](uint32_t id) { return id != kNone && is_empty(id, sizes); };
  for (size_t s = 0; s < steps_.size(); ++s) {
    const std::vector<uint32_t>&inputs = plan_.steps[s].inputs, &outputs = plan_.steps[s].outputs;
    if (steps_[s].is_in_xnnpack() && !std::all_of(outputs.begin(), outputs.end(), empty) &&
        (std::any_of(inputs.begin(), inputs.end(), empty) || std::any_of(outputs.begin(), outputs.end(), empty))) {
      return true;
    }
  }
  return false;
}

// Has with_empty_ know which values are empty now. It shares all memory, and packs no weights.
Status Executable::plan_with_empty(const Sizes& sizes) {
  std::vector<bool> empty(blob_.num_values());
  for (uint32_t id = 0; id < empty.size(); ++id) {
    empty[id] = is_empty(id, sizes);
  }
  if (with_empty_ != nullptr && with_empty_->empty_ == empty) {
    return {};
  }
  with_empty_.reset();
  Settings settings;
  settings.states = settings_.states;
  settings.workspace = settings_.workspace;
  settings.packed_weights = settings_.packed_weights;
  settings.fuse_elementwise = settings_.fuse_elementwise;
  settings.force_fp16 = computes_in_float16(plan_);
  settings.winograd_tile = settings_.winograd_tile;
  settings.force_bf16 = settings_.force_bf16;
  std::unique_ptr<Executable> executable(new Executable(blob_, /*named_data=*/nullptr, std::move(settings)));
  executable->empty_ = std::move(empty);
  Weights weights(executable->blob_, /*named_data=*/nullptr, settings_.packed_weights);
  weights.add_known(known_);
  ETX_RETURN_IF_ERROR(executable->load(weights, prepared_.pool, /*profiler=*/nullptr));
  with_empty_ = std::move(executable);
  return {};
}

} // namespace executorch::backends::et_xnnpack
