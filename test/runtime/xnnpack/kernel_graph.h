// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// A graph without states, run node by node: what XNNPACK has by its kernel for the node, all else by ours. Every value has
// memory of its own.

#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <runtime/kernels/common/parallel.h>
#include <runtime/program/blob.h>
#include <runtime/weights/node_constants.h>
#include <runtime/weights/weights.h>

namespace executorch::backends::et_xnnpack::testing {

class KernelGraph {
 public:
  // All must outlive this. `shared` and `file` may be null.
  KernelGraph(Blob blob, const NamedDataMap* data, PackedWeights* shared = nullptr, PackedFile* file = nullptr)
      : blob_(std::move(blob)) {
    const Status status = load(data, shared, file);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  // How many nodes XNNPACK computes.
  size_t num_in_xnnpack() const {
    return num_in_xnnpack_;
  }

  Status reshape(Span<const ArgumentSize> inputs, pthreadpool_t pool) {
    pool_ = pool;
    ETX_ASSIGN_OR_RETURN(const Sizes sizes, evaluate_sizes(blob_.graph(), inputs));
    ETX_ASSIGN_OR_RETURN(types_, infer_types(blob_, sizes));
    const size_t num_threads = threads_of(pool);
    size_t scratch_bytes = 0;
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].kernel != nullptr && !is_empty(i)) {
        const BoundNode node(blob_, i, span_of(types_), sizes);
        steps_[i].kernel->use_pool(pool);
        ETX_ASSIGN_OR_RETURN(const size_t bytes, steps_[i].kernel->reshape(node.context(), num_threads));
        scratch_bytes = std::max(scratch_bytes, bytes);
      }
    }
    ETX_ASSIGN_OR_RETURN(scratch_, Buffer::allocate(scratch_bytes));
    std::memset(scratch_.data(), 0x7f, scratch_bytes + kTailBytes);
    memory_.clear();
    memory_.resize(types_.size());
    for (uint32_t id = 0; id < types_.size(); ++id) {
      if (!blob_.is_constant(id)) {
        ETX_ASSIGN_OR_RETURN(memory_[id], Buffer::allocate(types_[id].bytes()));
        data_[id] = memory_[id].data();
      }
    }
    bind();
    return {};
  }

  Status run(Span<const void* const> inputs) {
    for (size_t i = 0; i < blob_.num_inputs(); ++i) {
      const uint32_t id = blob_.graph().inputs()->Get(static_cast<uint32_t>(i))->value();
      if (id != kNone) {
        std::memcpy(data_[id], inputs[i], types_[id].bytes());
      }
    }
    return compute();
  }

  // With the inputs of the last run().
  Status compute() {
    Status status;
    for (size_t i = 0; i < steps_.size() && status.ok(); ++i) {
      const Step& step = steps_[i];
      if (step.kernel != nullptr && !is_empty(i)) {
        step.kernel->run(
            {{step.inputs.data(), step.inputs.size()},
             {step.outputs.data(), step.outputs.size()},
             scratch_.data(),
             pool_,
             &status});
      }
    }
    return status;
  }

  std::vector<uint8_t> output(size_t i) const {
    const uint32_t id = blob_.graph().outputs()->Get(static_cast<uint32_t>(i))->value();
    const auto* data = static_cast<const uint8_t*>(data_[id]);
    return {data, data + types_[id].bytes()};
  }

 private:
  struct Step {
    std::unique_ptr<Kernel> kernel; // null: a view
    std::vector<PackedMemory> packed; // by input
    std::vector<bool> consumed; // by input
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
  };

  static Span<const TensorType> span_of(const std::vector<TensorType>& types) {
    return {types.data(), types.size()};
  }

  Status load(const NamedDataMap* data, PackedWeights* shared, PackedFile* file) {
    ETX_ASSIGN_OR_RETURN(const Sizes sizes, planned_sizes(blob_.graph()));
    ETX_ASSIGN_OR_RETURN(types_, infer_types(blob_, sizes));
    data_.resize(types_.size());
    Weights weights(blob_, data, shared, file);
    for (size_t i = 0; i < blob_.num_nodes(); ++i) {
      const BoundNode bound(blob_, i, span_of(types_), sizes);
      const NodeContext& node = bound.context();
      const OpImpl& op = op_impl(blob_.node(i).attributes_type());
      Step step;
      Cpu cpu = Cpu::get();
      cpu.blocks = Cpu::Blocks(); // XNNPACK's are tested here
      cpu.int8_arithmetic_in_rows = cpu.float32_windows = false;
      cpu.unpacked_rows = 0;
      const Choice choice = op.choose(node, cpu, {});
      if (choice.kind != Choice::Kind::View) {
        const bool in_xnnpack = choice.kind == Choice::Kind::Xnnpack;
        num_in_xnnpack_ += in_xnnpack;
        step.kernel = choice.make(node);
        ETX_CHECK(step.kernel != nullptr, NotSupported, "no kernel");
        NodeConstants constants(weights, blob_.node(i));
        ETX_RETURN_IF_ERROR(step.kernel->load(node, constants));
      }
      ETX_RETURN_IF_ERROR(load_constants(node, weights, &step));
      steps_.push_back(std::move(step));
    }
    if (file != nullptr) {
      file->finish(weights.packed());
    }
    kept_ = std::move(weights).take_kept();
    return {};
  }

  Status load_constants(const NodeContext& node, Weights& weights, Step* step) {
    step->packed.resize(node.num_inputs());
    step->consumed.resize(node.num_inputs());
    for (size_t k = 0; k < node.num_inputs(); ++k) {
      if (!node.has_input(k) || !node.is_constant(k)) {
        continue;
      }
      const uint32_t id = node.node().inputs()->Get(static_cast<uint32_t>(k));
      step->consumed[k] = step->kernel != nullptr && step->kernel->consumes(node, k);
      if (step->consumed[k]) {
        continue;
      }
      if (step->kernel != nullptr && step->kernel->packed_layout(node, k).has_value()) {
        NodeConstants constants(weights, node.node());
        ETX_ASSIGN_OR_RETURN(step->packed[k], pack_operand(*step->kernel, node, k, constants));
      } else {
        ETX_ASSIGN_OR_RETURN(const void* kept, weights.constant(id));
        data_[id] = const_cast<void*>(kept);
      }
    }
    return {};
  }

  bool is_empty(size_t node) const {
    for (const uint32_t id : *blob_.node(node).outputs()) {
      if (types_[id].shape.numel() != 0) {
        return false;
      }
    }
    return true;
  }

  void bind() {
    for (size_t i = 0; i < steps_.size(); ++i) {
      const schema::Node& node = blob_.node(i);
      Step& step = steps_[i];
      if (step.kernel == nullptr) {
        data_[node.outputs()->Get(0)] = data_[node.inputs()->Get(0)];
        continue;
      }
      step.inputs.clear();
      for (uint32_t k = 0; k < node.inputs()->size(); ++k) {
        const uint32_t id = node.inputs()->Get(k);
        const void* const data = id == kNone || step.consumed[k] ? nullptr : data_[id];
        step.inputs.push_back(step.packed[k].data == nullptr ? data : step.packed[k].data);
      }
      step.outputs.clear();
      for (const uint32_t id : *node.outputs()) {
        step.outputs.push_back(data_[id]);
      }
    }
  }

  const Blob blob_;
  size_t num_in_xnnpack_ = 0;
  pthreadpool_t pool_ = nullptr;
  std::vector<TensorType> types_; // by value
  std::vector<PackedPtr> kept_; // outlive steps_
  std::vector<Step> steps_; // by node
  std::vector<Buffer> memory_; // by value
  std::vector<void*> data_; // by value
  Buffer scratch_;
};

} // namespace executorch::backends::et_xnnpack::testing
