// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Memory runs out at each place where something is allocated, one after the other: while a delegate
// is loaded and while it runs. Each time that is an error, and with enough memory all works again.
// Only large pieces count where XNNPACK creates and reshapes operators: it does not check what it allocates for its lists.

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <runtime/execute/executable.h>

#include "delegate.h"
#include "sample_graphs.h"
#include "xnnpack_parts.h"

namespace {

constexpr int kUnlimited = -1;
std::atomic<int> allocations_left{kUnlimited};
std::atomic<int> news_left{kUnlimited};
std::atomic<size_t> smallest{0}; // of XNNPACK's that is counted
std::atomic<size_t> largest{SIZE_MAX}; // of a Buffer

bool take_one(std::atomic<int>& left) {
  int before = left;
  while (before > 0 && !left.compare_exchange_weak(before, before - 1)) {
  }
  return before != 0;
}
bool take_one(size_t size) {
  return size < smallest || take_one(allocations_left);
}

// Shows in results if it is read before it is written: NaN, whatever the type of float.
void* soil(void* memory, size_t size) {
  return memory == nullptr ? nullptr : std::memset(memory, 0xFF, size);
}

void* aligned(size_t alignment, size_t size) {
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, size) == 0 ? soil(memory, size) : nullptr;
}

// XNNPACK keeps the allocator of the first call of xnn_initialize. ExecuTorch's library makes that itself when it is
// loaded, so what its XNNPACK allocates is not counted.
const xnn_allocator kAllocator{
    nullptr,
    [](void*, size_t size) { return take_one(size) ? soil(std::malloc(size), size) : nullptr; },
    [](void*, void* memory, size_t size) { return take_one(size) ? std::realloc(memory, size) : nullptr; },
    [](void*, void* memory) { std::free(memory); },
    [](void*, size_t alignment, size_t size) { return take_one(size) ? aligned(alignment, size) : nullptr; },
    [](void*, void* memory) { std::free(memory); }};
[[maybe_unused]] const xnn_status initialized = xnn_initialize(&kAllocator);

} // namespace

// What Buffer calls.
extern "C" void* aligned_alloc(size_t alignment, size_t size) {
  return size <= largest && take_one(allocations_left) ? aligned(alignment, size) : nullptr;
}

// What the standard library calls, the other forms by way of these. GCC warns where it sees into one but not the other.
[[gnu::noinline]] void* operator new(size_t size) {
  void* const memory = take_one(news_left) ? std::malloc(size) : nullptr;
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}
// For those who can do without.
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

namespace executorch::backends::et_xnnpack::testing {
namespace {

// Everything in it is larger than kLarge: packed weights, the arena with scratch and
// undo memory, what stands in for inputs and outputs that end at the end of a page.
constexpr size_t kLarge = 8192;

GraphDef large_graph() {
  GraphDef g;
  const uint32_t x = g.input({64, 64});
  const uint32_t w = g.named({64, 64}, "large");
  const uint32_t a = g.node(linear(), {x, w}, {64, 64});
  const uint32_t b = g.node(linear(), {a, w}, {64, 64});
  const uint32_t norm = g.node(layer_norm(), {b, kNone, kNone}, {64, 64});
  const uint32_t image = g.node(reshape({1, 64, 8, 8}), {norm}, {1, 64, 8, 8});
  const uint32_t kernel = g.constant({64, 3, 3, 8}, some_numbers(64 * 9 * 8));
  const uint32_t conv = g.node(conv2d({1, 1}, {1, 1, 1, 1}), {image, kernel}, {1, 64, 8, 64});
  const uint32_t turned = g.node(transpose({0, 2, 1, 3}), {conv}, {1, 8, 64, 64});
  g.output(g.node(softmax(3), {turned}, {1, 8, 64, 64}));
  const uint32_t cache = g.state("cache", {64, 64}, some_numbers(64 * 64));
  g.states[0].update = g.node(slice_scatter({0, 0}, {1, 1}), {cache, a}, {64, 64});
  g.output(g.node(attention(0.5f), {norm, g.states[0].update, b}, {64, 64}));
  return g;
}

std::vector<SampleGraph> graphs() {
  std::vector<SampleGraph> result = sample_graphs();
  result.push_back({"large", large_graph()});
  return result;
}

class MemoryFailureTest : public ::testing::TestWithParam<SampleGraph> {
 protected:
  MemoryFailureTest() : bytes_(GetParam().def.build()) {
    weights_.add("w", some_numbers(12));
    weights_.add("table", some_numbers(6));
    weights_.add("large", some_numbers(64 * 64));
  }
  ~MemoryFailureTest() override {
    allocations_left = kUnlimited;
    smallest = 0;
  }

  StatusOr<std::unique_ptr<Executable>> load() {
    StatusOr<Blob> blob = open_blob(span(bytes_));
    EXPECT_TRUE(blob.ok()) << blob.status().message();
    return Executable::create(std::move(*blob), &weights_);
  }

