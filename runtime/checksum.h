// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch::backends::et_xnnpack {

// Finds damage, not forgery: any change of up to eight neighbouring bytes changes it, others
// do but for one in 2^64. Faster than memory.
uint64_t checksum(const void* data, size_t size);

} // namespace executorch::backends::et_xnnpack
