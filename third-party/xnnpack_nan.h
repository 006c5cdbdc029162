/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#pragma once

/*
 * Lets a microkernel of XNNPACK for x86 keep NaN. The larger or smaller of two numbers, one of them NaN, is there the
 * second one. XnnpackParts.cmake has the compiler read this before those sources that give the limit as the second.
 */

#include <immintrin.h>

#define _mm_max_ps(number, limit) _mm_max_ps(limit, number)
#define _mm_min_ps(number, limit) _mm_min_ps(limit, number)
#define _mm256_max_ps(number, limit) _mm256_max_ps(limit, number)
#define _mm256_min_ps(number, limit) _mm256_min_ps(limit, number)
#define _mm512_max_ps(number, limit) _mm512_max_ps(limit, number)
#define _mm512_min_ps(number, limit) _mm512_min_ps(limit, number)
