// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "counted_memory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <runtime/base/huge_page_arena.h>
#include <xnnpack.h>

namespace executorch::backends::et_xnnpack::testing {

std::atomic<int> allocations_left{kUnlimited};
std::atomic<int> mappings_left{kUnlimited};
std::atomic<int> news_left{kUnlimited};
std::atomic<size_t> smallest{0};
std::atomic<size_t> largest{SIZE_MAX};

} // namespace executorch::backends::et_xnnpack::testing

using executorch::backends::et_xnnpack::HugePageArena;
using namespace executorch::backends::et_xnnpack::testing;

namespace {

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
#ifdef __linux__ // the linker has all of our libraries call these: test/runtime/CMakeLists.txt
extern "C" void* __real_calloc(size_t count, size_t size);
extern "C" void* __wrap_calloc(size_t count, size_t size);
extern "C" void* __wrap_calloc(size_t count, size_t size) {
  return take_one(allocations_left) ? __real_calloc(count, size) : nullptr;
}
extern "C" void* __real_mmap(void* address, size_t size, int protection, int flags, int file, off_t offset);
extern "C" void* __wrap_mmap(void* address, size_t size, int protection, int flags, int file, off_t offset);
extern "C" void* __wrap_mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) {
  if (file < 0 && size > HugePageArena::kChunkBytes && !take_one(mappings_left)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return __real_mmap(address, size, protection, flags, file, offset);
}
#endif

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
