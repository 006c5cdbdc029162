// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

namespace executorch::backends::et_xnnpack {

// Whether one of these numbers is NaN or infinite.
bool has_special(const float* x, size_t count);

} // namespace executorch::backends::et_xnnpack
