// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "executable.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <executorch/runtime/platform/platform.h>

#include "runtime/ops/infer.h"

#include "runtime/weights/node_constants.h"

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
    (*executable)->without_half_ = std::move(reason);
  }
  return executable;
}

StatusOr<std::unique_ptr<Executable>> Executable::create_once(
    Blob blob, const NamedDataMap* named_data, Settings settings) {
  PackedWeights* const shared = settings.packed_weights;
  PackedFile* const file = settings.packed_file;
  const pthreadpool_t pool = settings.pool;
  std::unique_ptr<Executable> executable(new Executable(std::move(blob), named_data, std::move(settings)));
  Weights weights(executable->blob_, named_data, shared, file);
  ETX_RETURN_IF_ERROR(executable->load(weights, pool));
  if (file != nullptr) {
    file->finish(weights.packed());
  }
  executable->unverified_ = weights.unverified();
  if (executable->blob_.graph().exprs() != nullptr) {
    executable->known_ = weights.known();
  }
  return executable;
}

Status Executable::load(Weights& weights, pthreadpool_t pool) {
  ETX_ASSIGN_OR_RETURN(const Sizes sizes, planned_sizes(blob_.graph()));
  ETX_ASSIGN_OR_RETURN(types_, infer_types(blob_, sizes));
  plan_ = make_plan(blob_, view(types_), sizes, {fuse_elementwise_, force_fp16_ && Cpu::get().float16}, empty_);
  if (force_fp16_ && plan_.float16_of.empty()) {
    without_half_ = Cpu::get().float16 ? "no product of float32 runs in XNNPACK" : "this CPU has no float16";
  }

  for (const uint32_t id : plan_.float16_of) {
    types_.push_back({DType::Float16, types_[id].shape});
  }
  const size_t num_values = plan_.root.size();
  read_by_xnnpack_.resize(num_values);
  arena_offsets_.resize(num_values);
  data_.resize(num_values);
  input_data_.resize(blob_.num_inputs());
  output_data_.resize(blob_.num_outputs());
  input_stages_.resize(blob_.num_inputs());
  output_stages_.resize(blob_.num_outputs());

  std::vector<PackingTask> packing;
  steps_.reserve(plan_.steps.size());
  for (const Step& step : plan_.steps) {
    ETX_RETURN_IF_ERROR(load_step(step, sizes, weights, packing));
  }
  ETX_RETURN_IF_ERROR(weights.run(packing, pool));
  place_values();
  ETX_RETURN_IF_ERROR(load_states(weights));
  ETX_RETURN_IF_ERROR(load_constants(weights));
  constants_ = std::move(weights).take_kept();
  return {};
}

bool Executable::is_in_xnnpack(const Step& step) const {
  return step.kind == Step::Kind::Convert ||
      (step.kind == Step::Kind::Kernel && plan_.choices[step.nodes.front()].kind == Choice::Kind::Xnnpack);
}

Status Executable::load_step(
    const Step& step, const Sizes& sizes, Weights& weights, std::vector<PackingTask>& packing) {
  RunnableStep& runnable = steps_.emplace_back();
  runnable.inputs.resize(step.inputs.size());
  runnable.outputs.resize(step.outputs.size());
  for (const uint32_t id : step.inputs) {
    if (id != kNone && is_in_xnnpack(step)) {
      read_by_xnnpack_[plan_.root[id]] = true;
    }
  }
  switch (step.kind) {
    case Step::Kind::Kernel:
      return load_kernel(step, sizes, weights, packing, runnable);
    case Step::Kind::Fused:
      runnable.fused = fuse(step, sizes);
      return {};
    case Step::Kind::Convert: {
      const bool to_float16 = step.outputs.front() >= blob_.num_values();
      ETX_ASSIGN_OR_RETURN(
          runnable.conversion,
          FloatConversion::create(to_float16 ? FloatConversion::To::Float16 : FloatConversion::To::Float32));
      return {};
    }
  }
  return {};
}

