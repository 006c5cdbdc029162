// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "float16.h"

#include <algorithm>

#include "aliases.h"

namespace executorch::backends::et_xnnpack {
namespace {

bool is_product(const Blob& blob, uint32_t node) {
  switch (blob.node(node).attributes_type()) {
    case schema::Attributes::BatchMatMul:
    case schema::Attributes::Conv2d:
    case schema::Attributes::ConvTranspose2d:
    case schema::Attributes::Linear:
      return true;
    default:
      return false;
  }
}

} // namespace

void choose_float16(
    const Blob& blob,
    const std::vector<uint32_t>& content,
    const std::vector<std::vector<uint32_t>>& units,
    std::vector<Choice>& choices) {
  const auto is_in_float16 = [&choices](const std::vector<uint32_t>& unit) {
    return unit.size() == 1 && choices[unit.front()].float16;
  };
  std::vector<uint32_t> group(blob.num_values() + units.size()); // by content, then by unit: disjoint sets
  for (uint32_t i = 0; i < group.size(); ++i) {
    group[i] = i;
  }
  const auto find = [&group](uint32_t i) {
    while (group[i] != i) {
      i = group[i] = group[group[i]];
    }
    return i;
  };
  std::vector<bool> has_product(group.size());
  for (uint32_t u = 0; u < units.size(); ++u) {
    if (!is_in_float16(units[u])) {
      continue;
    }
    const uint32_t node = units[u].front(), self = static_cast<uint32_t>(blob.num_values()) + u;
    has_product[self] = is_product(blob, node);
    const auto join = [&](uint32_t id) {
      const uint32_t a = find(content[id]), b = find(self);
      group[a] = b;
      has_product[b] = has_product[b] || has_product[a];
    };
    for_each_input(blob, node, [&](uint32_t id) {
      if (!blob.is_constant(content[id])) {
        join(id);
      }
    });
    std::for_each(blob.node(node).outputs()->begin(), blob.node(node).outputs()->end(), join);
  }
  for (uint32_t u = 0; u < units.size(); ++u) {
    if (is_in_float16(units[u]) && !has_product[find(static_cast<uint32_t>(blob.num_values()) + u)]) {
      Choice& choice = choices[units[u].front()];
      choice = std::move(choice).in_float32();
    }
  }
}

} // namespace executorch::backends::et_xnnpack
