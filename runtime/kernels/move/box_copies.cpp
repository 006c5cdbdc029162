// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "box_copies.h"

namespace executorch::backends::et_xnnpack {
namespace {

// The box of a whole tensor.
CopyBox whole(const Shape& shape) {
  CopyBox box;
  box.shape = shape;
  box.from = box.to = dense_strides(shape);
  return box;
}

BoxCopiesParameters of_one_input(const CopyBox& box, size_t element_size) {
  return {{{0, box}}, element_size, {}};
}

} // namespace

size_t BoxCopies::reshape(const BoxCopiesParameters& parameters, size_t) {
  parts_.clear();
  for (const BoxCopiesParameters::Part& part : parameters.parts) {
    parts_.push_back({part.input, StridedCopy(part.box, parameters.element_size)});
  }
  fill_ = parameters.fill;
  return 0;
}

void BoxCopies::run(const KernelArguments& arguments) const {
  for (const auto& [input, copy] : parts_) {
    const void* const from = input == BoxCopiesParameters::kFill ? fill_.data() : arguments.inputs[input];
    copy.run(from, arguments.outputs[0], arguments.pool);
  }
}

BoxCopiesParameters copied(const Shape& x, size_t element_size) {
  return of_one_input(whole(x), element_size);
}

BoxCopiesParameters transposed(const Shape& x, Span<const size_t> perm, size_t element_size) {
  const Strides from = dense_strides(x);
  Shape y;
  for (const size_t axis : perm) {
    y.append(x[axis]);
  }
  CopyBox box = whole(y);
  for (size_t axis = 0; axis < y.rank; ++axis) {
    box.from[axis] = from[perm[axis]];
  }
  return of_one_input(box, element_size);
}

BoxCopiesParameters expanded(const Shape& x, const Shape& y, size_t element_size) {
  const Strides from = dense_strides(x);
  CopyBox box = whole(y);
  box.from = {};
  const size_t shift = y.rank - x.rank;
  for (size_t axis = 0; axis < x.rank; ++axis) {
    box.from[axis + shift] = x[axis] == 1 ? 0 : from[axis];
  }
  return of_one_input(box, element_size);
}

BoxCopiesParameters sliced(
    const Shape& x, const Shape& y, size_t axis, size_t start, size_t step, size_t element_size) {
  CopyBox box = whole(y);
  box.from = dense_strides(x);
  box.from_offset = start * box.from[axis];
  box.from[axis] *= step;
  return of_one_input(box, element_size);
}

BoxCopiesParameters concatenated(Span<const Shape> inputs, const Shape& y, size_t axis, size_t element_size) {
  BoxCopiesParameters parameters;
  parameters.element_size = element_size;
  const Strides to = dense_strides(y);
  size_t offset = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    CopyBox box = whole(inputs[i]);
    box.to = to;
    box.to_offset = offset * to[axis];
    offset += box.shape[axis];
    parameters.parts.push_back({i, box});
  }
  return parameters;
}

BoxCopiesParameters padded(
    const Shape& x, const Shape& y, Span<const size_t> before, size_t element_size, const std::array<char, 8>& fill) {
  constexpr size_t kFill = BoxCopiesParameters::kFill;
  BoxCopiesParameters parameters;
  parameters.element_size = element_size;
  parameters.fill = fill;
  // The padding along an axis is two boxes, as wide as x on the axes before it and as y on those behind.
  CopyBox box;
  box.shape = y;
  box.to = dense_strides(y);
  for (size_t axis = 0; axis < x.rank; ++axis) {
    box.shape[axis] = before[axis];
    parameters.parts.push_back({kFill, box});
    CopyBox end = box;
    end.shape[axis] = y[axis] - x[axis] - before[axis];
    end.to_offset += (before[axis] + x[axis]) * box.to[axis];
    parameters.parts.push_back({kFill, end});
    box.to_offset += before[axis] * box.to[axis];
    box.shape[axis] = x[axis];
  }
  box.from = dense_strides(x);
  parameters.parts.push_back({0, box});
  return parameters;
}

} // namespace executorch::backends::et_xnnpack
