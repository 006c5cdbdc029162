// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/simd/isa.h>

#include <cstdlib>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack {
namespace {

using testing::for_each_isa;

TEST(Isa, ForcedForTests) {
  std::set<std::string> names;
  int count = 0;
  for_each_isa([&] {
    names.insert(isa_name());
    ++count;
  });
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
  // Exit status 0 if the value gives this instruction set (null: any) and this error.
  static int with(const char* value, const char* expected, Error error) {
    setenv("ET_XNNPACK_ISA", value, 1);
    const Status status = check_isa();
    return status.code() == error && (expected == nullptr || std::string(isa_name()) == expected) ? 0 : 1;
  }
};

TEST_F(IsaVariable, Forces) {
  const std::pair<const char*, int64_t> isas[] = {
      {"scalar", HWY_SCALAR | HWY_EMU128},
      {"sse2", HWY_SSE2},
      {"avx2", HWY_AVX2},
      {"avx512", HWY_AVX3},
      {"neon", HWY_NEON_WITHOUT_AES}};
  int count = 0;
  for (const auto& [name, target] : isas) {
    if ((hwy::SupportedTargets() & HWY_TARGETS & target) != 0) {
      EXPECT_EXIT(std::exit(with(name, name, Error::Ok)), ::testing::ExitedWithCode(0), "") << name;
      ++count;
    }
  }
  EXPECT_GT(count, 0);
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
