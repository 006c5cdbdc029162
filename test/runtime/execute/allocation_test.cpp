// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// A call like the one before allocates nothing, wherever its arguments are.

#include <atomic>
#include <cstdlib>

#include <gtest/gtest.h>

#include "delegate.h"
#include "sample_graphs.h"

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
  weights.add("w", some_numbers(12));
  weights.add("table", some_numbers(6));
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

INSTANTIATE_TEST_SUITE_P(Samples, AllocationTest, ::testing::ValuesIn(sample_graphs()), [](const auto& sample) {
  return sample.param.name;
});

} // namespace
} // namespace executorch::backends::et_xnnpack::testing

#endif
