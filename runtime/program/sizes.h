// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>
#include <vector>

#include <executorch/runtime/core/span.h>
#include <flatbuffers/flatbuffers.h>

#include "tensor_type.h"

namespace executorch::backends::et_xnnpack {

using executorch::runtime::Span;

// The values of Graph.exprs for one set of input shapes.
class Sizes {
 public:
  Sizes() = default;
  explicit Sizes(std::vector<int64_t> values) : values_(std::move(values)) {}

  // A literal entry as it is, a negative one as the expression it stands for.
  // REQUIRES: the entry passed Blob::open
  int64_t resolve(int64_t entry) const {
    return entry >= 0 ? entry : values_[static_cast<size_t>(-1 - entry)];
  }
  // Fails if an entry resolves to a negative size or there are more than kMaxRank.
  StatusOr<Shape> resolve(const flatbuffers::Vector<int64_t>* entries) const;

 private:
  std::vector<int64_t> values_;
};

// An argument of the delegate as far as sizes are concerned.
struct ArgumentSize {
  Shape shape; // of a tensor, physical
  int64_t integer = 0; // of an integer argument

  bool operator==(const ArgumentSize& other) const {
    return shape == other.shape && integer == other.integer;
  }
};

// Evaluates exprs for the given arguments and checks every range.
// REQUIRES: the graph passed the structural part of Blob::open
StatusOr<Sizes> evaluate_sizes(const schema::Graph& graph, Span<const ArgumentSize> arguments);

// Evaluates exprs for the sizes that the graph is planned for.
StatusOr<Sizes> planned_sizes(const schema::Graph& graph);

} // namespace executorch::backends::et_xnnpack
