// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <string>

#include <et_xnnpack/schema_generated.h>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"
#include "runtime/base/status.h"

namespace executorch::backends::et_xnnpack {

// No tensor may be larger, so that sizes in bytes never overflow on the way.
constexpr size_t kMaxTensorBytes = size_t{1} << 40;

// The element type that a blob names. element_size() is 0 for a number that is none.
inline DType to_dtype(schema::DType dtype) {
  return static_cast<DType>(dtype);
}

// In what type the program has the elements of a constant of type `dtype`.
DType stored_type(const schema::Constant& constant, DType dtype);

struct TensorType {
  DType dtype = DType::Float32;
  Shape shape;
  // What follows does not take part in comparisons. If this is not null the tensor counts as Float32 and holds integers
  // of type `quantized_dtype`. Belongs to the blob.
  const schema::Quantization* quantization = nullptr;
  DType quantized_dtype = DType::Int8;
  // In what type the program has a constant that is not quantized: one of Float32 may be in 16 bits there.
  DType constant_dtype = DType::Float32;
  // A 16-bit type that holds all elements of a tensor of Float32 exactly, because they were widened from it.
  DType exact_in = DType::Float32;

  // What the elements in memory are.
  DType storage() const {
    return quantization == nullptr ? dtype : quantized_dtype;
  }
  // What the elements of a constant are in the program.
  DType storage_in_program() const {
    return quantization == nullptr ? constant_dtype : quantized_dtype;
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
