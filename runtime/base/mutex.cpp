// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "mutex.h"

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace executorch::backends::et_xnnpack::lock_order {
namespace {

constexpr std::array<const char*, 6> kNames{"Delegate", "States", "Workspace", "Pool", "Data", "Table"};

thread_local uint32_t held = 0; // a bit for each level

const char* last_held() {
  size_t last = 0;
  for (size_t i = 0; i < kNames.size(); ++i) {
    last = (held >> i & 1) != 0 ? i : last;
  }
  return kNames[last];
}

[[noreturn]] void fail(const char* what, const char* level) {
  (void)std::fprintf(stderr, "et_xnnpack: %s %s while a lock of level %s is held\n", what, level, last_held());
  std::abort();
}

} // namespace

void before(LockLevel level) {
  if (held >> static_cast<uint32_t>(level) != 0) {
    fail("a thread takes a lock of level", kNames[static_cast<size_t>(level)]);
  }
}

void taken(LockLevel level) {
  held |= uint32_t{1} << static_cast<uint32_t>(level);
}

void released(LockLevel level) {
  held &= ~(uint32_t{1} << static_cast<uint32_t>(level));
}

void destroying() {
  if (held >> static_cast<uint32_t>(LockLevel::Table) != 0) {
    fail("something", "that is shared goes");
  }
}

} // namespace executorch::backends::et_xnnpack::lock_order
