// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// What apps do all day, at once: several processes with one file of packed weights, one of them killed from time to
// time; in each several threads that load programs with any options, call them with any sizes and destroy them. Every few
// seconds there are calls of other sizes and content, and a pool of another number of threads.
// ET_XNNPACK_SOAK_SECONDS says for how long; the sanitizers run it, too.

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include "delegate.h"
#include "executable_call.h"
#include "executorch_pool.h"
#include "graph_call.h"
#include "sample_graphs.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kProcesses = 2;
constexpr int kThreads = 4;
constexpr int kMethods = 3; // of a thread at the same time
constexpr int kCalls = 8; // of a program, from its loading on
constexpr std::chrono::seconds kRound{10};
constexpr uint32_t kMostThreads = 4; // of the pool

const char* environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

// A program, and what it gives when it is called in this order: states remember.
struct Program {
  std::vector<uint8_t> bytes;
  Blob blob;
  std::vector<GraphCall> calls;
  std::vector<std::vector<std::string>> results;
  std::vector<std::vector<Shape>> shapes; // of these
};

void add_weights(DataMap& weights) {
  weights.add("w", some_numbers(12));
  weights.add("table", some_numbers(6));
}

// On one thread, and nothing shared with anybody.
void compute_results(Program& program, uint32_t seed) {
  DataMap weights;
  add_weights(weights);
  StatusOr<std::unique_ptr<Executable>> executable = Executable::create(program.blob, &weights);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  std::mt19937 random(seed);
  for (int i = 0; i < kCalls; ++i) {
    program.calls.push_back(make_call(program.blob, i == 0 ? nullptr : &random));
    const Results computed = run(**executable, program.calls.back());
    ASSERT_TRUE(computed.status.ok()) << computed.status.message();
    std::vector<std::string> results;
    std::vector<Shape> shapes;
    for (size_t k = 0; k < computed.outputs.size(); ++k) {
      results.emplace_back(computed.outputs[k].begin(), computed.outputs[k].end());
      shapes.push_back((*executable)->output_type(k).shape);
    }
    program.results.push_back(std::move(results));
    program.shapes.push_back(std::move(shapes));
  }
}

// All that there are, with calls that depend on the seed.
using Programs = std::shared_ptr<const std::vector<Program>>;

Programs programs(uint32_t seed) {
  std::vector<Program> result;
  for (const SampleGraph& sample : sample_graphs()) {
    const std::vector<uint8_t> bytes = sample.def.build();
    result.push_back({bytes, *open_blob(span(bytes)), {}, {}, {}});
    compute_results(result.back(), seed);
  }
  return std::make_shared<const std::vector<Program>>(std::move(result));
}

// One thread of an app.
class Worker {
 public:
  Worker(EtXnnpackBackend& backend, const std::string& path, uint32_t seed)
      : backend_(backend), path_(path), random_(seed) {
    slots_.resize(kMethods);
    add_weights(weights_);
  }

  // What is loaded stays from one run to the next, with its own calls.
  void run(const Programs& programs, Clock::time_point end) {
    programs_ = programs;
    while (Clock::now() < end && !::testing::Test::HasFailure()) {
      Slot& slot = slots_[random_() % kMethods];
      if (slot.method == nullptr || slot.next == kCalls || random_() % 16 == 0) {
        load(slot);
      } else {
        call(slot);
      }
      if (random_() % 64 == 0) {
        BackendOption threads = option("num_threads", static_cast<int>(random_() % 2));
        executorch::runtime::BackendOptionContext context;
        EXPECT_EQ(backend_.set_option(context, Span<BackendOption>(&threads, 1)), Error::Ok);
      }
    }
  }

  uint64_t loads = 0, calls = 0;

 private:
  struct Slot {
    std::shared_ptr<const Program> program;
    std::unique_ptr<Method> method;
    int next = 0;
  };

  void load(Slot& slot) {
    std::array<char, executorch::runtime::kMaxOptionValueLength> path{}, sharing{};
    path_.copy(path.data(), path.size() - 1);
    const char* const kinds[] = {"none", "model", "global"};
    std::strncpy(sharing.data(), kinds[random_() % 3], sharing.size() - 1);
    std::vector<BackendOption> options = {
        option("weight_cache", random_() % 2 == 0),
        option("shrink_memory", random_() % 2 == 0),
        option("workspace_sharing", sharing)};
    if (random_() % 2 == 0) {
      options.push_back(option("packed_cache_path", path));
    }
    slot.method.reset();
    slot.program = {programs_, &(*programs_)[random_() % programs_->size()]};
    slot.method = std::make_unique<Method>(backend_, slot.program->bytes, &weights_, options);
    slot.next = 0;
    ++loads;
    EXPECT_NE(slot.method->handle, nullptr) << backend_.last_error();
  }

