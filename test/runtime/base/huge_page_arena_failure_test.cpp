// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// What the arena does when the system gives no memory for a chunk.

#include <runtime/base/huge_page_arena.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <gtest/gtest.h>

#include "counted_memory.h"

#ifdef MADV_HUGEPAGE
namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr size_t kHuge = HugePageArena::kHugePageBytes;

uintptr_t address(const Buffer& buffer) {
  return reinterpret_cast<uintptr_t>(buffer.data());
}

class HugePageArenaFailureTest : public ::testing::Test {
 protected:
  ~HugePageArenaFailureTest() override {
    mappings_left = kUnlimited;
    allocations_left = kUnlimited;
  }

  static Buffer allocate(HugePageArena& arena, size_t bytes) {
    StatusOr<Buffer> buffer = arena.allocate(bytes);
    EXPECT_TRUE(buffer.ok()) << buffer.status().message();
    return buffer.ok() ? std::move(*buffer) : Buffer();
  }
};

TEST_F(HugePageArenaFailureTest, LittleTakesNoHugePage) {
  HugePageArena arena;
  std::vector<Buffer> buffers;
  mappings_left = 0; // there are none
  for (size_t i = 0; i < 8; ++i) {
    buffers.push_back(allocate(arena, kHuge / 8 - kTailBytes));
  }
  EXPECT_EQ(mappings_left, 0);
  mappings_left = 1;
  buffers.push_back(allocate(arena, 1));
  EXPECT_EQ(mappings_left, 0);
  EXPECT_EQ(address(buffers.back()) % kHuge, 0u);
  mappings_left = kUnlimited;
}

TEST_F(HugePageArenaFailureTest, WithoutRoomBuffersAreOrdinary) { // Robustness: R8
  HugePageArena arena;
  mappings_left = 0;
  errno = 5;
  const Buffer ordinary = allocate(arena, kHuge);
  EXPECT_EQ(errno, 5);
  std::memset(ordinary.data(), 1, ordinary.size() + kTailBytes);
  allocations_left = 0;
  EXPECT_EQ(arena.allocate(kHuge).status().code(), Error::MemoryAllocationFailed);
  mappings_left = kUnlimited;
  EXPECT_EQ(address(allocate(arena, kHuge)) % kHuge, 0u); // takes no ordinary one
  allocations_left = kUnlimited;
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
#endif