Status Executable::load_kernel(
    const Step& step, const Sizes& sizes, Weights& weights, std::vector<PackingTask>& packing, RunnableStep& runnable) {
  const auto is_always_empty = [this](uint32_t id) { return !empty_.empty() && id < empty_.size() && empty_[id]; };
  if (std::all_of(step.outputs.begin(), step.outputs.end(), is_always_empty)) {
    return {};
  }
  const size_t node = step.nodes.front();
  const BoundNode bound(blob_, node, view(types_), sizes);
  const NodeContext& context = bound.context();
  runnable.kernel = plan_.choices[node].make(context);
  if (runnable.kernel == nullptr) {
    return failure(Error::NotSupported, "this runtime cannot compute it for these operands").in(blob_.describe(node));
  }
  runnable.packed.resize(context.num_inputs());
  runnable.consumed.resize(context.num_inputs());
  const size_t s = steps_.size() - 1;
  for (size_t k = 0; k < context.num_inputs(); ++k) {
    if (!context.has_input(k) || !context.is_constant(k)) {
      continue;
    }
    runnable.consumed[k] = runnable.kernel->consumes(context, k);
    if (runnable.kernel->packed_layout(context, k).has_value()) {
      packing.push_back([this, node, s, k, &sizes, &weights]() -> Status {
        const BoundNode again(blob_, node, view(types_), sizes);
        NodeConstants constants(weights, blob_.node(node));
        ETX_ASSIGN_OR_RETURN(steps_[s].packed[k], pack_operand(*steps_[s].kernel, again.context(), k, constants));
        return {};
      });
    }
  }
  if (plan_.choices[node].kind == Choice::Kind::Xnnpack) {
    packing.push_back([this, node, s, &sizes, &weights] {
      const BoundNode again(blob_, node, view(types_), sizes);
      NodeConstants constants(weights, blob_.node(node));
      return steps_[s].kernel->load(again.context(), constants).in(blob_.describe(node));
    });
  }
  return {};
}

std::unique_ptr<FusedElementwise> Executable::fuse(const Step& step, const Sizes& sizes) const {
  std::vector<FusedElementwise::Node> nodes;
  for (const uint32_t i : step.nodes) {
    const BoundNode bound(blob_, i, view(types_), sizes);
    const schema::Node& node = blob_.node(i);
    const uint32_t result = node.outputs()->Get(0);
    nodes.push_back(
        {plan_.choices[i].row(bound.context()),
         {node.inputs()->begin(), node.inputs()->end()},
         {result, element_size(types_[result].storage())}});
  }
  std::vector<FusedElementwise::Value> inputs;
  for (const uint32_t id : step.inputs) {
    inputs.push_back({id, element_size(types_[id].storage())});
  }
  return std::make_unique<FusedElementwise>(std::move(nodes), view(inputs), view(step.outputs));
}

// Whether a step reads this input of it as it is.
bool Executable::reads(size_t s, uint32_t value) const {
  const RunnableStep& step = steps_[s];
  if (step.kernel == nullptr) {
    return step.fused != nullptr || step.conversion.has_value();
  }
  const std::vector<uint32_t>& inputs = plan_.steps[s].inputs;
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k] == value && step.packed[k].data == nullptr && !step.consumed[k]) {
      return true;
    }
  }
  return false;
}

void Executable::place_values() {
  places_.assign(plan_.root.size(), Place::Nowhere);
  const auto place_constant = [this](uint32_t root) {
    if (root < blob_.num_values() && blob_.is_constant(root)) {
      places_[root] = Place::Constant;
    }
  };
  for (size_t s = 0; s < steps_.size(); ++s) {
    for (const uint32_t id : plan_.steps[s].inputs) {
      if (id != kNone && reads(s, id)) {
        place_constant(plan_.root[id]);
      }
    }
    for (const uint32_t id : plan_.steps[s].outputs) {
      places_[id] = Place::Arena;
    }
  }
  for (size_t i = 0; i < blob_.num_inputs(); ++i) {
    if (input_value(i) != kNone) {
      places_[input_value(i)] = Place::Input;
    }
  }
  for (size_t i = 0; i < blob_.num_states(); ++i) {
    places_[blob_.state(i).value()] = Place::State;
  }
  for (size_t i = 0; i < blob_.num_states(); ++i) {
    const uint32_t root = plan_.root[blob_.state(i).update()];
    place_constant(root);
    if (root != blob_.state(i).value()) {
      updates_.push_back({root, blob_.state(i).value()});
    }
  }
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (steps_[s].kernel == nullptr) {
      continue;
    }
    const uint32_t root = plan_.root[plan_.steps[s].outputs.front()];
    steps_[s].writes_state = places_[root] == Place::State;
  }
  for (size_t i = 0; i < blob_.num_outputs(); ++i) {
    const uint32_t root = output_root(i);
    place_constant(root);
    if (places_[root] == Place::Arena) {
      places_[root] = Place::Output;
      direct_outputs_.push_back(i);
    } else {
      copies_out_.push_back({root, i});
    }
  }
}

