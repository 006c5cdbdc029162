// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "workspace.h"

namespace executorch::backends::et_xnnpack {

Status Workspace::reserve(size_t bytes) {
  if (bytes > arena_.size()) {
    arena_ = Buffer(); // frees the old memory before there is new
    ETX_ASSIGN_OR_RETURN(arena_, Buffer::allocate(bytes));
  }
  return {};
}

} // namespace executorch::backends::et_xnnpack
