// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <vector>

#include <runtime/program/sizes.h>

namespace executorch::backends::et_xnnpack::testing {

// Entries as the schema has them: a size itself, or if negative an expression.
inline std::vector<schema::Size> sizes_of(const std::vector<int64_t>& entries) {
  return {entries.begin(), entries.end()};
}

} // namespace executorch::backends::et_xnnpack::testing
