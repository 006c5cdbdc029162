// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// The limits of a machine: multiply-adds in registers, and memory read and copied, on one thread and
// on all; rates are those of each thread. A kernel is as fast as can be when it is near one of them.

#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "benchmarks/limits.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace limits {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Enough to hide the latency of each; all stay in registers.
constexpr size_t kChains = 12;
constexpr size_t kSteps = 100000;

// Returns how many floating point operations that were.
size_t multiply_add(float* result) {
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

float sum(const float* x, size_t count) {
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
} // namespace limits
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace limits {

HWY_EXPORT(multiply_add);
HWY_EXPORT(sum);

namespace {

constexpr size_t kCount = size_t{16} << 20; // numbers a thread; 64 MB, more than caches hold
const int kThreads = static_cast<int>(std::thread::hardware_concurrency());

void MultiplyAdd(benchmark::State& state) {
  size_t operations = 0;
  for (auto _ : state) {
    float result = 0;
    operations += HWY_DYNAMIC_DISPATCH(multiply_add)(&result);
    benchmark::DoNotOptimize(result);
  }
  state.counters["FLOP/s"] = benchmark::Counter(static_cast<double>(operations), benchmark::Counter::kIsRate);
}

void Read(benchmark::State& state) {
  const std::vector<float> x(kCount, 1.0f);
  for (auto _ : state) {
    benchmark::DoNotOptimize(HWY_DYNAMIC_DISPATCH(sum)(x.data(), x.size()));
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * kCount * sizeof(float)));
}

// Bytes read and bytes written both count.
void Copy(benchmark::State& state) {
  const std::vector<float> x(kCount, 1.0f);
  std::vector<float> y(kCount);
  for (auto _ : state) {
    std::memcpy(y.data(), x.data(), kCount * sizeof(float));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * 2 * kCount * sizeof(float)));
}

BENCHMARK(MultiplyAdd)->Threads(1)->Threads(kThreads)->UseRealTime();
BENCHMARK(Read)->Threads(1)->Threads(kThreads)->UseRealTime();
BENCHMARK(Copy)->Threads(1)->Threads(kThreads)->UseRealTime();

} // namespace
} // namespace limits
#endif // HWY_ONCE
