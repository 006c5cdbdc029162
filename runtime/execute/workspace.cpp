// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "workspace.h"

#include "runtime/xnnpack/subgraph_builder.h"
#include "runtime/xnnpack/xnnpack_compat.h"

namespace executorch::backends::et_xnnpack {

StatusOr<std::shared_ptr<Workspace>> Workspace::create() {
  std::shared_ptr<Workspace> workspace(new Workspace);
  xnn_workspace_t xnnpack = nullptr;
  ETX_RETURN_IF_ERROR(check_xnn(xnn_create_workspace(&xnnpack), "xnn_create_workspace"));
  workspace->xnnpack_.reset(xnnpack);
  return workspace;
}

size_t Workspace::xnnpack_bytes() const {
  return et_xnnpack_workspace_bytes(xnnpack_.get());
}

Status Workspace::reserve(size_t bytes) {
  if (bytes > arena_.size()) {
    arena_ = Buffer(); // never two at once
    ETX_ASSIGN_OR_RETURN(arena_, Buffer::allocate(bytes));
  }
  return {};
}

void Workspace::release() {
  arena_ = Buffer();
  et_xnnpack_release_workspace_memory(xnnpack_.get());
  ++generation_;
}

} // namespace executorch::backends::et_xnnpack
