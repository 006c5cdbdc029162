// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

namespace executorch::backends::et_xnnpack {

// Bytes of the data caches of this CPU: of the first two the part that one core has for itself, the smallest of all
// cores; of the third all of the smallest one. A usual size where the system does not tell, but 0 for a third that is
// not there.
struct Caches {
  size_t l1 = 32 << 10, l2 = 512 << 10, l3 = 0;
  // Of the third, in which weights of one layer are likely to be found from one call to the next, beside other layers
  // and what other cores do.
  double l3_share = 0.25;

  // Of this machine.
  static const Caches& get();
};

} // namespace executorch::backends::et_xnnpack
