// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "waves.h"

#include <algorithm>

#include "fields.h"
#include "sizes.h"

namespace executorch::backends::et_xnnpack {

const schema::Size* size_to_find(const schema::Node& node) {
  if (const auto* nonzero = node.attributes_as_Nonzero(); nonzero != nullptr) {
    return nonzero->size();
  }
  if (const auto* repeat = node.attributes_as_RepeatIndices(); repeat != nullptr) {
    return repeat->size();
  }
  if (const auto* suppression = node.attributes_as_NonMaxSuppression(); suppression != nullptr) {
    return suppression->size();
  }
  return nullptr;
}

void Waves::find_exprs(const schema::Graph& graph) {
  std::vector<uint32_t> number_of(graph.nodes()->size()); // by node
  for (uint32_t k = 0; k < finders_.size(); ++k) {
    number_of[finders_[k]] = k + 1;
  }
  for (const schema::DimExpr* expr : *graph.exprs()) {
    uint32_t wave = 0;
    switch (expr->op()) {
      case schema::DimOp::Const:
      case schema::DimOp::InputDim:
      case schema::DimOp::InputInt:
        break;
      case schema::DimOp::FoundSize:
        wave = number_of[static_cast<size_t>(expr->a())];
        break;
      case schema::DimOp::Scale:
        wave = exprs_[static_cast<size_t>(expr->a())];
        break;
      default:
        wave = std::max(exprs_[static_cast<size_t>(expr->a())], exprs_[static_cast<size_t>(expr->b())]);
        break;
    }
    exprs_.push_back(wave);
  }
}

StatusOr<Waves> Waves::of(const schema::Graph& graph) {
  Waves waves;
  for (uint32_t i = 0; graph.exprs() != nullptr && i < graph.exprs()->size(); ++i) {
    if (graph.exprs()->Get(i)->op() == schema::DimOp::FoundSize) {
      waves.finders_.push_back(static_cast<uint32_t>(graph.exprs()->Get(i)->a()));
    }
  }
  if (waves.finders_.empty()) {
    return waves;
  }
  std::sort(waves.finders_.begin(), waves.finders_.end());
  waves.find_exprs(graph);
  for (uint32_t id = 0; id < graph.values()->size(); ++id) {
    uint32_t wave = 0;
    if (const auto* dims = graph.values()->Get(id)->dims(); dims != nullptr) {
      for (const schema::Size* size : *dims) {
        wave = std::max(wave, waves.of_size(size->value()));
      }
    }
    waves.values_.push_back(wave);
  }
  for (uint32_t i = 0; graph.inputs() != nullptr && i < graph.inputs()->size(); ++i) {
    const uint32_t id = graph.inputs()->Get(i)->value();
    ETX_CHECK(
        id >= waves.values_.size() || waves.values_[id] == 0,
        InvalidProgram,
        "the sizes of input %u are found by a node",
        i);
  }
  uint32_t found = 0; // how many sizes are, before a node runs
  for (uint32_t i = 0; i < graph.nodes()->size(); ++i) {
    const schema::Node& node = *graph.nodes()->Get(i);
    const bool finds = found < waves.finders_.size() && waves.finders_[found] == i;
    uint32_t wave = 0;
    for_each_size(&node, *schema::NodeTypeTable(), [&](int64_t entry) { wave = std::max(wave, waves.of_size(entry)); });
    for (const uint32_t id : *node.outputs()) {
      wave = std::max(wave, waves.values_[id]);
    }
    ETX_CHECK(
        wave <= found || (finds && wave == found + 1),
        InvalidProgram,
        "node %u depends on a size that is not found before it",
        i);
    for (uint32_t k = 0; node.inputs() != nullptr && k < node.inputs()->size(); ++k) {
      if (const uint32_t id = node.inputs()->Get(k); id < waves.values_.size()) {
        wave = std::max(wave, waves.values_[id]);
      }
    }
    found += finds ? 1 : 0;
    waves.nodes_.push_back(wave);
    for (const uint32_t id : *node.outputs()) {
      waves.values_[id] = wave;
    }
  }
  return waves;
}

} // namespace executorch::backends::et_xnnpack
