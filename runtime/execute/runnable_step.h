// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/kernels/common/arguments.h"
#include "runtime/execute/strip_chain.h"
#include "runtime/kernels/elementwise/fused_elementwise.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/kernel.h"
#include "runtime/plan/plan.h"
#include "runtime/weights/weights.h"
#include "runtime/xnnpack/conversion.h"

namespace executorch::backends::et_xnnpack {

// A graph, its plan, and the types of its values at some sizes.
struct PlannedGraph {
  const Blob& blob;
  const Plan& plan;
  Span<const TensorType> types; // by value
  const Sizes& sizes;
};

// A step of a plan with what computes it: a kernel, a pass over memory, kernels in strips, a conversion; or nothing, if
// what it makes is always empty.
class RunnableStep {
 public:
  // `step` must live as long.
  explicit RunnableStep(const Step& step);

  // Makes what computes the step, and adds what packs its constants to `packing`: tasks that refer to this, `graph` and
  // `weights`, and must have run before anything below is called. `empty`, by value, are those that are always
  // without elements; without any if that is not known.
  Status load(
      const PlannedGraph& graph, const std::vector<bool>& empty, Weights& weights, std::vector<PackingTask>& packing);

  // When the sizes that reshape() needs are known (Waves).
  uint32_t wave() const {
    return wave_;
  }
  // Whether find_size() has to be called before run().
  bool finds_size() const {
    return finds_size_;
  }
  // The wave that begins with that size; 0 if the size is known before.
  uint32_t begun_wave() const {
    return begun_wave_;
  }

  bool is_in_xnnpack() const {
    return is_in_xnnpack_;
  }
  // Whether it reads its input `k` where that is.
  bool reads(size_t k) const;
  // Whether XNNPACK reads its output 0 again. Known when constants are packed.
  bool reads_output() const {
    return kernel_ != nullptr && kernel_->reads_output();
  }
  // Whether it changes a state in place, for undo().
  void set_writes_state(bool writes_state) {
    writes_state_ = kernel_ != nullptr && pass_ == nullptr && writes_state;
  }

  // Takes over new sizes. With `same_types` only integers have changed, which few kernels look at and XNNPACK never.
  Status reshape(const PlannedGraph& graph, bool same_types, pthreadpool_t pool, size_t num_threads);

  // Whether there is nothing to run at these sizes: no output has elements.
  bool is_idle() const {
    return is_idle_;
  }
  // Bytes that run() needs, and that undo() needs from run() on.
  size_t scratch_bytes() const {
    return scratch_bytes_;
  }
  size_t undo_bytes() const {
    return undo_bytes_;
  }
  // Whether output 0 may be written where input `k` is, at these sizes.
  bool can_overwrite(size_t k) const {
    return kernel_ != nullptr && pass_ == nullptr && !is_idle_ && reads(k) && kernel_->can_overwrite(k);
  }
  // Where that memory is in the arena.
  void place(size_t scratch_offset, size_t undo_offset) {
    scratch_offset_ = scratch_offset;
    undo_offset_ = undo_offset;
  }
  // Takes over where all values are.
  void bind(const std::vector<char*>& data);

  // How many rows output 0 will have. REQUIRES: finds_size()
  StatusOr<size_t> find_size(char* arena, pthreadpool_t pool);
  Status run(char* arena, pthreadpool_t pool);
  // Gives a state that run() has changed its old content.
  void undo(char* arena, pthreadpool_t pool);

 private:
  struct Input {
    PackedMemory packed; // what the kernel reads instead, if anything
    bool consumed = false; // a constant that the kernel does not read any more
  };

  void find_wave(const PlannedGraph& graph);
  Status load_kernel(const PlannedGraph& graph, Weights& weights, std::vector<PackingTask>& packing);
  Status load_strips(const PlannedGraph& graph, Weights& weights, std::vector<PackingTask>& packing);
  Status pack_constants(
      const PlannedGraph& graph,
      const Step& part,
      size_t first_input,
      Kernel& kernel,
      Weights& weights,
      std::vector<PackingTask>& packing);
  void run_led(const KernelArguments& kernel) const;
  StatusOr<size_t> reshape_kernel(const PlannedGraph& graph, pthreadpool_t pool, size_t num_threads);
  Status reshape_strips(const PlannedGraph& graph, size_t num_threads);
  void run_strips(const KernelArguments& all);
  KernelArguments arguments(char* arena, pthreadpool_t pool, Status* status) const;

  const Step& step_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<FusedElementwise> pass_;
  struct StripPart {
    std::unique_ptr<Kernel> kernel;
    std::unique_ptr<FusedElementwise> pass; // over what it makes; null: none
    size_t first_input, first_of_pass; // of those of the step
  };
  std::vector<StripPart> strip_parts_; // like the parts of the step
  StripChain chain_; // of them
  std::optional<FloatConversion> conversion_;
  bool is_in_xnnpack_ = false;
  bool writes_state_ = false;
  bool finds_size_ = false;
  uint32_t wave_ = 0, begun_wave_ = 0;
  std::vector<Input> inputs_; // like those of the step

  bool is_idle_ = false;
  bool depends_on_sizes_ = true; // on more than the types of what it reads and makes
  size_t scratch_bytes_ = 0, scratch_offset_ = 0;
  size_t undo_bytes_ = 0, undo_offset_ = 0;
  size_t pass_scratch_ = 0; // where that of the pass begins in a Led step's
  std::vector<const void*> input_data_;
  std::vector<void*> output_data_;
};

} // namespace executorch::backends::et_xnnpack
