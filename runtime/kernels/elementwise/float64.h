// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>
#include <vector>

#include "binary.h"
#include "logic.h"
#include "row.h"

namespace executorch::backends::et_xnnpack {

// Float64 to Float64, of functions in the blob's vocabulary that have no parameters, each by the operations and the
// functions of the C library that eager PyTorch has it of. Null if there is no such function.
std::unique_ptr<Row> float64_unary_row(const char* function);

// The names of all functions.
std::vector<const char*> float64_unary_functions();

// Float64 and Float64 to Float64. Null for a function of bits.
std::unique_ptr<Row> float64_binary_row(BinaryFunction function);

// Float64 and Float64 to Bool.
std::unique_ptr<Row> float64_compare_row(Comparison comparison);

} // namespace executorch::backends::et_xnnpack
