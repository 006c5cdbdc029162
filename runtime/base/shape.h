// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>

namespace executorch::backends::et_xnnpack {

constexpr size_t kMaxRank = 8;

// Physical sizes, slowest-varying axis first.
struct Shape {
  size_t rank = 0;
  std::array<size_t, kMaxRank> dims{};

  Shape() = default;
  Shape(std::initializer_list<size_t> sizes) {
    for (size_t size : sizes) {
      dims[rank++] = size;
    }
  }
  size_t operator[](size_t axis) const {
    return dims[axis];
  }
  size_t& operator[](size_t axis) {
    return dims[axis];
  }
  // REQUIRES: rank < kMaxRank
  void append(size_t size) {
    dims[rank++] = size;
  }
  size_t last() const {
    return dims[rank - 1];
  }
  // Elements of axes [begin, end).
  size_t numel(size_t begin, size_t end) const {
    size_t product = 1;
    for (size_t axis = begin; axis < end; ++axis) {
      product *= dims[axis];
    }
    return product;
  }
  size_t numel() const {
    return numel(0, rank);
  }
  bool operator==(const Shape& other) const;
  bool operator!=(const Shape& other) const {
    return !(*this == other);
  }
  // "[2, 3]"
  std::string to_string() const;
};

} // namespace executorch::backends::et_xnnpack
