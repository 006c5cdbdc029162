// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/weights/checksum.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>

#include <gtest/gtest.h>
#include <pthreadpool.h>
#include <runtime/base/hash.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

// What packed_cache.md says.
uint64_t reference(const char* data, size_t size) {
  uint64_t sum = size;
  for (size_t i = 0; i < size; i += kChecksumChunk) {
    const uint64_t both[] = {sum, hash(data + i, std::min(kChecksumChunk, size - i))};
    sum = hash(both, sizeof(both));
  }
  return sum;
}

std::vector<char> random_bytes(size_t size) {
  std::mt19937_64 random(5);
  std::vector<char> bytes(size);
  for (char& byte : bytes) {
    byte = static_cast<char>(random());
  }
  return bytes;
}

std::vector<size_t> sizes() {
  std::vector<size_t> result{0, 1, 7, 8, 9, 63, 64, 65, 255, 256, 257, 300, 511, 512, 513, 5000};
  for (const size_t chunks : {1, 2, 3}) {
    for (const int more : {-257, -256, -1, 0, 1, 255, 256}) {
      result.push_back(chunks * kChecksumChunk + static_cast<size_t>(more));
    }
  }
  return result;
}

struct DeletePool {
  void operator()(pthreadpool_t pool) const {
    pthreadpool_destroy(pool);
  }
};

TEST(ChecksumTest, IsThatOfTheReference) {
  const std::vector<char> bytes = random_bytes(4 * kChecksumChunk);
  for (const size_t size : sizes()) {
    for (const size_t offset : {0, 1, 7, 32}) {
      const uint64_t expected = reference(bytes.data() + offset, size);
      EXPECT_EQ(checksum(bytes.data() + offset, size), expected) << size << " at " << offset;
    }
  }
}

TEST(ChecksumTest, ThreadsDoNotChangeIt) {
  const std::vector<char> bytes = random_bytes(9 * kChecksumChunk + 77);
  for (const size_t threads : {1, 2, 3, 8}) {
    const std::unique_ptr<pthreadpool, DeletePool> pool(pthreadpool_create(threads));
    for (const size_t size : {size_t{0}, size_t{100}, kChecksumChunk, kChecksumChunk + 1, bytes.size()}) {
      EXPECT_EQ(checksum(bytes.data(), size, pool.get()), reference(bytes.data(), size)) << threads << " " << size;
    }
    const std::vector<Span<const char>> parts{
        {bytes.data(), 3 * kChecksumChunk + 5},
        {bytes.data() + 64, size_t{0}},
        {bytes.data() + 128, size_t{1000}},
        {bytes.data(), bytes.size()}};
    std::vector<uint64_t> expected;
    for (const Span<const char>& part : parts) {
      expected.push_back(reference(part.data(), part.size()));
    }
    EXPECT_EQ(checksums(parts, pool.get()), expected) << threads;
  }
  EXPECT_TRUE(checksums({}, nullptr).empty());
}

// No two of them have the same effect, so they cannot make up for each other.
TEST(ChecksumTest, FindsEveryFlippedBit) {
  std::vector<char> bytes = random_bytes(600);
  for (const size_t size : {0, 1, 7, 8, 63, 64, 65, 256, 257, 600}) {
    std::set<uint64_t> sums{checksum(bytes.data(), size)};
    for (size_t bit = 0; bit < 8 * size; ++bit) {
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
      sums.insert(checksum(bytes.data(), size));
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    }
    EXPECT_EQ(sums.size(), 8 * size + 1) << size;
  }
}

TEST(ChecksumTest, FindsDamageInEachChunk) {
  std::vector<char> bytes = random_bytes(5 * kChecksumChunk + 3);
  const std::vector<char> whole = bytes;
  const uint64_t sum = checksum(bytes.data(), bytes.size());
  std::mt19937 random(6);
  for (size_t begin = 0; begin < bytes.size(); begin += kChecksumChunk) {
    const size_t end = std::min(bytes.size(), begin + kChecksumChunk);
    for (const size_t at : {begin, begin + random() % (end - begin), end - 1}) {
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      EXPECT_NE(checksum(bytes.data(), bytes.size()), sum) << at;
      bytes[at] = whole[at];
    }
    // A page that was lost.
    const size_t lost = std::min<size_t>(4096, end - begin);
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin), lost, 0);
    EXPECT_NE(checksum(bytes.data(), bytes.size()), sum) << begin;
    std::copy(whole.begin(), whole.end(), bytes.begin());
  }
  // Chunks in another order.
  std::swap_ranges(bytes.begin(), bytes.begin() + kChecksumChunk, bytes.begin() + kChecksumChunk);
  EXPECT_NE(checksum(bytes.data(), bytes.size()), sum);
}

TEST(ChecksumTest, TellsSizesOfZerosApart) {
  const std::vector<char> zeros(3 * kChecksumChunk);
  std::set<uint64_t> sums;
  for (const size_t size : sizes()) {
    sums.insert(checksum(zeros.data(), std::min(size, zeros.size())));
  }
  std::set<size_t> different;
  for (const size_t size : sizes()) {
    different.insert(std::min(size, zeros.size()));
  }
  EXPECT_EQ(sums.size(), different.size());
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
