// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>
#include <vector>

#include "row.h"

namespace executorch::backends::et_xnnpack {

struct UnaryParameters {
  const char* function = ""; // in the blob's vocabulary, which says what it means; lives as long as the program
  float alpha = 1; // Elu: scale of the negative part; LeakyRelu: negative slope
  float low = 0, high = 0; // Clamp
};

// Float32 to Float32, with the instructions of this CPU. Its operand moves. Null if there is no such function.
std::unique_ptr<Row> unary_row(const UnaryParameters& parameters);

// The names of all functions.
std::vector<const char*> unary_functions();

} // namespace executorch::backends::et_xnnpack