Status Executable::load_states(Weights& weights) {
  for (size_t i = 0; i < blob_.num_states(); ++i) {
    const uint32_t id = blob_.state(i).value();
    ETX_ASSIGN_OR_RETURN(data_[id], states_->find_or_add(blob_.state(i), types_[id], weights));
  }
  return {};
}

Status Executable::load_constants(Weights& weights) {
  for (uint32_t id = 0; id < blob_.num_values(); ++id) {
    if (places_[id] != Place::Constant) {
      continue;
    }
    if (weights.can_wait(id)) {
      late_constants_.push_back(id);
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

Status Executable::reshape(Span<const ArgumentSize> inputs, pthreadpool_t pool) {
  const size_t num_threads = pool == nullptr ? 1 : pthreadpool_get_threads_count(pool);
  const bool same_threads = is_shaped_ && pool == pool_ && num_threads == num_threads_;
  if (same_threads && std::equal(inputs.begin(), inputs.end(), inputs_.begin(), inputs_.end())) {
    return {};
  }
  ETX_RETURN_IF_ERROR(finish_loading(pool));
  is_shaped_ = false;
  pool_ = pool;
  num_threads_ = num_threads;
  ETX_RETURN_IF_ERROR(reshape_to(inputs, same_threads));
  inputs_.assign(inputs.begin(), inputs.end());
  is_shaped_ = true;
  return {};
}

Status Executable::finish_loading(pthreadpool_t pool) {
  ETX_RETURN_IF_ERROR(verify_packed(pool));
  return load_late_constants();
}

Status Executable::verify_packed(pthreadpool_t pool) {
  const std::vector<std::string> damaged = find_damaged(unverified_, pool);
  for (const std::string& key : damaged) {
    if (packed_weights_ != nullptr) {
      packed_weights_->forget(key, unverified_[key]);
    }
  }
  ETX_CHECK(damaged.empty(), InvalidExternalData, "%zu packed weights are damaged", damaged.size());
  unverified_.clear();
  return {};
}

Status Executable::load_late_constants() {
  if (late_constants_.empty()) {
    return {};
  }
  Weights weights(blob_, named_data_, packed_weights_);
  for (const uint32_t value : late_constants_) {
    ETX_RETURN_IF_ERROR(load_constant(value, weights));
    known_.kept[value] = data_[value];
  }
  for (PackedPtr& kept : std::move(weights).take_kept()) {
    constants_.push_back(std::move(kept));
  }
  late_constants_.clear();
  return {};
}

Status Executable::reshape_to(Span<const ArgumentSize> inputs, bool same_threads) {
  ETX_ASSIGN_OR_RETURN(const Sizes sizes, evaluate_sizes(blob_.graph(), inputs));
  ETX_RETURN_IF_ERROR(check_inputs(inputs, sizes));
  StatusOr<std::vector<TensorType>> types = infer_types(blob_, sizes);
  if (!types.ok()) {
    // The blob is good, so it is the call that is not.
    return Status(Error::InvalidArgument, types.status().message());
  }
  const bool same_types = same_threads && std::equal(types->begin(), types->end(), types_.begin());
  types_ = std::move(*types);
  for (const uint32_t id : plan_.float16_of) {
    types_.push_back({DType::Float16, types_[id].shape});
  }
  with_empty_is_next_ = false;
  if (needs_plan_with_empty()) {
    ETX_RETURN_IF_ERROR(plan_with_empty());
    ETX_RETURN_IF_ERROR(with_empty_->reshape(inputs, pool_));
    with_empty_is_next_ = true;
    return {};
  }
  bool same_memory = true;
  ETX_RETURN_IF_ERROR(reshape_steps(sizes, same_types, &same_memory));
  if (same_types && same_memory) {
    return {};
  }
  is_bound_ = false;
  lay_out();
  return {};
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
        "input %zu has sizes %s (in memory order), the model takes %s",
        i,
        inputs[i].shape.to_string().c_str(),
        expected.to_string().c_str());
  }
  return {};
}

// With `same_types` only integers have changed, which XNNPACK does not see.
Status Executable::reshape_steps(const Sizes& sizes, bool same_types, bool* same_memory) {
  for (size_t s = 0; s < steps_.size(); ++s) {
    RunnableStep& step = steps_[s];
    const Step& planned = plan_.steps[s];
    step.is_empty =
        std::all_of(planned.outputs.begin(), planned.outputs.end(), [this](uint32_t id) { return is_empty(id); });
    if (step.is_empty || (same_types && is_in_xnnpack(planned))) {
      continue;
    }
    if (step.conversion.has_value()) {
      ETX_RETURN_IF_ERROR(step.conversion->reshape(types_[planned.outputs.front()].shape.numel(), pool_));
      continue;
    }
    size_t scratch_bytes = 0, undo_bytes = 0;
    if (step.kernel != nullptr) {
      const size_t node = planned.nodes.front();
      const BoundNode bound(blob_, node, view(types_), sizes);
      step.kernel->use_pool(pool_);
      StatusOr<size_t> scratch = step.kernel->reshape(bound.context(), num_threads_);
      if (!scratch.ok()) {
        return Status(scratch.status()).in(blob_.describe(node));
      }
      scratch_bytes = *scratch;
      undo_bytes = step.writes_state ? step.kernel->undo_bytes() : 0;
    } else {
      std::array<Shape, FusedElementwise::kMaxInputs> inputs;
      std::transform(planned.inputs.begin(), planned.inputs.end(), inputs.begin(), [this](uint32_t id) {
        return types_[id].shape;
      });
      const uint32_t result = blob_.node(planned.nodes.front()).outputs()->Get(0);
      scratch_bytes = step.fused->reshape({inputs.data(), planned.inputs.size()}, types_[result].shape, num_threads_);
    }
    *same_memory = *same_memory && step.scratch_bytes == scratch_bytes && step.undo_bytes == undo_bytes;
    step.scratch_bytes = scratch_bytes;
    step.undo_bytes = undo_bytes;
  }
  return {};
}

// Whether a node in XNNPACK that has something to compute has operands or results that are empty.
bool Executable::needs_plan_with_empty() const {
  const auto is_something_empty = [this](const std::vector<uint32_t>& ids) {
    return std::any_of(ids.begin(), ids.end(), [this](uint32_t id) { return id != kNone && is_empty(id); });
  };
  return std::any_of(plan_.steps.begin(), plan_.steps.end(), [&](const Step& step) {
    return is_in_xnnpack(step) &&
        !std::all_of(step.outputs.begin(), step.outputs.end(), [this](uint32_t id) { return is_empty(id); }) &&
        (is_something_empty(step.inputs) || is_something_empty(step.outputs));
  });
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
  settings.states = states_;
  settings.workspace = workspace_;
  settings.packed_weights = packed_weights_;
  settings.fuse_elementwise = fuse_elementwise_;
  settings.force_fp16 = !plan_.float16_of.empty();
  std::unique_ptr<Executable> executable(new Executable(blob_, /*named_data=*/nullptr, std::move(settings)));
  executable->empty_ = std::move(empty);
  Weights weights(executable->blob_, /*named_data=*/nullptr, packed_weights_);
  weights.add_known(known_);
  ETX_RETURN_IF_ERROR(executable->load(weights, pool_));
  with_empty_ = std::move(executable);
  return {};
}

void Executable::lay_out() {
  std::vector<Lifetime> pieces;
  std::vector<size_t> piece_of(plan_.root.size(), SIZE_MAX);
  const auto touch = [&](uint32_t id, size_t step) {
    const uint32_t root = plan_.root[id];
    if (places_[root] != Place::Arena) {
      return;
    }
    if (piece_of[root] == SIZE_MAX) {
      piece_of[root] = pieces.size();
      pieces.push_back({types_[root].bytes(), step, step});
    }
    pieces[piece_of[root]].last = step;
  };
  std::vector<size_t> scratch_of(steps_.size(), SIZE_MAX);
  std::vector<size_t> undo_of(steps_.size(), SIZE_MAX);
  for (size_t s = 0; s < steps_.size(); ++s) {
    for (const uint32_t id : plan_.steps[s].inputs) {
      if (id != kNone) {
        touch(id, s);
      }
    }
    for (const uint32_t id : plan_.steps[s].outputs) {
      touch(id, s);
    }
    if (steps_[s].scratch_bytes > 0) {
      scratch_of[s] = pieces.size();
      pieces.push_back({steps_[s].scratch_bytes, s, s});
    }
    if (steps_[s].undo_bytes > 0) {
      undo_of[s] = pieces.size();
      pieces.push_back({steps_[s].undo_bytes, s, steps_.size()});
    }
  }
  for (const Update& update : updates_) {
    touch(update.root, steps_.size());
  }
  const ArenaLayout layout = lay_out_arena(pieces);
  arena_bytes_ = layout.bytes;
  for (uint32_t id = 0; id < piece_of.size(); ++id) {
    if (piece_of[id] != SIZE_MAX) {
      arena_offsets_[id] = layout.offsets[piece_of[id]];
    }
  }
  for (size_t s = 0; s < steps_.size(); ++s) {
    steps_[s].scratch_offset = scratch_of[s] == SIZE_MAX ? 0 : layout.offsets[scratch_of[s]];
    steps_[s].undo_offset = undo_of[s] == SIZE_MAX ? 0 : layout.offsets[undo_of[s]];
  }
}

// Others that share the memory may have moved it.
Status Executable::reserve_memory() {
  if (shrink_memory_ && !is_bound_) {
    if (arena_bytes_ < most_bytes_ / 2) {
      workspace_->release();
      most_bytes_ = 0;
    }
    most_bytes_ = std::max(most_bytes_, arena_bytes_);
  }
  ETX_RETURN_IF_ERROR(workspace_->reserve(arena_bytes_));
  is_bound_ = is_bound_ && arena_ == workspace_->arena();
  arena_ = workspace_->arena();
  return {};
}

Status Executable::bind(Span<const void* const> inputs, Span<void* const> outputs) {
  is_bound_ = false;
  for (uint32_t id = 0; id < places_.size(); ++id) {
    if (places_[id] == Place::Arena) {
      data_[id] = workspace_->arena() + arena_offsets_[id];
    }
  }
  ETX_RETURN_IF_ERROR(bind_inputs(inputs));
  ETX_RETURN_IF_ERROR(bind_outputs(inputs, outputs));
  for (uint32_t id = 0; id < data_.size(); ++id) {
    data_[id] = data_[plan_.root[id]];
  }
  bind_steps();
  input_data_.assign(inputs.begin(), inputs.end());
  output_data_.assign(outputs.begin(), outputs.end());
  is_bound_ = true;
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
    stage.active = bytes > 0 && read_by_xnnpack_[id] && !is_tail_readable(inputs[i], bytes);
    if (stage.active && stage.buffer.size() < bytes) {
      ETX_ASSIGN_OR_RETURN(stage.buffer, Buffer::allocate(bytes));
    }
    data_[id] = stage.active ? stage.buffer.data() : static_cast<char*>(const_cast<void*>(inputs[i]));
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
    Stage& stage = output_stages_[i];
    stage.active = bytes > 0 &&
        (overlaps_inputs(outputs[i], bytes, inputs) ||
         (read_by_xnnpack_[root] && !is_tail_readable(outputs[i], bytes)));
    if (stage.active && stage.buffer.size() < bytes) {
      ETX_ASSIGN_OR_RETURN(stage.buffer, Buffer::allocate(bytes));
    }
  }
  for (const size_t i : direct_outputs_) {
    data_[output_root(i)] = output_data(i, outputs);
  }
  return {};
}

