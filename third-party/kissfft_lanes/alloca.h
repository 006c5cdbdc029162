// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
// Read by KISS FFT in the place of the header of that name, which aligns to 16 bytes: vectors want more.
#pragma once

#define alloca(bytes) __builtin_alloca_with_align(bytes, 8 * ET_XNNPACK_KISSFFT_LANES * 4)
