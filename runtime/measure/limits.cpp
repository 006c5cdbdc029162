// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "limits.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/measure/limits.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Enough to hide the latency of each; all stay in registers.
constexpr size_t kChains = 12;
constexpr size_t kSteps = 100000;

// Returns how many floating point operations that were.
size_t multiply_add_here(float* result) {
  const hn::CappedTag<float, 16> f;
  using Vector = hn::Vec<decltype(f)>;
  const Vector factor = hn::Set(f, 0.999f), summand = hn::Set(f, 0.001f);
  Vector v0 = hn::Iota(f, 0), v1 = hn::Iota(f, 1), v2 = hn::Iota(f, 2), v3 = hn::Iota(f, 3);
  Vector v4 = hn::Iota(f, 4), v5 = hn::Iota(f, 5), v6 = hn::Iota(f, 6), v7 = hn::Iota(f, 7);
  Vector v8 = hn::Iota(f, 8), v9 = hn::Iota(f, 9), v10 = hn::Iota(f, 10), v11 = hn::Iota(f, 11);
  for (size_t i = 0; i < kSteps; ++i) {
    v0 = hn::MulAdd(v0, factor, summand);
    v1 = hn::MulAdd(v1, factor, summand);
    v2 = hn::MulAdd(v2, factor, summand);
    v3 = hn::MulAdd(v3, factor, summand);
    v4 = hn::MulAdd(v4, factor, summand);
    v5 = hn::MulAdd(v5, factor, summand);
    v6 = hn::MulAdd(v6, factor, summand);
    v7 = hn::MulAdd(v7, factor, summand);
    v8 = hn::MulAdd(v8, factor, summand);
    v9 = hn::MulAdd(v9, factor, summand);
    v10 = hn::MulAdd(v10, factor, summand);
    v11 = hn::MulAdd(v11, factor, summand);
  }
  const Vector low = hn::Add(hn::Add(hn::Add(v0, v1), hn::Add(v2, v3)), hn::Add(v4, v5));
  const Vector high = hn::Add(hn::Add(hn::Add(v6, v7), hn::Add(v8, v9)), hn::Add(v10, v11));
  *result = hn::ReduceSum(f, hn::Add(low, high));
  return 2 * kChains * hn::Lanes(f) * kSteps;
}

float sum_here(const float* x, size_t count) {
  const hn::CappedTag<float, 16> f;
  const size_t lanes = hn::Lanes(f);
  auto s0 = hn::Zero(f), s1 = s0, s2 = s0, s3 = s0;
  for (size_t i = 0; i + 4 * lanes <= count; i += 4 * lanes) {
    s0 = hn::Add(s0, hn::LoadU(f, x + i));
    s1 = hn::Add(s1, hn::LoadU(f, x + i + lanes));
    s2 = hn::Add(s2, hn::LoadU(f, x + i + 2 * lanes));
    s3 = hn::Add(s3, hn::LoadU(f, x + i + 3 * lanes));
  }
  return hn::ReduceSum(f, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(multiply_add_here);
HWY_EXPORT(sum_here);

size_t multiply_add(float* result) {
  return HWY_DYNAMIC_DISPATCH(multiply_add_here)(result);
}

float sum(const float* x, size_t count) {
  return HWY_DYNAMIC_DISPATCH(sum_here)(x, count);
}

namespace {

constexpr int kRuns = 25; // short ones, so that some are not interrupted

// Calls `work(thread)` on all threads at once; returns the seconds of the fastest run.
template <typename Work>
double fastest(size_t threads, const Work& work) {
  double best = 1e30;
  for (int run = 0; run < kRuns; ++run) {
    const auto started = std::chrono::steady_clock::now();
    std::vector<std::thread> others;
    for (size_t i = 1; i < threads; ++i) {
      others.emplace_back(work, i);
    }
    work(0);
    for (std::thread& other : others) {
      other.join();
    }
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count());
  }
  return best;
}

} // namespace

Limits measure_limits(size_t threads) {
  threads = std::max<size_t>(threads, 1);
  constexpr size_t kRepeats = 10; // milliseconds, so that starting threads does not count
  std::vector<float> results(threads * 16); // a cache line each
  std::vector<size_t> operations(threads);
  const double computing = fastest(threads, [&](size_t i) {
    operations[i] = 0;
    for (size_t r = 0; r < kRepeats; ++r) {
      operations[i] += multiply_add(&results[16 * i]);
    }
  });
  const std::vector<std::vector<float>> x(threads, std::vector<float>(kNumbersOfThread, 1.0f));
  std::vector<std::vector<float>> y(threads, std::vector<float>(kNumbersOfThread));
  const double reading = fastest(threads, [&](size_t i) { results[16 * i] = sum(x[i].data(), kNumbersOfThread); });
  const double copying =
      fastest(threads, [&](size_t i) { std::memcpy(y[i].data(), x[i].data(), kNumbersOfThread * sizeof(float)); });
  const double bytes = static_cast<double>(threads * kNumbersOfThread * sizeof(float));
  Limits found;
  found.flop_per_second = static_cast<double>(operations[0] * threads) / computing;
  found.bytes_read_per_second = bytes / reading;
  found.bytes_copied_per_second = 2 * bytes / copying;
  return found;
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
