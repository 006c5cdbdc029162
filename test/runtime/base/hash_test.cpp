// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/base/hash.h>

#include <vector>

#include <gtest/gtest.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

// Numbers of the Python package xxhash, for each of XXH3's ways to hash: files of other builds must stay readable.
TEST(HashTest, IsXxh3) {
  const struct {
    size_t size;
    uint64_t hash;
  } kCases[] = {
      {0, 0x2D06800538D394C2},
      {1, 0x13E608BC156DEFED},
      {8, 0x60539DB630471163},
      {16, 0xB8C859B0F030B585},
      {17, 0x714A04408E79B80F},
      {128, 0x67425A03650261BF},
      {129, 0xC664BF3311C6ABC4},
      {240, 0x64556DC6B462A6CF},
      {241, 0x8BEADD3A8874FE17},
      {300, 0xFD9AA0F0D62E0227},
  };
  std::vector<uint8_t> bytes(300);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(i * 7 + 3);
  }
  for (const auto& [size, expected] : kCases) {
    EXPECT_EQ(hash(bytes.data(), size), expected) << size;
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
