// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Who holds what a thread waits for may need the interpreter that this thread has.

#include <runtime/base/interpreter.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "runtime/weights/packed_weights.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

std::mutex interpreter;
thread_local bool has_interpreter = false;
std::string logged;

void take_interpreter() {
  interpreter.lock();
  has_interpreter = true;
}
void leave_interpreter() {
  has_interpreter = false;
  interpreter.unlock();
}

class InterpreterTest : public ::testing::Test {
 protected:
  InterpreterTest() {
    set_interpreter_hooks(
        {[]() -> void* {
           if (!has_interpreter) {
             return nullptr;
           }
           leave_interpreter();
           return &interpreter;
         },
         [](void*) { take_interpreter(); },
         [](const char* what, const char* message) {
           logged = std::string(what == nullptr ? "" : what) + "|" + message;
           return true;
         }});
    take_interpreter();
  }
  ~InterpreterTest() override {
    leave_interpreter();
    set_interpreter_hooks({});
  }

  // Needs it, as a log does.
  static void use_interpreter() {
    take_interpreter();
    leave_interpreter();
  }
};

TEST_F(InterpreterTest, TheInterpreterLogs) {
  log_error(nullptr, "a note");
  EXPECT_EQ(logged, "|a note");
  log_error("cannot execute", "why");
  EXPECT_EQ(logged, "cannot execute|why");
}

TEST_F(InterpreterTest, ForALockLeavesTheInterpreterToOthers) {
  Mutex<LockLevel::Delegate> mutex;
  std::atomic<bool> is_held{false};
  std::thread holder([&] {
    const std::unique_lock<Mutex<LockLevel::Delegate>> lock = wait_for(mutex);
    is_held = true;
    use_interpreter();
  });
  while (!is_held) {
  }
  {
    const std::unique_lock<Mutex<LockLevel::Delegate>> lock = wait_for(mutex);
    EXPECT_TRUE(lock.owns_lock());
    EXPECT_TRUE(has_interpreter);
  }
  holder.join();
}

TEST_F(InterpreterTest, ForPackedWeightsLeavesTheInterpreterToOthers) {
  PackedWeights weights;
  ASSERT_EQ(weights.find_or_reserve("a"), nullptr);
  PackedPtr packed;
  std::thread packer([&] {
    use_interpreter();
    packed = weights.publish("a", {});
  });
  EXPECT_NE(weights.find_or_reserve("a"), nullptr);
  EXPECT_TRUE(has_interpreter);
  packer.join();
}

TEST_F(InterpreterTest, ForNobodyKeepsTheInterpreter) {
  Mutex<LockLevel::Delegate> mutex;
  std::atomic<bool> has_run{false};
  std::thread other([&] {
    use_interpreter();
    has_run = true;
  });
  for (int i = 0; i < 100; ++i) {
    const std::unique_lock<Mutex<LockLevel::Delegate>> lock = wait_for(mutex);
  }
  EXPECT_FALSE(has_run);
  leave_interpreter();
  other.join();
  take_interpreter();
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
