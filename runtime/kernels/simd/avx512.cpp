// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "avx512.h"

#include <cpuinfo.h>

#include "isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/simd/avx512.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

bool is_avx512() {
  return HWY_TARGET == HWY_AVX3;
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(is_avx512);

bool has_avx512() {
  return ETX_DISPATCH(is_avx512)();
}

bool is_avx512_of_intel() {
  return has_avx512() && cpuinfo_initialize() && cpuinfo_get_core(0)->vendor == cpuinfo_vendor_intel;
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
