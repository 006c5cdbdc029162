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

// Whether one side has 2 to 4 units that all rows or columns have without gaps.
inline bool interleaves(const CopyPiece& piece) {
  const auto are_few = [](size_t count) { return count >= 2 && count <= 4; };
  const CopyAxis &rows = piece.rows, &columns = piece.columns;
  return (are_few(columns.size) && rows.to == columns.size * piece.unit) ||
      (are_few(rows.size) && columns.from == rows.size * piece.unit);
}

// The function for pieces with these strides, and at most these sizes. `transposes`: source rows and target columns are
// dense
CopyFunction choose_copy(const CopyPiece& piece, bool transposes, size_t element_size);

} // namespace executorch::backends::et_xnnpack
