// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "index_positions.h"

#include <algorithm>
#include <cinttypes>
#include <type_traits>

#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/index/index_positions.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Whether an index is outside of [-before, last]. REQUIRES: both are in [0, 2^30]
template <typename T>
bool any_outside(const void* indices, size_t count, int64_t before, int64_t last) {
  using Unsigned = std::make_unsigned_t<T>;
  const hn::ScalableTag<T> tag;
  const size_t lanes = hn::Lanes(tag);
  const T* const from = static_cast<const T*>(indices);
  const auto low = hn::Set(tag, static_cast<T>(before)), high = hn::Set(tag, static_cast<T>(last));
  auto outside = hn::Zero(tag); // negative
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = hn::LoadU(tag, from + i);
    outside = hn::Or(outside, hn::Or(hn::Add(v, low), hn::Sub(high, v)));
  }
  Unsigned rest = 0;
  for (; i < count; ++i) {
    const auto v = static_cast<Unsigned>(from[i]);
    rest |= (v + static_cast<Unsigned>(before)) | (static_cast<Unsigned>(last) - v);
  }
  return static_cast<T>(rest) < 0 || !hn::AllFalse(tag, hn::Lt(outside, hn::Zero(tag)));
}

bool any_int32_outside(const void* indices, size_t count, int64_t before, int64_t last) {
  return any_outside<int32_t>(indices, count, before, last);
}
bool any_int64_outside(const void* indices, size_t count, int64_t before, int64_t last) {
  return any_outside<int64_t>(indices, count, before, last);
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(any_int32_outside);
HWY_EXPORT(any_int64_outside);

namespace {

Status check_indices(const void* indices, DType dtype, size_t count, size_t size, bool wrap) {
  constexpr size_t kMaxSize = size_t{1} << 30;
  if (size <= kMaxSize) {
    const auto any_outside = dtype == DType::Int32 ? ETX_DISPATCH(any_int32_outside) : ETX_DISPATCH(any_int64_outside);
    const auto end = static_cast<int64_t>(size);
    if (size > 0 && !any_outside(indices, count, wrap ? end : 0, end - 1)) {
      return {};
    }
  }
  for (size_t i = 0; i < count; ++i) {
    const int64_t index = read_index(indices, dtype, i);
    size_t position = 0;
    if (!locate(index, size, wrap, &position)) {
      return out_of_range(index, size);
    }
  }
  return {};
}

// REQUIRES: all indices are in range
template <typename T>
void add_positions(const T* indices, size_t count, size_t size, size_t stride, size_t* positions) {
  for (size_t i = 0; i < count; ++i) {
    const T index = indices[i];
    positions[i] += (static_cast<size_t>(index) + (index < 0 ? size : 0)) * stride;
  }
}

// offsets[i] = base + i * step + indices[i] * stride. REQUIRES: no index is negative
template <typename T>
void set_offsets(const T* indices, size_t count, size_t base, size_t step, size_t stride, size_t* offsets) {
  for (size_t i = 0; i < count; ++i) {
    offsets[i] = base + i * step + static_cast<size_t>(indices[i]) * stride;
  }
}

} // namespace

Status out_of_range(int64_t index, size_t size) {
  return failure(Error::InvalidArgument, "index %" PRId64 " is out of range on an axis of %zu", index, size);
}

void IndexPositions::reshape(
    const Shape& x, const std::vector<IndexTensor>& indices, size_t first, size_t axis, bool wrap) {
  const size_t last = axis + indices.size();
  first_ = first;
  wrap_ = wrap;
  shape_ = {};
  for (const IndexTensor& index : indices) {
    shape_.rank = std::max(shape_.rank, index.shape.rank);
  }
  std::fill_n(shape_.dims.begin(), shape_.rank, size_t{1});
  for (const IndexTensor& index : indices) {
    for (size_t i = 0; i < index.shape.rank; ++i) {
      size_t& size = shape_[shape_.rank - index.shape.rank + i];
      size = index.shape[i] == 1 ? size : index.shape[i];
    }
  }
  operands_.clear();
  for (size_t k = 0; k < indices.size(); ++k) {
    const Shape& shape = indices[k].shape;
    const size_t indexed = axis + k;
    Operand operand{indices[k].dtype, x[indexed], x.numel(indexed + 1, last), {}, shape == shape_};
    const Strides dense = dense_strides(shape);
    for (size_t i = 0; i < shape.rank; ++i) {
      operand.strides[shape_.rank - shape.rank + i] = shape[i] == 1 ? 0 : dense[i];
    }
    operands_.push_back(operand);
  }
}

Status IndexPositions::find(const KernelArguments& arguments, size_t* positions) const {
  const size_t total = count();
  std::fill_n(positions, total, size_t{0});
  for (size_t k = 0; k < operands_.size(); ++k) {
    const Operand& operand = operands_[k];
    const void* const indices = arguments.inputs[first_ + k];
    if (operand.dense) {
      ETX_RETURN_IF_ERROR(check_indices(indices, operand.dtype, total, operand.size, wrap_));
      if (operand.dtype == DType::Int32) {
        add_positions(static_cast<const int32_t*>(indices), total, operand.size, operand.stride, positions);
      } else {
        add_positions(static_cast<const int64_t*>(indices), total, operand.size, operand.stride, positions);
      }
      continue;
    }
    for (size_t i = 0; i < total; ++i) {
      size_t offset = 0, rest = i;
      for (size_t axis = shape_.rank; axis-- > 0; rest /= shape_[axis]) {
        offset += rest % shape_[axis] * operand.strides[axis];
      }
      const int64_t index = read_index(indices, operand.dtype, offset);
      size_t position = 0;
      if (!locate(index, operand.size, wrap_, &position)) {
        return out_of_range(index, operand.size);
      }
      positions[i] += position * operand.stride;
    }
  }
  return {};
}

void AxisPositions::reshape(const Shape& x, const IndexTensor& index, size_t input, size_t axis) {
  input_ = input;
  axis_ = axis;
  shape_ = index.shape;
  dtype_ = index.dtype;
  size_ = x[axis];
  strides_ = dense_strides(x);
}

size_t AxisPositions::base(size_t row) const {
  size_t result = 0;
  for (size_t axis = shape_.rank; axis-- > 1; row /= shape_[axis - 1]) {
    result += axis - 1 == axis_ ? 0 : row % shape_[axis - 1] * strides_[axis - 1];
  }
  return result;
}

Status AxisPositions::check(const KernelArguments& arguments) const {
  return check_indices(arguments.inputs[input_], dtype_, count(), size_, /*wrap=*/false);
}

Status AxisPositions::find(const KernelArguments& arguments, size_t* offsets) const {
  ETX_RETURN_IF_ERROR(check(arguments));
  const size_t total = count(), size = row_size();
  for (size_t i = 0, row = 0; i < total; i += size, ++row) {
    if (dtype_ == DType::Int32) {
      set_offsets(arguments.input<int32_t>(input_) + i, size, base(row), step(), stride(), offsets + i);
    } else {
      set_offsets(arguments.input<int64_t>(input_) + i, size, base(row), step(), stride(), offsets + i);
    }
  }
  return {};
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
