// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// Kernels are compiled once per instruction set and the best one for the CPU is taken
// when a kernel is made. Include this before any Highway header.

#include <cstddef>
#include <cstdint>

#include "runtime/base/status.h"

// Vectors live in arrays, so their size must be known (no SVE, no RISC-V); the other
// targets left out differ from a neighbour only in what float code does not use.
// The build may leave out more (ET_XNNPACK_ISAS).
#ifdef ET_XNNPACK_WITHOUT_AVX2
#define ETX_WITHOUT_AVX2 HWY_AVX2
#else
#define ETX_WITHOUT_AVX2 0
#endif
#ifdef ET_XNNPACK_WITHOUT_AVX512
#define ETX_WITHOUT_AVX512 HWY_AVX3
#else
#define ETX_WITHOUT_AVX512 0
#endif
#define HWY_DISABLED_TARGETS                                                                                         \
  (ETX_WITHOUT_AVX2 | ETX_WITHOUT_AVX512 | HWY_ALL_SVE | HWY_RVV | HWY_NEON | HWY_NEON_BF16 | HWY_SSSE3 | HWY_SSE4 | \
   HWY_AVX3_DL | HWY_AVX3_ZEN4 | HWY_AVX3_SPR)

// Pointer to the variant of an HWY_EXPORTed function that fits the CPU.
#define ETX_DISPATCH(function) (::executorch::backends::et_xnnpack::use_isa(), +HWY_DYNAMIC_POINTER(function))

namespace executorch::backends::et_xnnpack {

// Decides on an instruction set unless that has happened: the best one that the CPU has,
// or the one that the environment variable ET_XNNPACK_ISA names.
void use_isa();

// Fails if ET_XNNPACK_ISA names something unknown or that the CPU lacks; it is ignored then.
Status check_isa();

// "sse2", "avx2", "avx512", "neon" or "scalar": what kernels made now run on, with what comes on top: "avx512vnni",
// "avx512bf16", "amx" or "neonbf16".
const char* isa_name();

// Floats in a vector of kernels made now.
size_t float_lanes();

// Whether kernels made now use instructions that add up products of four bytes: AVX512-VNNI, SDOT of ARM. Not where
// they run on less than the CPU's best vectors.
bool has_byte_dot();
// Likewise instructions that look up bytes in tables of 128: AVX512-VBMI.
bool has_byte_permutation();

// What multiplies bfloat16 and sums up in float32, each including the one before.
enum class BFloat16Isa : uint8_t {
  None,
  Dot, // two products at a time in each element of a vector: AVX512-BF16, BFDOT
  Tiles, // products of tiles of 16 x 32 and 32 x 16: AMX
};

// What kernels made now use of the CPU's. None where they run on less than its best vectors.
BFloat16Isa bfloat16_isa();

// For tests: no more than this, until it is called again.
void limit_bfloat16_isa(BFloat16Isa limit);
void limit_byte_dot(bool limit);

} // namespace executorch::backends::et_xnnpack
