// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/base/status.h>

#include <memory>

#include <gtest/gtest.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

Status check_positive(int value) {
  ETX_CHECK(value > 0, InvalidArgument, "%d is not positive", value);
  return {};
}

StatusOr<std::unique_ptr<int>> box(int value) {
  ETX_RETURN_IF_ERROR(check_positive(value).in("box"));
  return std::make_unique<int>(value);
}

StatusOr<int> sum(int a, int b) {
  ETX_ASSIGN_OR_RETURN(const std::unique_ptr<int> boxed_a, box(a));
  ETX_ASSIGN_OR_RETURN(const std::unique_ptr<int> boxed_b, box(b));
  return *boxed_a + *boxed_b;
}

TEST(StatusTest, IsOkByDefault) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), Error::Ok);
  EXPECT_EQ(status.message(), "");
}

TEST(StatusTest, IsPrintable) {
  EXPECT_EQ(failure(Error::InvalidProgram, "no '%s'", "\xff\n\\").message(), "no '\\xff\\x0a\\'");
  EXPECT_EQ(Status(Error::InvalidProgram, "\x7f").in("gr\xc3\xbcn").message(), "gr\\xc3\\xbcn: \\x7f");
  using namespace std::string_view_literals;
  EXPECT_EQ(Status(Error::InvalidProgram, "a\0b"sv).message(), "a\\x00b");
}

TEST(StatusTest, SaysWhere) {
  const Status status = failure(Error::InvalidProgram, "size %d", 3).in("node 2").in("blob");
  EXPECT_EQ(status.code(), Error::InvalidProgram);
  EXPECT_EQ(status.message(), "blob: node 2: size 3");
  EXPECT_EQ(Status().in("node 2").message(), "");
}

TEST(StatusTest, CopiesKeepTheirMessages) {
  Status status = failure(Error::InvalidProgram, "size %d", 3);
  const Status copy = status;
  status = failure(Error::InvalidArgument, "size %d", 4);
  EXPECT_EQ(copy.code(), Error::InvalidProgram);
  EXPECT_EQ(copy.message(), "size 3");
  status = copy;
  EXPECT_EQ(std::move(status).in("blob").message(), "blob: size 3");
  EXPECT_EQ(copy.message(), "size 3");
  status = Status(copy);
  status = Status();
  EXPECT_EQ(status.message(), "");
}

TEST(StatusTest, SaysWhatWasThrown) {
  const Status no_memory = guarded([]() -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(no_memory.code(), Error::MemoryAllocationFailed);
  EXPECT_EQ(no_memory.message(), "memory ran out");
  const Status too_long = guarded([]() -> Status { throw std::length_error("vector"); });
  EXPECT_EQ(too_long.code(), Error::MemoryAllocationFailed);
  const StatusOr<int> other = guarded([]() -> StatusOr<int> { throw std::runtime_error("map"); });
  EXPECT_EQ(other.status().code(), Error::Internal);
  EXPECT_EQ(Status(other.status()).in("step 3").message(), "step 3: something threw");
}

TEST(StatusTest, CutsLongMessages) {
  const std::string name(5000, 'x');
  const Status status = failure(Error::InvalidArgument, "no %s", name.c_str());
  EXPECT_GT(status.message().size(), 400u);
  EXPECT_LT(status.message().size(), 5000u);
  EXPECT_EQ(status.message().substr(0, 5), "no xx");
}

TEST(StatusTest, PassesValuesAndFailuresOn) {
  StatusOr<int> good = sum(1, 2);
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, 3);
  const StatusOr<int> bad = sum(1, -2);
  EXPECT_EQ(bad.status().code(), Error::InvalidArgument);
  EXPECT_EQ(bad.status().message(), "box: -2 is not positive");
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
