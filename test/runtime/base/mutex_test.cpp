// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/base/mutex.h>

#include <mutex>
#include <thread>

#include <gtest/gtest.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

// As they are with assertions, whatever this is compiled with.
template <LockLevel kLevel>
using Checked = Mutex<kLevel, true>;

class MutexDeathTest : public ::testing::Test {
 protected:
  MutexDeathTest() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }

  Checked<LockLevel::States> states_;
  Checked<LockLevel::Data> data_;
  Checked<LockLevel::Table> table_, other_table_;
};

TEST_F(MutexDeathTest, LocksAreTakenDownwards) {
  {
    const std::lock_guard states(states_);
    const std::lock_guard data(data_);
    const std::lock_guard table(table_);
  }
  const std::lock_guard table(table_); // all were given back
}

TEST_F(MutexDeathTest, NotUpwards) {
  const std::lock_guard data(data_);
  EXPECT_DEATH(states_.lock(), "takes a lock of level States while a lock of level Data is held");
  EXPECT_DEATH((void)states_.try_lock(), "takes a lock of level States while a lock of level Data is held");
}

TEST_F(MutexDeathTest, NotTwoOfALevel) {
  const std::lock_guard table(table_);
  EXPECT_DEATH(other_table_.lock(), "takes a lock of level Table while a lock of level Table is held");
}

TEST_F(MutexDeathTest, EachThreadHasItsOwn) {
  const std::lock_guard data(data_);
  std::thread([this] { const std::lock_guard states(states_); }).join();
}

TEST_F(MutexDeathTest, NothingSharedGoesUnderTheLockOfATable) {
  {
    const std::lock_guard data(data_);
    const GoesUnlocked<true> goes;
  }
  const std::lock_guard table(table_);
  EXPECT_DEATH(GoesUnlocked<true>(), "something that is shared goes while a lock of level Table is held");
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
