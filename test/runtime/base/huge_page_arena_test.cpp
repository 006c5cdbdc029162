// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/base/huge_page_arena.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <gtest/gtest.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr size_t kHuge = HugePageArena::kHugePageBytes;
constexpr size_t kChunk = HugePageArena::kChunkBytes;

uintptr_t address(const Buffer& buffer) {
  return reinterpret_cast<uintptr_t>(buffer.data());
}

Buffer allocate(HugePageArena& arena, size_t bytes) {
  StatusOr<Buffer> buffer = arena.allocate(bytes);
  EXPECT_TRUE(buffer.ok()) << buffer.status().message();
  if (!buffer.ok()) {
    return {};
  }
  EXPECT_EQ(buffer->size(), bytes);
  EXPECT_EQ(address(*buffer) % kAlignment, 0u);
  return std::move(*buffer);
}

// Written whole, what may be read behind it included.
void fill(const Buffer& buffer, size_t number) {
  std::memset(buffer.data(), static_cast<int>(number % 251), buffer.size() + kTailBytes);
}

bool is_filled(const Buffer& buffer, size_t number) {
  return std::all_of(buffer.data(), buffer.data() + buffer.size() + kTailBytes, [&](char x) {
    return static_cast<unsigned char>(x) == number % 251;
  });
}

TEST(HugePageArenaTest, BuffersDoNotOverlap) {
  HugePageArena arena;
  std::mt19937 random(3);
  std::vector<Buffer> buffers;
  for (size_t i = 0; i < 200; ++i) {
    buffers.push_back(allocate(arena, i % 50 == 7 ? kHuge + i : random() % (700 << 10)));
    fill(buffers.back(), i);
  }
  for (size_t i = 0; i < buffers.size(); i += 2) {
    buffers[i] = Buffer();
  }
  for (size_t i = 1; i < buffers.size(); i += 2) {
    EXPECT_TRUE(is_filled(buffers[i], i)) << i;
  }
}

TEST(HugePageArenaTest, FailsWithoutMemory) { // Robustness: R8
  HugePageArena arena;
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX - 64, SIZE_MAX / 2, SIZE_MAX / 2 - kHuge, size_t{1} << 60}) {
    const Status status = arena.allocate(bytes).status();
    EXPECT_EQ(status.code(), Error::MemoryAllocationFailed);
    EXPECT_NE(status.message().find(std::to_string(bytes)), std::string::npos) << status.message();
  }
  fill(allocate(arena, kHuge), 1);
}

