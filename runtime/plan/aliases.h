// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/ops/infer.h"

namespace executorch::backends::et_xnnpack {

// Calls function(value) for the operands of a node that are not absent.
template <typename Function>
void for_each_input(const Blob& blob, uint32_t node, const Function& function) {
  const auto* inputs = blob.node(node).inputs();
  for (uint32_t k = 0; inputs != nullptr && k < inputs->size(); ++k) {
    if (inputs->Get(k) != kNone) {
      function(inputs->Get(k));
    }
  }
}

// Which values of a blob share memory, and what order that asks of its nodes. Views have the memory of what they see, and
// nodes that can write in place that of their input, wherever nobody reads the old content afterwards.
class Aliases {
 public:
  // `choices`, by node, say what is a view or can work in place. What must not be a view gets that of `without_view`.
  // `uncast`, by node, are values that it reads beside those that the blob says.
  Aliases(
      const Blob& blob,
      const std::vector<std::vector<uint32_t>>& uncast,
      std::vector<Choice>& choices,
      const std::function<Choice(uint32_t node)>& without_view);

  // By value, the one whose memory it is, and the one whose elements it has, in the same order.
  const std::vector<uint32_t>& root() const {
    return root_;
  }
  const std::vector<uint32_t>& content() const {
    return content_;
  }

  // The nodes in an order in which each runs after what it needs, that of the blob where possible.
  std::vector<uint32_t> order() const;
  // By node, those that read its result or overwrite what it reads.
  std::vector<std::vector<uint32_t>> followers() const;

 private:
  void order_waves();
  void share_views(
      const std::vector<std::vector<uint32_t>>& uncast,
      std::vector<Choice>& choices,
      const std::function<Choice(uint32_t node)>& without_view);
  void find_kept();
  void work_in_place(uint32_t node);
  std::vector<bool> nodes_after(uint32_t node) const;
  template <typename Function>
  void for_each_follower(uint32_t node, const Function& function) const;

  const Blob& blob_;
  std::vector<uint32_t> root_, content_;
  std::unordered_set<uint32_t> is_state_;
  std::vector<std::vector<uint32_t>> users_; // nodes by value that they read
  std::vector<std::vector<uint32_t>> readers_; // and, but for views, by root
  std::vector<bool> is_kept_; // by root: whether its content matters after all steps
  // Order beyond that of operands: of a node that reads, those that work in place after it; of one that finds a size, those
  // that depend on that.
  std::unordered_map<uint32_t, std::vector<uint32_t>> after_;
};

} // namespace executorch::backends::et_xnnpack
