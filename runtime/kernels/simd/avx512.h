// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

namespace executorch::backends::et_xnnpack {

// Whether kernels made now run on AVX-512. What was measured to be faster than XNNPACK there, on CPUs of Intel and of
// AMD, asks for it.
bool has_avx512();

// The same of a CPU of Intel. What is faster there, but not on those of AMD, asks for it.
bool is_avx512_of_intel();

} // namespace executorch::backends::et_xnnpack
