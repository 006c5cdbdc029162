// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>
#include <vector>

#include <executorch/runtime/core/span.h>
#include <flatbuffers/flatbuffers.h>

#include "tensor_type.h"
#include "waves.h"

namespace executorch::backends::et_xnnpack {

using executorch::runtime::Span;

// No size in a blob may be larger, and no bound of one.
constexpr int64_t kMaxLiteralSize = int64_t{1} << 40;

// The number in a size that may be absent: the size itself, or if negative the expression -1 - entry.
inline int64_t entry_of(const schema::Size* size) {
  return size == nullptr ? 0 : size->value();
}

// The values of Graph.exprs for one set of input shapes.
class Sizes {
 public:
  Sizes() = default;
  explicit Sizes(std::vector<int64_t> values) : values_(std::move(values)) {}

  // A literal as it is, anything else as the value of the expression it stands for; 0 if absent.
  // REQUIRES: the size passed Blob::open
  int64_t resolve(const schema::Size* size) const {
    const int64_t entry = entry_of(size);
    if (entry >= 0) {
      return entry;
    }
    __atomic_store_n(&asked_, true, __ATOMIC_RELAXED); // kernels of several nodes may pack at the same time
    return values_[static_cast<size_t>(-1 - entry)];
  }
  // Fails if one of the sizes is negative or there are more than kMaxRank.
  StatusOr<Shape> resolve(const flatbuffers::Vector<const schema::Size*>* sizes) const;

  // Whether the value of an expression was asked for since the last call of this.
  bool take_asked() const {
    return __atomic_exchange_n(&asked_, false, __ATOMIC_RELAXED);
  }

 private:
  std::vector<int64_t> values_;
  mutable bool asked_ = false;
};

// An argument of the delegate as far as sizes are concerned.
struct ArgumentSize {
  Shape shape; // of a tensor, physical
  int64_t integer = 0; // of an integer argument

  bool operator==(const ArgumentSize& other) const {
    return shape == other.shape && integer == other.integer;
  }
};

// Evaluates exprs for the given arguments and the sizes that are found so far, and checks every range of these; those of
// later waves are 0.
// REQUIRES: the graph passed the structural part of Blob::open
StatusOr<Sizes> evaluate_sizes(
    const schema::Graph& graph, Span<const ArgumentSize> arguments, const Waves& waves, Span<const int64_t> found);
// The same when none is found yet.
StatusOr<Sizes> evaluate_sizes(const schema::Graph& graph, Span<const ArgumentSize> arguments);

// Evaluates exprs for the sizes that the graph is planned for.
StatusOr<Sizes> planned_sizes(const schema::Graph& graph);

} // namespace executorch::backends::et_xnnpack
