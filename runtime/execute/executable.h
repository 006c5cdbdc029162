// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "placement.h"
#include "profiler.h"
#include "runnable_step.h"
#include "runtime/base/memory.h"
#include "runtime/plan/plan.h"
#include "runtime/program/blob.h"
#include "runtime/weights/weights.h"
#include "states.h"
#include "workspace.h"

namespace executorch::backends::et_xnnpack {

template <typename T>
Span<const T> view(const std::vector<T>& items) {
  return {items.data(), items.size()};
}

// A loaded graph. Owns activations and kernels. One thread at a time; different
// executables share nothing but States and what never changes.
class Executable : GoesUnlocked<> {
 public:
  // What it shares with other executables; what is null belongs to it alone. The caller
  // holds the mutexes here, in reshape(), in run() and when it is destroyed.
  struct Settings {
    std::shared_ptr<States> states;
    std::shared_ptr<Workspace> workspace;
    PackedWeights* packed_weights = nullptr;
    PackedFile* packed_file = nullptr; // only used in create()
    pthreadpool_t pool = nullptr; // only used in create(), to pack weights; null: the calling thread does
    Profiler* profiler = nullptr; // only used in create()
    bool fuse_elementwise = true;
    bool force_fp16 = false; // what XNNPACK computes, where this CPU can
    size_t winograd_tile = 0; // as in ChoiceOptions
    bool force_bf16 = false; // products with constants, where this CPU multiplies them faster
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
  Status reshape(Span<const ArgumentSize> inputs, pthreadpool_t pool, Profiler* profiler = nullptr);

  // The type of graph output `i`, physical. REQUIRES: reshape() succeeded, and run() if the type is found there
  const TensorType& output_type(size_t i) const {
    const Executable& next = with_empty_is_next_ ? *with_empty_ : *this;
    return next.types_[blob_.graph().outputs()->Get(static_cast<uint32_t>(i))->value()];
  }
  // Whether that depends on data, so that it is only known in run().
  bool finds_output_type(size_t i) const {
    return (with_empty_is_next_ ? *with_empty_ : *this).placement_.output_wave(i) > 0;
  }

  // Gives output `i`, whose type run() has found, memory.
  using PrepareOutput = std::function<StatusOr<void*>(size_t i, const TensorType& type)>;

  // Computes. Integer arguments have no data. Inputs and outputs may overlap. If it fails
  // the states are as before. Outputs whose types are found are asked for when they are.
  // REQUIRES: the last reshape() succeeded; buffers hold tensors of those types
  Status run(
      Span<const void* const> inputs,
      Span<void* const> outputs,
      const PrepareOutput& prepare_output,
      Profiler* profiler = nullptr);
  // The same if there is room for whatever may be found.
  Status run(Span<const void* const> inputs, Span<void* const> outputs, Profiler* profiler = nullptr);

  // Bytes of activations at the current sizes.
  size_t arena_bytes() const {
    return with_empty_is_next_ ? with_empty_->arena_bytes() : placement_.arena_bytes();
  }
  const Workspace& workspace() const {
    return *settings_.workspace;
  }
  // What force_fp16 did not do, and why; else empty.
  const std::string& why_not_float16() const {
    return why_not_float16_;
  }
  // The same of force_bf16.
  const std::string& why_not_bfloat16() const {
    return why_not_bfloat16_;
  }

 private:
  // Memory that stands in for an argument's.
  class Stage {
   public:
    Status prepare(bool active, size_t bytes) {
      active_ = active && bytes > 0;
      if (active_ && buffer_.size() < bytes) {
        ETX_ASSIGN_OR_RETURN(buffer_, Buffer::allocate(bytes));
      }
      return {};
    }
    bool is_active() const {
      return active_;
    }
    char* data() const {
      return buffer_.data();
    }

   private:
    Buffer buffer_;
    bool active_ = false;
  };

  // What the first call does.
  struct Unfinished {
    const NamedDataMap* named_data;
    PackedByKey unverified;
    std::vector<uint32_t> late_constants; // values
  };

  // What everything is prepared for.
  struct Prepared {
    bool is_shaped = false;
    std::vector<ArgumentSize> inputs;
    pthreadpool_t pool = nullptr;
    size_t num_threads = 0;
  };

