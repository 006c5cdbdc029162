// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch::backends::et_xnnpack {

struct CopyAxis {
  size_t size, from, to; // strides in bytes
};

// Two axes of units to copy; a unit is as many neighbouring bytes on both sides.
struct CopyPiece {
  CopyAxis rows, columns;
  size_t unit;
  const uint32_t* indices = nullptr; // of the source's units for those of the target, which has no gaps
};
using CopyFunction = void (*)(const CopyPiece& piece, const char* from, char* to);

// The function for pieces with these strides, and at most these sizes. `transposes`: source rows and target columns are dense
CopyFunction choose_copy(const CopyPiece& piece, bool transposes, size_t element_size);

} // namespace executorch::backends::et_xnnpack
