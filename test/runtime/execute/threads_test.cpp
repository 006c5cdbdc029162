// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// What several threads may do at the same time, and what may happen to ExecuTorch's pool between
// two calls. The thread sanitizer runs these, too.

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "delegate.h"
#include "executorch_pool.h"
#include "graph_def.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr int kThreads = 4;

// Large enough for parts of it to run on all threads of the pool.
//   x [batch, 96] -> Linear -> LayerNorm -> Gelu -> Softmax
GraphDef network() {
  GraphDef g;
  const int64_t batch = g.ranged(schema::DimOp::InputDim, 0, 0, 1, 64, 8);
  const uint32_t x = g.input({batch, 96});
  const uint32_t w = g.named({96, 96}, "w");
  const uint32_t y = g.node(linear(), {x, w}, {batch, 96});
  const uint32_t norm = g.node(layer_norm(), {y, kNone, kNone}, {batch, 96});
  const uint32_t gelu = g.node(unary(schema::UnaryKind::Gelu), {norm}, {batch, 96});
  g.output(g.node(softmax(1), {gelu}, {batch, 96}));
  return g;
}

// Calls function(thread) on several threads, which begin together.
template <typename Function>
void on_threads(const Function& function, int count = kThreads) {
  std::atomic<int> waiting{count};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      --waiting;
      while (waiting > 0) {
      }
      function(i);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

class ThreadsTest : public ::testing::Test {
 protected:
  ThreadsTest() : blob_(network().build()) {
    weights_.add("w", some_numbers(96 * 96));
  }

  static std::vector<float> run(Method& method, int32_t batch) {
    TensorArgument x({batch, 96}, some_numbers(static_cast<size_t>(batch) * 96, static_cast<uint32_t>(batch)));
    TensorArgument y({64, 96});
    EXPECT_EQ(method.execute({x.value(), y.value()}), Error::Ok);
    return y.numbers();
  }
  // What run() should give, from a method of its own.
  std::vector<float> expected(int32_t batch) {
    Method method(backend_, blob_, &weights_, {option("num_threads", 1)});
    return run(method, batch);
  }
  // Only whether it loads and runs: other threads have weights in use.
  void load_and_run(int32_t batch, const std::vector<float>& result) {
    BlobBuffer processed(blob_);
    BackendInitContext context(nullptr, nullptr, "forward", &weights_);
    const auto handle = backend_.init(context, processed.buffer(), {});
    ASSERT_TRUE(handle.ok());
    TensorArgument x({batch, 96}, some_numbers(static_cast<size_t>(batch) * 96, static_cast<uint32_t>(batch)));
    TensorArgument y({64, 96});
    EValue* arguments[] = {x.value(), y.value()};
    BackendExecutionContext execution;
    EXPECT_EQ(backend_.execute(execution, *handle, {arguments, 2}), Error::Ok);
    EXPECT_EQ(y.numbers(), result);
    backend_.destroy(*handle);
  }

  EtXnnpackBackend backend_;
  DataMap weights_;
  std::vector<uint8_t> blob_;
};

// Also the first use of XNNPACK in this process, if the test runs alone.
TEST_F(ThreadsTest, LoadAtOnce) { // Robustness: R6
  std::vector<std::vector<float>> results(kThreads);
  on_threads([&](int i) {
    BlobBuffer processed(blob_);
    BackendInitContext context(nullptr, nullptr, "forward", &weights_);
    const auto handle = backend_.init(context, processed.buffer(), {});
    ASSERT_TRUE(handle.ok());
    TensorArgument x({8, 96}, some_numbers(8 * 96));
    TensorArgument y({64, 96});
    EValue* arguments[] = {x.value(), y.value()};
    BackendExecutionContext execution;
    EXPECT_EQ(backend_.execute(execution, *handle, {arguments, 2}), Error::Ok);
    results[static_cast<size_t>(i)] = y.numbers();
    backend_.destroy(*handle);
  });
  EXPECT_EQ(weights_.in_use(), 0);
  for (const std::vector<float>& result : results) {
    EXPECT_EQ(result, results[0]);
  }
}

TEST_F(ThreadsTest, LoadAndDestroyWhileAnotherRuns) { // Robustness: R6
  const std::vector<float> three = expected(3), nine = expected(9);
  Method sibling(backend_, blob_, &weights_);
  on_threads([&](int i) {
    for (int round = 0; round < 5; ++round) {
      if (i == 0) {
        EXPECT_EQ(run(sibling, 9), nine);
      } else {
        load_and_run(3, three);
      }
    }
  });
}

TEST_F(ThreadsTest, CallsOfOneMethodRunOneAfterTheOther) { // Robustness: R6
  std::vector<std::vector<float>> results;
  for (int32_t batch = 1; batch <= kThreads; ++batch) {
    results.push_back(expected(batch));
  }
  Method method(backend_, blob_, &weights_);
  on_threads([&](int i) {
    for (int round = 0; round < 10; ++round) {
      EXPECT_EQ(run(method, i + 1), results[static_cast<size_t>(i)]);
    }
  });
}

TEST_F(ThreadsTest, FailWithoutDisturbingOthers) {
  const std::vector<float> two = expected(2);
  Method method(backend_, blob_, &weights_);
  on_threads([&](int i) {
    for (int round = 0; round < 10; ++round) {
      if (i % 2 == 0) {
        EXPECT_EQ(run(method, 2), two);
        continue;
      }
      TensorArgument x({65, 96}), y({64, 96});
      BackendExecutionContext context;
      EValue* arguments[] = {x.value(), y.value()};
      EXPECT_EQ(backend_.execute(context, method.handle, {arguments, 2}), Error::InvalidArgument);
      EXPECT_NE(backend_.last_error().find("64"), std::string::npos) << backend_.last_error();
    }
  });
}

TEST_F(ThreadsTest, SetOptionsWhileOthersLoad) {
  const std::vector<float> three = expected(3);
  on_threads([&](int i) {
    BackendOptionContext context;
    for (int round = 0; round < 5; ++round) {
      if (i == 0) {
        load_and_run(3, three);
        continue;
      }
      BackendOption one = option("num_threads", round % 2);
      EXPECT_EQ(backend_.set_option(context, Span<BackendOption>(&one, 1)), Error::Ok);
      Span<BackendOption> asked(&one, 1);
      EXPECT_EQ(backend_.get_option(context, asked), Error::Ok);
    }
  });
}

TEST_F(ThreadsTest, ShareStates) {
  GraphDef g;
  const uint32_t one = g.constant({1}, {1});
  const uint32_t count = g.state("count", {1}, {0});
  g.states[0].update = g.node(binary(schema::BinaryKind::Add), {count, one}, {1});
  g.output(g.node(reshape({1}), {count}, {1}));
  const std::vector<uint8_t> blob = g.build();
  Method first(backend_, blob, nullptr, {option("state_group", 41)});
  Method second(backend_, blob, nullptr, {option("state_group", 41)});
  constexpr int kRounds = 50;
  std::vector<std::vector<float>> seen(kThreads);
  on_threads([&](int i) {
    for (int round = 0; round < kRounds; ++round) {
      TensorArgument number({1});
      EXPECT_EQ((i % 2 == 0 ? first : second).execute({number.value()}), Error::Ok);
      seen[static_cast<size_t>(i)].push_back(number.numbers()[0]);
    }
    // Those of a group that others join and leave.
    Method third(backend_, blob, nullptr, {option("state_group", 41)});
    EXPECT_EQ(third.error, Error::Ok);
  });
  std::vector<float> all;
  for (const std::vector<float>& part : seen) {
    all.insert(all.end(), part.begin(), part.end());
  }
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i], static_cast<float>(i)) << "no call may be lost";
  }
}

