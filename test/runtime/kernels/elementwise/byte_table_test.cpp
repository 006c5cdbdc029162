// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/elementwise/byte_table.h>

#include <vector>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

ByteTable::Entries some_entries() {
  ByteTable::Entries entries;
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i] = static_cast<uint8_t>((i * i + i / 3) * 29 + 17);
  }
  return entries;
}

// All bytes, in other orders.
std::vector<uint8_t> some_bytes(size_t count) {
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i) {
    bytes[i] = static_cast<uint8_t>(i * 37 + i / 256);
  }
  return bytes;
}

void check_look_up() {
  const ByteTable::Entries entries = some_entries();
  const ByteTable table(entries);
  for (const size_t count : {0u, 1u, 3u, 15u, 16u, 17u, 31u, 63u, 64u, 65u, 127u, 255u, 257u, 1000u, 1024u}) {
    const std::vector<uint8_t> x = some_bytes(count);
    std::vector<uint8_t> expected(count + 1, 99), y(count + 1, 99), in_place = x;
    for (size_t i = 0; i < count; ++i) {
      expected[i] = entries[x[i]];
    }
    table.look_up(x.data(), y.data(), count); // and nothing behind
    EXPECT_EQ(y, expected) << count;
    table.look_up(in_place.data(), in_place.data(), count);
    in_place.push_back(99);
    EXPECT_EQ(in_place, expected) << count;
  }
}

TEST(ByteTable, LooksUpEveryByte) {
  for_each_isa(check_look_up, Isas::WithoutByteDot);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
