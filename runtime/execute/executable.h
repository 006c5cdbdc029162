// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <executorch/runtime/platform/types.h>

#include "runtime/program/blob.h"
#include "runtime/kernels/elementwise/fused_elementwise.h"
#include "runtime/ops/kernel.h"
#include "runtime/kernels/common/arguments.h"
#include "runtime/base/memory.h"
#include "runtime/plan/plan.h"
#include "runtime/xnnpack/conversion.h"
#include "states.h"
#include "runtime/weights/weights.h"
#include "workspace.h"

namespace executorch::backends::et_xnnpack {

// Is told what takes how long.
class Profiler {
 public:
  virtual ~Profiler() = default;
  // These nodes of the blob ran together, in ticks of ExecuTorch's clock.
  virtual void record(Span<const uint32_t> nodes, et_timestamp_t start, et_timestamp_t end) = 0;
};

// A loaded graph. Owns activations and kernels. One thread at a time; different
// executables share nothing but States and what never changes.
class Executable {
 public:
  // What it shares with other executables; what is null belongs to it alone. The caller
  // holds the mutexes here, in reshape(), in run() and when it is destroyed.
  struct Settings {
    std::shared_ptr<States> states;
    std::shared_ptr<Workspace> workspace;
    PackedWeights* packed_weights = nullptr;
    PackedFile* packed_file = nullptr; // only used in create()
    pthreadpool_t pool = nullptr; // packs weights in create(); null: the calling thread does
    bool fuse_elementwise = true;
    bool force_fp16 = false; // what XNNPACK computes, where this CPU can
    bool shrink_memory = false; // when a call needs much less than those before
  };

  // `named_data` is null if the blob refers to none. It must live until this returns and, if there is a file of
  // packed weights, until the first reshape() that succeeds.
  static StatusOr<std::unique_ptr<Executable>> create(Blob blob, const NamedDataMap* named_data, Settings settings);
  static StatusOr<std::unique_ptr<Executable>> create(Blob blob, const NamedDataMap* named_data) {
    return create(std::move(blob), named_data, Settings());
  }

  const Blob& blob() const {
    return blob_;
  }

  // Prepares for arguments of these sizes and for this pool (null: calling thread).
  // Does nothing if they are those of the last call. Fails with InvalidArgument if the
  // graph does not take them; a later call with good sizes works. The first call finishes
  // loading, which may fail like create(), and fails with InvalidExternalData if packed
  // weights from a file are damaged: then this is of no use, and create() with the same
  // blob and PackedFile::damaged() makes one that is.
  Status reshape(Span<const ArgumentSize> inputs, pthreadpool_t pool);

  // The type of graph output `i`, physical. REQUIRES: reshape() succeeded
  const TensorType& output_type(size_t i) const {
    return types_[blob_.graph().outputs()->Get(static_cast<uint32_t>(i))->value()];
  }

  // Computes. Integer arguments have no data. Inputs and outputs may overlap. If it fails
  // the states are as before.
  // REQUIRES: the last reshape() succeeded; buffers hold tensors of those types
  Status run(Span<const void* const> inputs, Span<void* const> outputs, Profiler* profiler = nullptr);

  // Bytes of activations at the current sizes.
  size_t arena_bytes() const {
    return with_empty_is_next_ ? with_empty_->arena_bytes() : arena_bytes_;
  }
  const Workspace& workspace() const {
    return *workspace_;
  }
  // What force_fp16 did not do, and why; else empty.
  const std::string& without_half() const {
    return without_half_;
  }

 private:
  // Where the memory of a root value is.
  enum class Place : uint8_t { Nowhere, Constant, Input, Output, Arena, State };

  // An output whose value has its memory elsewhere: in an input, a constant, another output.
  struct CopyOut {
    uint32_t root;
    size_t output;
  };

  // A state whose new content has its memory elsewhere.
  struct Update {
    uint32_t root;
    uint32_t state; // value
  };

  // Memory that stands in for an argument's.
  struct Stage {
    Buffer buffer;
    bool active = false;
  };

  struct RunnableStep {
    std::unique_ptr<Kernel> kernel; // or
    std::unique_ptr<FusedElementwise> fused; // or
    std::optional<FloatConversion> conversion;
    size_t scratch_bytes = 0;
    size_t scratch_offset = 0; // in the arena
    bool writes_state = false; // in place
    size_t undo_bytes = 0;
    size_t undo_offset = 0; // in the arena, kept until all steps have run
    bool is_empty = false; // no output has elements: nothing to run
    std::vector<const void*> inputs; // of the kernel or the pass
    std::vector<PackedMemory> packed; // like `inputs`: what the kernel reads instead, or none
    std::vector<bool> consumed; // like `inputs`: constants that the kernel does not read any more
    std::vector<void*> outputs;
  };

