// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <string>

#include <runtime/xnnpack/library.h>
#include <runtime/xnnpack/parts.h>

namespace executorch::backends::et_xnnpack::testing {

// Whether XNNPACK is that of ExecuTorch's shared library, which has no part of ours (third-party/README.md).
inline bool is_xnnpack_of_executorch() {
  return xnnpack_version().find("ExecuTorch") != std::string::npos;
}

// For tests of what only elementwise operators in XNNPACK show.
#define ETX_NEEDS_ELEMENTWISE_IN_XNNPACK()                                                         \
  if (!xnnpack_has(Part::Denormals)) {                                                             \
    GTEST_SKIP() << "elementwise operators are our kernels where XNNPACK has no part `denormals`"; \
  }

// How reasons begin why such an XNNPACK does not compute a node that ours would.
inline constexpr char kLacksPart[] = "This build of XNNPACK";

} // namespace executorch::backends::et_xnnpack::testing
