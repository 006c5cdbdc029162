// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/isa.h>

#include <cstdlib>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "kernel_test.h"

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

// The variable is read once, so each test of it needs a process of its own.
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
  for_each_isa([&] {
    const std::string name = isa_name();
    EXPECT_EXIT(std::exit(with(name.c_str(), name.c_str(), Error::Ok)), ::testing::ExitedWithCode(0), "") << name;
  });
}

TEST_F(IsaVariable, UnknownNameFails) {
  EXPECT_EXIT(std::exit(with("mmx", nullptr, Error::InvalidArgument)), ::testing::ExitedWithCode(0), "");
}

TEST_F(IsaVariable, LackingIsaFails) {
  const char* foreign = std::string(isa_name()) == "neon" ? "avx2" : "neon";
  EXPECT_EXIT(std::exit(with(foreign, nullptr, Error::NotSupported)), ::testing::ExitedWithCode(0), "");
}

} // namespace
} // namespace executorch::backends::et_xnnpack
