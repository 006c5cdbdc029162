// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/weights/packed_weights.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

PackedBytes some_bytes() {
  auto memory = std::make_shared<Buffer>(std::move(*Buffer::allocate(8)));
  return {memory->data(), 8, false, memory};
}

TEST(PackedWeightsTest, AreThereAsLongAsTheirUsers) {
  PackedWeights weights;
  ASSERT_EQ(weights.find_or_reserve("a"), nullptr);
  PackedPtr first = weights.publish("a", some_bytes());
  PackedPtr second = weights.find_or_reserve("a");
  EXPECT_EQ(second, first);
  EXPECT_EQ(weights.bytes(), 8u);
  first = nullptr;
  EXPECT_EQ(weights.count(), 1u);
  second = nullptr;
  EXPECT_EQ(weights.count(), 0u);
  EXPECT_EQ(weights.find_or_reserve("a"), nullptr);
  weights.abandon("a");
}

TEST(PackedWeightsTest, ArePackedByTheNextIfTheFirstGivesUp) {
  PackedWeights weights;
  ASSERT_EQ(weights.find_or_reserve("a"), nullptr);
  std::thread next([&] {
    ASSERT_EQ(weights.find_or_reserve("a"), nullptr);
    weights.publish("a", some_bytes());
  });
  weights.abandon("a");
  next.join();
}

// Who forgets some may be the last to hold others of that key.
TEST(PackedWeightsTest, AreForgottenWhileOthersGo) {
  PackedWeights weights;
  ASSERT_EQ(weights.find_or_reserve("a"), nullptr);
  const PackedPtr old = weights.publish("a", some_bytes());
  weights.forget("a", old);
  std::atomic<bool> done{false};
  std::thread others([&] {
    for (int i = 0; i < 20000; ++i) {
      if (weights.find_or_reserve("a") == nullptr) {
        weights.publish("a", {});
      }
    }
    done = true;
  });
  while (!done) {
    weights.forget("a", old);
  }
  others.join();
  EXPECT_EQ(weights.count(), 0u);
}

TEST(PackedWeightsTest, ArePackedOnceByManyThreads) {
  PackedWeights weights;
  std::atomic<int> packed{0};
  std::vector<PackedPtr> kept(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kept.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const std::string key = std::to_string(i % 3);
        PackedPtr found = weights.find_or_reserve(key);
        if (found == nullptr) {
          packed += key == "0";
          found = weights.publish(key, some_bytes());
        }
        if (key == "0") {
          kept[t] = found;
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(weights.count(), 1u);
  EXPECT_EQ(packed, 1);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
