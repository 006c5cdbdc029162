// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// The limits of a machine: multiply-adds in registers, and memory read and copied, on one thread and
// on all; rates are those of each thread. A kernel is as fast as can be when it is near one of them.

#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "runtime/measure/limits.h"

namespace {

using executorch::backends::et_xnnpack::kNumbersOfThread;
using executorch::backends::et_xnnpack::multiply_add;
using executorch::backends::et_xnnpack::sum;

const int kThreads = static_cast<int>(std::thread::hardware_concurrency());

void MultiplyAdd(benchmark::State& state) {
  size_t operations = 0;
  for (auto _ : state) {
    float result = 0;
    operations += multiply_add(&result);
    benchmark::DoNotOptimize(result);
  }
  state.counters["FLOP/s"] = benchmark::Counter(static_cast<double>(operations), benchmark::Counter::kIsRate);
}

void Read(benchmark::State& state) {
  const std::vector<float> x(kNumbersOfThread, 1.0f);
  for (auto _ : state) {
    benchmark::DoNotOptimize(sum(x.data(), x.size()));
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * kNumbersOfThread * sizeof(float)));
}

// Bytes read and bytes written both count.
void Copy(benchmark::State& state) {
  const std::vector<float> x(kNumbersOfThread, 1.0f);
  std::vector<float> y(kNumbersOfThread);
  for (auto _ : state) {
    std::memcpy(y.data(), x.data(), kNumbersOfThread * sizeof(float));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * 2 * kNumbersOfThread * sizeof(float)));
}

BENCHMARK(MultiplyAdd)->Threads(1)->Threads(kThreads)->UseRealTime();
BENCHMARK(Read)->Threads(1)->Threads(kThreads)->UseRealTime();
BENCHMARK(Copy)->Threads(1)->Threads(kThreads)->UseRealTime();

} // namespace
