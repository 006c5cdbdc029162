// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// What methods share in the backend: where their data come from, memory, states.

#include <runtime/backend.h>

#include <array>
#include <string>
#include <vector>

#include <unistd.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <executorch/runtime/executor/merged_data_map.h>
#include <gmock/gmock.h>

#include "counted_memory.h"
#include "delegate.h"
#include "graph_def.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using executorch::runtime::NamedDataMap;
using executorch::runtime::internal::MergedDataMap;
using ::testing::HasSubstr;

constexpr int32_t kWidth = 64;
constexpr size_t kArgumentBytes = kWidth * kWidth * sizeof(float);

BackendOption text_option(const char* name, const std::string& value) {
  std::array<char, executorch::runtime::kMaxOptionValueLength> text{};
  value.copy(text.data(), text.size() - 1);
  return option(name, text);
}

// Destroyed at its end.
class Loaded {
 public:
  Loaded(EtXnnpackBackend& backend, const GraphDef& graph, const NamedDataMap* data, std::vector<BackendOption> options)
      : backend_(backend) {
    BlobBuffer blob(graph.build());
    BackendInitContext context(nullptr, nullptr, "forward", data, {options.data(), options.size()});
    const auto result = backend.init(context, blob.buffer(), {});
    error = result.error();
    handle_ = result.ok() ? *result : nullptr;
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  ~Loaded() {
    if (handle_ != nullptr) {
      backend_.destroy(handle_);
    }
  }
  Error execute(std::vector<EValue*> arguments) {
    BackendExecutionContext context;
    return backend_.execute(context, handle_, {arguments.data(), arguments.size()});
  }

  Error error = Error::Ok;

 private:
  EtXnnpackBackend& backend_;
  DelegateHandle* handle_ = nullptr;
};

// Three products. The arena has the results of two, and something behind.
GraphDef products() {
  GraphDef g;
  const uint32_t x = g.input({kWidth, kWidth}), w = g.named({kWidth, kWidth}, "w");
  const uint32_t y = g.node(linear(), {x, w}, {kWidth, kWidth});
  const uint32_t z = g.node(linear(), {y, w}, {kWidth, kWidth});
  g.output(g.node(linear(), {z, w}, {kWidth, kWidth}));
  return g;
}

class SharingTest : public ::testing::Test {
 protected:
  SharingTest() {
    weights_.add("w", some_numbers(kWidth * kWidth));
  }
  ~SharingTest() override {
    largest = SIZE_MAX;
  }

  static Error run(Loaded& method) {
    TensorArgument x({kWidth, kWidth}, some_numbers(kWidth * kWidth)), y({kWidth, kWidth});
    return method.execute({x.value(), y.value()});
  }
  // In memory that is there, but for copies of arguments.
  static Error run_without_an_arena_of_its_own(Loaded& method) {
    largest = 2 * kArgumentBytes;
    const Error error = run(method);
    largest = SIZE_MAX;
    return error;
  }

  EtXnnpackBackend backend_;
  DataMap weights_;
};

// ExecuTorch makes a map for each method of a program that has data itself and gets .ptd files, too.
TEST_F(SharingTest, MethodsOfAProgramShareTheirWorkspaceWherePartOfTheDataIsInFiles) {
  DataMap program, other_program;
  program.add("p", some_numbers(1));
  other_program.add("p", some_numbers(1));
  const auto first = MergedDataMap::load(&weights_, &program);
  const auto second = MergedDataMap::load(&weights_, &program);
  const auto third = MergedDataMap::load(&weights_, &other_program);
  const std::vector<BackendOption> options = {text_option("workspace_sharing", "model")};
  Loaded a(backend_, products(), &first.get(), options), b(backend_, products(), &second.get(), options);
  Loaded other(backend_, products(), &third.get(), options);
  ASSERT_EQ(run(a), Error::Ok) << backend_.last_error();
  EXPECT_EQ(run_without_an_arena_of_its_own(b), Error::Ok) << backend_.last_error();
  EXPECT_EQ(run_without_an_arena_of_its_own(other), Error::MemoryAllocationFailed) << "of another program";
  EXPECT_EQ(run(other), Error::Ok);
}

// Has what another one has, until it can no longer read it.
class FailingMap final : public NamedDataMap {
 public:
  explicit FailingMap(const DataMap& map) : map_(map) {}

