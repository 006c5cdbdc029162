// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Runs the tests as on another CPU: ET_XNNPACK_TEST_CPU names what XNNPACK may use of this one, such as
// "ssse3 avx fma3" or "neon_dot cortex_a55". It chooses its microkernels once in a process.

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include <cpuinfo.h>

#include "product.h"
#include "xnnpack/common.h"
#include "xnnpack/hardware-config.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

struct Feature {
  const char* name;
  bool xnn_hardware_config::*member;
};

// What the choice of products depends on.
constexpr Feature kFeatures[] = {
#if XNN_ARCH_X86 || XNN_ARCH_X86_64
    {"ssse3", &xnn_hardware_config::use_x86_ssse3},
    {"sse4_1", &xnn_hardware_config::use_x86_sse4_1},
    {"avx", &xnn_hardware_config::use_x86_avx},
    {"f16c", &xnn_hardware_config::use_x86_f16c},
    {"fma3", &xnn_hardware_config::use_x86_fma3},
    {"avx2", &xnn_hardware_config::use_x86_avx2},
    {"avxvnni", &xnn_hardware_config::use_x86_avxvnni},
    {"avxvnniint8", &xnn_hardware_config::use_x86_avxvnniint8},
    {"avx256skx", &xnn_hardware_config::use_x86_avx256skx},
    {"avx256vnni", &xnn_hardware_config::use_x86_avx256vnni},
    {"avx256vnnigfni", &xnn_hardware_config::use_x86_avx256vnnigfni},
    {"avx512f", &xnn_hardware_config::use_x86_avx512f},
    {"avx512skx", &xnn_hardware_config::use_x86_avx512skx},
    {"avx512vbmi", &xnn_hardware_config::use_x86_avx512vbmi},
    {"avx512vnni", &xnn_hardware_config::use_x86_avx512vnni},
    {"avx512vnnigfni", &xnn_hardware_config::use_x86_avx512vnnigfni},
    {"avx512fp16", &xnn_hardware_config::use_x86_avx512fp16},
    {"avx512amx", &xnn_hardware_config::use_x86_avx512amx},
#elif XNN_ARCH_ARM64
    {"fp16_arith", &xnn_hardware_config::use_arm_fp16_arith},
    {"neon_fp16_arith", &xnn_hardware_config::use_arm_neon_fp16_arith},
    {"neon_bf16", &xnn_hardware_config::use_arm_neon_bf16},
    {"neon_dot", &xnn_hardware_config::use_arm_neon_dot},
    {"neon_i8mm", &xnn_hardware_config::use_arm_neon_i8mm},
    {"sve", &xnn_hardware_config::use_arm_sve},
    {"sve2", &xnn_hardware_config::use_arm_sve2},
    {"sme", &xnn_hardware_config::use_arm_sme},
    {"sme2", &xnn_hardware_config::use_arm_sme2},
#endif
};

struct Core {
  const char* name;
  cpuinfo_uarch uarch;
};

constexpr Core kCores[] = {
    {"zen", cpuinfo_uarch_zen},
    {"zen4", cpuinfo_uarch_zen4},
    {"cortex_a53", cpuinfo_uarch_cortex_a53},
    {"cortex_a55r0", cpuinfo_uarch_cortex_a55r0},
    {"cortex_a55", cpuinfo_uarch_cortex_a55},
    {"cortex_a57", cpuinfo_uarch_cortex_a57},
    {"cortex_a72", cpuinfo_uarch_cortex_a72},
    {"cortex_a73", cpuinfo_uarch_cortex_a73},
    {"cortex_a75", cpuinfo_uarch_cortex_a75},
    {"cortex_x1", cpuinfo_uarch_cortex_x1},
    {"neoverse_n1", cpuinfo_uarch_neoverse_n1},
    {"neoverse_v1", cpuinfo_uarch_neoverse_v1},
    {"kryo", cpuinfo_uarch_kryo},
    {"exynos_m1", cpuinfo_uarch_exynos_m1},
    {"exynos_m3", cpuinfo_uarch_exynos_m3},
    {"exynos_m4", cpuinfo_uarch_exynos_m4},
    {"exynos_m5", cpuinfo_uarch_exynos_m5},
};

bool has_word(const std::string& words, const std::string& word) {
  return (" " + words + " ").find(" " + word + " ") != std::string::npos;
}

// The configuration that XNNPACK has found belongs to it, and lies in memory that may be written.
template <typename T>
T& changed(const T* config) {
  return *const_cast<T*>(config);
}

// False if this CPU lacks something.
bool use_only(const std::string& words) {
  xnn_hardware_config& hardware = changed(xnn_init_hardware_config());
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    bool known = false;
    for (const Feature& feature : kFeatures) {
      if (word == feature.name) {
        known = true;
        if (!(hardware.*feature.member)) {
          std::printf("not run: this CPU, or this build of XNNPACK, has no %s\n", feature.name);
          return false;
        }
      }
    }
    for (const Core& core : kCores) {
      if (word == core.name) {
        known = true;
        changed(cpuinfo_get_core(0)).uarch = core.uarch;
        changed(cpuinfo_get_uarch(0)).uarch = core.uarch;
      }
    }
    if (!known) {
      std::printf("unknown: %s\n", word.c_str());
      std::exit(1);
    }
  }
  for (const Feature& feature : kFeatures) {
    hardware.*feature.member &= has_word(words, feature.name);
  }
  return true;
}

void print_case(int number) {
  const char* what = last_announced();
  const ssize_t written = write(STDERR_FILENO, what, std::strlen(what)) + write(STDERR_FILENO, "\n", 1);
  std::signal(number, SIG_DFL);
  std::raise(written > 0 ? number : SIGABRT);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing

int main(int argc, char** argv) {
  using namespace executorch::backends::et_xnnpack::testing;
  constexpr int kNotRun = 77;
  ::testing::InitGoogleTest(&argc, argv);
  if (xnn_init_hardware_config() == nullptr) {
    std::printf("XNNPACK does not know this CPU\n");
    return 1;
  }
  if (const char* words = std::getenv("ET_XNNPACK_TEST_CPU")) {
    if (!use_only(words)) {
      return kNotRun;
    }
    std::printf("CPU with: %s\n", words);
  }
  if (xnn_initialize(nullptr) != xnn_status_success) {
    return 1;
  }
  for (const int number : {SIGSEGV, SIGBUS, SIGILL}) {
    std::signal(number, print_case);
  }
  return RUN_ALL_TESTS();
}
