// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// What runs out of memory in tests: the sample graphs, a large one with a state, and one in strips.

#include "data_map.h"
#include "sample_graphs.h"

namespace executorch::backends::et_xnnpack::testing {

// Everything in it is larger than kLarge: packed weights, the arena with scratch and
// undo memory, what stands in for inputs and outputs that end at the end of a page.
constexpr size_t kLarge = 8192;

inline GraphDef large_graph() {
  GraphDef g;
  const uint32_t x = g.input({64, 64});
  const uint32_t w = g.named({64, 64}, "large");
  const uint32_t a = g.node(linear(), {x, w}, {64, 64});
  const uint32_t b = g.node(linear(), {a, w}, {64, 64});
  const uint32_t norm = g.node(layer_norm(), {b, kNone, kNone}, {64, 64});
  const uint32_t image = g.node(reshape({1, 64, 8, 8}), {norm}, {1, 64, 8, 8});
  const uint32_t kernel = g.constant({64, 3, 3, 8}, some_numbers(64 * 9 * 8));
  const uint32_t conv = g.node(conv2d({1, 1}, {1, 1, 1, 1}), {image, kernel}, {1, 64, 8, 64});
  const uint32_t turned = g.node(transpose({0, 2, 1, 3}), {conv}, {1, 8, 64, 64});
  g.output(g.node(softmax(3), {turned}, {1, 8, 64, 64}));
  const uint32_t cache = g.state("cache", {64, 64}, some_numbers(64 * 64));
  g.states[0].update = g.node(slice_scatter({0, 0}, {1, 1}), {cache, a}, {64, 64});
  g.output(g.node(attention(0.5f), {norm, g.states[0].update, b}, {64, 64}));
  return g;
}

// Convolutions that run in strips, of images too large for the second-level cache of most CPUs.
inline GraphDef graph_in_strips() {
  GraphDef g;
  const uint32_t x = g.input({1, 96, 48, 8});
  const uint32_t wide = g.node(conv2d(), {x, g.constant({128, 1, 1, 8}, some_numbers(1024))}, {1, 96, 48, 128});
  const uint32_t each = g.constant({128, 7, 7, 1}, some_numbers(6272)); // never in XNNPACK
  const uint32_t mixed = g.node(conv2d({1, 1}, {3, 3, 3, 3}, {1, 1}, 128), {wide, each}, {1, 96, 48, 128});
  const uint32_t narrow = g.node(conv2d(), {mixed, g.constant({8, 1, 1, 128}, some_numbers(1024))}, {1, 96, 48, 8});
  g.output(g.node(binary(schema::BinaryKind::Add), {narrow, x}, {1, 96, 48, 8}));
  return g;
}

inline std::vector<SampleGraph> graphs_for_memory() {
  std::vector<SampleGraph> result = sample_graphs();
  result.push_back({"large", large_graph()});
  result.push_back({"strips", graph_in_strips()});
  return result;
}

inline void add_weights_for_memory(DataMap& weights) {
  weights.add("w", some_numbers(12));
  weights.add("table", some_numbers(6));
  weights.add("large", some_numbers(64 * 64));
}

} // namespace executorch::backends::et_xnnpack::testing
