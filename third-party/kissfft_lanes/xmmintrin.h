// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
// Read by KISS FFT with USE_SIMD in the place of the header of that name: numbers are vectors of
// ET_XNNPACK_KISSFFT_LANES floats, of whatever compiler and CPU, and each lane is a transform of its own.
#pragma once

#include <alloca.h>

typedef float etx_kissfft_lanes __attribute__((vector_size(ET_XNNPACK_KISSFFT_LANES * 4)));

#define __m128 etx_kissfft_lanes

// A scalar is added to each lane.
#define _mm_set1_ps(x) ((etx_kissfft_lanes){0} + (float)(x))

// What a call takes from its stack must be aligned, too: alloca by itself aligns to 16 bytes.
#undef alloca
#define alloca(bytes) __builtin_alloca_with_align(bytes, 8 * sizeof(etx_kissfft_lanes))

// All other memory is ours, aligned to 64 bytes.
#define KISS_FFT_MALLOC(bytes) NULL
#define KISS_FFT_FREE(pointer)
#define KISS_FFT_ALIGN_CHECK(pointer)
#define KISS_FFT_ALIGN_SIZE_UP(bytes) (bytes)