// A group comes into being on several threads, and must be one.
TEST_F(ThreadsTest, JoinAGroupAtOnce) {
  GraphDef g;
  const uint32_t one = g.constant({1}, {1});
  const uint32_t count = g.state("count", {1}, {0});
  g.states[0].update = g.node(binary(schema::BinaryKind::Add), {count, one}, {1});
  g.output(g.node(reshape({1}), {count}, {1}));
  const std::vector<uint8_t> blob = g.build();
  std::vector<std::unique_ptr<Method>> methods(kThreads);
  on_threads([&](int i) {
    methods[static_cast<size_t>(i)] =
        std::make_unique<Method>(backend_, blob, nullptr, std::vector<BackendOption>{option("state_group", 42)});
  });
  for (size_t i = 0; i < methods.size(); ++i) {
    TensorArgument number({1});
    EXPECT_EQ(methods[i]->execute({number.value()}), Error::Ok);
    EXPECT_EQ(number.numbers()[0], static_cast<float>(i));
  }
}

// Several steps of each kind, more than threads, some with the same weights.
GraphDef many_weights() {
  GraphDef g;
  uint32_t x = g.input({1, 6, 6, 24});
  for (int i = 0; i < 12; ++i) {
    const std::string name = "w" + std::to_string(i % 9);
    const std::string kernel = "kernel" + std::to_string(i % 9);
    x = g.node(linear(), {x, g.named({24, 24}, name)}, {1, 6, 6, 24});
    x = g.node(conv2d({1, 1}, {3, 3, 3, 3}, {1, 1}, 24), {x, g.named({24, 7, 7, 1}, kernel)}, {1, 6, 6, 24});
  }
  g.output(x);
  return g;
}

