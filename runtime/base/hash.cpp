// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace executorch::backends::et_xnnpack {

uint64_t hash(const void* data, size_t size) {
  return XXH3_64bits(data, size);
}

} // namespace executorch::backends::et_xnnpack
