/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#pragma once

/*
 * Lets NaN pass the limits of results. x86 gives the second operand of a maximum or minimum if one of them is NaN,
 * and some microkernels have the limit there. XnnpackParts.cmake has the compiler read this before those.
 */

#include <immintrin.h>

#define _mm_max_ps(a, b) (_mm_max_ps)(b, a)
#define _mm_min_ps(a, b) (_mm_min_ps)(b, a)
#define _mm256_max_ps(a, b) (_mm256_max_ps)(b, a)
#define _mm256_min_ps(a, b) (_mm256_min_ps)(b, a)
#define _mm512_max_ps(a, b) (_mm512_max_ps)(b, a)
#define _mm512_min_ps(a, b) (_mm512_min_ps)(b, a)
