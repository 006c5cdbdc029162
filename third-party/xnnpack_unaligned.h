/* Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE. */
#pragma once

/*
 * Has microkernels for weights of 4 bits in groups load from any address. Those with tiles of 4 columns expect
 * packed weights at multiples of 16 bytes, but 4 scales of 16 bits for each group move what follows by 8, so an
 * odd number of groups ends in a fault. XnnpackParts.cmake has the compiler read this before their sources.
 */

#include <immintrin.h>

#define _mm_load_ps(address) _mm_loadu_ps(address)
