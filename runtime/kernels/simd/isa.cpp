// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "isa.h"

#include <cstdlib>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/simd/isa.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

int64_t compiled_target() {
  return HWY_TARGET;
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(compiled_target);

namespace {

struct Isa {
  const char* name;
  int64_t target;
};

constexpr Isa kIsas[] = {
    {"scalar", HWY_SCALAR | HWY_EMU128},
    {"sse2", HWY_SSE2},
    {"avx2", HWY_AVX2},
    {"avx512", HWY_AVX3},
    {"neon", HWY_NEON_WITHOUT_AES},
};

Status choose() {
  const char* wanted = std::getenv("ET_XNNPACK_ISA");
  if (wanted == nullptr || *wanted == '\0') {
    return {};
  }
  for (const Isa& isa : kIsas) {
    if (std::strcmp(isa.name, wanted) == 0) {
      const int64_t target = isa.target & HWY_TARGETS & hwy::SupportedTargets();
      ETX_CHECK(target != 0, NotSupported, "ET_XNNPACK_ISA is %s, which this CPU or build lacks", wanted);
      hwy::DisableTargets(~target);
      return {};
    }
  }
  return failure(
      Error::InvalidArgument, "ET_XNNPACK_ISA is \"%s\", but must be scalar, sse2, avx2, avx512 or neon", wanted);
}

} // namespace

Status check_isa() {
  static const Status status = choose();
  return status;
}

void use_isa() {
  static_cast<void>(check_isa());
  if (!hwy::GetChosenTarget().IsInitialized()) {
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
}

const char* isa_name() {
  const int64_t target = ETX_DISPATCH(compiled_target)();
  for (const Isa& isa : kIsas) {
    if ((isa.target & target) != 0) {
      return isa.name;
    }
  }
  return "other";
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
