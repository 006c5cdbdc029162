// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "strips.h"

#include <utility>

#include "aliases.h"

namespace executorch::backends::et_xnnpack {
namespace {

using Units = std::vector<std::vector<uint32_t>>;

class StripJoiner {
 public:
  StripJoiner(
      const Blob& blob,
      Span<const TensorType> types,
      const std::vector<Choice>& choices,
      const std::vector<bool>& results,
      const Caches& caches)
      : blob_(blob), types_(types), choices_(choices), results_(results), caches_(caches), readers_(blob.num_values()) {
    for (uint32_t i = 0; i < blob.num_nodes(); ++i) {
      for_each_input(blob, i, [this](uint32_t id) { ++readers_[id]; });
    }
  }

  // How many units from `first` on to join; 1: none.
  size_t count_from(const Units& units, size_t first) const {
    const auto can = [&](size_t u, bool has_window) {
      return u < units.size() && units[u].size() == 1 && choices_[units[u].front()].make_for_strips != nullptr &&
          choices_[units[u].front()].has_window == has_window;
    };
    const size_t window = can(first, false) ? first + 1 : first;
    if (!can(window, true) || (window > first && !follows(units, window))) {
      return 1;
    }
    const size_t end = can(window + 1, false) && follows(units, window + 1) ? window + 2 : window + 1;
    return end - first > 1 && pays(units, first, end) ? end - first : 1;
  }

 private:
  // Whether unit `u` is all that reads the result of the unit before, as an image.
  bool follows(const Units& units, size_t u) const {
    const uint32_t value = blob_.node(units[u - 1].front()).outputs()->Get(0);
    return blob_.node(units[u].front()).inputs()->Get(0) == value && readers_[value] == 1 && !results_[value];
  }

  bool pays(const Units& units, size_t first, size_t end) const {
    constexpr size_t kMinRows = 4; // of a strip, of each image
    size_t between = 0, weights = 0, strip = 0; // bytes
    for (size_t u = first; u < end; ++u) {
      const schema::Node& node = blob_.node(units[u].front());
      const TensorType& result = types_[node.outputs()->Get(0)];
      weights += types_[node.inputs()->Get(1)].bytes();
      if (u + 1 < end) {
        between += result.bytes();
        strip += kMinRows * result.shape.numel(2, 4) * sizeof(float);
      }
    }
    // Each strip goes through all weights.
    return between >= caches_.l2 / 2 && strip <= caches_.l2 / 2 && weights <= caches_.l2 / 4;
  }

  const Blob& blob_;
  const Span<const TensorType> types_;
  const std::vector<Choice>& choices_;
  const std::vector<bool>& results_;
  const Caches& caches_;
  std::vector<uint32_t> readers_; // by value: how often nodes read it
};

} // namespace

std::vector<std::vector<uint32_t>> join_strips(
    const Blob& blob,
    Span<const TensorType> types,
    const std::vector<Choice>& choices,
    const std::vector<bool>& results,
    const Caches& caches,
    std::vector<std::vector<uint32_t>> units) {
  const StripJoiner joiner(blob, types, choices, results, caches);
  Units joined;
  for (size_t u = 0; u < units.size();) {
    const size_t count = joiner.count_from(units, u);
    joined.push_back(std::move(units[u]));
    for (size_t k = 1; k < count; ++k) {
      joined.back().push_back(units[u + k].front());
    }
    u += count;
  }
  return joined;
}

} // namespace executorch::backends::et_xnnpack
