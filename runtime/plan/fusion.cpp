// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "fusion.h"

#include <algorithm>
#include <iterator>

#include "runtime/kernels/elementwise/fused_elementwise.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kMaxMembers = 32; // of a unit; keeps planning linear

// A unit runs in the place of its last node. That is right because whatever must follow one of its
// nodes comes later: nodes are joined only if this stays true. Nodes go by their place in `order`.
class Units {
 public:
  Units(
      const Blob& blob,
      const std::vector<uint32_t>& order,
      const std::vector<std::vector<uint32_t>>& followers,
      const std::vector<bool>& can_fuse,
      const std::vector<bool>& can_lead)
      : blob_(blob),
        order_(order),
        followers_(followers),
        place_(order.size()),
        maker_(blob.num_values(), kNone),
        unit_of_(order.size()),
        members_(order.size()),
        leader_(order.size(), kNone) {
    for (uint32_t p = 0; p < order.size(); ++p) {
      place_[order[p]] = p;
      unit_of_[p] = p;
      members_[p] = {p};
      for (const uint32_t id : *blob.node(order[p]).outputs()) {
        maker_[id] = p;
      }
    }
    for (uint32_t p = 0; p < order.size(); ++p) {
      if (!can_fuse[order[p]]) {
        continue;
      }
      for (const uint32_t id : *blob.node(order[p]).inputs()) {
        const uint32_t maker = id == kNone ? kNone : maker_[id];
        if (maker != kNone && can_fuse[order[maker]] && has_same_shape(p, maker)) {
          join(unit_of_[maker], unit_of_[p]);
        }
      }
    }
    for (uint32_t p = 0; p < order.size(); ++p) {
      if (can_lead[order[p]]) {
        lead(p, can_fuse);
      }
    }
  }

  std::vector<std::vector<uint32_t>> take() && {
    std::vector<std::vector<uint32_t>> result;
    for (uint32_t last = 0; last < members_.size(); ++last) {
      std::vector<uint32_t>& unit = members_[last];
      if (!unit.empty()) {
        const auto leader = std::find(unit.begin(), unit.end(), leader_[last]);
        if (leader != unit.end()) {
          std::rotate(unit.begin(), leader, leader + 1);
        }
        std::transform(unit.begin(), unit.end(), unit.begin(), [this](uint32_t p) { return order_[p]; });
        result.push_back(std::move(unit));
      }
    }
    return result;
  }

 private:
  // Whether the results have the same shape at any sizes.
  bool has_same_shape(uint32_t p, uint32_t q) const {
    const auto* a = blob_.value(blob_.node(order_[p]).outputs()->Get(0)).dims();
    const auto* b = blob_.value(blob_.node(order_[q]).outputs()->Get(0)).dims();
    const size_t rank = a == nullptr ? 0 : a->size();
    return rank == (b == nullptr ? 0 : b->size()) &&
        (rank == 0 || std::equal(a->begin(), a->end(), b->begin(), [](const schema::Size* x, const schema::Size* y) {
             return x->value() == y->value();
           }));
  }

  void join(uint32_t a, uint32_t b) {
    if (a == b || members_[a].size() + members_[b].size() > kMaxMembers) {
      return;
    }
    std::vector<uint32_t> joined;
    std::merge(
        members_[a].begin(), members_[a].end(), members_[b].begin(), members_[b].end(), std::back_inserter(joined));
    if (num_inputs(joined) <= FusedElementwise::kMaxInputs && !is_followed_too_early(joined)) {
      replace(a, b, std::move(joined));
    }
  }

  // Has the node at `p` lead the unit of all nodes that read its result.
  void lead(uint32_t p, const std::vector<bool>& can_fuse) {
    const std::vector<uint32_t>& followers = followers_[order_[p]];
    const uint32_t unit = followers.empty() ? kNone : unit_of_[place_[followers.front()]];
    if (unit == kNone || leader_[unit] != kNone || members_[unit].size() + 1 > kMaxMembers ||
        !has_same_shape(p, unit) || !std::all_of(followers.begin(), followers.end(), [&](uint32_t node) {
          return can_fuse[node] && unit_of_[place_[node]] == unit;
        })) {
      return;
    }
    std::vector<uint32_t> joined = members_[unit];
    joined.insert(std::upper_bound(joined.begin(), joined.end(), p), p);
    if (!is_followed_too_early(joined)) {
      replace(p, unit, std::move(joined));
      leader_[unit] = p;
    }
  }

  void replace(uint32_t a, uint32_t b, std::vector<uint32_t> joined) {
    const uint32_t unit = joined.back();
    for (const uint32_t p : joined) {
      unit_of_[p] = unit;
    }
    members_[a].clear();
    members_[b].clear();
    members_[unit] = std::move(joined);
  }

  // How many tensors come from outside.
  size_t num_inputs(const std::vector<uint32_t>& unit) const {
    std::vector<uint32_t> ids;
    for (const uint32_t p : unit) {
      for (const uint32_t id : *blob_.node(order_[p]).inputs()) {
        if (!std::binary_search(unit.begin(), unit.end(), maker_[id])) {
          ids.push_back(id);
        }
      }
    }
    std::sort(ids.begin(), ids.end());
    return static_cast<size_t>(std::unique(ids.begin(), ids.end()) - ids.begin());
  }

  // Whether a node outside that comes before the last of `unit` must follow one of them.
  bool is_followed_too_early(const std::vector<uint32_t>& unit) const {
    return std::any_of(unit.begin(), unit.end(), [&](uint32_t p) {
      const std::vector<uint32_t>& followers = followers_[order_[p]];
      return std::any_of(followers.begin(), followers.end(), [&](uint32_t node) {
        return place_[node] < unit.back() && !std::binary_search(unit.begin(), unit.end(), place_[node]);
      });
    });
  }

  const Blob& blob_;
  const std::vector<uint32_t>& order_;
  const std::vector<std::vector<uint32_t>>& followers_; // by node
  std::vector<uint32_t> place_; // by node
  std::vector<uint32_t> maker_; // by value
  std::vector<uint32_t> unit_of_; // the place of its last node
  std::vector<std::vector<uint32_t>> members_; // by the place of the last one, in order
  std::vector<uint32_t> leader_; // likewise: the node that leads the unit, or kNone
};

} // namespace

std::vector<std::vector<uint32_t>> fuse_elementwise_nodes(
    const Blob& blob,
    const std::vector<uint32_t>& order,
    const std::vector<std::vector<uint32_t>>& followers,
    const std::vector<bool>& can_fuse,
    const std::vector<bool>& can_lead) {
  return Units(blob, order, followers, can_fuse, can_lead).take();
}

} // namespace executorch::backends::et_xnnpack
