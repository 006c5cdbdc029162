// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "copy_piece.h"
#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"
#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

using Strides = std::array<size_t, kMaxRank>;

// Row-major strides in elements.
Strides dense_strides(const Shape& shape);

// A box of elements to copy. Strides and offsets count elements; axes are in the order of
// the target's memory; a `from` stride of 0 repeats.
struct CopyBox {
  Shape shape;
  Strides from{}, to{};
  size_t from_offset = 0, to_offset = 0;
};

// A way to copy a box fast: neighbouring axes merged, runs of neighbours moved as one unit.
class StridedCopy {
 public:
  StridedCopy(const CopyBox& box, size_t element_size);

  void run(const void* from, void* to, pthreadpool_t pool) const;

 private:
  bool index_units(const std::vector<CopyAxis>& axes);
  void choose_tiles(bool transposes);

  size_t from_offset_, to_offset_; // bytes
  size_t bytes_;
  // Outer axes, then the rows and columns of the piece, which is worked on in tiles.
  std::vector<CopyAxis> tiles_;
  CopyPiece piece_{};
  size_t tile_rows_ = 1, tile_columns_ = 1;
  std::vector<uint32_t> indices_; // of a piece of many axes, where one of two would be small
  CopyFunction function_ = nullptr; // null: the whole box is one unit
};

} // namespace executorch::backends::et_xnnpack