std::vector<float> run_many(Method& method) {
  TensorArgument x({1, 6, 6, 24}, some_numbers(36 * 24)), y({1, 6, 6, 24});
  EXPECT_EQ(method.execute({x.value(), y.value()}), Error::Ok);
  return y.numbers();
}

void add_many(DataMap* data, uint32_t absent = 9) {
  for (uint32_t i = 0; i < 9; ++i) {
    data->add("w" + std::to_string(i), some_numbers(24 * 24, i));
    if (i != absent) {
      data->add("kernel" + std::to_string(i), some_numbers(24 * 49, i));
    }
  }
}

TEST_F(ThreadsTest, PackOnThePool) {
  const std::vector<uint8_t> blob = many_weights().build();
  const auto load_and_run_many = [&](int threads, bool shared) {
    DataMap data;
    add_many(&data);
    Method method(backend_, blob, &data, {option("num_threads", threads), option("weight_cache", shared)});
    return run_many(method);
  };
  const std::vector<float> expected = load_and_run_many(1, false);
  for (const bool shared : {false, true}) {
    on_threads([&](int i) {
      for (int round = 0; round < 4; ++round) {
        EXPECT_EQ(load_and_run_many((i + round) % 2, shared), expected);
      }
    });
  }
}

TEST_F(ThreadsTest, PackOnThePoolWithoutOneOfTheWeights) {
  const std::vector<uint8_t> blob = many_weights().build();
  on_threads([&](int) {
    DataMap data;
    add_many(&data, 5);
    const Method method(backend_, blob, &data);
    EXPECT_EQ(method.error, Error::InvalidProgram);
    EXPECT_NE(backend_.last_error().find("kernel5"), std::string::npos) << backend_.last_error();
  });
  DataMap data;
  add_many(&data);
  const Method method(backend_, blob, &data);
  EXPECT_EQ(method.error, Error::Ok); // nobody waits for what was not packed
}

class PoolTest : public ThreadsTest {
 protected:
  ~PoolTest() override {
    extension::threadpool::NoThreadPoolGuard::set_enabled(false);
  }
};

TEST_F(PoolTest, MayBeReplacedBetweenCalls) { // Robustness: R7
  const std::vector<float> result = expected(40);
  Method method(backend_, blob_, &weights_);
  for (const uint32_t threads : {2u, 1u, 5u, 5u, 3u}) {
    EXPECT_EQ(run(method, 40), result);
    ASSERT_TRUE(extension::threadpool::get_threadpool()->_unsafe_reset_threadpool(threads));
    EXPECT_EQ(run(method, 40), result) << threads;
  }
}

TEST_F(PoolTest, MayBeForbiddenBetweenCalls) { // Robustness: R7
  const std::vector<float> result = expected(40);
  Method method(backend_, blob_, &weights_);
  for (const bool forbidden : {false, true, true, false}) {
    extension::threadpool::NoThreadPoolGuard::set_enabled(forbidden);
    EXPECT_EQ(run(method, 40), result);
  }
  extension::threadpool::NoThreadPoolGuard::set_enabled(true);
  Method loaded_without(backend_, blob_, &weights_);
  EXPECT_EQ(run(loaded_without, 40), result);
  extension::threadpool::NoThreadPoolGuard::set_enabled(false);
  EXPECT_EQ(run(loaded_without, 40), result);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
