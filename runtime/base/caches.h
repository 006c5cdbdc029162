// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

namespace executorch::backends::et_xnnpack {

// Bytes of the data caches of this CPU that one core has for itself: the smallest of all cores; a usual size where
// the system does not tell.
struct Caches {
  size_t l1 = 32 << 10, l2 = 512 << 10;

  // Of this machine.
  static const Caches& get();
};

} // namespace executorch::backends::et_xnnpack
