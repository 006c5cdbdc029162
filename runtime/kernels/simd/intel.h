// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

namespace executorch::backends::et_xnnpack {

// Whether kernels made now run on AVX-512 of a CPU of Intel. What was measured to be faster there, and nowhere else yet,
// asks for it.
bool is_avx512_of_intel();

} // namespace executorch::backends::et_xnnpack
