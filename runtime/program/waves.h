// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>
#include <vector>

#include <et_xnnpack/schema_generated.h>

#include "runtime/base/status.h"

namespace executorch::backends::et_xnnpack {

// The `size` of a node whose operator finds the size of its result in data; null of any other node.
const schema::Size* size_to_find(const schema::Node& node);

// What of a graph depends on sizes that are only known while it runs (DimOp::FoundSize). The nodes that find them,
// numbered from 1 in the order of the graph, begin waves: in wave k is what depends on the size that number k finds, and
// on none that is found later; in wave 0 what depends on the arguments of a call alone.
class Waves {
 public:
  Waves() = default;
  // Fails with InvalidProgram if something depends on a size that is not found before it.
  // REQUIRES: every Size, operand and FoundSize of the graph refers to something that exists
  static StatusOr<Waves> of(const schema::Graph& graph);

  // Those of 1 and on.
  uint32_t num_found() const {
    return static_cast<uint32_t>(finders_.size());
  }
  // The node that begins wave `wave`. REQUIRES: 1 <= wave <= num_found()
  uint32_t finder(uint32_t wave) const {
    return finders_[wave - 1];
  }
  uint32_t of_expr(size_t expr) const {
    return finders_.empty() ? 0 : exprs_[expr];
  }
  // Of an entry of a Size.
  uint32_t of_size(int64_t entry) const {
    return entry >= 0 ? 0 : of_expr(static_cast<size_t>(-1 - entry));
  }
  // That of the node that makes it, even if its sizes are known before.
  uint32_t of_value(uint32_t value) const {
    return finders_.empty() ? 0 : values_[value];
  }
  // When everything of a node is known, its results included.
  uint32_t of_node(size_t node) const {
    return finders_.empty() ? 0 : nodes_[node];
  }

 private:
  void find_exprs(const schema::Graph& graph);

  std::vector<uint32_t> finders_;
  std::vector<uint32_t> exprs_, values_, nodes_;
};

} // namespace executorch::backends::et_xnnpack