  // With any content, at the planned sizes, at the end of a page.
  Status run(Executable& executable) {
    const Blob& blob = executable.blob();
    StatusOr<Sizes> sizes = planned_sizes(blob.graph());
    StatusOr<std::vector<TensorType>> types = infer_types(blob, *sizes);
    std::vector<ArgumentSize> arguments;
    std::vector<std::unique_ptr<GuardedBuffer>> memory;
    const auto add = [&](uint32_t id) {
      memory.push_back(std::make_unique<GuardedBuffer>(id == kNone ? 0 : (*types)[id].bytes(), true));
    };
    for (uint32_t i = 0; i < blob.num_inputs(); ++i) {
      const uint32_t id = blob.graph().inputs()->Get(i)->value();
      arguments.push_back({id == kNone ? Shape{} : (*types)[id].shape, 1});
      add(id);
    }
    for (uint32_t i = 0; i < blob.num_outputs(); ++i) {
      add(blob.graph().outputs()->Get(i)->value());
    }
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (size_t i = 0; i < memory.size(); ++i) {
      if (i < arguments.size()) {
        inputs.push_back(memory[i]->data());
      } else {
        outputs.push_back(memory[i]->data());
      }
    }
    allocations_left = limit_;
    ETX_RETURN_IF_ERROR(executable.reshape({arguments.data(), arguments.size()}, nullptr));
    return executable.run({inputs.data(), inputs.size()}, {outputs.data(), outputs.size()});
  }

  std::vector<uint8_t> bytes_;
  DataMap weights_;
  int limit_ = kUnlimited;
};

TEST_P(MemoryFailureTest, WhileLoading) { // Robustness: R8 W5
  for (int limit = 0;; ++limit) {
    SCOPED_TRACE(limit);
    allocations_left = limit;
    const Status status = load().status();
    // Bytes are copied to be packed where they end too close to the end of a page.
    const bool used_all = allocations_left >= 0 && allocations_left <= 2;
    allocations_left = kUnlimited;
    EXPECT_EQ(weights_.in_use(), 0);
    if (status.ok()) {
      EXPECT_TRUE(used_all);
      break;
    }
    EXPECT_EQ(status.code(), Error::MemoryAllocationFailed) << status.message();
  }
  StatusOr<std::unique_ptr<Executable>> executable = load();
  ASSERT_TRUE(executable.ok());
  EXPECT_TRUE(run(**executable).ok());
}

TEST_P(MemoryFailureTest, WhileRunning) { // Robustness: R5 R8
  smallest = kLarge;
  for (limit_ = 0;; ++limit_) {
    SCOPED_TRACE(limit_);
    allocations_left = kUnlimited;
    StatusOr<std::unique_ptr<Executable>> executable = load();
    ASSERT_TRUE(executable.ok());
    const Status status = run(**executable);
    if (status.ok()) {
      EXPECT_TRUE(GetParam().name != "large" || limit_ >= (is_xnnpack_of_executorch() ? 2 : 3)) << limit_;
      break;
    }
    EXPECT_EQ(status.code(), Error::MemoryAllocationFailed) << status.message();
    const int limit = std::exchange(limit_, kUnlimited);
    EXPECT_TRUE(run(**executable).ok());
    limit_ = limit;
  }
}

// What the standard library allocates, through the backend, which ExecuTorch calls without exceptions.
class BackendMemoryFailureTest : public ::testing::TestWithParam<SampleGraph> {
 protected:
  BackendMemoryFailureTest() : bytes_(GetParam().def.build()) {
    weights_.add("w", some_numbers(12));
    weights_.add("table", some_numbers(6));
    weights_.add("large", some_numbers(64 * 64));
  }
  ~BackendMemoryFailureTest() override {
    news_left = kUnlimited;
  }

  // With so many allocations; how many were left in the end.
  Error load(int limit, DelegateHandle** handle, int* left = nullptr) {
    FreeableBuffer blob(bytes_.data(), bytes_.size(), nullptr);
    BackendInitContext context(nullptr, nullptr, "forward", &weights_);
    news_left = limit;
    const auto result = backend_.init(context, &blob, {});
    const int rest = news_left.exchange(kUnlimited);
    if (left != nullptr) {
      *left = rest;
    }
    *handle = result.ok() ? *result : nullptr;
    return error_ = result.error();
  }
  Error execute(int limit, DelegateHandle* handle, Call& call, int* left = nullptr) {
    BackendExecutionContext context;
    news_left = limit;
    const Error error = backend_.execute(context, handle, {call.values.data(), call.values.size()});
    const int rest = news_left.exchange(kUnlimited);
    if (left != nullptr) {
      *left = rest;
    }
    return error;
  }

