// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Inputs that libFuzzer makes, guided by what of our code they reach: make fuzz. Of its own it has one option,
// --target=<name>; the others are those of libFuzzer.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <executorch/runtime/platform/platform.h>
#include <gtest/gtest.h>

#include "target.h"

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

const Target* g_target = &targets().front();

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

int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr char kOption[] = "--target=";
  for (int i = 1; i < *argc; ++i) {
    if (std::strncmp((*argv)[i], kOption, sizeof(kOption) - 1) == 0) {
      g_target = find_target((*argv)[i] + sizeof(kOption) - 1);
    }
  }
  if (g_target == nullptr) {
    std::fprintf(stderr, "there is no such target; there are");
    for (const Target& target : targets()) {
      std::fprintf(stderr, " %s", target.name);
    }
    std::fprintf(stderr, "\n");
    std::exit(2);
  }
  GTEST_FLAG_SET(break_on_failure, true);
  // Nothing is logged: most inputs are refused with a reason.
  return runtime::register_pal(runtime::PalImpl::create(
             [](et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t, const char*, size_t) {},
             __FILE__))
      ? 0
      : 1;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string broken = g_target->attempt(data, size);
  if (!broken.empty()) {
    std::fprintf(stderr, "BROKEN PROMISE: %s\n", broken.c_str());
    std::abort();
  }
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (g_target->mutate == nullptr) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  std::mt19937 random(seed);
  return copy(g_target->mutate(data, size, max_size, random, mutate_bytes), data, max_size);
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
  if (g_target->cross == nullptr) {
    // The beginning of one and the end of the other.
    std::vector<uint8_t> both(data, data + (size == 0 ? 0 : random() % (size + 1)));
    const size_t from = other_size == 0 ? 0 : random() % (other_size + 1);
    both.insert(both.end(), other + from, other + other_size);
    both.resize(std::min(both.size(), max_size));
    return copy(both, out, max_size);
  }
  return copy(g_target->cross(data, size, other, other_size, random), out, max_size);
}
