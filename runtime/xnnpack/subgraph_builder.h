// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include <xnnpack.h>

#include "runtime/base/memory.h"
#include "runtime/ops/op.h"
#include "runtime/base/status.h"
#include "runtime/program/tensor_type.h"
#include "operator.h"

namespace executorch::backends::et_xnnpack {

struct DeleteSubgraph {
  void operator()(xnn_subgraph_t subgraph) const {
    xnn_delete_subgraph(subgraph);
  }
};
using SubgraphPtr = std::unique_ptr<xnn_subgraph, DeleteSubgraph>;

// Collects the nodes of one XNNPACK segment. What `define` functions write to.
class SubgraphBuilder {
 public:
  // How a node uses a weight.
  enum class Use {
    Packed, // copied into XNNPACK's own layout while the runtime is created
    Kept, // read in place whenever the node runs
  };

  // Gives the data of constant `value`: for Kept valid as long as the segment lives,
  // with XNN_EXTRA_BYTES readable behind it, else an address without data.
  class ConstantSource {
   public:
    virtual ~ConstantSource() = default;
    virtual StatusOr<const void*> constant(uint32_t value, Use use) = 0;
  };

  // `externals` are the values that enter or leave the segment, in the order of the
  // XNNPACK external ids.
  static StatusOr<std::unique_ptr<SubgraphBuilder>> create(
      Span<const uint32_t> externals,
      Span<const bool> external_is_input,
      Span<const TensorType> types,
      ConstantSource& constants);

  // Adds one node. `half`: computes it in float16, which its choice must allow; other nodes, and what enters or
  // leaves the segment, see Float32 in any case.
  Status add(Define define, const NodeContext& node, bool half = false);

  // For `define`: the XNNPACK ids of the operands of the node being added.
  // XNN_INVALID_VALUE_ID for an absent one.
  StatusOr<uint32_t> input(size_t i, Use use = Use::Kept);
  StatusOr<uint32_t> output(size_t i = 0);
  // Operand i as weights of QuantizedLinear, of `depth` in each row, with operand `scale`.
  // REQUIRES: both are constants
  StatusOr<uint32_t> quantized_weight(size_t i, size_t scale, unsigned bits, size_t depth);
  // Float32 value `x` of this shape, rounded to 8 bits with a scale and zero point for its last `axes` axes.
  StatusOr<uint32_t> rounded(uint32_t x, const Shape& shape, size_t axes);
  // A new internal tensor.
  StatusOr<uint32_t> internal(const TensorType& type);
  // A new rank-0 constant of the type that the node computes in.
  StatusOr<uint32_t> scalar(float value);

  xnn_subgraph_t get() const {
    return subgraph_.get();
  }
  // By XNNPACK value: the constant whose data it still lacks, or kNone.
  std::vector<uint32_t> deferred() const {
    return deferred_;
  }
  // The memory behind constants that were made here; must live as long as the runtime.
  std::shared_ptr<const std::deque<Buffer>> scalars() const {
    return scalars_;
  }

 private:
  SubgraphBuilder(SubgraphPtr subgraph, Span<const TensorType> types, ConstantSource& constants);

  uint32_t value(size_t i) const {
    return node_->node().inputs()->Get(static_cast<uint32_t>(i));
  }
  using Ids = std::unordered_map<uint32_t, uint32_t>; // graph value -> XNNPACK value

  void defer(uint32_t id, uint32_t value);
  Status convert(uint32_t from, uint32_t to);
  // Tensor memory that lives as long as the runtime, for `count` floats and what XNNPACK reads behind them.
  StatusOr<float*> memory(size_t count);
  StatusOr<uint32_t> define_half_constant(const TensorType& type, const void* data);
  StatusOr<uint32_t> define_tensor(
      const TensorType& type, const void* data, uint32_t external_id, uint32_t flags, bool half = false);
  Status define_quantized(const TensorType& type, const void* data, uint32_t external_id, uint32_t flags, uint32_t* id);

  SubgraphPtr subgraph_;
  Span<const TensorType> types_;
  ConstantSource& constants_;
  const NodeContext* node_ = nullptr;
  bool half_ = false; // the node being added
  Ids ids_, half_ids_; // the latter in float16
  std::vector<uint32_t> deferred_;
  std::shared_ptr<std::deque<Buffer>> scalars_;
};

} // namespace executorch::backends::et_xnnpack