  void call(Slot& slot) {
    const Program& program = *slot.program;
    const auto i = static_cast<size_t>(slot.next++);
    const GraphCall& graph_call = program.calls[i];
    StatusOr<Sizes> sizes = evaluate_sizes(program.blob.graph(), {graph_call.sizes.data(), graph_call.sizes.size()});
    ASSERT_TRUE(sizes.ok()) << sizes.status().message();
    Call arguments(program.blob, *sizes, program.shapes[i]);
    for (size_t k = 0; k < graph_call.inputs.size(); ++k) {
      EValue& value = *arguments.values[k];
      if (value.isTensor()) {
        const std::vector<uint8_t>& content = graph_call.inputs[k];
        std::copy(content.begin(), content.end(), static_cast<uint8_t*>(value.toTensor().mutable_data_ptr()));
      } else {
        value = EValue(graph_call.sizes[k].integer);
      }
    }
    ASSERT_EQ(slot.method->execute(arguments.values), Error::Ok) << backend_.last_error();
    EXPECT_EQ(arguments.results(), program.results[i]) << "call " << i << " of\n" << inspect(program.blob);
    ++calls;
  }

  EtXnnpackBackend& backend_;
  const std::string path_;
  Programs programs_;
  std::mt19937 random_;
  DataMap weights_;
  std::vector<Slot> slots_;
};

// What each process does.
void run_workers(const std::string& path) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  const auto seed = static_cast<uint32_t>(std::atoi(environment("ET_XNNPACK_SOAK_SEED", "0")));
  const Clock::time_point end =
      Clock::now() + std::chrono::seconds(std::atoi(environment("ET_XNNPACK_SOAK_SECONDS", "2")));
  EtXnnpackBackend backend;
  std::vector<std::unique_ptr<Worker>> workers;
  for (uint32_t i = 0; i < kThreads; ++i) {
    workers.push_back(std::make_unique<Worker>(backend, path, seed * kThreads + i));
  }
  uint64_t loads = 0, calls = 0, different = 0;
  for (uint32_t round = seed; Clock::now() < end; round += 1000) {
    const Programs all = programs(round);
    different += all->size() * kCalls;
    // Under the thread sanitizer the pool is another one, which stays.
    ASSERT_TRUE(extension::threadpool::get_threadpool()->_unsafe_reset_threadpool(1 + round / 1000 % kMostThreads));
    if (::testing::Test::HasFailure()) {
      return;
    }
    std::vector<std::thread> threads;
    for (const std::unique_ptr<Worker>& worker : workers) {
      threads.emplace_back([&] { worker->run(all, std::min(end, Clock::now() + kRound)); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
  for (const std::unique_ptr<Worker>& worker : workers) {
    loads += worker->loads;
    calls += worker->calls;
  }
  EXPECT_GT(calls, 0u);
  std::ofstream(path + ".count", std::ios::app) << loads << " " << calls << " " << different << "\n";
}

// By the name that this process has, under which an emulator may run it.
std::string own_command() {
  std::string name;
  std::ifstream words("/proc/self/cmdline");
  std::getline(words, name, '\0');
  return name;
}

pid_t start(const std::string& path, int seed, int seconds) {
  unsetenv("GTEST_TOTAL_SHARDS"); // the one test is in the first shard only
  unsetenv("GTEST_SHARD_INDEX");
  setenv("ET_XNNPACK_SOAK_FILE", path.c_str(), 1);
  setenv("ET_XNNPACK_SOAK_SEED", std::to_string(seed).c_str(), 1);
  setenv("ET_XNNPACK_SOAK_SECONDS", std::to_string(seconds).c_str(), 1);
  std::string words[] = {"soak", "--gtest_filter=SoakTest.*", "--gtest_brief=1"};
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  pid_t pid = -1;
  EXPECT_EQ(posix_spawnp(&pid, own_command().c_str(), nullptr, nullptr, arguments, environ), 0);
  return pid;
}

void expect_success(pid_t pid) {
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "it ended with status " << status;
}

TEST(SoakTest, NoWrongResult) {
  if (const std::string shared = environment("ET_XNNPACK_SOAK_FILE", ""); !shared.empty()) {
    run_workers(shared);
    return;
  }
  const int seconds = std::atoi(environment("ET_XNNPACK_SOAK_SECONDS", "2"));
  const std::string path = ::testing::TempDir() + "soak-" + std::to_string(getpid());
  const Clock::time_point begin = Clock::now();
  const auto left = [&] {
    return seconds - static_cast<int>(std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count());
  };
  std::vector<pid_t> processes;
  int seed = 0;
  for (; seed < kProcesses; ++seed) {
    processes.push_back(start(path, seed, seconds));
  }
  int killed = 0;
  while (left() > 1) { // one more comes and is killed wherever it is
    const pid_t pid = start(path, ++seed, seconds);
    std::this_thread::sleep_for(std::chrono::milliseconds(500 + 137 * (seed % 8)));
    kill(pid, SIGKILL);
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "it ended before, with status " << status;
    ++killed;
  }
  for (const pid_t pid : processes) {
    expect_success(pid);
  }
  uint64_t loads = 0, calls = 0, different = 0, more_loads = 0, more_calls = 0, more_different = 0;
  for (std::ifstream counts(path + ".count"); counts >> more_loads >> more_calls >> more_different;) {
    loads += more_loads;
    calls += more_calls;
    different += more_different;
  }
  EXPECT_GT(calls, 0u);
  std::printf(
      "%d processes of %d threads, %d seconds: %llu loads, %llu calls, %llu different ones; %d more processes were killed\n",
      kProcesses,
      kThreads,
      seconds,
      static_cast<unsigned long long>(loads),
      static_cast<unsigned long long>(calls),
      static_cast<unsigned long long>(different),
      killed);
  unlink(path.c_str());
  unlink((path + ".count").c_str());
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
