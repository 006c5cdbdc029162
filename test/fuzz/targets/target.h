// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// What the fuzzer can be pointed at: --target=<name>.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace executorch::backends::et_xnnpack::testing {

// Changes bytes that may be anything; they may grow up to that size.
using MutateBytes = std::function<void(std::vector<uint8_t>* bytes, size_t max_size)>;

struct Target {
  const char* name;
  // What the runtime promises and did not do, given these bytes; empty if all is well. Any bytes will do, and the same ones
  // do the same.
  std::string (*attempt)(const uint8_t* data, size_t size);
  // Changes that know what the bytes mean; null: `MutateBytes` alone will do. Results may be too large.
  std::vector<uint8_t> (*mutate)(
      const uint8_t* data, size_t size, size_t max_size, std::mt19937& random, const MutateBytes& mutate_bytes);
  // One input with something of another; null with `mutate`.
  std::vector<uint8_t> (*cross)(
      const uint8_t* data, size_t size, const uint8_t* other, size_t other_size, std::mt19937& random);
};

const std::vector<Target>& targets();

// Null if there is none.
const Target* find_target(const std::string& name);

// Each in a file of its own.
std::string attempt_arguments(const uint8_t* data, size_t size);
std::string attempt_packed(const uint8_t* data, size_t size);
std::string attempt_options(const uint8_t* data, size_t size);

} // namespace executorch::backends::et_xnnpack::testing
