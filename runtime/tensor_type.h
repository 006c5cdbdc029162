// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include <et_xnnpack/schema_generated.h>

#include "status.h"

namespace executorch::backends::et_xnnpack {

using schema::DType;

constexpr size_t kMaxRank = 8;

// No tensor may be larger, so that sizes in bytes never overflow on the way.
constexpr size_t kMaxTensorBytes = size_t{1} << 40;

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

// Bytes of one element; 0 for a number that is no DType.
size_t element_size(DType dtype);

// Whether it is Float16 or BFloat16.
inline bool is_half(DType dtype) {
  return dtype == DType::Float16 || dtype == DType::BFloat16;
}
// Whether kernels compute numbers of this type.
inline bool is_number(DType dtype) {
  return dtype != DType::Bool && !is_half(dtype);
}

// In what type the program has the elements of a constant of type `dtype`.
DType stored_type(const schema::Constant& constant, DType dtype);

struct TensorType {
  DType dtype = DType::Float32;
  Shape shape;
  // If this is not null the tensor counts as Float32 and holds integers of type `stored`. Else
  // `stored` may be a 16-bit type in which the program has a constant of Float32. Belongs to the blob, and does not take part in comparisons.
  const schema::Quantization* quantization = nullptr;
  DType stored = DType::Float32;

  // What the elements in memory are.
  DType storage() const {
    return quantization == nullptr ? dtype : stored;
  }
  size_t bytes() const {
    return shape.numel() * element_size(storage());
  }
  bool operator==(const TensorType& other) const {
    return dtype == other.dtype && shape == other.shape;
  }
  bool operator!=(const TensorType& other) const {
    return !(*this == other);
  }
  // "Float32[2, 3]"
  std::string to_string() const;
};

// Fails if the tensor would be larger than kMaxTensorBytes.
Status check_size(const TensorType& type);

} // namespace executorch::backends::et_xnnpack
