// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/base/memory.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <random>
#include <tuple>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <gtest/gtest.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

TEST(BufferTest, IsAlignedAndReadableBehindTheEnd) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{4096}}) {
    StatusOr<Buffer> buffer = Buffer::allocate(bytes);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(buffer->size(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % kAlignment, 0u);
    std::memset(buffer->data(), 1, bytes + kTailBytes);
  }
}

TEST(BufferTest, FailsWithoutMemory) {
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX - 64, SIZE_MAX / 2, size_t{1} << 60}) {
    const Status status = Buffer::allocate(bytes).status();
    EXPECT_EQ(status.code(), Error::MemoryAllocationFailed);
    EXPECT_NE(status.message().find(std::to_string(bytes)), std::string::npos) << status.message();
  }
}

TEST(BufferTest, ForAShortTime) {
  for (const size_t bytes : {size_t{0}, size_t{65}, (size_t{256} << 10) - 1, size_t{256} << 10, size_t{4} << 20}) {
    StatusOr<Buffer> buffer = Buffer::allocate_temporary(bytes);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(buffer->size(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % kAlignment, 0u);
    std::memset(buffer->data(), 1, bytes + kTailBytes);
  }
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX - 64, SIZE_MAX / 2, size_t{1} << 60}) {
    EXPECT_EQ(Buffer::allocate_temporary(bytes).status().code(), Error::MemoryAllocationFailed);
  }
}

TEST(BufferTest, OfZeros) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{4096}}) {
    StatusOr<Buffer> buffer = Buffer::allocate_zeros(bytes);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(buffer->size(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % kAlignment, 0u);
    EXPECT_TRUE(std::all_of(buffer->data(), buffer->data() + bytes, [](char x) { return x == 0; }));
    std::memset(buffer->data(), 1, bytes + kTailBytes);
  }
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX - 64, SIZE_MAX / 2, size_t{1} << 60}) {
    EXPECT_EQ(Buffer::allocate_zeros(bytes).status().code(), Error::MemoryAllocationFailed);
  }
}

#if defined(__linux__)
TEST(BufferTest, OfZerosTakesMemoryWhereItIsWritten) {
  constexpr size_t kBytes = 64 << 20; // malloc takes such from the system
  StatusOr<Buffer> buffer = Buffer::allocate_zeros(kBytes);
  ASSERT_TRUE(buffer.ok());
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  char* const middle = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(buffer->data() + kBytes / 2) / page * page);
  unsigned char resident = 1;
  ASSERT_EQ(mincore(middle, page, &resident), 0);
  EXPECT_EQ(resident & 1, 0);
  *middle = 1;
  ASSERT_EQ(mincore(middle, page, &resident), 0);
  EXPECT_EQ(resident & 1, 1);
}
#endif

TEST(BufferTest, Moves) {
  StatusOr<Buffer> buffer = Buffer::allocate(8);
  ASSERT_TRUE(buffer.ok());
  char* const data = buffer->data();
  const Buffer moved = std::move(*buffer);
  EXPECT_EQ(moved.data(), data);
  EXPECT_EQ(Buffer().data(), nullptr);
  EXPECT_EQ(Buffer().size(), 0u);
}

TEST(PopulateTest, KeepsWhatIsThere) {
  constexpr size_t kBytes = 3 << 20;
  StatusOr<Buffer> buffer = Buffer::allocate(kBytes);
  ASSERT_TRUE(buffer.ok());
  for (size_t i = 0; i < kBytes; ++i) {
    buffer->data()[i] = static_cast<char>(i * 7);
  }
  errno = 5;
  for (const size_t offset : {0, 1, 63, 4032, 4095, 4097}) {
    for (const size_t bytes :
         {size_t{0},
          size_t{1},
          size_t{4095},
          size_t{4096},
          size_t{8191},
          size_t{300001},
          size_t{1} << 20,
          kBytes - offset}) {
      populate(buffer->data() + offset, bytes);
    }
  }
  EXPECT_EQ(errno, 5);
  for (size_t i = 0; i < kBytes; ++i) {
    ASSERT_EQ(buffer->data()[i], static_cast<char>(i * 7)) << i;
  }
}

