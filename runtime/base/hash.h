// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>

namespace executorch::backends::et_xnnpack {

// XXH3 of these bytes. Two that differ have the same one by an accident in 2^64, but anybody can make two on purpose.
uint64_t hash(const void* data, size_t size);

} // namespace executorch::backends::et_xnnpack
