// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "index_places.h"

#include <algorithm>
#include <cinttypes>

#include "../ops/op.h"

namespace executorch::backends::et_xnnpack {

Status out_of_range(int64_t index, size_t size) {
  return failure(Error::InvalidArgument, "index %" PRId64 " is out of range on an axis of %zu", index, size);
}

void IndexPlaces::reshape(const NodeContext& node, size_t first, size_t axis, bool wrap) {
  const Shape& x = node.input(0).shape;
  const size_t last = axis + node.num_inputs() - first;
  first_ = first;
  wrap_ = wrap;
  shape_ = {};
  for (size_t k = first; k < node.num_inputs(); ++k) {
    shape_.rank = std::max(shape_.rank, node.input(k).shape.rank);
  }
  std::fill_n(shape_.dims.begin(), shape_.rank, size_t{1});
  for (size_t k = first; k < node.num_inputs(); ++k) {
    const Shape& shape = node.input(k).shape;
    for (size_t i = 0; i < shape.rank; ++i) {
      size_t& size = shape_[shape_.rank - shape.rank + i];
      size = shape[i] == 1 ? size : shape[i];
    }
  }
  operands_.clear();
  for (size_t k = first; k < node.num_inputs(); ++k) {
    const Shape& shape = node.input(k).shape;
    const size_t indexed = axis + k - first;
    Operand operand{node.input(k).dtype, x[indexed], x.numel(indexed + 1, last), {}, shape == shape_};
    const Strides dense = dense_strides(shape);
    for (size_t i = 0; i < shape.rank; ++i) {
      operand.strides[shape_.rank - shape.rank + i] = shape[i] == 1 ? 0 : dense[i];
    }
    operands_.push_back(operand);
  }
}

Status IndexPlaces::find(const KernelArguments& arguments, size_t* places) const {
  const size_t total = count();
  std::fill_n(places, total, size_t{0});
  for (size_t k = 0; k < operands_.size(); ++k) {
    const Operand& operand = operands_[k];
    const void* const indices = arguments.inputs[first_ + k];
    for (size_t i = 0; i < total; ++i) {
      size_t offset = i;
      if (!operand.dense) {
        offset = 0;
        size_t rest = i;
        for (size_t axis = shape_.rank; axis-- > 0; rest /= shape_[axis]) {
          offset += rest % shape_[axis] * operand.strides[axis];
        }
      }
      const int64_t index = read_index(indices, operand.dtype, offset);
      size_t place = 0;
      if (!locate(index, operand.size, wrap_, &place)) {
        return out_of_range(index, operand.size);
      }
      places[i] += place * operand.stride;
    }
  }
  return {};
}

void AxisPlaces::reshape(const NodeContext& node, size_t index, size_t axis) {
  operand_ = index;
  axis_ = axis;
  shape_ = node.input(index).shape;
  dtype_ = node.input(index).dtype;
  size_ = node.input(0).shape[axis];
  strides_ = dense_strides(node.input(0).shape);
}

Status AxisPlaces::find(const KernelArguments& arguments, size_t* offsets) const {
  std::array<size_t, kMaxRank> at{};
  size_t base = 0; // of the position `at`, without the indexed axis
  const size_t total = count();
  for (size_t i = 0; i < total; ++i) {
    const int64_t index = read_index(arguments.inputs[operand_], dtype_, i);
    size_t place = 0;
    if (!locate(index, size_, /*wrap=*/false, &place)) {
      return out_of_range(index, size_);
    }
    offsets[i] = base + place * strides_[axis_];
    for (size_t axis = shape_.rank; axis-- > 0;) {
      const size_t stride = axis == axis_ ? 0 : strides_[axis];
      base += stride;
      if (++at[axis] < shape_[axis]) {
        break;
      }
      base -= stride * shape_[axis];
      at[axis] = 0;
    }
  }
  return {};
}

} // namespace executorch::backends::et_xnnpack
