// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>
#include <vector>

#include <xnnpack.h>

#include "runtime/program/blob.h"
#include "packer.h"
#include "runtime/plan/plan.h"
#include "runtime/weights/weights.h"

namespace executorch::backends::et_xnnpack {

struct DeleteRuntime {
  void operator()(xnn_runtime_t runtime) const {
    xnn_delete_runtime(runtime);
  }
};
using RuntimePtr = std::unique_ptr<xnn_runtime, DeleteRuntime>;

// One XNNPACK step of a plan, ready to run. Segments that share a workspace must not
// run at the same time.
class Segment {
 public:
  struct Settings {
    bool half = false; // computes in float16 what XNNPACK has in that
    bool profile = false; // takes the times of nodes
  };

  // Ready when the tasks that it adds to `packing` have run. What it is given is only used until then.
  static StatusOr<Segment> create(
      const Blob& blob,
      const Step& step,
      const std::vector<Choice>& choices, // by node
      Span<const TensorType> types,
      const Sizes& sizes,
      Weights& weights,
      xnn_workspace_t workspace,
      std::vector<PackingTask>& packing,
      Settings settings);

  // Whether float16 pays: there is a product to compute in it.
  static bool gains_by_half(const Blob& blob, const Step& step, const std::vector<Choice>& choices);

  // To be called for all segments that share a workspace before any of them is reshaped.
  void forget_plan();

  // Takes over the types and addresses of all values, and the pool to run on. `types`
  // passed infer; `data` is by value, only those of the step's inputs and outputs count.
  Status reshape(Span<const TensorType> types, Span<char* const> data, pthreadpool_t pool);

  // Takes over new addresses. REQUIRES: reshape() succeeded
  Status set_data(Span<char* const> data);

  // REQUIRES: the last reshape() or set_data() succeeded
  Status run();

  // The nanoseconds from the beginning of the last run() to the end of each node of the step.
  // REQUIRES: it was created to be profiled
  std::vector<uint64_t> node_ends() const;

 private:
  std::vector<uint32_t> values_; // graph values by XNNPACK external id: inputs, then outputs
  std::vector<xnn_external_value> externals_; // the same with addresses
  size_t num_inputs_ = 0;
  std::vector<size_t> xnnpack_nodes_; // of XNNPACK, up to each node of the step
  std::shared_ptr<const void> scalars_; // outlives runtime_
  std::unique_ptr<Packer> packer_; // outlives runtime_
  RuntimePtr runtime_;
};

} // namespace executorch::backends::et_xnnpack
