// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// A call like the one before allocates nothing, wherever its arguments are. A load keeps no more than it has to.

#include <atomic>
#include <cstdlib>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <gtest/gtest.h>

#include "delegate.h"
#include "memory_graphs.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ETX_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ETX_SANITIZED 1
#endif
#endif

// A sanitizer counts in its own way.
#if defined(__GLIBC__) && !defined(ETX_SANITIZED)

namespace {

std::atomic<bool> counting{false};
std::atomic<int> allocations{0};

void count() {
  if (counting.load(std::memory_order_relaxed)) {
    ++allocations;
  }
}

} // namespace

extern "C" {

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t items, size_t size);
void* __libc_realloc(void* memory, size_t size);

void* malloc(size_t size) {
  count();
  return __libc_malloc(size);
}
void* calloc(size_t items, size_t size) {
  count();
  return __libc_calloc(items, size);
}
void* realloc(void* memory, size_t size) {
  count();
  return __libc_realloc(memory, size);
}

} // extern "C"

namespace executorch::backends::et_xnnpack::testing {
namespace {

class AllocationTest : public ::testing::TestWithParam<SampleGraph> {};

TEST_P(AllocationTest, ThereIsNoneInALaterCall) {
  const std::vector<uint8_t> bytes = GetParam().def.build();
  StatusOr<Blob> blob = open_blob(span(bytes));
  ASSERT_TRUE(blob.ok()) << blob.status().message();
  DataMap weights;
  add_weights_for_memory(weights);
  EtXnnpackBackend backend;
  Method method(backend, bytes, &weights);
  ASSERT_EQ(method.error, Error::Ok);
  Call first(*blob), second(*blob);
  BackendExecutionContext context;
  const auto execute = [&](Call& call) {
    EXPECT_EQ(backend.execute(context, method.handle, {call.values.data(), call.values.size()}), Error::Ok);
  };
  allocations = 0;
  counting = true;
  execute(first);
  EXPECT_GT(allocations, 0) << "the first call prepares";
  execute(second);
  allocations = 0;
  execute(second);
  execute(first);
  counting = false;
  EXPECT_EQ(allocations, 0);
}

INSTANTIATE_TEST_SUITE_P(Samples, AllocationTest, ::testing::ValuesIn(graphs_for_memory()), [](const auto& sample) {
  return sample.param.name;
});

size_t bytes_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// Weights of 4 bits with a scale for every 32 of them, packed: their bits, the scale in 16 bits, a sum for each row.
TEST(MemoryTest, OfALoadedProgramIsThatOfItsPackedWeights) {
  constexpr int64_t kDepth = 1024, kColumns = 768, kGroups = kDepth / 32, kLayers = 3;
  GraphDef g;
  const int64_t rows = g.ranged(schema::DimOp::InputDim, 0, 0, 1, 4, 4);
  const uint32_t x = g.input({rows, kDepth});
  DataMap weights;
  for (int64_t i = 0; i < kLayers; ++i) {
    const std::string name = std::to_string(i);
    weights.add("w" + name, std::vector<uint8_t>(kColumns * kDepth / 2, static_cast<uint8_t>(i + 1)));
    weights.add("s" + name, std::vector<float>(kColumns * kGroups, 0.01f));
    const uint32_t weight = g.named({kColumns, kDepth / 2}, "w" + name, DType::UInt8);
    const uint32_t scale = g.named({kColumns, kGroups}, "s" + name);
    g.output(g.node(quantized_linear(4, true), {x, weight, scale}, {rows, kColumns}));
  }
  const std::vector<uint8_t> bytes = g.build();
  EtXnnpackBackend backend;
  ASSERT_EQ(Method(backend, bytes, &weights).error, Error::Ok); // what is there once for a process
  const size_t before = bytes_in_use();
  Method method(backend, bytes, &weights);
  ASSERT_EQ(method.error, Error::Ok);
  // Beside them XNNPACK's operators, and what it pads packed weights with: 2 % on x86, 2.4 to 2.6 % on ARM.
  constexpr size_t kPacked = kLayers * kColumns * (kDepth / 2 + kGroups * 2 + 4);
  EXPECT_GT(bytes_in_use() - before, kPacked);
  EXPECT_LT(bytes_in_use() - before, kPacked + kPacked / 32);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing

#endif
