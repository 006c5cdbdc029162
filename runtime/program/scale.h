// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstring>

#include <et_xnnpack/schema_generated.h>

namespace executorch::backends::et_xnnpack {

// The number that an expression DimOp::Scale multiplies by.
inline double scale_factor(const schema::DimExpr& expr) {
  const int64_t bits = expr.b();
  double factor = 0;
  std::memcpy(&factor, &bits, sizeof(factor));
  return factor;
}

} // namespace executorch::backends::et_xnnpack
