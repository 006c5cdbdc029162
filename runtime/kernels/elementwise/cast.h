// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/base/dtype.h"
#include "row.h"

namespace executorch::backends::et_xnnpack {

// Converts as PyTorch does: floats lose their fraction in integers, integers their high bits in shorter ones, and
// what is not 0 becomes true.
std::unique_ptr<Row> cast_row(DType from, DType to);

} // namespace executorch::backends::et_xnnpack
