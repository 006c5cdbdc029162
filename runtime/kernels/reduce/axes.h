// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <numeric>

#include "runtime/base/shape.h"

namespace executorch::backends::et_xnnpack {

// Some axes of a dense tensor, as if there were no others. Neighbours are merged; strides are in elements.
class Axes {
 public:
  void clear() {
    rank_ = 0;
  }
  void add(size_t size, size_t stride) {
    if (size == 1) {
      return;
    }
    if (rank_ > 0 && strides_[rank_ - 1] == size * stride) {
      sizes_[rank_ - 1] *= size;
      strides_[rank_ - 1] = stride;
    } else {
      sizes_[rank_] = size;
      strides_[rank_++] = stride;
    }
  }
  size_t count() const {
    return std::accumulate(sizes_.begin(), sizes_.begin() + rank_, size_t{1}, std::multiplies<>());
  }
  // Where the `i`th element is.
  size_t offset(size_t i) const {
    size_t result = 0;
    for (size_t axis = rank_; axis-- > 0; i /= sizes_[axis]) {
      result += i % sizes_[axis] * strides_[axis];
    }
    return result;
  }
  // The last axis: a row of this many elements, so far apart.
  size_t row_size() const {
    return rank_ == 0 ? 1 : sizes_[rank_ - 1];
  }
  size_t row_stride() const {
    return rank_ == 0 ? 1 : strides_[rank_ - 1];
  }
  // Leaves the rows out: what is left counts where they begin.
  void drop_row() {
    rank_ -= rank_ > 0;
  }

 private:
  size_t rank_ = 0;
  std::array<size_t, kMaxRank> sizes_{}, strides_{};
};

} // namespace executorch::backends::et_xnnpack
