// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "shape.h"

#include <algorithm>

namespace executorch::backends::et_xnnpack {

bool Shape::operator==(const Shape& other) const {
  return rank == other.rank && std::equal(dims.begin(), dims.begin() + rank, other.dims.begin());
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (size_t axis = 0; axis < rank; ++axis) {
    text += (axis == 0 ? "" : ", ") + std::to_string(dims[axis]);
  }
  return text + "]";
}

} // namespace executorch::backends::et_xnnpack
