// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// For functions that use a CPU's own instructions of bfloat16, which are called where bfloat16_isa() has them: Highway
// compiles for none of these CPUs (isa.h).

#if defined(__x86_64__)
#include <immintrin.h>
#define ETX_DOT __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))
#elif defined(__aarch64__)
#include <arm_neon.h>
#define ETX_DOT __attribute__((target("arch=armv8.2-a+bf16")))
#else
#define ETX_DOT
#endif