void Executable::bind_steps() {
  for (size_t s = 0; s < steps_.size(); ++s) {
    RunnableStep& step = steps_[s];
    const Step& planned = plan_.steps[s];
    for (size_t k = 0; k < step.inputs.size(); ++k) {
      const uint32_t id = planned.inputs[k];
      const bool reads_value = id != kNone && (step.kernel == nullptr || !step.consumed[k]);
      step.inputs[k] = step.kernel != nullptr && step.packed[k].data != nullptr ? step.packed[k].data
          : reads_value                                                         ? data_[id]
                                                                                : nullptr;
    }
    std::transform(planned.outputs.begin(), planned.outputs.end(), step.outputs.begin(), [this](uint32_t id) {
      return data_[id];
    });
  }
}

KernelArguments Executable::kernel_arguments(const RunnableStep& step, Status* status) const {
  return {
      {step.inputs.data(), step.inputs.size()},
      {const_cast<void**>(step.outputs.data()), step.outputs.size()},
      workspace_->arena() + step.scratch_offset,
      pool_,
      status,
      step.undo_bytes == 0 ? nullptr : workspace_->arena() + step.undo_offset};
}

Status Executable::run_step(size_t s) {
  RunnableStep& step = steps_[s];
  if (step.is_empty) {
    return {};
  }
  if (step.conversion.has_value()) {
    return step.conversion->run(step.inputs.front(), step.outputs.front(), pool_);
  }
  Status status;
  if (step.fused != nullptr) {
    step.fused->run(kernel_arguments(step, &status));
    return {};
  }
  step.kernel->run(kernel_arguments(step, &status));
  return status.ok() ? status : std::move(status).in(blob_.describe(plan_.steps[s].nodes.front()));
}

