// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// The standard library finds no memory at each place where it wants some, one after the other: while the backend loads
// and while it executes. ExecuTorch calls it without exceptions.

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weights.h>

#include "counted_memory.h"
#include "delegate.h"
#include "executable_call.h"
#include "memory_graphs.h"
#include "silent_tracer.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

struct Program {
  std::string name;
  std::vector<uint8_t> bytes;
};

class BackendMemoryFailureTest : public ::testing::TestWithParam<Program> {
 protected:
  static constexpr int kPlenty = 1 << 30;

  BackendMemoryFailureTest() : bytes_(GetParam().bytes), blob_(*open_blob(span(bytes_))) {
    StatusOr<Sizes> sizes = planned_sizes(blob_.graph());
    for (const auto& [key, weight] : declared_weights(blob_, *infer_types(blob_, *sizes))) {
      if (weight.dtype == DType::Float32) {
        weights_.add(key, some_numbers(weight.bytes / sizeof(float)));
      } else {
        weights_.add(key, std::vector<uint8_t>(weight.bytes)); // zeros, which are good indices as well
      }
    }
  }
  ~BackendMemoryFailureTest() override {
    news_left = kUnlimited;
    allocations_left = kUnlimited;
  }

  // With so many allocations of this kind.
  Error load(int limit, DelegateHandle** handle, std::atomic<int>& kind = news_left) {
    FreeableBuffer blob(bytes_.data(), bytes_.size(), nullptr);
    BackendInitContext context(nullptr, tracer_, "forward", &weights_, {options_.data(), options_.size()});
    kind = limit;
    const auto result = backend_.init(context, &blob, {});
    left_ = kind.exchange(kUnlimited);
    *handle = result.ok() ? *result : nullptr;
    return error_ = result.error();
  }
  Error execute(int limit, DelegateHandle* handle, Call& call) {
    BackendExecutionContext context(tracer_);
    news_left = limit;
    const Error error = backend_.execute(context, handle, {call.values.data(), call.values.size()});
    left_ = news_left.exchange(kUnlimited);
    return error;
  }
  // Which needs no memory.
  void destroy(DelegateHandle* handle) {
    news_left = 0;
    backend_.destroy(handle);
    news_left = kUnlimited;
  }

  // Loads with ever more allocations until that succeeds; with how many it did.
  int load_until_it_succeeds(const std::function<void()>& check_failure, std::atomic<int>& kind = news_left) {
    const size_t packed = PackedWeights::of_process().count();
    DelegateHandle* handle = nullptr;
    int limit = 0;
    for (; load(limit, &handle, kind) != Error::Ok; ++limit) {
      SCOPED_TRACE(limit);
      EXPECT_EQ(error_, Error::MemoryAllocationFailed) << backend_.last_error();
      EXPECT_EQ(weights_.in_use(), 0);
      EXPECT_EQ(PackedWeights::of_process().count(), packed);
      check_failure();
      if (HasFailure()) {
        return limit;
      }
    }
    destroy(handle);
    return limit;
  }

  // How many it needs, as the second one in a process.
  int count_of_load() {
    DelegateHandle* handle = nullptr;
    EXPECT_EQ(load(kPlenty, &handle), Error::Ok) << backend_.last_error();
    destroy(handle);
    return kPlenty - left_;
  }

  // With room for its results, wherever sizes are found in data.
  std::unique_ptr<Call> call_with(const GraphCall& given) {
    StatusOr<std::unique_ptr<Executable>> executable = Executable::create(blob_, &weights_);
    EXPECT_TRUE(executable.ok() && run(**executable, given).status.ok());
    std::vector<Shape> shapes;
    for (size_t i = 0; i < blob_.num_outputs(); ++i) {
      shapes.push_back((*executable)->output_type(i).shape);
    }
    StatusOr<Sizes> sizes = evaluate_sizes(blob_.graph(), {given.sizes.data(), given.sizes.size()});
    EXPECT_TRUE(sizes.ok());
    auto call = std::make_unique<Call>(blob_, *sizes, shapes);
    for (size_t i = 0; i < given.inputs.size(); ++i) {
      EValue& value = *call->values[i];
      if (value.isTensor()) {
        std::copy(
            given.inputs[i].begin(), given.inputs[i].end(), static_cast<uint8_t*>(value.toTensor().mutable_data_ptr()));
      } else {
        value = EValue(given.sizes[i].integer);
      }
    }
    return call;
  }

