// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "executable.h"

#include <algorithm>
#include <cstring>

#include <executorch/runtime/platform/platform.h>

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
    ETX_ASSIGN_OR_RETURN(settings.workspace, Workspace::create());
  }
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

  read_by_xnnpack_.resize(blob_.num_values());
  arena_offsets_.resize(blob_.num_values());
  data_.resize(blob_.num_values());
  input_data_.resize(blob_.num_inputs());
  output_data_.resize(blob_.num_outputs());
  input_stages_.resize(blob_.num_inputs());
  output_stages_.resize(blob_.num_outputs());

  std::vector<PackingTask> packing;
  for (const Step& step : plan_.steps) {
    ETX_RETURN_IF_ERROR(load_step(step, sizes, weights, packing, pool));
  }
  ETX_RETURN_IF_ERROR(weights.run(packing, pool));
  if (force_fp16_ && num_half_ == 0 && without_half_.empty()) {
    without_half_ = "no product of float32 runs in XNNPACK";
  }
  place_values();
  ETX_RETURN_IF_ERROR(load_states(weights));
  ETX_RETURN_IF_ERROR(load_constants(weights));
  constants_ = std::move(weights).take_kept();
  return {};
}

Status Executable::load_step(
    const Step& step, const Sizes& sizes, Weights& weights, std::vector<PackingTask>& packing, pthreadpool_t pool) {
  RunnableStep runnable;
  if (step.kind == Step::Kind::Xnnpack) {
    ETX_ASSIGN_OR_RETURN(Segment segment, load_segment(step, sizes, weights, packing, pool));
    runnable.segment = std::make_unique<Segment>(std::move(segment));
    for (const uint32_t id : step.inputs) {
      read_by_xnnpack_[plan_.root[id]] = true;
    }
    for (const uint32_t id : step.outputs) {
      read_by_xnnpack_[id] = true; // by a later node of the same step
    }
  } else if (step.kind == Step::Kind::Fused) {
    runnable.fused = fuse(step, sizes);
    runnable.inputs.resize(step.inputs.size());
    runnable.outputs.resize(step.outputs.size());
  } else if (const auto& outputs = *blob_.node(step.nodes.front()).outputs(); empty_.empty() ||
             !std::all_of(outputs.begin(), outputs.end(), [this](uint32_t id) { return empty_[id]; })) {
    const size_t node = step.nodes.front();
    const BoundNode bound(blob_, node, view(types_), sizes);
    runnable.kernel = plan_.choices[node].make(bound.context());
    if (runnable.kernel == nullptr) {
      return failure(Error::NotSupported, "this runtime cannot compute it for these operands").in(blob_.describe(node));
    }
    const NodeContext& context = bound.context();
    runnable.inputs.resize(context.num_inputs());
    runnable.packed.resize(context.num_inputs());
    for (size_t k = 0; k < context.num_inputs(); ++k) {
      if (context.has_input(k) && context.is_constant(k) && runnable.kernel->packed_layout(context, k).has_value()) {
        const uint32_t value = blob_.node(node).inputs()->Get(static_cast<uint32_t>(k));
        packing.push_back([this, node, s = steps_.size(), k, value, &sizes, &weights]() -> Status {
          const BoundNode again(blob_, node, view(types_), sizes);
          ETX_ASSIGN_OR_RETURN(steps_[s].packed[k], weights.pack(value, *steps_[s].kernel, again.context(), k));
          return {};
        });
      }
    }
    runnable.outputs.resize(bound.context().num_outputs());
  }
  steps_.push_back(std::move(runnable));
  return {};
}

StatusOr<Segment> Executable::load_segment(
    const Step& step, const Sizes& sizes, Weights& weights, std::vector<PackingTask>& packing, pthreadpool_t pool) {
  if (force_fp16_ && !Cpu::get().float16) {
    without_half_ = "this CPU has no float16";
  } else if (force_fp16_ && Segment::gains_by_half(blob_, step, plan_.choices)) {
    // XNNPACK refuses, for example, a clamp whose limits are the same number in float16, maybe not before it packs.
    std::vector<PackingTask> tasks;
    StatusOr<Segment> segment = Segment::create(
        blob_,
        step,
        plan_.choices,
        view(types_),
        sizes,
        weights,
        workspace_->xnnpack(),
        tasks,
        {/*half=*/true, profile_});
    const Status status = segment.ok() ? weights.run(tasks, pool) : segment.status();
    if (status.ok()) {
      ++num_half_;
      return segment;
    }
    if (status.code() != Error::Internal) {
      return status;
    }
    without_half_ = status.message();
  }
  return Segment::create(
      blob_,
      step,
      plan_.choices,
      view(types_),
      sizes,
      weights,
      workspace_->xnnpack(),
      packing,
      {/*half=*/false, profile_});
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
  if (steps_[s].kernel == nullptr) {
    return steps_[s].segment != nullptr || steps_[s].fused != nullptr;
  }
  const auto& inputs = *blob_.node(plan_.steps[s].nodes.front()).inputs();
  for (uint32_t k = 0; k < inputs.size(); ++k) {
    if (inputs.Get(k) == value && steps_[s].packed[k] == nullptr) {
      return true;
    }
  }
  return false;
}

