// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
// Threads of different speed, as big and little cores: one of them is slowed down.
#include "runtime/kernels/common/parallel.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr size_t kThreads = 4;
constexpr size_t kItems = 400;

using Loop = std::function<void(pthreadpool_t, const std::function<void(size_t)>&)>;

void call_with_ranges(pthreadpool_t pool, const std::function<void(size_t)>& item) {
  parallel_for(pool, kItems * 8, 8, [&](size_t begin, size_t end) {
    ASSERT_EQ(end - begin, 8);
    item(begin / 8);
  });
}

void call_with_thread(pthreadpool_t pool, const std::function<void(size_t)>& item) {
  parallel_for_with_thread(pool, kItems, [&](size_t, size_t i) { item(i); });
}

class ParallelTest : public ::testing::TestWithParam<Loop> {};

// The thread that takes the first item of all needs 40 times as long for each of its items. With equal shares it would
// take a quarter of them, and the others would wait for it.
TEST_P(ParallelTest, OthersTakeTheItemsOfASlowThread) {
  const std::unique_ptr<pthreadpool, void (*)(pthreadpool_t)> pool(pthreadpool_create(kThreads), pthreadpool_destroy);
  std::vector<std::atomic<int>> times(kItems);
  std::atomic<std::thread::id> slow{};
  std::atomic<size_t> items_of_slow{0};
  GetParam()(pool.get(), [&](size_t i) {
    std::thread::id nobody{};
    slow.compare_exchange_strong(nobody, std::this_thread::get_id());
    const bool is_slow = slow.load() == std::this_thread::get_id();
    std::this_thread::sleep_for(std::chrono::microseconds(is_slow ? 8000 : 200));
    items_of_slow += is_slow;
    ++times[i];
  });
  for (size_t i = 0; i < kItems; ++i) {
    EXPECT_EQ(times[i], 1) << i;
  }
  EXPECT_LT(items_of_slow, kItems / kThreads / 2);
}

INSTANTIATE_TEST_SUITE_P(Loops, ParallelTest, ::testing::Values(call_with_ranges, call_with_thread));

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