  // The next call is right, each time.
  void fail_each_allocation_of_a_call() {
    const std::unique_ptr<Call> made = call_with(make_call(blob_, nullptr));
    Call& call = *made;
    DelegateHandle* handle = nullptr;
    ASSERT_EQ(load(kUnlimited, &handle), Error::Ok);
    ASSERT_EQ(execute(kUnlimited, handle, call), Error::Ok);
    const std::vector<std::string> expected = call.results();
    destroy(handle);
    ASSERT_EQ(load(kUnlimited, &handle), Error::Ok);
    ASSERT_EQ(execute(kPlenty, handle, call), Error::Ok);
    destroy(handle);
    const int count = kPlenty - left_;
    ASSERT_GT(count, 0);
    for (int limit = 0; limit < count; ++limit) {
      SCOPED_TRACE(limit);
      ASSERT_EQ(load(kUnlimited, &handle), Error::Ok);
      EXPECT_EQ(execute(limit, handle, call), Error::MemoryAllocationFailed);
      EXPECT_EQ(execute(kUnlimited, handle, call), Error::Ok);
      EXPECT_EQ(call.results(), expected);
      destroy(handle);
    }
  }

  EtXnnpackBackend backend_;
  std::vector<uint8_t> bytes_;
  Blob blob_;
  std::vector<BackendOption> options_;
  SilentTracer* tracer_ = nullptr;
  DataMap weights_;
  Error error_ = Error::Ok; // of the last load
  int left_ = 0; // of its allocations, or those of the last call
};

