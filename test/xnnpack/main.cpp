// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Runs the tests as on another CPU: ET_XNNPACK_TEST_CPU names what XNNPACK may use of this one, such as
// "ssse3 avx fma3" or "neon_dot cortex_a55". It chooses its microkernels once in a process.

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "insides.h"
#include "product.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

struct Feature {
  const char* name;
  FeatureId id;
};

// What the choice of products depends on.
constexpr Feature kFeatures[] = {
#if XNN_ARCH_X86 || XNN_ARCH_X86_64
    ET_XNNPACK_FEATURE(x86, ssse3),
    ET_XNNPACK_FEATURE(x86, sse4_1),
    ET_XNNPACK_FEATURE(x86, avx),
    ET_XNNPACK_FEATURE(x86, f16c),
    ET_XNNPACK_FEATURE(x86, fma3),
    ET_XNNPACK_FEATURE(x86, avx2),
    ET_XNNPACK_FEATURE(x86, avxvnni),
    ET_XNNPACK_FEATURE(x86, avxvnniint8),
    ET_XNNPACK_FEATURE(x86, avx256skx),
    ET_XNNPACK_FEATURE(x86, avx256vnni),
    ET_XNNPACK_FEATURE(x86, avx256vnnigfni),
    ET_XNNPACK_FEATURE(x86, avx512f),
    ET_XNNPACK_FEATURE(x86, avx512skx),
    ET_XNNPACK_FEATURE(x86, avx512vbmi),
    ET_XNNPACK_FEATURE(x86, avx512vnni),
    ET_XNNPACK_FEATURE(x86, avx512vnnigfni),
    ET_XNNPACK_FEATURE(x86, avx512fp16),
    ET_XNNPACK_FEATURE(x86, avx512amx),
#elif XNN_ARCH_ARM64
    ET_XNNPACK_FEATURE(arm, fp16_arith),
    ET_XNNPACK_FEATURE(arm, neon_fp16_arith),
    ET_XNNPACK_FEATURE(arm, neon_bf16),
    ET_XNNPACK_FEATURE(arm, neon_dot),
    ET_XNNPACK_FEATURE(arm, neon_i8mm),
    ET_XNNPACK_FEATURE(arm, sve),
    ET_XNNPACK_FEATURE(arm, sve2),
    ET_XNNPACK_FEATURE(arm, sme),
    ET_XNNPACK_FEATURE(arm, sme2),
#endif
};

struct Core {
  const char* name;
  CoreId id;
};

constexpr Core kCores[] = {
    ET_XNNPACK_CORE(zen),
    ET_XNNPACK_CORE(zen4),
    ET_XNNPACK_CORE(cortex_a53),
    ET_XNNPACK_CORE(cortex_a55r0),
    ET_XNNPACK_CORE(cortex_a55),
    ET_XNNPACK_CORE(cortex_a57),
    ET_XNNPACK_CORE(cortex_a72),
    ET_XNNPACK_CORE(cortex_a73),
    ET_XNNPACK_CORE(cortex_a75),
    ET_XNNPACK_CORE(cortex_x1),
    ET_XNNPACK_CORE(neoverse_n1),
    ET_XNNPACK_CORE(neoverse_v1),
    ET_XNNPACK_CORE(kryo),
    ET_XNNPACK_CORE(exynos_m1),
    ET_XNNPACK_CORE(exynos_m3),
    ET_XNNPACK_CORE(exynos_m4),
    ET_XNNPACK_CORE(exynos_m5),
};

bool has_word(const std::string& words, const std::string& word) {
  return (" " + words + " ").find(" " + word + " ") != std::string::npos;
}

// False if this CPU lacks something.
bool use_only(const std::string& words) {
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    bool known = false;
    for (const Feature& feature : kFeatures) {
      if (word == feature.name) {
        known = true;
        if (!has_feature(feature.id)) {
          std::printf("not run: this CPU, or this build of XNNPACK, has no %s\n", feature.name);
          return false;
        }
      }
    }
    for (const Core& core : kCores) {
      if (word == core.name) {
        known = true;
        use_core(core.id);
      }
    }
    if (!known) {
      std::printf("unknown: %s\n", word.c_str());
      std::exit(1);
    }
  }
  for (const Feature& feature : kFeatures) {
    if (!has_word(words, feature.name)) {
      drop_feature(feature.id);
    }
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