  Executable(Blob blob, const NamedDataMap* named_data, Settings settings)
      : blob_(std::move(blob)),
        named_data_(named_data),
        states_(std::move(settings.states)),
        packed_weights_(settings.packed_weights),
        fuse_elementwise_(settings.fuse_elementwise),
        shrink_memory_(settings.shrink_memory),
        force_fp16_(settings.force_fp16),
        workspace_(std::move(settings.workspace)) {}

  static StatusOr<std::unique_ptr<Executable>> create_once(
      Blob blob, const NamedDataMap* named_data, Settings settings);
  Status load(Weights& weights, pthreadpool_t pool);
  Status load_step(const Step& step, const Sizes& sizes, Weights& weights, std::vector<PackingTask>& packing);
  Status load_kernel(
      const Step& step,
      const Sizes& sizes,
      Weights& weights,
      std::vector<PackingTask>& packing,
      RunnableStep& runnable);
  std::unique_ptr<FusedElementwise> fuse(const Step& step, const Sizes& sizes) const;
  void place_values();
  bool reads(size_t s, uint32_t value) const;
  Status load_states(Weights& weights);
  Status load_constants(Weights& weights);
  Status load_constant(uint32_t value, Weights& weights);

  Status finish_loading(pthreadpool_t pool);
  Status verify_packed(pthreadpool_t pool);
  Status load_late_constants();
  Status reshape_to(Span<const ArgumentSize> inputs, bool same_threads);
  Status check_inputs(Span<const ArgumentSize> inputs, const Sizes& sizes) const;
  Status reshape_steps(const Sizes& sizes, bool same_types, bool* same_memory);
  void lay_out();
  Status reserve_memory();
  bool is_in_xnnpack(const Step& step) const;

  Status bind(Span<const void* const> inputs, Span<void* const> outputs);
  Status bind_inputs(Span<const void* const> inputs);
  Status bind_outputs(Span<const void* const> inputs, Span<void* const> outputs);
  bool overlaps_inputs(const void* data, size_t bytes, Span<const void* const> inputs) const;
  void bind_steps();
  KernelArguments kernel_arguments(const RunnableStep& step, Status* status) const;
  Status run_step(size_t s);
  Status run_steps(Profiler* profiler);
  bool is_empty(uint32_t value) const {
    return types_[value].shape.numel() == 0;
  }
  bool needs_plan_with_empty() const;
  Status plan_with_empty();

  uint32_t input_value(size_t i) const {
    return blob_.graph().inputs()->Get(static_cast<uint32_t>(i))->value();
  }
  uint32_t output_root(size_t i) const {
    return plan_.root[blob_.graph().outputs()->Get(static_cast<uint32_t>(i))->value()];
  }

  // Where output `i` is written during run().
  char* output_data(size_t i, Span<void* const> outputs) const {
    return output_stages_[i].active ? output_stages_[i].buffer.data() : static_cast<char*>(outputs[i]);
  }

  const Blob blob_;
  const NamedDataMap* const named_data_; // until the first call
  Plan plan_;
  std::shared_ptr<States> states_;
  PackedWeights* const packed_weights_;
  PackedByKey unverified_; // until the first call
  std::vector<uint32_t> late_constants_; // values, until the first call
  const bool fuse_elementwise_;
  const bool shrink_memory_;
  const bool force_fp16_;
  std::string without_half_;
  std::vector<PackedPtr> constants_; // outlive steps_
  std::shared_ptr<Workspace> workspace_; // outlives steps_
  std::vector<RunnableStep> steps_; // like plan_.steps

  // By value; they count for roots only.
  std::vector<Place> places_;
  std::vector<bool> read_by_xnnpack_;
  std::vector<size_t> arena_offsets_;

  std::vector<char*> data_; // by value: where it is during run()
  std::vector<size_t> direct_outputs_; // outputs that steps write
  std::vector<CopyOut> copies_out_; // all others
  std::vector<Update> updates_; // of states that no step writes in place

  // The sizes and the pool that everything is prepared for.
  std::vector<ArgumentSize> inputs_;
  std::vector<TensorType> types_; // by value
  pthreadpool_t pool_ = nullptr;
  size_t num_threads_ = 0;
  bool is_shaped_ = false; // types_, kernels and arena_ are
  bool is_bound_ = false; // data_ fits the addresses of the last call
  size_t most_bytes_ = 0; // of all activations since memory was given back

  // What planning and addresses depend on.
  size_t arena_bytes_ = 0;
  const char* arena_ = nullptr;
  std::vector<const void*> input_data_; // addresses of the last call
  std::vector<void*> output_data_;
  std::vector<Stage> input_stages_;
  std::vector<Stage> output_stages_;

  std::vector<bool> empty_; // values that are always; without any if that is not known
  // Does the work when XNNPACK would get operands that are empty while not all results of the node are.
  std::unique_ptr<Executable> with_empty_;
  bool with_empty_is_next_ = false;
  Weights::Known known_; // for it
};

} // namespace executorch::backends::et_xnnpack