Status Executable::run_steps(Profiler* profiler) {
  for (size_t s = 0; s < steps_.size(); ++s) {
    size_t written = s; // steps that have run
    Status status = guarded([&]() -> Status {
      const et_timestamp_t start = profiler == nullptr ? 0 : et_pal_current_ticks();
      ETX_RETURN_IF_ERROR(run_step(s));
      ++written;
      if (profiler != nullptr && !steps_[s].is_empty && !plan_.steps[s].nodes.empty()) {
        profiler->record(view(plan_.steps[s].nodes), start, et_pal_current_ticks());
      }
      return {};
    });
    if (status.ok()) {
      continue;
    }
    while (written-- > 0) {
      if (steps_[written].writes_state && !steps_[written].is_empty) {
        steps_[written].kernel->undo(kernel_arguments(steps_[written], nullptr));
      }
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
  if (!is_bound_ || !std::equal(inputs.begin(), inputs.end(), input_data_.begin()) ||
      !std::equal(outputs.begin(), outputs.end(), output_data_.begin())) {
    ETX_RETURN_IF_ERROR(bind(inputs, outputs));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (input_stages_[i].active) {
      std::memcpy(input_stages_[i].buffer.data(), inputs[i], types_[input_value(i)].bytes());
    }
  }
  ETX_RETURN_IF_ERROR(run_steps(profiler));
  for (const CopyOut& copy : copies_out_) {
    if (types_[copy.root].bytes() > 0) {
      std::memmove(output_data(copy.output, outputs), data_[copy.root], types_[copy.root].bytes());
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (output_stages_[i].active) {
      std::memcpy(outputs[i], output_stages_[i].buffer.data(), types_[output_root(i)].bytes());
    }
  }
  for (const Update& update : updates_) {
    if (types_[update.state].bytes() > 0) {
      std::memcpy(data_[update.state], data_[update.root], types_[update.state].bytes());
    }
  }
  return {};
}

} // namespace executorch::backends::et_xnnpack