  // What is prepared for the size that begins a wave, which is in found_.
  struct WaveState {
    bool is_shaped = false;
    bool is_bound = false; // steps know the addresses of values that are in
    const char* arena = nullptr;
  };

  // Addresses that the steps know; not if it is not bound.
  struct Bound {
    bool is_bound = false;
    const char* arena = nullptr;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
  };

  Executable(Blob blob, const NamedDataMap* named_data, Settings settings)
      : blob_(std::move(blob)), settings_(std::move(settings)), unfinished_{named_data, {}, {}} {}

  static StatusOr<std::unique_ptr<Executable>> create_once(
      Blob blob, const NamedDataMap* named_data, Settings settings);
  Status load(Weights& weights, pthreadpool_t pool, Profiler* profiler);
  Status make_plan_for(const Sizes& sizes, Profiler* profiler);
  Status load_steps(const Sizes& sizes, Weights& weights, pthreadpool_t pool, Profiler* profiler);
  void find_written_states();
  Status load_states(Weights& weights);
  Status load_constants(Weights& weights);
  Status load_constant(uint32_t value, Weights& weights);

  Status finish_loading(pthreadpool_t pool);
  Status verify_packed(pthreadpool_t pool);
  Status load_late_constants();
  Status reshape_to(Span<const ArgumentSize> inputs, bool same_threads);
  StatusOr<std::vector<TensorType>> first_types(const Sizes& sizes);
  void set_types(std::vector<TensorType> types);
  Status check_inputs(Span<const ArgumentSize> inputs, const Sizes& sizes) const;
  Status reshape_steps(const Sizes& sizes, uint32_t wave, bool same_types);
  Status reserve_memory();

  Status bind(Span<const void* const> inputs, Span<void* const> outputs);
  Status bind_inputs(Span<const void* const> inputs);
  Status bind_wave(uint32_t wave, size_t first_step);
  Status bind_outputs(uint32_t wave);
  bool has_same_outputs(Span<void* const> outputs) const;
  bool overlaps_inputs(const void* data, size_t bytes, Span<const void* const> inputs) const;
  Status find_size(size_t s, const PrepareOutput& prepare_output);
  Status begin_wave(uint32_t wave, size_t s, int64_t found, const PrepareOutput& prepare_output);
  Status reshape_wave(uint32_t wave);
  void forget_waves(uint32_t first);
  Status run_steps(const PrepareOutput& prepare_output, Profiler* profiler);
  std::string describe(const Step& step) const;

  bool is_empty(uint32_t id, const Sizes& sizes) const;
  bool needs_plan_with_empty(const Sizes& sizes) const;
  Status plan_with_empty(const Sizes& sizes);

  uint32_t input_value(size_t i) const {
    return blob_.graph().inputs()->Get(static_cast<uint32_t>(i))->value();
  }
  uint32_t output_root(size_t i) const {
    return plan_.root[blob_.graph().outputs()->Get(static_cast<uint32_t>(i))->value()];
  }
  // Where output `i` is written during run().
  char* output_data(size_t i) const {
    return output_stages_[i].is_active() ? output_stages_[i].data() : static_cast<char*>(bound_.outputs[i]);
  }

  const Blob blob_;
  const Settings settings_;
  Plan plan_;
  std::string why_not_float16_, why_not_bfloat16_;
  std::vector<PackedPtr> constants_; // outlive steps_
  std::vector<RunnableStep> steps_; // like those of the plan
  Placement placement_;
  std::vector<bool> read_by_xnnpack_; // by root

  Unfinished unfinished_;
  Prepared prepared_;
  std::vector<TensorType> types_; // by value
  Inference inference_;
  std::vector<WaveState> waves_; // but the first
  std::vector<int64_t> found_; // sizes that begin them, in the last call
  size_t most_bytes_ = 0; // of all activations since memory was given back

  Bound bound_;
  std::vector<char*> data_; // by value: where it is during run()
  std::vector<Stage> input_stages_, output_stages_;

  std::vector<bool> empty_; // values that are always; without any if that is not known
  // Does the work when XNNPACK would get operands that are empty while not all results of the node are.
  std::unique_ptr<Executable> with_empty_;
  bool with_empty_is_next_ = false;
  Weights::Known known_; // for it
};

} // namespace executorch::backends::et_xnnpack
