// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/base/caches.h>

#include <gtest/gtest.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

TEST(Caches, AreOfThisMachine) {
  const Caches& caches = Caches::get();
  EXPECT_GE(caches.l1, size_t{8} << 10);
  EXPECT_LE(caches.l1, size_t{1} << 20);
  EXPECT_GE(caches.l2, size_t{32} << 10);
  EXPECT_LE(caches.l2, size_t{64} << 20);
  EXPECT_GT(caches.l3_share, 0);
  EXPECT_LE(caches.l3_share, 1);
  EXPECT_EQ(&caches, &Caches::get());
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