TEST_P(BackendMemoryFailureTest, WhileLoading) {
  count_of_load(); // makes what there is once in a process
  const int count = count_of_load();
  // Bytes are copied to be packed where they end too close to the end of a page.
  const int enough = load_until_it_succeeds([] {});
  EXPECT_GT(enough, 10);
  EXPECT_GE(enough, count - 4);
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

size_t open_files() {
  return names_in("/proc/self/fd").size();
}

// A file that is read, and one that is written: there is a whole one or none, also if memory runs out after that.
class FileMemoryFailureTest : public BackendMemoryFailureTest {};

TEST_P(FileMemoryFailureTest, WhileLoading) {
  std::string name = ::testing::TempDir() + "memory-XXXXXX";
  const std::string folder = mkdtemp(name.data());
  const std::string path = folder + "/weights";
  std::array<char, executorch::runtime::kMaxOptionValueLength> text{};
  path.copy(text.data(), text.size() - 1);
  options_ = {option("packed_cache_path", text), option("weight_cache", false)};
  const auto content = [&] {
    std::ifstream stream(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  count_of_load();
  const std::string whole = content(); // empty, as there is none, where nothing is packed
  for (std::atomic<int>* kind : {&news_left, &allocations_left}) {
    for (const bool reads : {true, false}) {
      if (reads && whole.empty()) {
        continue;
      }
      SCOPED_TRACE(std::string(reads ? "reads" : "writes") + (kind == &news_left ? "" : ", large ones"));
      const size_t open = open_files();
      const auto begin = [&] {
        if (!reads) {
          std::filesystem::remove(path);
        }
      };
      begin();
      load_until_it_succeeds(
          [&] {
            EXPECT_EQ(open_files(), open);
            if (reads || std::filesystem::exists(path)) {
              EXPECT_EQ(content(), whole);
            }
            EXPECT_THAT(names_in(folder), ::testing::Each("weights"));
            begin();
          },
          *kind);
      EXPECT_EQ(open_files(), open);
      EXPECT_EQ(content(), whole);
    }
  }
  std::filesystem::remove_all(folder);
}

TEST_P(BackendMemoryFailureTest, WhileRunning) {
  fail_each_allocation_of_a_call();
}

// Which makes names for events, and with the second level copies of results.
class ProfiledMemoryFailureTest : public BackendMemoryFailureTest {};

TEST_P(ProfiledMemoryFailureTest, WhileLoadingAndRunning) {
  using Level = executorch::runtime::EventTracerDebugLogLevel;
  SilentTracer tracer;
  tracer_ = &tracer;
  for (const Level level : {Level::kNoLogging, Level::kIntermediateOutputs}) {
    tracer.set_event_tracer_debug_level(level);
    load_until_it_succeeds([] {});
    fail_each_allocation_of_a_call();
  }
  tracer_ = nullptr;
}

// Calls with other sizes than the one before.
class SizesMemoryFailureTest : public BackendMemoryFailureTest {
 protected:
  std::vector<std::string> results_of(Call& call) {
    DelegateHandle* handle = nullptr;
    EXPECT_EQ(load(kUnlimited, &handle), Error::Ok);
    EXPECT_EQ(execute(kUnlimited, handle, call), Error::Ok) << backend_.last_error();
    destroy(handle);
    return call.results();
  }
};

TEST_P(SizesMemoryFailureTest, WhileRunning) {
  std::mt19937 random(5);
  const std::unique_ptr<Call> first = call_with(make_call(blob_, nullptr));
  const std::unique_ptr<Call> second = call_with(make_call(blob_, &random));
  const std::vector<std::string> first_expected = results_of(*first), second_expected = results_of(*second);
  DelegateHandle* handle = nullptr;
  ASSERT_EQ(load(kUnlimited, &handle), Error::Ok);
  ASSERT_EQ(execute(kUnlimited, handle, *first), Error::Ok);
  ASSERT_EQ(execute(kPlenty, handle, *second), Error::Ok);
  const int count = kPlenty - left_;
  destroy(handle);
  EXPECT_TRUE(count > 0 || GetParam().name.find("golden_") == 0) << "small programs reuse what they have";
  for (int limit = 0; limit < count; ++limit) {
    SCOPED_TRACE(limit);
    ASSERT_EQ(load(kUnlimited, &handle), Error::Ok);
    ASSERT_EQ(execute(kUnlimited, handle, *first), Error::Ok);
    EXPECT_EQ(execute(limit, handle, *second), Error::MemoryAllocationFailed);
    Call& next = limit % 2 == 0 ? *first : *second;
    EXPECT_EQ(execute(kUnlimited, handle, next), Error::Ok);
    EXPECT_EQ(next.results(), limit % 2 == 0 ? first_expected : second_expected);
    destroy(handle);
  }
}

TEST(MemoryFailureOfOptionsTest, IsAnError) {
  EtXnnpackBackend backend;
  BackendOptionContext context;
  BackendOption one = option("num_threads", 1);
  news_left = 0;
  const Error set = backend.set_option(context, {&one, 1});
  const Error of_load = backend.set_load_options({&one, 1});
  const Error verified = backend.verify({reinterpret_cast<const uint8_t*>(&one), sizeof(one)});
  news_left = kUnlimited;
  EXPECT_EQ(set, Error::MemoryAllocationFailed);
  EXPECT_EQ(of_load, Error::MemoryAllocationFailed);
  EXPECT_NE(verified, Error::Ok);
  EXPECT_EQ(backend.set_option(context, {&one, 1}), Error::Ok);
}

std::vector<Program> samples() {
  std::vector<Program> result;
  for (const SampleGraph& sample : graphs_for_memory()) {
    result.push_back({sample.name, sample.def.build()});
  }
  return result;
}

// These, and the blobs of test/golden: in them operators have more forms.
std::vector<Program> programs() {
  constexpr char kOffsets[] = "embedding_bag_weights"; // offsets must ascend, which those that are made up do not
  std::vector<Program> result = samples();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ET_XNNPACK_GOLDEN)) {
    if (entry.path().extension() == ".etx" && entry.path().stem() != kOffsets) {
      std::ifstream file(entry.path(), std::ios::binary);
      result.push_back({"golden_" + entry.path().stem().string(), {std::istreambuf_iterator<char>(file), {}}});
    }
  }
  std::sort(result.begin(), result.end(), [](const Program& a, const Program& b) { return a.name < b.name; });
  return result;
}

// Those of dynamic sizes, without states, of which results depend on the calls before.
std::vector<Program> programs_of_any_size() {
  std::vector<Program> result = programs();
  const auto is_other = [](const Program& program) {
    const Blob blob = *open_blob(span(program.bytes));
    const auto* exprs = blob.graph().exprs();
    const bool is_dynamic = exprs != nullptr && std::any_of(exprs->begin(), exprs->end(), [](const auto* expr) {
                              return expr->op() == schema::DimOp::InputDim;
                            });
    return !is_dynamic || blob.num_states() > 0;
  };
  result.erase(std::remove_if(result.begin(), result.end(), is_other), result.end());
  return result;
}

std::string name_of(const ::testing::TestParamInfo<Program>& program) {
  return program.param.name;
}

INSTANTIATE_TEST_SUITE_P(All, BackendMemoryFailureTest, ::testing::ValuesIn(programs()), name_of);
INSTANTIATE_TEST_SUITE_P(Samples, ProfiledMemoryFailureTest, ::testing::ValuesIn(samples()), name_of);
INSTANTIATE_TEST_SUITE_P(Samples, FileMemoryFailureTest, ::testing::ValuesIn(samples()), name_of);
INSTANTIATE_TEST_SUITE_P(All, SizesMemoryFailureTest, ::testing::ValuesIn(programs_of_any_size()), name_of);

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
