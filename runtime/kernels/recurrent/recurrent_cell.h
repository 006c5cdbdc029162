// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

namespace executorch::backends::et_xnnpack {

enum class RecurrentCellType { Lstm, Gru, Tanh, Relu };

// One step of one row of the batch: the gates lie behind each other, `size` elements each.
struct RecurrentCell {
  size_t size;
  const float* x; // from the input
  const float* product; // from the last output, bias added
  const float* state; // what was before: the cell of Lstm, the output of Gru, else null
  float* cell; // Lstm only; may be where state is
  float* h;
};
using RecurrentCellFunction = void (*)(const RecurrentCell& cell);

} // namespace executorch::backends::et_xnnpack
