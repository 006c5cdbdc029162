/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#pragma once

/*
 * A transposed convolution with a stride makes the pixels of each remainder by the stride on their own. Of a result
 * smaller than the stride some have none, and XNNPACK takes the size of what is left of them, a negative number, for a
 * huge one. XnnpackParts.cmake has the compiler read this before the sources that count them.
 */

#include <stddef.h>
#include <stdint.h>

#include "src/xnnpack/math.h"

static inline size_t et_xnnpack_divide_round_up(size_t n, size_t q) {
  return n > SIZE_MAX / 2 ? 0 : divide_round_up(n, q);
}

#define divide_round_up et_xnnpack_divide_round_up
