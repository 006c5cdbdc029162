// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "workspace.h"

namespace executorch::backends::et_xnnpack {

size_t Workspace::bytes() const {
  size_t sum = 0;
  for (const Buffer& arena : arenas_) {
    sum += arena.size();
  }
  return sum;
}

Status Workspace::reserve(size_t bytes, size_t wave) {
  if (wave >= arenas_.size()) {
    arenas_.resize(wave + 1);
  }
  Buffer& arena = arenas_[wave];
  if (bytes > arena.size()) {
    arena = Buffer(); // frees the old memory before there is new
    ETX_ASSIGN_OR_RETURN(arena, Buffer::allocate(bytes));
  }
  return {};
}

} // namespace executorch::backends::et_xnnpack
