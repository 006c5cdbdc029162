// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"
#include "runtime/kernels/common/arguments.h"
#include "runtime/kernels/move/strided_copy.h"

namespace executorch::backends::et_xnnpack {

// Element `i` of a tensor of Int32 or Int64.
inline int64_t read_index(const void* indices, DType dtype, size_t i) {
  return dtype == DType::Int32 ? static_cast<const int32_t*>(indices)[i] : static_cast<const int64_t*>(indices)[i];
}

// Where `index` is on an axis of `size`, a negative one counted from the end if `wrap`.
// False if nowhere.
inline bool locate(int64_t index, size_t size, bool wrap, size_t* position) {
  const int64_t from_start = wrap && index < 0 ? index + static_cast<int64_t>(size) : index;
  *position = static_cast<size_t>(from_start);
  return from_start >= 0 && *position < size;
}

// A dense tensor of Int32 or Int64.
struct IndexTensor {
  Shape shape;
  DType dtype = DType::Int64;
};

Status out_of_range(int64_t index, size_t size);

// The positions on neighbouring axes of a tensor that one or more index tensors point to.
class IndexPositions {
 public:
  // Takes over sizes: `indices`, which are inputs from `first` on, index the axes of x from `axis` on.
  void reshape(const Shape& x, const std::vector<IndexTensor>& indices, size_t first, size_t axis, bool wrap);

  // How many there are.
  size_t count() const {
    return shape_.numel();
  }
  // Computes them, in row-major order, as numbers of elements on the indexed axes taken as
  // one. Fails for an index that is out of range.
  Status find(const KernelArguments& arguments, size_t* positions) const;

 private:
  struct Operand {
    DType dtype;
    size_t size; // of the axis it indexes
    size_t stride; // of that axis
    Strides strides; // over shape_
    bool dense; // has all of shape_
  };

  Shape shape_; // that the indices broadcast to
  size_t first_ = 0;
  bool wrap_ = true;
  std::vector<Operand> operands_;
};

// The positions that an index tensor of the same rank points to on one axis, as of Gather.
class AxisPositions {
 public:
  // `index`, which is input `input`, indexes `axis` of x.
  void reshape(const Shape& x, const IndexTensor& index, size_t input, size_t axis);

  size_t count() const {
    return shape_.numel();
  }
  // Rows along the last axis of the index tensor. In one, index i points to the element
  // base(row) + i * step() + index * stride().
  size_t row_size() const {
    return shape_.rank == 0 ? 1 : shape_[shape_.rank - 1];
  }
  size_t base(size_t row) const;
  size_t step() const {
    return axis_ + 1 < shape_.rank ? 1 : 0;
  }
  size_t stride() const {
    return strides_[axis_];
  }
  DType dtype() const {
    return dtype_;
  }
  // Fails for an index that is out of range.
  Status check(const KernelArguments& arguments) const;
  // Computes the offsets in elements in row-major order. Fails for an index that is out of range.
  Status find(const KernelArguments& arguments, size_t* offsets) const;

 private:
  Shape shape_;
  size_t input_ = 0, axis_ = 0;
  size_t size_ = 0; // of the axis
  DType dtype_ = DType::Int64;
  Strides strides_{};
};

} // namespace executorch::backends::et_xnnpack
