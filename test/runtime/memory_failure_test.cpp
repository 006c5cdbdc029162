// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Memory runs out at each place where something is allocated, one after the other: while a delegate
// is loaded and while it runs. Each time that is an error, and with enough memory all works again.
// Only large pieces count where XNNPACK plans memory: it does not check what it allocates for its
// lists, and neither can a vector report that it has no memory.

#include <atomic>
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>
#include <runtime/executable.h>

#include "data_map.h"
#include "guarded_buffer.h"
#include "sample_graphs.h"

namespace {

constexpr int kUnlimited = -1;
std::atomic<int> allocations_left{kUnlimited};
std::atomic<size_t> smallest{0}; // that is counted

bool take_one(size_t size) {
  if (allocations_left == kUnlimited || size < smallest) {
    return true;
  }
  if (allocations_left == 0) {
    return false;
  }
  --allocations_left;
  return true;
}

// Shows in results if it is read before it is written: NaN, whatever the type of float.
void* soil(void* memory, size_t size) {
  return memory == nullptr ? nullptr : std::memset(memory, 0xFF, size);
}

void* aligned(size_t alignment, size_t size) {
  void* memory = nullptr;
  return take_one(size) && posix_memalign(&memory, alignment, size) == 0 ? soil(memory, size) : nullptr;
}

// XNNPACK keeps the allocator of the first call of xnn_initialize.
const xnn_allocator kAllocator{
    nullptr,
    [](void*, size_t size) { return take_one(size) ? soil(std::malloc(size), size) : nullptr; },
    [](void*, void* memory, size_t size) { return take_one(size) ? std::realloc(memory, size) : nullptr; },
    [](void*, void* memory) { std::free(memory); },
    [](void*, size_t alignment, size_t size) { return aligned(alignment, size); },
    [](void*, void* memory) { std::free(memory); }};
[[maybe_unused]] const xnn_status initialized = xnn_initialize(&kAllocator);

} // namespace

// What Buffer calls.
extern "C" void* aligned_alloc(size_t alignment, size_t size) {
  return aligned(alignment, size);
}

namespace executorch::backends::et_xnnpack::testing {
namespace {

// Everything in it is larger than kLarge: packed weights, the workspace, the arena with scratch and
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
    StatusOr<Blob> blob = Blob::open(span(bytes_));
    EXPECT_TRUE(blob.ok()) << blob.status().message();
    return Executable::create(std::move(*blob), &weights_);
  }

  // With any content, at the planned sizes, at the end of a page.
  Status run(Executable& executable) {
    const Blob& blob = executable.blob();
    StatusOr<Sizes> sizes = planned_sizes(blob.graph());
    StatusOr<std::vector<TensorType>> types = blob.infer_types(*sizes);
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

TEST_P(MemoryFailureTest, WhileLoading) {
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

TEST_P(MemoryFailureTest, WhileRunning) {
  smallest = kLarge;
  for (limit_ = 0;; ++limit_) {
    SCOPED_TRACE(limit_);
    allocations_left = kUnlimited;
    StatusOr<std::unique_ptr<Executable>> executable = load();
    ASSERT_TRUE(executable.ok());
    const Status status = run(**executable);
    if (status.ok()) {
      EXPECT_TRUE(GetParam().name != "large" || limit_ >= 4) << limit_;
      break;
    }
    EXPECT_EQ(status.code(), Error::MemoryAllocationFailed) << status.message();
    const int limit = std::exchange(limit_, kUnlimited);
    EXPECT_TRUE(run(**executable).ok());
    limit_ = limit;
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, MemoryFailureTest, ::testing::ValuesIn(graphs()), [](const auto& sample) {
  return sample.param.name;
});

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