#ifdef MADV_POPULATE_WRITE
size_t resident_pages(char* begin, size_t bytes) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident(bytes / page);
  EXPECT_EQ(mincore(begin, bytes, resident.data()), 0);
  return static_cast<size_t>(
      std::count_if(resident.begin(), resident.end(), [](unsigned char r) { return (r & 1) != 0; }));
}

TEST(PopulateTest, ProvidesWholePagesOnly) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t bytes = 200 * page;
  for (const auto& [begin, size, pages] :
       {std::tuple{size_t{0}, bytes, size_t{200}},
        {size_t{1}, bytes - 1, size_t{199}},
        {size_t{1}, bytes - 2, size_t{198}},
        {page, bytes - 2 * page, size_t{198}},
        {size_t{64}, 100 * page, size_t{99}},
        {size_t{64}, 3 * page, size_t{0}}}) { // too small to pay
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    char* const data = static_cast<char*>(memory);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    // An emulator may take the advice and not follow it.
    if (madvise(memory, page, MADV_POPULATE_WRITE) != 0 || resident_pages(data, page) != 1) {
      munmap(memory, bytes);
      GTEST_SKIP() << "this Linux has no such advice";
    }
    populate(data + begin, size);
    EXPECT_EQ(resident_pages(data, bytes), pages + (begin == 0 ? 0 : 1)) // and the one asked with
        << begin << " " << size;
    munmap(memory, bytes);
  }
}
#endif

// What every layout must have.
void check(const std::vector<Lifetime>& pieces, const ArenaLayout& layout) {
  ASSERT_EQ(layout.offsets.size(), pieces.size());
  for (size_t a = 0; a < pieces.size(); ++a) {
    const size_t end = layout.offsets[a] + pieces[a].bytes + kTailBytes;
    EXPECT_EQ(layout.offsets[a] % kAlignment, 0u);
    EXPECT_LE(end, layout.bytes);
    for (size_t b = 0; b < a; ++b) {
      const bool together = pieces[a].first <= pieces[b].last && pieces[b].first <= pieces[a].last;
      const bool overlap =
          layout.offsets[a] < layout.offsets[b] + pieces[b].bytes + kTailBytes && layout.offsets[b] < end;
      EXPECT_FALSE(together && overlap) << a << " and " << b;
    }
  }
}

TEST(ArenaTest, IsEmptyWithoutPieces) {
  EXPECT_EQ(lay_out_arena({}).bytes, 0u);
}

TEST(ArenaTest, SharesMemoryBetweenPiecesThatAreNotAliveTogether) {
  const std::vector<Lifetime> chain{{1000, 0, 1}, {1000, 1, 2}, {1000, 2, 3}, {1000, 3, 4}};
  const ArenaLayout layout = lay_out_arena(chain);
  check(chain, layout);
  EXPECT_EQ(layout.offsets[0], layout.offsets[2]);
  EXPECT_LE(layout.bytes, 2 * (1000 + kTailBytes + kAlignment));
}

TEST(ArenaTest, FillsGaps) {
  // A small piece fits below a large one while the other large one is not alive.
  const std::vector<Lifetime> pieces{{4096, 0, 1}, {8192, 1, 3}, {100, 2, 3}};
  const ArenaLayout layout = lay_out_arena(pieces);
  check(pieces, layout);
  EXPECT_LE(layout.bytes, 4096 + 8192 + 2 * kTailBytes);
}

TEST(ArenaTest, LaysOutRandomPieces) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    std::vector<Lifetime> pieces(random() % 60);
    size_t needed = 0;
    for (Lifetime& piece : pieces) {
      const size_t a = random() % 30;
      const size_t b = random() % 30;
      piece = {random() % (round % 2 == 0 ? 10000 : 100), std::min(a, b), std::max(a, b)};
    }
    for (size_t step = 0; step < 30; ++step) {
      size_t alive = 0;
      for (const Lifetime& piece : pieces) {
        alive += piece.first <= step && step <= piece.last ? piece.bytes + kTailBytes + kAlignment : 0;
      }
      needed = std::max(needed, alive);
    }
    const ArenaLayout layout = lay_out_arena(pieces);
    check(pieces, layout);
    EXPECT_LE(layout.bytes, 2 * needed) << "in round " << round;
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
