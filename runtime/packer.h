// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <string>
#include <vector>

#include <xnnpack.h>

#include "packed_weights.h"
#include "status.h"
#include "weights.h"
#include "xnnpack_compat.h"

namespace executorch::backends::et_xnnpack {

// Has XNNPACK pack the weights of one segment node by node, each only if nobody has packed it,
// and keeps them. Must live as long as the runtime.
class Packer {
 public:
  // `weights` is only used until create_runtime() returns.
  explicit Packer(Weights& weights);
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  // `values` gives for each XNNPACK value the graph value whose data comes when its node is
  // packed, or kNone.
  Status create_runtime(
      xnn_subgraph_t subgraph, std::vector<uint32_t> values, xnn_workspace_t workspace, xnn_runtime_t* runtime);

 private:
  static Packer& of(void* context) {
    return *static_cast<Packer*>(context);
  }
  xnn_status begin(const et_xnnpack_packing& packing, const void** data);
  void end();
  size_t look_up();
  void* reserve(size_t bytes);
  size_t insert(void* packed, size_t bytes);

  Weights& weights_;
  et_xnnpack_packer callbacks_{};
  std::vector<uint32_t> values_;
  std::vector<PackedPtr> packed_; // by segments that live
  Status status_;

  // Of the node that is being packed.
  std::string key_;
  bool is_shared_ = false; // it is to be published
  PackedPtr known_;
  bool looked_up_ = false;
  std::vector<PackedBytes> fresh_;
  std::vector<std::shared_ptr<Buffer>> buffers_;
};

} // namespace executorch::backends::et_xnnpack
