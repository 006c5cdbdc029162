// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "isa.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

#include <cpuinfo.h>
#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

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

size_t lanes_of_floats() {
  return hwy::HWY_NAMESPACE::MaxLanes(hwy::HWY_NAMESPACE::ScalableTag<float>());
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(compiled_target);
HWY_EXPORT(lanes_of_floats);

namespace {

enum class ByteDot : uint8_t { Without, With, IfThere };

struct Isa {
  const char* name;
  int64_t target;
  BFloat16Isa bfloat16;
  ByteDot byte_dot;
};

constexpr Isa kIsas[] = {
    {"scalar", HWY_SCALAR | HWY_EMU128, BFloat16Isa::None, ByteDot::Without},
    {"sse2", HWY_SSE2, BFloat16Isa::None, ByteDot::Without},
    {"avx2", HWY_AVX2, BFloat16Isa::None, ByteDot::Without},
    {"avx512", HWY_AVX3, BFloat16Isa::None, ByteDot::Without},
    {"avx512vnni", HWY_AVX3, BFloat16Isa::None, ByteDot::With},
    {"avx512bf16", HWY_AVX3, BFloat16Isa::Dot, ByteDot::IfThere},
    {"amx", HWY_AVX3, BFloat16Isa::Tiles, ByteDot::IfThere},
    {"neon", HWY_NEON_WITHOUT_AES, BFloat16Isa::None, ByteDot::IfThere},
    {"neonbf16", HWY_NEON_WITHOUT_AES, BFloat16Isa::Dot, ByteDot::IfThere},
};

#if defined(__x86_64__)
// Linux lends the registers of AMX, 8 KB for each thread, to processes that ask for them.
bool may_use_tiles() {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}
#endif

BFloat16Isa bfloat16_isa_of_cpu() {
  if (!cpuinfo_initialize()) {
    return BFloat16Isa::None;
  }
#if defined(__x86_64__)
  if (!cpuinfo_has_x86_avx512bf16()) {
    return BFloat16Isa::None;
  }
  return cpuinfo_has_x86_amx_bf16() && cpuinfo_has_x86_amx_tile() && may_use_tiles() ? BFloat16Isa::Tiles
                                                                                     : BFloat16Isa::Dot;
#elif defined(__aarch64__)
  return cpuinfo_has_arm_neon_bf16() ? BFloat16Isa::Dot : BFloat16Isa::None;
#else
  return BFloat16Isa::None;
#endif
}

BFloat16Isa available_bfloat16_isa() {
  static const BFloat16Isa isa = bfloat16_isa_of_cpu();
  return isa;
}

bool cpu_has_byte_dot() {
  if (!cpuinfo_initialize()) {
    return false;
  }
#if defined(__x86_64__)
  return cpuinfo_has_x86_avx512vnni();
#elif defined(__aarch64__)
  return cpuinfo_has_arm_neon_dot();
#else
  return false;
#endif
}

bool byte_dot_is_available() {
  static const bool is_available = cpu_has_byte_dot();
  return is_available;
}

std::atomic<BFloat16Isa> bfloat16_limit{BFloat16Isa::Tiles};
std::atomic<bool> byte_dot_limit{true};

Status choose() {
  const char* wanted = std::getenv("ET_XNNPACK_ISA");
  if (wanted == nullptr || *wanted == '\0') {
    return {};
  }
  for (const Isa& isa : kIsas) {
    if (std::strcmp(isa.name, wanted) == 0) {
      const int64_t target = isa.target & HWY_TARGETS & hwy::SupportedTargets();
      ETX_CHECK(
          target != 0 && isa.bfloat16 <= available_bfloat16_isa() &&
              (isa.byte_dot != ByteDot::With || byte_dot_is_available()),
          NotSupported,
          "ET_XNNPACK_ISA is %s, which this CPU or build lacks",
          wanted);
      hwy::DisableTargets(~target);
      limit_bfloat16_isa(isa.bfloat16);
      limit_byte_dot(isa.byte_dot != ByteDot::Without);
      return {};
    }
  }
  std::string names;
  for (const Isa& isa : kIsas) {
    names += std::string(names.empty() ? "" : ", ") + isa.name;
  }
  return failure(Error::InvalidArgument, "ET_XNNPACK_ISA is \"%s\", but must be one of: %s", wanted, names.c_str());
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
    const bool is_as_wanted = isa.byte_dot == ByteDot::IfThere || (isa.byte_dot == ByteDot::With) == has_byte_dot();
    if ((isa.target & target) != 0 && isa.bfloat16 == bfloat16_isa() && is_as_wanted) {
      return isa.name;
    }
  }
  return "other";
}

size_t float_lanes() {
  return ETX_DISPATCH(lanes_of_floats)();
}

BFloat16Isa bfloat16_isa() {
  const int64_t target = ETX_DISPATCH(compiled_target)();
  return (target & (HWY_AVX3 | HWY_NEON_WITHOUT_AES)) == 0
      ? BFloat16Isa::None
      : std::min(available_bfloat16_isa(), bfloat16_limit.load(std::memory_order_relaxed));
}

bool has_byte_dot() {
  const int64_t target = ETX_DISPATCH(compiled_target)();
  return (target & (HWY_AVX3 | HWY_NEON_WITHOUT_AES)) != 0 && byte_dot_is_available() &&
      byte_dot_limit.load(std::memory_order_relaxed);
}

bool has_byte_permutation() {
#if defined(__x86_64__)
  return has_byte_dot() && cpuinfo_has_x86_avx512vbmi();
#else
  return false;
#endif
}

void limit_byte_dot(bool limit) {
  byte_dot_limit.store(limit, std::memory_order_relaxed);
}

void limit_bfloat16_isa(BFloat16Isa limit) {
  bfloat16_limit.store(limit, std::memory_order_relaxed);
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
