/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */

/* Functions and constants of third-party/executorch/xnnpack.h are those of XNNPACK: the compiler refuses to declare
 * them in another way. XNNPACK_HEADER is its own header. */

#include XNNPACK_HEADER

#define ET_XNNPACK_FUNCTIONS_ONLY
#include "third-party/executorch/xnnpack.h"

int main(void) {
  return 0;
}