  executorch::runtime::Result<FreeableBuffer> get_data(std::string_view key) const override {
    if (error != Error::Ok) {
      return error;
    }
    return map_.get_data(key);
  }
  executorch::runtime::Result<const executorch::runtime::TensorLayout> get_tensor_layout(
      std::string_view key) const override {
    return map_.get_tensor_layout(key);
  }
  Error load_data_into(std::string_view key, void* buffer, size_t size) const override {
    return map_.load_data_into(key, buffer, size);
  }
  executorch::runtime::Result<uint32_t> get_num_keys() const override {
    return map_.get_num_keys();
  }
  executorch::runtime::Result<const char*> get_key(uint32_t index) const override {
    return map_.get_key(index);
  }

  Error error = Error::Ok;

 private:
  const DataMap& map_;
};

TEST_F(SharingTest, WeightsThatCannotBeReadAreNotMissing) { // Robustness: R8
  FailingMap map(weights_);
  map.error = Error::NotFound;
  EXPECT_EQ(Loaded(backend_, products(), &map, {}).error, Error::InvalidProgram);
  EXPECT_THAT(backend_.last_error(), HasSubstr("weight w is not in the program or its .ptd files"));
  map.error = Error::MemoryAllocationFailed;
  EXPECT_EQ(Loaded(backend_, products(), &map, {}).error, Error::MemoryAllocationFailed);
  EXPECT_THAT(backend_.last_error(), HasSubstr("weight w cannot be read: Error::MemoryAllocationFailed"));
  map.error = Error::AccessFailed;
  EXPECT_EQ(Loaded(backend_, products(), &map, {}).error, Error::AccessFailed);
  map.error = Error::Ok;
  Loaded method(backend_, products(), &map, {});
  EXPECT_EQ(run(method), Error::Ok);
}

// By the first call, which does not take that for damaged packed weights and try again, for ever.
TEST_F(SharingTest, ADamagedDataFileIsNotADamagedFileOfPackedWeights) {
  constexpr int32_t kRows = 1000;
  weights_.add("table", some_numbers(kRows * kWidth));
  GraphDef g;
  const uint32_t x = g.input({kWidth, kWidth}), w = g.named({kWidth, kWidth}, "w");
  g.output(g.node(linear(), {x, w}, {kWidth, kWidth}));
  g.output(g.node(transpose({1, 0}), {g.named({kRows, kWidth}, "table")}, {kWidth, kRows}));
  const std::string path = ::testing::TempDir() + "shared-" + std::to_string(getpid());
  FailingMap map(weights_);
  {
    Loaded method(backend_, g, &map, {text_option("packed_cache_path", path)});
    ASSERT_EQ(method.error, Error::Ok) << backend_.last_error();
    TensorArgument in({kWidth, kWidth}, some_numbers(kWidth * kWidth)), y({kWidth, kWidth}), z({kWidth, kRows});
    const std::vector<EValue*> arguments = {in.value(), y.value(), z.value()};
    map.error = Error::InvalidExternalData;
    EXPECT_EQ(method.execute(arguments), Error::AccessFailed);
    EXPECT_THAT(backend_.last_error(), HasSubstr("weight table cannot be read: Error::InvalidExternalData"));
    map.error = Error::Ok;
    EXPECT_EQ(method.execute(arguments), Error::Ok) << backend_.last_error();
  }
  unlink(path.c_str());
}

#if defined(__GLIBC__) && !defined(ET_XNNPACK_SANITIZED) // a sanitizer counts in its own way

TEST_F(SharingTest, AGroupOfStatesLeavesNothingBehind) {
  GraphDef g;
  const uint32_t x = g.input({4});
  const uint32_t sum = g.node(binary(schema::BinaryKind::Add), {g.state("sum", {4}, {0, 0, 0, 0}), x}, {4});
  g.states.back().update = sum;
  g.output(g.node(unary(schema::UnaryKind::Neg), {sum}, {4}));
  const auto bytes_after = [&](int first, int count) {
    for (int group = first; group < first + count; ++group) {
      EXPECT_EQ(Loaded(backend_, g, nullptr, {option("state_group", group)}).error, Error::Ok) << backend_.last_error();
    }
    return mallinfo2().uordblks;
  };
  constexpr int kGroups = 400;
  const size_t before = bytes_after(1, 20);
  EXPECT_LT(bytes_after(100, kGroups), before + 20 * kGroups);
}

#endif

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
