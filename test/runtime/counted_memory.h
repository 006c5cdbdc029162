// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// Memory of these tests that runs out when they say so.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace executorch::backends::et_xnnpack::testing {

constexpr int kUnlimited = -1;

extern std::atomic<int> allocations_left; // of Buffer and of XNNPACK
extern std::atomic<int> mappings_left; // of HugePageArena
extern std::atomic<int> news_left; // of the standard library
extern std::atomic<size_t> smallest; // of XNNPACK's that is counted
extern std::atomic<size_t> largest; // of a Buffer

} // namespace executorch::backends::et_xnnpack::testing
