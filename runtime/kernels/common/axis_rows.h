// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace executorch::backends::et_xnnpack {

// A dense tensor as rows along one axis, whose elements are `inner` apart.
struct AxisRows {
  size_t outer = 0, size = 0, inner = 0;

  AxisRows() = default;
  AxisRows(const Shape& x, size_t axis) : outer(x.numel(0, axis)), size(x[axis]), inner(x.numel(axis + 1, x.rank)) {}
  size_t count() const {
    return outer * inner;
  }
  size_t grain() const {
    constexpr size_t kElements = 16384;
    return kElements / (size + 1) + 1;
  }
  size_t offset(size_t row) const {
    return row / inner * size * inner + row % inner;
  }
};

} // namespace executorch::backends::et_xnnpack
