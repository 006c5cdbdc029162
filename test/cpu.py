# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What this CPU has."""

import platform
from pathlib import Path


def _has(x86: str, aarch64: str) -> bool:
    return (aarch64 if platform.machine() == "aarch64" else x86) in Path("/proc/cpuinfo").read_text().split()


#: Whether XNNPACK computes in float16 on this CPU, or converts to it.
HAS_FLOAT16 = _has("avx2", "asimdhp")
#: Whether the CPU has products of bfloat16.
HAS_BFLOAT16 = _has("avx512_bf16", "bf16")
#: Whether AVX512-BF16 is the fastest that the CPU has for them.
MULTIPLIES_BFLOAT16_IN_VECTORS = _has("avx512_bf16", "") and not _has("amx_bf16", "")