void Executable::place_values() {
  places_.assign(blob_.num_values(), Place::Nowhere);
  const auto place_constant = [this](uint32_t root) {
    if (blob_.is_constant(root)) {
      places_[root] = Place::Constant;
    }
  };
  for (size_t s = 0; s < steps_.size(); ++s) {
    for (const uint32_t id : plan_.steps[s].inputs) {
      if (reads(s, id)) {
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
  ETX_ASSIGN_OR_RETURN(const void* data, weights.constant(value, SubgraphBuilder::Use::Kept));
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
  const bool same_types = same_threads && *types == types_;
  types_ = std::move(*types);
  with_empty_is_next_ = false;
  if (needs_plan_with_empty()) {
    ETX_RETURN_IF_ERROR(plan_with_empty());
    ETX_RETURN_IF_ERROR(with_empty_->reshape(inputs, pool_));
    with_empty_is_next_ = true;
    return {};
  }
  bool same_memory = true;
  ETX_RETURN_IF_ERROR(reshape_steps(sizes, &same_memory));
  if (same_types && same_memory) {
    return {}; // only integers have changed, which XNNPACK does not see
  }
  is_planned_ = is_bound_ = false;
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

Status Executable::reshape_steps(const Sizes& sizes, bool* same_memory) {
  for (size_t s = 0; s < steps_.size(); ++s) {
    RunnableStep& step = steps_[s];
    const std::vector<uint32_t>& outputs = plan_.steps[s].outputs;
    step.is_empty = std::all_of(outputs.begin(), outputs.end(), [this](uint32_t id) { return is_empty(id); });
    if (step.kernel != nullptr && !step.is_empty) {
      const size_t node = plan_.steps[s].nodes.front();
      const BoundNode bound(blob_, node, view(types_), sizes);
      StatusOr<size_t> scratch = step.kernel->reshape(bound.context(), num_threads_);
      if (!scratch.ok()) {
        return Status(scratch.status()).in(blob_.describe(node));
      }
      const size_t undo = step.writes_state ? step.kernel->undo_bytes() : 0;
      *same_memory = *same_memory && step.scratch_bytes == *scratch && step.undo_bytes == undo;
      step.scratch_bytes = *scratch;
      step.undo_bytes = undo;
    }
    if (step.fused != nullptr && !step.is_empty) {
      std::array<Shape, FusedElementwise::kMaxInputs> inputs;
      std::transform(plan_.steps[s].inputs.begin(), plan_.steps[s].inputs.end(), inputs.begin(), [this](uint32_t id) {
        return types_[id].shape;
      });
      const uint32_t result = blob_.node(plan_.steps[s].nodes.front()).outputs()->Get(0);
      const size_t scratch =
          step.fused->reshape({inputs.data(), plan_.steps[s].inputs.size()}, types_[result].shape, num_threads_);
      *same_memory = *same_memory && step.scratch_bytes == scratch;
      step.scratch_bytes = scratch;
    }
  }
  return {};
}

// Whether a segment that has something to compute has operands or results that are empty.
bool Executable::needs_plan_with_empty() const {
  const auto has_empty = [this](const flatbuffers::Vector<uint32_t>& ids) {
    return std::any_of(ids.begin(), ids.end(), [this](uint32_t id) { return id != kNone && is_empty(id); });
  };
  return std::any_of(plan_.steps.begin(), plan_.steps.end(), [&](const Step& step) {
    return step.kind == Step::Kind::Xnnpack &&
        !std::all_of(step.outputs.begin(), step.outputs.end(), [this](uint32_t id) { return is_empty(id); }) &&
        std::any_of(step.nodes.begin(), step.nodes.end(), [&](uint32_t node) {
             return has_empty(*blob_.node(node).inputs()) || has_empty(*blob_.node(node).outputs());
           });
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
  settings.force_fp16 = num_half_ > 0;
  settings.profile = profile_;
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
  std::vector<size_t> piece_of(blob_.num_values(), SIZE_MAX);
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
      touch(id, s);
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
  for (uint32_t id = 0; id < blob_.num_values(); ++id) {
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
  if (!is_planned_ && shrink_memory_) {
    size_t bytes = 0;
    for (uint32_t id = 0; id < blob_.num_values(); ++id) {
      bytes += blob_.is_constant(id) ? 0 : types_[id].bytes();
    }
    if (bytes < most_bytes_ / 2) {
      workspace_->release();
      most_bytes_ = 0;
    }
    most_bytes_ = std::max(most_bytes_, bytes);
  }
  ETX_RETURN_IF_ERROR(workspace_->reserve(arena_bytes_));
  is_planned_ = is_planned_ && generation_ == workspace_->generation();
  is_bound_ = is_bound_ && is_planned_ && arena_ == workspace_->arena();
  generation_ = workspace_->generation();
  arena_ = workspace_->arena();
  return {};
}

Status Executable::bind(Span<const void* const> inputs, Span<void* const> outputs) {
  is_bound_ = false;
  for (uint32_t id = 0; id < blob_.num_values(); ++id) {
    if (places_[id] == Place::Arena) {
      data_[id] = workspace_->arena() + arena_offsets_[id];
    }
  }
  ETX_RETURN_IF_ERROR(bind_inputs(inputs));
  ETX_RETURN_IF_ERROR(bind_outputs(inputs, outputs));
  for (uint32_t id = 0; id < blob_.num_values(); ++id) {
    data_[id] = data_[plan_.root[id]];
  }
  ETX_RETURN_IF_ERROR(bind_steps());
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

void Executable::forget_plans() {
  for (RunnableStep& step : steps_) {
    if (step.segment != nullptr) {
      step.segment->forget_plan();
    }
  }
}

Status Executable::bind_steps() {
  if (!is_planned_) {
    forget_plans();
  }
  for (size_t s = 0; s < steps_.size(); ++s) {
    RunnableStep& step = steps_[s];
    if (step.is_empty) {
      continue;
    }
    if (step.segment != nullptr) {
      const Span<char* const> data{data_.data(), data_.size()};
      const Status status =
          is_planned_ ? step.segment->set_data(data) : step.segment->reshape(view(types_), data, pool_);
      if (!status.ok()) {
        is_planned_ = false;
        forget_plans();
        return Status(status).in(blob_.describe(plan_.steps[s].nodes.front()) + " and following");
      }
      continue;
    }
    if (step.fused != nullptr) {
      const auto address = [this](uint32_t id) { return data_[id]; };
      const Step& planned = plan_.steps[s];
      std::transform(planned.inputs.begin(), planned.inputs.end(), step.inputs.begin(), address);
      std::transform(planned.outputs.begin(), planned.outputs.end(), step.outputs.begin(), address);
      continue;
    }
    const schema::Node& node = blob_.node(plan_.steps[s].nodes.front());
    for (uint32_t k = 0; k < step.inputs.size(); ++k) {
      const uint32_t id = node.inputs()->Get(k);
      step.inputs[k] = id == kNone ? nullptr : step.packed[k] != nullptr ? step.packed[k]->data : data_[id];
    }
    for (uint32_t k = 0; k < step.outputs.size(); ++k) {
      step.outputs[k] = data_[node.outputs()->Get(k)];
    }
  }
  is_planned_ = true;
  return {};
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
  if (step.segment != nullptr) {
    return step.segment->run();
  }
  Status status;
  if (step.fused != nullptr) {
    step.fused->run(kernel_arguments(step, &status));
    return {};
  }
  step.kernel->run(kernel_arguments(step, &status));
  return status.ok() ? status : std::move(status).in(blob_.describe(plan_.steps[s].nodes.front()));
}

void Executable::record(size_t s, et_timestamp_t start, Profiler& profiler) const {
  const std::vector<uint32_t>& nodes = plan_.steps[s].nodes;
  if (steps_[s].segment == nullptr) {
    profiler.record(view(nodes), start, et_pal_current_ticks());
    return;
  }
  const et_tick_ratio_t ratio = et_pal_ticks_to_ns_multiplier();
  et_timestamp_t last = start;
  const std::vector<uint64_t> ends = steps_[s].segment->node_ends();
  for (size_t i = 0; i < ends.size(); ++i) {
    const et_timestamp_t end = start + ends[i] * ratio.denominator / ratio.numerator;
    profiler.record({&nodes[i], 1}, last, end);
    last = end;
  }
}

Status Executable::run_steps(Profiler* profiler) {
  for (size_t s = 0; s < steps_.size(); ++s) {
    size_t written = s; // steps that have run
    Status status = guarded([&]() -> Status {
      const et_timestamp_t start = profiler == nullptr ? 0 : et_pal_current_ticks();
      ETX_RETURN_IF_ERROR(run_step(s));
      ++written;
      if (profiler != nullptr && !steps_[s].is_empty) {
        record(s, start, *profiler);
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
