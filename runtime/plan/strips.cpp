// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "strips.h"

#include <algorithm>
#include <utility>

#include "aliases.h"

namespace executorch::backends::et_xnnpack {
namespace {

using Unit = std::vector<uint32_t>;

bool has(const Unit& unit, uint32_t node) {
  return std::find(unit.begin(), unit.end(), node) != unit.end();
}

class StripJoiner {
 public:
  explicit StripJoiner(const StripsProblem& problem) : p_(problem), readers_(problem.blob.num_values()) {
    for (uint32_t i = 0; i < p_.blob.num_nodes(); ++i) {
      for_each_input(p_.blob, i, [&](uint32_t id) { readers_[id].push_back(i); });
    }
  }

  // How many units from `first` on to join; 1: none.
  size_t count_from(const std::vector<Unit>& units, size_t first) const {
    std::vector<Unit> parts;
    size_t next = first;
    const auto take = [&](bool with_window) {
      if (next == units.size() || !is_convolution(units[next].front(), with_window) ||
          (!parts.empty() && !follows(parts.back(), units[next].front()))) {
        return false;
      }
      parts.push_back(units[next++]);
      if (next < units.size() && is_tail_of(parts.back(), units[next])) {
        parts.back().insert(parts.back().end(), units[next].begin(), units[next].end());
        ++next;
      }
      return true;
    };
    take(false);
    if (!take(true)) {
      return 1;
    }
    take(false);
    return parts.size() > 1 && pays(parts) ? next - first : 1;
  }

 private:
  const schema::Node& node(uint32_t i) const {
    return p_.blob.node(i);
  }

  bool is_convolution(uint32_t i, bool with_window) const {
    return p_.choices[i].make_for_strips != nullptr && p_.choices[i].has_window == with_window;
  }

  // The image that a convolution reads.
  uint32_t image_of(uint32_t conv) const {
    return p_.uncast[conv].empty() ? node(conv).inputs()->Get(0) : p_.uncast[conv].front();
  }

  // Whether a pass is all that reads what a convolution makes.
  bool is_tail_of(const Unit& part, const Unit& pass) const {
    const uint32_t result = node(part.front()).outputs()->Get(0);
    const std::vector<uint32_t>& readers = readers_[result];
    return part.size() == 1 && !p_.results[result] && !readers.empty() &&
        std::all_of(readers.begin(), readers.end(), [&](uint32_t i) { return has(pass, i); }) &&
        std::all_of(pass.begin(), pass.end(), [&](uint32_t i) { return p_.can_fuse[i]; }) &&
        has_same_shape(result, node(pass.front()).outputs()->Get(0));
  }

  // At any sizes.
  bool has_same_shape(uint32_t a, uint32_t b) const {
    const auto &x = *p_.blob.value(a).dims(), &y = *p_.blob.value(b).dims();
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const schema::Size* m, const schema::Size* n) {
      return m->value() == n->value();
    });
  }

  // Whether a convolution is all that reads anything that `part` makes, as its image.
  bool follows(const Unit& part, uint32_t conv) const {
    size_t reads = 0;
    bool is_image_made = false;
    for (const uint32_t i : part) {
      for (const uint32_t id : *node(i).outputs()) {
        if (p_.results[id]) {
          return false;
        }
        is_image_made = is_image_made || id == image_of(conv);
        for (const uint32_t reader : readers_[id]) {
          if (has(part, reader)) {
            continue;
          }
          if (reader != conv || id != node(conv).inputs()->Get(0)) {
            return false;
          }
          ++reads;
        }
      }
    }
    return is_image_made && reads == 1;
  }

  bool pays(const std::vector<Unit>& parts) const {
    constexpr size_t kMinRows = 4; // of a strip, of each image
    size_t between = 0, weights = 0, strip = 0; // bytes
    for (size_t p = 0; p < parts.size(); ++p) {
      const uint32_t conv = parts[p].front();
      const TensorType& weight = p_.types[node(conv).inputs()->Get(1)];
      weights += weight.shape.numel() * element_size(p_.choices[conv].bfloat16 ? DType::BFloat16 : DType::Float32);
      if (p > 0) {
        const TensorType& image = p_.types[image_of(conv)];
        between += image.bytes();
        strip += kMinRows * image.shape.numel(2, 4) * element_size(image.storage());
      }
    }
    // Each strip goes through all weights.
    return between >= p_.caches.l2 / 2 && strip <= p_.caches.l2 / 2 && weights <= p_.caches.l2 / 4;
  }

  const StripsProblem& p_;
  std::vector<std::vector<uint32_t>> readers_; // by value: nodes
};

} // namespace

std::vector<std::vector<uint32_t>> join_strips(const StripsProblem& problem, std::vector<std::vector<uint32_t>> units) {
  const StripJoiner joiner(problem);
  std::vector<Unit> joined;
  for (size_t u = 0; u < units.size();) {
    const size_t count = joiner.count_from(units, u);
    joined.push_back(std::move(units[u]));
    for (size_t k = 1; k < count; ++k) {
      joined.back().insert(joined.back().end(), units[u + k].begin(), units[u + k].end());
    }
    u += count;
  }
  return joined;
}

} // namespace executorch::backends::et_xnnpack
