// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/simd/isa.h>

#include <sys/wait.h>

#include <cstdlib>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <hwy/detect_compiler_arch.h>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack {
namespace {

using testing::for_each_isa;
using testing::Isas;

TEST(Isa, ForcedForTests) {
  std::set<std::string> names;
  int count = 0;
  for_each_isa(
      [&] {
        names.insert(isa_name());
        ++count;
      },
      Isas::WithBFloat16);
  EXPECT_EQ(names.size(), static_cast<size_t>(count));
  EXPECT_EQ(names.count("other"), 0u);
}

// The variable is read once, so each test of it needs a process of its own, in which
// nothing asks for the instruction set before the variable is set.
class IsaVariable : public ::testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
  static constexpr int kRefused = 2;
  // Exit status 0 if the value gives this instruction set (null: any) and this error, kRefused if this CPU or build
  // lacks it.
  static int with(const char* value, const char* expected, Error error) {
    setenv("ET_XNNPACK_ISA", value, 1);
    const Status status = check_isa();
    if (error == Error::Ok && status.code() == Error::NotSupported) {
      return kRefused;
    }
    return status.code() == error && (expected == nullptr || std::string(isa_name()) == expected) ? 0 : 1;
  }
};

TEST_F(IsaVariable, Forces) {
  std::set<std::string> forced;
  for (const char* name : {"scalar", "sse2", "avx2", "avx512", "avx512vnni", "avx512bf16", "amx", "neon", "neonbf16"}) {
    const auto is_forced_or_refused = [&](int status) {
      const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
      if (code == 0) {
        forced.insert(name);
      }
      return code == 0 || code == kRefused;
    };
    EXPECT_EXIT(std::exit(with(name, name, Error::Ok)), is_forced_or_refused, "") << name;
  }
  std::set<std::string> usable;
  for (const Isas isas : {Isas::WithBFloat16, Isas::WithoutByteDot}) {
    for_each_isa([&] { usable.insert(isa_name()); }, isas);
  }
  if (const char* const already = std::getenv("ET_XNNPACK_ISA")) {
    EXPECT_EQ(usable.count(already), 1); // and what the compiler's options promise, which nothing takes away
  } else {
    EXPECT_EQ(forced, usable);
  }
}

TEST_F(IsaVariable, UnknownNameFails) {
  EXPECT_EXIT(std::exit(with("mmx", nullptr, Error::InvalidArgument)), ::testing::ExitedWithCode(0), "");
}

TEST_F(IsaVariable, LackingIsaFails) {
  const char* foreign = HWY_ARCH_ARM ? "avx2" : "neon";
  EXPECT_EXIT(std::exit(with(foreign, nullptr, Error::NotSupported)), ::testing::ExitedWithCode(0), "");
}

} // namespace
} // namespace executorch::backends::et_xnnpack
