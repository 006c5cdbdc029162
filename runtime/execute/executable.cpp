// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "executable.h"

#include <algorithm>
#include <cstring>

#include "runtime/ops/infer.h"

namespace executorch::backends::et_xnnpack {
namespace {

bool overlap(const void* a, size_t a_bytes, const void* b, size_t b_bytes) {
  const auto begin_a = reinterpret_cast<uintptr_t>(a);
  const auto begin_b = reinterpret_cast<uintptr_t>(b);
  return begin_a < begin_b + b_bytes && begin_b < begin_a + a_bytes;
}

template <typename T>
Span<const T> view(const std::vector<T>& items) {
  return {items.data(), items.size()};
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
  const PlanOptions options{settings_.fuse_elementwise, float16, settings_.winograd_tile, settings_.force_bf16};
  plan_ = make_plan(blob_, view(types), sizes, options, empty_);
  why_not_float16_ = settings_.force_fp16 ? reason_for_no_float16(plan_) : "";
  why_not_bfloat16_ = settings_.force_bf16 ? reason_for_no_bfloat16(plan_) : "";
  set_types(std::move(types));
  data_.resize(plan_.root.size());
  input_stages_.resize(blob_.num_inputs());
  output_stages_.resize(blob_.num_outputs());
  return {};
}

// Those of the blob, and behind them those of the plan.
void Executable::set_types(std::vector<TensorType> types) {
  types_ = std::move(types);
  for (const uint32_t id : plan_.float16_of) {
    types_.push_back({DType::Float16, types_[id].shape});
  }
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
  const size_t num_threads = pool == nullptr ? 1 : pthreadpool_get_threads_count(pool);
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
  ETX_ASSIGN_OR_RETURN(const Sizes sizes, evaluate_sizes(blob_.graph(), inputs));
  ETX_RETURN_IF_ERROR(check_inputs(inputs, sizes));
  StatusOr<std::vector<TensorType>> types = infer_types(blob_, sizes, &inference_);
  if (!types.ok()) {
    // The blob is good, so it is the call that is not.
    return Status(Error::InvalidArgument, types.status().message());
  }
  const bool same_types = same_threads && std::equal(types->begin(), types->end(), types_.begin());
  set_types(std::move(*types));
  with_empty_is_next_ = false;
  if (needs_plan_with_empty()) {
    ETX_RETURN_IF_ERROR(plan_with_empty());
    ETX_RETURN_IF_ERROR(with_empty_->reshape(inputs, prepared_.pool));
    with_empty_is_next_ = true;
    return {};
  }
  return reshape_steps(sizes, same_types);
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

Status Executable::reshape_steps(const Sizes& sizes, bool same_types) {
  const PlannedGraph graph{blob_, plan_, view(types_), sizes};
  bool same_memory = same_types;
  for (RunnableStep& step : steps_) {
    const size_t scratch_bytes = step.scratch_bytes(), undo_bytes = step.undo_bytes();
    ETX_RETURN_IF_ERROR(step.reshape(graph, same_types, prepared_.pool, prepared_.num_threads));
    same_memory = same_memory && scratch_bytes == step.scratch_bytes() && undo_bytes == step.undo_bytes();
  }
  if (!same_memory) {
    bound_.is_bound = false;
    placement_.lay_out(plan_, types_, steps_);
  }
  return {};
}

// Whether a node in XNNPACK that has something to compute has operands or results that are empty.
bool Executable::needs_plan_with_empty() const {
  const auto empty = [this](uint32_t id) { return id != kNone && is_empty(id); };
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
Status Executable::plan_with_empty() {
  std::vector<bool> empty(blob_.num_values());
  for (uint32_t id = 0; id < empty.size(); ++id) {
    empty[id] = is_empty(id);
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
  settings.force_fp16 = !plan_.float16_of.empty();
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

// Others that share the memory may have moved it.
Status Executable::reserve_memory() {
  Workspace& workspace = *settings_.workspace;
  const size_t bytes = placement_.arena_bytes();
  if (settings_.shrink_memory && !bound_.is_bound) {
    if (bytes < most_bytes_ / 2) {
      workspace.release();
      most_bytes_ = 0;
    }
    most_bytes_ = std::max(most_bytes_, bytes);
  }
  ETX_RETURN_IF_ERROR(workspace.reserve(bytes));
  bound_.is_bound = bound_.is_bound && bound_.arena == workspace.arena();
  return {};
}

Status Executable::bind(Span<const void* const> inputs, Span<void* const> outputs) {
  bound_.is_bound = false;
  char* const arena = settings_.workspace->arena();
  for (uint32_t id = 0; id < data_.size(); ++id) {
    if (placement_.place(id) == Placement::Place::Arena) {
      data_[id] = arena + placement_.arena_offset(id);
    }
  }
  ETX_RETURN_IF_ERROR(bind_inputs(inputs));
  ETX_RETURN_IF_ERROR(bind_outputs(inputs, outputs));
  for (uint32_t id = 0; id < data_.size(); ++id) {
    data_[id] = data_[plan_.root[id]];
  }
  for (RunnableStep& step : steps_) {
    step.bind(data_);
  }
  bound_.arena = arena;
  bound_.inputs.assign(inputs.begin(), inputs.end());
  bound_.outputs.assign(outputs.begin(), outputs.end());
  bound_.is_bound = true;
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

Status Executable::bind_outputs(Span<const void* const> inputs, Span<void* const> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const uint32_t root = output_root(i);
    const size_t bytes = types_[root].bytes();
    const bool active =
        overlaps_inputs(outputs[i], bytes, inputs) || (read_by_xnnpack_[root] && !is_tail_readable(outputs[i], bytes));
    ETX_RETURN_IF_ERROR(output_stages_[i].prepare(active, bytes));
  }
  for (const size_t i : placement_.direct_outputs()) {
    data_[output_root(i)] = output_data(i, outputs);
  }
  return {};
}

std::string Executable::describe(const Step& step) const {
  std::string text;
  for (const uint32_t node : step.nodes) {
    text += (text.empty() ? "" : ", ") + blob_.describe(node);
  }
  return text;
}

Status Executable::run_steps(Profiler* profiler) {
  char* const arena = settings_.workspace->arena();
  for (size_t s = 0; s < steps_.size(); ++s) {
    const std::vector<uint32_t>& nodes = plan_.steps[s].nodes;
    size_t written = s; // steps that have run
    Status status = guarded([&]() -> Status {
      const et_timestamp_t start = profiler == nullptr ? 0 : et_pal_current_ticks();
      if (Status failed = steps_[s].run(arena, prepared_.pool); !failed.ok()) {
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
      steps_[written].undo(arena, prepared_.pool);
    }
    return status;
  }
  return {};
}

Status Executable::run(Span<const void* const> inputs, Span<void* const> outputs, Profiler* profiler) {
  if (with_empty_is_next_) {
    return with_empty_->run(inputs, outputs, profiler);
  }
  ETX_RETURN_IF_ERROR(reserve_memory());
  if (!bound_.is_bound || !std::equal(inputs.begin(), inputs.end(), bound_.inputs.begin()) ||
      !std::equal(outputs.begin(), outputs.end(), bound_.outputs.begin())) {
    ETX_RETURN_IF_ERROR(bind(inputs, outputs));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (input_stages_[i].is_active()) {
      std::memcpy(input_stages_[i].data(), inputs[i], types_[input_value(i)].bytes());
    }
  }
  ETX_RETURN_IF_ERROR(run_steps(profiler));
  for (const Placement::CopyOut& copy : placement_.copies_out()) {
    if (types_[copy.root].bytes() > 0) {
      std::memmove(output_data(copy.output, outputs), data_[copy.root], types_[copy.root].bytes());
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (output_stages_[i].is_active()) {
      std::memcpy(outputs[i], output_stages_[i].data(), types_[output_root(i)].bytes());
    }
  }
  for (const Placement::Update& update : placement_.updates()) {
    if (types_[update.state].bytes() > 0) {
      std::memcpy(data_[update.state], data_[update.root], types_[update.state].bytes());
    }
  }
  return {};
}

} // namespace executorch::backends::et_xnnpack
