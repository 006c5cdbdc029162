// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "target.h"

#include <algorithm>

#include "mutator.h"
#include "try_blob.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

std::string attempt_blob(const uint8_t* data, size_t size) {
  return try_blob(Attempt::read(data, size)).broken;
}

std::vector<uint8_t> mutate(
    const uint8_t* data, size_t size, size_t max_size, std::mt19937& random, const MutateBytes& mutate_bytes) {
  Attempt attempt = Attempt::read(data, size);
  const auto way = random() % 16;
  if (way == 0) {
    mutate_bytes(&attempt.blob, std::max(max_size, attempt.blob.size()));
  } else if (way < 5) {
    mutate_bytes(&attempt.calls, Attempt::kMaxCalls);
  } else {
    std::vector<uint8_t> mutated = mutate_blob(attempt.blob, random);
    if (mutated == attempt.blob) { // not a blob any more
      mutate_bytes(&mutated, std::max(max_size, mutated.size()));
    }
    attempt.blob = std::move(mutated);
  }
  return attempt.write();
}

std::vector<uint8_t> cross(
    const uint8_t* data, size_t size, const uint8_t* other, size_t other_size, std::mt19937& random) {
  Attempt attempt = Attempt::read(data, size);
  attempt.blob = cross_blobs(attempt.blob, Attempt::read(other, other_size).blob, random);
  return attempt.write();
}

} // namespace

const std::vector<Target>& targets() {
  static const std::vector<Target> all = {
      {"blob", attempt_blob, mutate, cross},
      {"arguments", attempt_arguments, nullptr, nullptr},
      {"packed", attempt_packed, nullptr, nullptr},
      {"options", attempt_options, nullptr, nullptr},
  };
  return all;
}

const Target* find_target(const std::string& name) {
  const auto found =
      std::find_if(targets().begin(), targets().end(), [&](const Target& target) { return target.name == name; });
  return found == targets().end() ? nullptr : &*found;
}

} // namespace executorch::backends::et_xnnpack::testing
