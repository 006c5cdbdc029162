// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <array>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"
#include "runtime/kernels/move/strided_copy.h"

namespace executorch::backends::et_xnnpack {

// How N operands are read while a dense output is written: axes that all of them cross
// evenly are merged, so that what is left is few and long rows.
template <size_t N>
class Broadcast {
 public:
  Broadcast() = default;

  Broadcast(const Shape& output, const std::array<Shape, N>& inputs) {
    std::array<Strides, N> strides;
    for (size_t k = 0; k < N; ++k) {
      const size_t missing = output.rank - inputs[k].rank;
      const Strides dense = dense_strides(inputs[k]);
      strides[k] = {};
      for (size_t axis = 0; axis < inputs[k].rank; ++axis) {
        strides[k][missing + axis] = inputs[k][axis] == 1 ? 0 : dense[axis];
      }
    }
    for (size_t axis = 0; axis < output.rank; ++axis) {
      if (output[axis] != 1) {
        add_axis(output[axis], axis, strides);
      }
    }
    if (rank_ == 0) {
      rank_ = 1;
      sizes_[0] = 1;
    }
  }

  size_t rows() const {
    size_t count = 1;
    for (size_t axis = 0; axis + 1 < rank_; ++axis) {
      count *= sizes_[axis];
    }
    return count;
  }
  size_t row_size() const {
    return sizes_[rank_ - 1];
  }
  // Whether operand k goes on by one element along a row; else it stays where it is.
  // A dense operand that a row reads in larger steps does not occur: the last axis of a
  // dense tensor has stride 1.
  bool moves(size_t k) const {
    return strides_[k][rank_ - 1] != 0;
  }
  // Where operand k starts row `row`.
  size_t offset(size_t k, size_t row) const {
    size_t result = 0;
    for (size_t axis = rank_ - 1; axis-- > 0; row /= sizes_[axis]) {
      result += row % sizes_[axis] * strides_[k][axis];
    }
    return result;
  }

  // How many rows from `row` on, at least that one, start `row_stride` elements apart in each operand.
  size_t even_rows(size_t row) const {
    return rank_ < 2 ? 1 : sizes_[rank_ - 2] - row % sizes_[rank_ - 2];
  }
  size_t row_stride(size_t k) const {
    return rank_ < 2 ? 0 : strides_[k][rank_ - 2];
  }

 private:
  void add_axis(size_t size, size_t axis, const std::array<Strides, N>& strides) {
    bool merges = rank_ > 0;
    for (size_t k = 0; merges && k < N; ++k) {
      merges = strides_[k][rank_ - 1] == strides[k][axis] * size;
    }
    if (merges) {
      sizes_[rank_ - 1] *= size;
    } else {
      sizes_[rank_++] = size;
    }
    for (size_t k = 0; k < N; ++k) {
      strides_[k][rank_ - 1] = strides[k][axis];
    }
  }

  size_t rank_ = 0;
  std::array<size_t, kMaxRank> sizes_{};
  std::array<Strides, N> strides_{};
};

} // namespace executorch::backends::et_xnnpack