  static constexpr int kPlenty = 1 << 30;
  EtXnnpackBackend backend_;
  std::vector<uint8_t> bytes_;
  DataMap weights_;
  Error error_ = Error::Ok; // of the last load
};

TEST_P(BackendMemoryFailureTest, WhileLoading) {
  DelegateHandle* handle = nullptr;
  ASSERT_EQ(load(kUnlimited, &handle), Error::Ok); // makes what there is once in a process
  backend_.destroy(handle);
  const size_t packed = PackedWeights::of_process().count();
  int left = 0;
  ASSERT_EQ(load(kPlenty, &handle, &left), Error::Ok);
  backend_.destroy(handle);
  const int count = kPlenty - left;
  int limit = 0;
  for (; load(limit, &handle) != Error::Ok; ++limit) {
    SCOPED_TRACE(limit);
    ASSERT_EQ(error_, Error::MemoryAllocationFailed);
    EXPECT_EQ(weights_.in_use(), 0);
    EXPECT_EQ(PackedWeights::of_process().count(), packed);
  }
  backend_.destroy(handle);
  // Bytes are copied to be packed where they end too close to the end of a page.
  EXPECT_GT(limit, 10);
  EXPECT_GE(limit, count - 4);
}

TEST_P(BackendMemoryFailureTest, WhileRunning) {
  StatusOr<Blob> blob = open_blob(span(bytes_));
  ASSERT_TRUE(blob.ok());
  Call call(*blob);
  DelegateHandle* handle = nullptr;
  ASSERT_EQ(load(kUnlimited, &handle), Error::Ok);
  ASSERT_EQ(execute(kUnlimited, handle, call), Error::Ok);
  const std::vector<std::string> expected = call.results();
  backend_.destroy(handle);
  ASSERT_EQ(load(kUnlimited, &handle), Error::Ok);
  int left = 0;
  ASSERT_EQ(execute(kPlenty, handle, call, &left), Error::Ok);
  backend_.destroy(handle);
  const int count = kPlenty - left;
  ASSERT_GT(count, 0);
  for (int limit = 0; limit < count; ++limit) {
    SCOPED_TRACE(limit);
    ASSERT_EQ(load(kUnlimited, &handle), Error::Ok);
    EXPECT_EQ(execute(limit, handle, call), Error::MemoryAllocationFailed);
    EXPECT_EQ(execute(kUnlimited, handle, call), Error::Ok);
    EXPECT_EQ(call.results(), expected);
    backend_.destroy(handle);
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

// Tables of an entry for each row or column of a result, where a program of a few bytes or a call asks for many.
TEST(TableMemoryFailureTest, IsAnErrorOfTheNode) {
  constexpr int64_t kMany = 1 << 26;
  const auto check = [](const GraphDef& def, const std::string& node) {
    SCOPED_TRACE(node);
    const std::vector<uint8_t> bytes = def.build();
    StatusOr<Blob> blob = open_blob(span(bytes));
    ASSERT_TRUE(blob.ok()) << blob.status().message();
    StatusOr<std::unique_ptr<Executable>> executable = Executable::create(std::move(*blob), nullptr);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    const ArgumentSize size{Shape{1, 4, 4, 1}, 0};
    for (int call = 0; call < 2; ++call) {
      largest = size_t{1} << 30;
      const Status status = (*executable)->reshape({&size, 1}, nullptr);
      largest = SIZE_MAX;
      EXPECT_EQ(status.code(), Error::MemoryAllocationFailed);
      EXPECT_THAT(status.message(), ::testing::HasSubstr("0 " + node));
    }
  };
  const auto graph = [](const AttributesDef& attributes, std::vector<int64_t> shape) {
    GraphDef g;
    g.output(g.node(attributes, {g.input({1, 4, 4, 1})}, std::move(shape)));
    return g;
  };
  const auto many = static_cast<uint32_t>(kMany);
  check(graph(resize2d(schema::ResizeKind::Nearest, {kMany, 1}), {1, kMany, 1, 1}), "Resize2d");
  check(graph(resize2d(schema::ResizeKind::Bicubic, {1, kMany}), {1, 1, kMany, 1}), "Resize2d");
  const auto average = schema::AdaptivePoolKind::Average;
  check(graph(adaptive_pool2d(average, {many, 1}), {1, kMany, 1, 1}), "AdaptivePool2d");
  check(graph(adaptive_pool2d(average, {1, many}), {1, 1, kMany, 1}), "AdaptivePool2d");
}

INSTANTIATE_TEST_SUITE_P(Samples, BackendMemoryFailureTest, ::testing::ValuesIn(graphs()), [](const auto& sample) {
  return sample.param.name;
});

INSTANTIATE_TEST_SUITE_P(Samples, MemoryFailureTest, ::testing::ValuesIn(graphs()), [](const auto& sample) {
  return sample.param.name;
});

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
