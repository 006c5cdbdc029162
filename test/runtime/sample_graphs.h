// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// Valid graphs that together hold every op, every DimOp and every kind of value.

#include "graph_def.h"

namespace executorch::backends::et_xnnpack::testing {

struct SampleGraph {
  std::string name;
  GraphDef def;
};

std::vector<SampleGraph> sample_graphs();

// A small one with a bit of everything, for tests that change one thing: a dynamic batch, constants
// of both kinds, a view, XNNPACK and in-tree nodes. Weights: w [3, 4] x [batch, 3] @ w^T.
//   x [batch, 3] -> Neg (node 0) -> Linear (1) -> LayerNorm (2) -> Reshape (3) -> output
GraphDef small_graph();

} // namespace executorch::backends::et_xnnpack::testing
