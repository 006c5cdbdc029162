// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "int8_stage.h"

#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/conv/int8_stage.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void copy_shifted(const int8_t* from, size_t count, uint8_t* to) {
  constexpr hn::ScalableTag<uint8_t> kBytes;
  const auto shift = hn::Set(kBytes, uint8_t{128});
  const auto* const x = reinterpret_cast<const uint8_t*>(from);
  size_t i = 0;
  for (; i + hn::Lanes(kBytes) <= count; i += hn::Lanes(kBytes)) {
    hn::StoreU(hn::Xor(hn::LoadU(kBytes, x + i), shift), kBytes, to + i);
  }
  if (i < count) {
    hn::StoreN(hn::Xor(hn::LoadN(kBytes, x + i, count - i), shift), kBytes, to + i, count - i);
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(copy_shifted);

Int8Stage::Int8Stage(const Int8ConvParameters& p)
    : copy_(ETX_DISPATCH(copy_shifted)),
      channels_(p.input[3]),
      image_width_(p.input[2]),
      outside_(static_cast<uint8_t>(p.input_zero_point + 128)) {}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
