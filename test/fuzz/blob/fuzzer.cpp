// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Blobs that libFuzzer makes, guided by what of our code they reach: make fuzz-blobs.

#include <cstdio>
#include <cstdlib>
#include <string>

#include <executorch/runtime/platform/platform.h>
#include <gtest/gtest.h>

#include "mutator.h"
#include "try_blob.h"

// All of libFuzzer's interface has C linkage and these names.
extern "C" {
int LLVMFuzzerInitialize(int* argc, char*** argv);
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(
    const uint8_t* data,
    size_t size,
    const uint8_t* other,
    size_t other_size,
    uint8_t* out,
    size_t max_size,
    unsigned seed);
}

namespace {

using namespace executorch::backends::et_xnnpack::testing;
namespace runtime = executorch::runtime;

void mutate_bytes(std::vector<uint8_t>* bytes, size_t max_size) {
  const size_t size = bytes->size();
  bytes->resize(max_size);
  bytes->resize(LLVMFuzzerMutate(bytes->data(), size, max_size));
}

size_t copy(const std::vector<uint8_t>& from, uint8_t* to, size_t max_size) {
  if (from.size() > max_size) {
    return 0; // libFuzzer tries something else
  }
  std::copy(from.begin(), from.end(), to);
  return from.size();
}

} // namespace

int LLVMFuzzerInitialize(int*, char***) {
  GTEST_FLAG_SET(break_on_failure, true);
  // Nothing is logged: most blobs are refused with a reason.
  return runtime::register_pal(runtime::PalImpl::create(
             [](et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t, const char*, size_t) {},
             __FILE__))
      ? 0
      : 1;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Trial trial = try_blob(Attempt::read(data, size));
  if (!trial.broken.empty()) {
    std::fprintf(stderr, "BROKEN PROMISE: %s\n", trial.broken.c_str());
    std::abort();
  }
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::mt19937 random(seed);
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
  return copy(attempt.write(), data, max_size);
}

size_t LLVMFuzzerCustomCrossOver(
    const uint8_t* data,
    size_t size,
    const uint8_t* other,
    size_t other_size,
    uint8_t* out,
    size_t max_size,
    unsigned seed) {
  std::mt19937 random(seed);
  Attempt attempt = Attempt::read(data, size);
  attempt.blob = cross_blobs(attempt.blob, Attempt::read(other, other_size).blob, random);
  return copy(attempt.write(), out, max_size);
}
