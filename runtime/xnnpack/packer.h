// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <xnnpack.h>

#include "runtime/weights/packed_weights.h"
#include "runtime/base/status.h"
#include "runtime/weights/weights.h"
#include "xnnpack_compat.h"

namespace executorch::backends::et_xnnpack {

// Has XNNPACK pack the weights of one segment node by node, each only if nobody has packed it,
// and keeps them. Must live as long as the runtime.
class Packer {
 public:
  Packer() = default;
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  // `values` gives for each XNNPACK value the graph value whose data comes when its node is
  // packed, or kNone. The runtime lacks the operators of such nodes until each was packed.
  Status create_runtime(
      xnn_subgraph_t subgraph,
      std::vector<uint32_t> values,
      const Weights& weights,
      xnn_workspace_t workspace,
      uint32_t flags,
      xnn_runtime_t* runtime);

  size_t num_nodes() const {
    return nodes_.size();
  }
  // Different nodes may be packed at the same time. REQUIRES: the subgraph lives
  Status pack(size_t node, Weights& weights);

 private:
  // What XNNPACK takes for a weights cache: gives what is known and keeps what is fresh.
  struct Cache {
    Cache();
    size_t look_up();
    void* reserve(size_t bytes);
    size_t insert(void* packed, size_t bytes);
    // Calls function() for XNNPACK, which gets `otherwise` if it fails.
    template <typename T, typename Function>
    T answer(T otherwise, const Function& function);

    xnn_weights_cache_provider provider{};
    const Weights* weights = nullptr; // while XNNPACK packs
    PackedPtr known;
    bool looked_up = false;
    bool only_measures = false; // gives nothing, so that XNNPACK fails when it has asked for memory
    std::optional<size_t> measured;
    std::vector<PackedBytes> fresh;
    std::vector<std::shared_ptr<Buffer>> buffers;
    Status status;
  };
  struct Node {
    et_xnnpack_node node;
    std::vector<uint32_t> operands;
    std::string key;
    Cache cache; // the operator keeps its address
    std::vector<PackedPtr> packed;
  };

  xnn_status defer(const et_xnnpack_packing& packing, const et_xnnpack_node& node);
  StatusOr<size_t> packed_bytes(Node& node);
  Status create_operator(Node& node, Weights& weights);

  et_xnnpack_packer callbacks_{};
  Cache cache_; // of nodes that pack although none of their operands is deferred
  std::vector<uint32_t> values_;
  std::deque<Node> nodes_;
};

} // namespace executorch::backends::et_xnnpack