TEST(HugePageArenaTest, ServesManyThreads) {
  HugePageArena arena;
  std::vector<std::vector<Buffer>> buffers(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < buffers.size(); ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 40; ++i) {
        buffers[t].push_back(allocate(arena, 200'000 + 1000 * t));
        fill(buffers[t].back(), t + i);
        if (i % 3 == 0) {
          buffers[t].back() = Buffer(); // beside those that others fill
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  threads.clear();
  for (size_t t = 0; t < buffers.size(); ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < buffers[t].size(); ++i) {
        EXPECT_TRUE(i % 3 == 0 || is_filled(buffers[t][i], t + i));
        buffers[t][i] = Buffer();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

#ifdef MADV_HUGEPAGE
size_t page_bytes() {
  return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// How many pages are mapped from here on, and how many of these have memory.
struct Pages {
  size_t mapped = 0, resident = 0;
};
Pages pages_from(uintptr_t begin, size_t bytes) {
  Pages pages;
  for (uintptr_t page = begin / page_bytes() * page_bytes(); page < begin + bytes; page += page_bytes()) {
    unsigned char resident = 0;
    if (mincore(reinterpret_cast<void*>(page), page_bytes(), &resident) == 0) {
      ++pages.mapped;
      pages.resident += resident & 1;
    }
  }
  return pages;
}

// An arena that has no ordinary buffers before it.
class ChunkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // An emulator may refuse the advice, as a system without huge pages does.
    void* const memory = mmap(nullptr, kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    const bool has_advice = madvise(memory, kHuge, MADV_HUGEPAGE) == 0;
    munmap(memory, kHuge);
    if (!has_advice) {
      GTEST_SKIP() << "this Linux has no such advice";
    }
  }
};

TEST_F(ChunkTest, BeginsWithAHugePage) {
  HugePageArena arena;
  const Buffer first = allocate(arena, kHuge); // with what is readable behind it more than an ordinary one may have
  EXPECT_EQ(address(first) % kHuge, 0u);
  const Buffer second = allocate(arena, 1000);
  EXPECT_EQ(address(second), address(first) + round_up_to_alignment(kHuge + kTailBytes));
  const Buffer third = allocate(arena, 1000);
  EXPECT_EQ(address(third), address(second) + round_up_to_alignment(1000 + kTailBytes));
}

TEST_F(ChunkTest, FillsEndsOfChunksWithWhatFits) {
  HugePageArena arena;
  const Buffer first = allocate(arena, kChunk - kHuge);
  const Buffer large = allocate(arena, kChunk); // takes a chunk of its own
  const Buffer small = allocate(arena, 1000);
  EXPECT_EQ(address(small), address(first) + round_up_to_alignment(kChunk - kHuge + kTailBytes));
  fill(large, 1);
}

TEST_F(ChunkTest, GivesUnusedMemoryBackWhenItGoes) {
  for (const auto& [bytes, kept] :
       {std::pair{kHuge, kHuge + page_bytes()}, // most of a huge page would be unused
        std::pair{5 * kHuge, 5 * kHuge + page_bytes()},
        std::pair{20 * kHuge + kHuge / 2, (20 + 1) * kHuge}}) { // not so much
    Buffer buffer;
    {
      HugePageArena arena;
      buffer = allocate(arena, bytes);
      fill(buffer, 3);
    }
    EXPECT_EQ(pages_from(address(buffer), kept).mapped, kept / page_bytes());
    // The address behind may be somebody else's by now, but nothing of the chunk has been used there.
    EXPECT_EQ(pages_from(address(buffer) + kept, kHuge).resident, 0u) << bytes;
    EXPECT_TRUE(is_filled(buffer, 3));
  }
}

TEST_F(ChunkTest, GivesPagesOfABufferBack) {
  HugePageArena arena;
  const Buffer before = allocate(arena, kHuge + 100);
  Buffer middle = allocate(arena, kHuge);
  const Buffer after = allocate(arena, kHuge + 100);
  fill(before, 1);
  fill(middle, 2);
  fill(after, 3);
  const uintptr_t begin = address(middle);
  const size_t pages = kHuge / page_bytes();
  EXPECT_GE(pages_from(begin, kHuge).resident, pages);
  errno = 5;
  middle = Buffer();
  EXPECT_EQ(errno, 5);
  EXPECT_LE(pages_from(begin, kHuge).resident, 2u); // at its ends, which it shares
  EXPECT_TRUE(is_filled(before, 1));
  EXPECT_TRUE(is_filled(after, 3));
}

TEST_F(ChunkTest, GoesWithTheLastBuffer) {
  Buffer first, last;
  {
    HugePageArena arena;
    first = allocate(arena, kHuge);
    last = allocate(arena, kHuge);
  }
  fill(first, 1);
  fill(last, 2);
  const uintptr_t begin = address(first);
  first = Buffer();
  EXPECT_TRUE(is_filled(last, 2));
  last = Buffer();
  EXPECT_EQ(pages_from(begin, 2 * kHuge).resident, 0u);
}

TEST_F(ChunkTest, LoadingAgainAndAgainTakesNoMoreAddresses) {
  const auto mapped = [] {
    size_t pages = 0;
    FILE* const file = fopen("/proc/self/statm", "r");
    EXPECT_EQ(fscanf(file, "%zu", &pages), 1);
    fclose(file);
    return pages * page_bytes();
  };
  size_t before = 0;
  for (int i = 0; i < 200; ++i) {
    HugePageArena arena;
    const Buffer large = allocate(arena, kChunk), small = allocate(arena, 1000);
    fill(small, 1);
    if (i == 10) {
      before = mapped();
    }
  }
  EXPECT_LE(mapped(), before + kChunk);
}
#endif

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
