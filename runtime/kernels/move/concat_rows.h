// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <vector>

#include "copy_piece.h"
#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

struct ConcatRowsParameters {
  size_t rows = 0;
  std::vector<size_t> units; // of each input the bytes of a row
};

// Rows that consist of those of the inputs. A block of them is complete before the next one begins, so that it is
// written while it is in a cache: for short rows.
class ConcatRows {
 public:
  size_t reshape(const ConcatRowsParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments) const;

 private:
  struct Part {
    size_t input, offset; // where it begins in a row, in bytes
    CopyPiece piece; // of all rows
    CopyFunction copy;
  };
  std::vector<Part> parts_; // of inputs that are not empty
  size_t rows_ = 0, row_bytes_ = 0;
};

} // namespace executorch::backends::et_xnnpack
