// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "runnable_step.h"

#include <algorithm>
#include <array>

#include "pass.h"
#include "runtime/weights/node_constants.h"

namespace executorch::backends::et_xnnpack {
namespace {

// A pass that takes what a kernel makes as its first input.
class PassTail final : public Tail {
 public:
  PassTail(const FusedElementwise& pass, const KernelArguments& arguments) : pass_(pass), arguments_(arguments) {
    pass_.begin_parts(arguments_);
  }
  ~PassTail() override {
    pass_.end_parts(arguments_);
  }
  void take(size_t thread, size_t first, size_t count, const float* elements) const override {
    pass_.run_part(arguments_, thread, first, count, /*streamed=*/0, elements);
  }

 private:
  const FusedElementwise& pass_;
  const KernelArguments& arguments_;
};

// The first node of a step, or of a part of one, with what it reads there. Kernels in Float16 are told so when they are made,
// and know their operands as the program has them.
BoundNode bound(const PlannedGraph& graph, const Step& step) {
  if (graph.plan.choices[step.nodes.front()].float16) {
    return BoundNode(graph.blob, step.nodes.front(), graph.types, graph.sizes);
  }
  const Span<const uint32_t> inputs{step.inputs.data(), step.inputs.size()};
  return BoundNode(graph.blob, step.nodes.front(), inputs, graph.types, graph.sizes);
}

// Whether a size of an input, or one that is found, may be 0. Others that depend on them seldom are.
bool may_find_nothing(const Blob& blob) {
  const auto* const ranges = blob.graph().ranges();
  return ranges != nullptr &&
      std::any_of(ranges->begin(), ranges->end(), [](const schema::DimRange* range) { return range->min() <= 0; });
}

// Where the inputs of the pass begin among those of the step.
size_t first_of_pass(const Step& step) {
  if (step.kind != Step::Kind::Led) {
    return 0;
  }
  const auto end = std::find(step.inputs.rbegin(), step.inputs.rend(), kNone).base();
  return static_cast<size_t>(end - step.inputs.begin()) - 1;
}

std::unique_ptr<FusedElementwise> pass_of(const PlannedGraph& graph, const Step& step) {
  const size_t first = first_of_pass(step);
  const Span<const uint32_t> inputs{step.inputs.data() + first, step.inputs.size() - first};
  return make_pass(graph.blob, graph.plan, graph.types, graph.sizes, step, inputs);
}

// Returns the bytes of scratch memory that the pass needs by itself.
size_t reshape_pass(const PlannedGraph& graph, const Step& step, FusedElementwise& pass, size_t num_threads) {
  const uint32_t result = graph.blob.node(step.nodes.front()).outputs()->Get(0);
  const size_t first = first_of_pass(step), count = step.inputs.size() - first;
  std::array<Shape, FusedElementwise::kMaxInputs> inputs;
  std::transform(step.inputs.begin() + first, step.inputs.end(), inputs.begin(), [&](uint32_t id) {
    return graph.types[id == kNone ? result : id].shape;
  });
  return pass.reshape({inputs.data(), count}, graph.types[result].shape, num_threads);
}

} // namespace

RunnableStep::RunnableStep(const Step& step)
    : step_(step), inputs_(step.inputs.size()), input_data_(step.inputs.size()), output_data_(step.outputs.size()) {}

Status RunnableStep::load(
    const PlannedGraph& graph, const std::vector<bool>& empty, Weights& weights, std::vector<PackingTask>& packing) {
  find_wave(graph);
  switch (step_.kind) {
    case Step::Kind::Kernel:
    case Step::Kind::Led: {
      is_in_xnnpack_ = graph.plan.choices[step_.nodes.front()].kind == Choice::Kind::Xnnpack;
      const auto is_always_empty = [&empty](uint32_t id) { return id < empty.size() && empty[id]; };
      if (!finds_size_ && std::all_of(step_.outputs.begin(), step_.outputs.end(), is_always_empty)) {
        return {};
      }
      if (step_.kind == Step::Kind::Led) {
        pass_ = pass_of(graph, step_);
      }
      return load_kernel(graph, weights, packing);
    }
    case Step::Kind::Strips:
      is_in_xnnpack_ = true;
      return load_strips(graph, weights, packing);
    case Step::Kind::Fused:
      pass_ = pass_of(graph, step_);
      return {};
    case Step::Kind::Convert: {
      is_in_xnnpack_ = true;
      const bool to_float16 = step_.outputs.front() >= graph.blob.num_values();
      ETX_ASSIGN_OR_RETURN(
          conversion_,
          FloatConversion::create(to_float16 ? FloatConversion::To::Float16 : FloatConversion::To::Float32));
      return {};
    }
  }
  return {};
}

void RunnableStep::find_wave(const PlannedGraph& graph) {
  const Blob& blob = graph.blob;
  const Waves& waves = blob.waves();
  for (const uint32_t node : step_.nodes) {
    finds_size_ = finds_size_ || size_to_find(blob.node(node)) != nullptr;
    wave_ = std::max(wave_, waves.of_node(node));
    if (wave_ > 0 && waves.finder(wave_) == node) {
      begun_wave_ = wave_;
    }
  }
  if (begun_wave_ == 0 && !step_.nodes.empty()) {
    return;
  }
  wave_ = 0;
  for (const uint32_t id : step_.inputs) {
    wave_ = std::max(wave_, id == kNone ? 0 : wave_of(graph.plan, blob, id));
  }
}

Status RunnableStep::load_kernel(const PlannedGraph& graph, Weights& weights, std::vector<PackingTask>& packing) {
  const uint32_t node = step_.nodes.front();
  kernel_ = graph.plan.choices[node].make(bound(graph, step_).context());
  if (kernel_ == nullptr) {
    return failure(Error::NotSupported, "this runtime cannot compute it for these operands")
        .in(graph.blob.describe(node));
  }
  return pack_constants(graph, step_, 0, *kernel_, weights, packing);
}

Status RunnableStep::load_strips(const PlannedGraph& graph, Weights& weights, std::vector<PackingTask>& packing) {
  size_t first_input = 0;
  for (const Step& part : step_.parts) {
    StripPart& runnable = strip_parts_.emplace_back();
    runnable.kernel = graph.plan.choices[part.nodes.front()].make_for_strips(bound(graph, part).context());
    runnable.first_input = first_input;
    runnable.first_of_pass = first_input + part.inputs.size();
    if (part.kind == Step::Kind::Led) {
      runnable.pass = pass_of(graph, part);
      runnable.first_of_pass = first_input + first_of_pass(part);
    }
    ETX_RETURN_IF_ERROR(pack_constants(graph, part, first_input, *runnable.kernel, weights, packing));
    first_input += part.inputs.size();
  }
  return {};
}

// Adds tasks that pack the constants of the first node of `part`, whose operands begin so far behind those of the step.
Status RunnableStep::pack_constants(
    const PlannedGraph& graph,
    const Step& part,
    size_t first_input,
    Kernel& kernel,
    Weights& weights,
    std::vector<PackingTask>& packing) {
  const uint32_t node = part.nodes.front();
  const BoundNode known = bound(graph, part);
  const NodeContext& context = known.context();
  for (size_t k = 0; k < context.num_inputs(); ++k) {
    if (!context.has_input(k) || !context.is_constant(k)) {
      continue;
    }
    Input& input = inputs_[first_input + k];
    input.consumed = kernel.consumes(context, k);
    const bool is_kept = (kernel.rounds(context, k) && graph.blob.graph().exprs() != nullptr) ||
        (kernel.loads_always(context, k) && may_find_nothing(graph.blob));
    if (is_kept) {
      // Where values turn out to be empty it is read in Float32, or by another kernel like this one.
      ETX_RETURN_IF_ERROR(Status(weights.constant(graph.blob.node(node).inputs()->Get(k)).status()));
    }
    if (kernel.packed_layout(context, k).has_value()) {
      packing.push_back([node, k, graph, &part, &input, &kernel, &weights]() -> Status {
        const BoundNode again = bound(graph, part);
        NodeConstants constants(weights, graph.blob.node(node));
        ETX_ASSIGN_OR_RETURN(input.packed, pack_operand(kernel, again.context(), k, constants));
        return {};
      });
    }
  }
  if (is_in_xnnpack_) {
    packing.push_back([node, graph, &kernel, &weights] {
      const BoundNode again(graph.blob, node, graph.types, graph.sizes);
      NodeConstants constants(weights, graph.blob.node(node));
      return kernel.load(again.context(), constants).in(graph.blob.describe(node));
    });
  }
  return {};
}

bool RunnableStep::reads(size_t k) const {
  const bool computes = kernel_ != nullptr || pass_ != nullptr || !strip_parts_.empty() || conversion_.has_value();
  return computes && step_.inputs[k] != kNone && inputs_[k].packed.data == nullptr && !inputs_[k].consumed;
}

Status RunnableStep::reshape(const PlannedGraph& graph, bool same_types, pthreadpool_t pool, size_t num_threads) {
  is_idle_ = !finds_size_ && std::all_of(step_.outputs.begin(), step_.outputs.end(), [&graph](uint32_t id) {
    return graph.types[id].shape.numel() == 0;
  });
  if (is_idle_ || (same_types && !depends_on_sizes_)) {
    return {};
  }
  if (conversion_.has_value()) {
    depends_on_sizes_ = false;
    return conversion_->reshape(graph.types[step_.outputs.front()].shape.numel(), pool);
  }
  if (!strip_parts_.empty()) {
    depends_on_sizes_ = false;
    return reshape_strips(graph, num_threads);
  }
  if (kernel_ == nullptr) {
    scratch_bytes_ = reshape_pass(graph, step_, *pass_, num_threads);
    depends_on_sizes_ = false;
    return {};
  }
  (void)graph.sizes.take_asked();
  ETX_ASSIGN_OR_RETURN(scratch_bytes_, reshape_kernel(graph, pool, num_threads));
  if (pass_ != nullptr) {
    reshape_pass(graph, step_, *pass_, num_threads);
    pass_scratch_ = round_up_to_alignment(kernel_->scratch_with_tail(num_threads));
    scratch_bytes_ = pass_scratch_ + pass_->parts_bytes(num_threads);
  }
  depends_on_sizes_ = graph.sizes.take_asked();
  undo_bytes_ = writes_state_ ? kernel_->undo_bytes() : 0;
  return {};
}

StatusOr<size_t> RunnableStep::reshape_kernel(const PlannedGraph& graph, pthreadpool_t pool, size_t num_threads) {
  const BoundNode node = bound(graph, step_);
  kernel_->use_pool(pool);
  StatusOr<size_t> scratch = kernel_->reshape(node.context(), num_threads);
  if (!scratch.ok()) {
    return Status(scratch.status()).in(graph.blob.describe(step_.nodes.front()));
  }
  return scratch;
}

Status RunnableStep::reshape_strips(const PlannedGraph& graph, size_t num_threads) {
  std::vector<StripChain::Member> members;
  size_t window = 0;
  for (size_t m = 0; m < strip_parts_.size(); ++m) {
    const Step& part = step_.parts[m];
    const uint32_t node = part.nodes.front();
    const BoundNode known = bound(graph, part);
    const NodeContext& context = known.context();
    Kernel& kernel = *strip_parts_[m].kernel;
    ETX_RETURN_IF_ERROR_IN(kernel.reshape_strips(context, num_threads), graph.blob.describe(node));
    if (strip_parts_[m].pass != nullptr) {
      reshape_pass(graph, part, *strip_parts_[m].pass, num_threads);
    }
    const TensorType& input = context.input(0);
    members.push_back(
        {&kernel, input.shape, context.output().shape, element_size(input.storage()), strip_parts_[m].pass.get()});
    window = graph.plan.choices[node].has_window ? m : window;
  }
  chain_.reshape(std::move(members), window, num_threads, Caches::get());
  scratch_bytes_ = chain_.scratch_bytes();
  return {};
}

void RunnableStep::bind(const std::vector<char*>& data) {
  for (size_t k = 0; k < inputs_.size(); ++k) {
    const uint32_t id = step_.inputs[k];
    const Input& input = inputs_[k];
    input_data_[k] = input.packed.data != nullptr ? input.packed.data
        : id == kNone || input.consumed           ? nullptr
                                                  : data[id];
  }
  std::transform(
      step_.outputs.begin(), step_.outputs.end(), output_data_.begin(), [&data](uint32_t id) { return data[id]; });
}

KernelArguments RunnableStep::arguments(char* arena, pthreadpool_t pool, Status* status) const {
  return {
      {input_data_.data(), input_data_.size()},
      {const_cast<void**>(output_data_.data()), output_data_.size()},
      arena + scratch_offset_,
      pool,
      status,
      undo_bytes_ == 0 ? nullptr : arena + undo_offset_};
}

StatusOr<size_t> RunnableStep::find_size(char* arena, pthreadpool_t pool) {
  Status status;
  const size_t found = kernel_->find_size(arguments(arena, pool, &status));
  if (!status.ok()) {
    return status;
  }
  return found;
}

Status RunnableStep::run(char* arena, pthreadpool_t pool) {
  if (is_idle_) {
    return {};
  }
  if (conversion_.has_value()) {
    return conversion_->run(input_data_.front(), output_data_.front(), pool);
  }
  Status status;
  const KernelArguments all = arguments(arena, pool, &status);
  if (!strip_parts_.empty()) {
    run_strips(all);
  } else if (kernel_ == nullptr) {
    pass_->run(all);
  } else if (pass_ == nullptr) {
    kernel_->run(all);
  } else {
    run_led(all);
  }
  return status;
}

// REQUIRES: a Led step
void RunnableStep::run_led(const KernelArguments& all) const {
  const size_t first = first_of_pass(step_);
  KernelArguments kernel = all, pass = all;
  kernel.inputs = {all.inputs.data(), first};
  kernel.outputs = {};
  pass.inputs = {all.inputs.data() + first, all.inputs.size() - first};
  pass.scratch = static_cast<char*>(all.scratch) + pass_scratch_;
  kernel_->run_into(kernel, PassTail(*pass_, pass));
}

void RunnableStep::run_strips(const KernelArguments& all) {
  std::array<StripChain::Arguments, StripChain::kMaxMembers> members;
  size_t end = all.inputs.size();
  for (size_t m = strip_parts_.size(); m-- > 0;) {
    const StripPart& part = strip_parts_[m];
    members[m] = {all, all};
    members[m].kernel.inputs = {all.inputs.data() + part.first_input, part.first_of_pass - part.first_input};
    members[m].tail.inputs = {all.inputs.data() + part.first_of_pass, end - part.first_of_pass};
    end = part.first_input;
  }
  chain_.run({members.data(), strip_parts_.size()}, static_cast<char*>(all.scratch), all.pool);
}

void RunnableStep::undo(char* arena, pthreadpool_t pool) {
  if (writes_state_ && !is_idle_) {
    kernel_->undo(arguments(arena, pool, nullptr));
  }
}

} // namespace executorch::backends::et_xnnpack
