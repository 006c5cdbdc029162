/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#pragma once

/*
 * Has XNNPACK repeat scale and zero point of the last row as often as its microkernels read them. In the last tile they
 * compute rows that are not there as the last row once more, but with the parameters behind its own, and what
 * they store last stays. XNNPACK writes 10 copies, and has tiles of 14 and 16 rows. XnnpackParts.cmake has the compiler
 * read this before the source that writes the copies; what makes room for them is runtime/xnnpack/.
 */

/* As the first of these sources has it, before any header of the system. */
#if !defined(__MACH__) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 199309L
#endif

#include "xnnpack.h"
#include "src/xnnpack/microfnptr.h"

#if XNN_EXTRA_QUANTIZATION_PARAMS < XNN_MAX_MR - 1
#undef XNN_EXTRA_QUANTIZATION_PARAMS
#define XNN_EXTRA_QUANTIZATION_PARAMS (XNN_MAX_MR - 1)
#endif
