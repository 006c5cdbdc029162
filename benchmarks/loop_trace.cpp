// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Stands before pthreadpool in a process (LD_PRELOAD) and looks at the parallel loops of XNNPACK and of our kernels,
// for scaling.py. If ET_XNNPACK_LOOP_THREADS is set the pool says that it has so many threads, and the calling thread
// runs all items itself and times each; else the pool does, and it is measured how long its threads are not at work.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <link.h>
#include <pthreadpool.h>

namespace {

struct Loop {
  const char* name;
  std::vector<double> items; // seconds, the least of all calls
  double wall = 1e9, busy = 0; // of the call in which it was shortest, if the pool runs it
};

std::vector<Loop> loops; // of a call, in order
size_t next_loop = 0;
std::atomic<double> busy_seconds{0};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

size_t pretended_threads() {
  static const size_t count = [] {
    const char* const text = std::getenv("ET_XNNPACK_LOOP_THREADS");
    return text == nullptr ? 0 : static_cast<size_t>(std::strtoul(text, nullptr, 10));
  }();
  return count;
}

// The function of this name in another library, also in one whose symbols are not for all; null if there is none.
void* find_real(const char* name) {
  static Dl_info self;
  static const int found = dladdr(reinterpret_cast<void*>(&pretended_threads), &self);
  (void)found;
  std::pair<const char*, void*> search{name, nullptr};
  dl_iterate_phdr(
      [](dl_phdr_info* library, size_t, void* context) {
        auto& [symbol, function] = *static_cast<std::pair<const char*, void*>*>(context);
        void* const handle = dlopen(library->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
        void* const address = handle == nullptr ? nullptr : dlsym(handle, symbol);
        Dl_info where;
        if (address != nullptr && dladdr(address, &where) != 0 && where.dli_fbase != self.dli_fbase) {
          function = address;
        }
        if (handle != nullptr) {
          dlclose(handle);
        }
        return function == nullptr ? 0 : 1;
      },
      &search);
  return search.second;
}

// Takes milliseconds, so each is found once.
template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(find_real(name));
}

Loop& enter(const char* name) {
  if (next_loop == loops.size()) {
    loops.push_back({name, {}});
  }
  return loops[next_loop++];
}

template <typename... Index, size_t... I>
void call(void (*task)(void*, Index...), void* context, const size_t* arguments, std::index_sequence<I...>) {
  task(context, arguments[I]...);
}

template <typename... Index>
struct Timed {
  void (*task)(void*, Index...);
  void* context;
  static void run(void* self, Index... index) {
    const Timed& timed = *static_cast<Timed*>(self);
    const double start = now();
    timed.task(timed.context, index...);
    const double seconds = now() - start;
    for (double sum = busy_seconds; !busy_seconds.compare_exchange_weak(sum, sum + seconds);) {
    }
  }
};

// Calls item(i, run) for each item of a loop over kRanges axes, of which the last kTiles go in tiles; run() runs it, as
// thread 0. kThread: its task gets the number of the thread first.
template <size_t kRanges, size_t kTiles, bool kThread, typename... Index, typename Item>
void for_each_item(
    void (*task)(void*, Index...), void* context, const std::array<size_t, kRanges + kTiles>& all, const Item& item) {
  std::array<size_t, kRanges> steps;
  steps.fill(1);
  std::copy(all.begin() + kRanges, all.end(), steps.end() - kTiles);
  if (std::find(all.begin(), all.begin() + kRanges, size_t{0}) != all.begin() + kRanges) {
    return;
  }
  constexpr size_t kFirst = kThread ? 1 : 0;
  std::array<size_t, kFirst + kRanges + kTiles> arguments{}; // thread 0
  for (size_t i = 0;; ++i) {
    for (size_t k = 0; k < kTiles; ++k) {
      const size_t axis = kRanges - kTiles + k;
      arguments[kFirst + kRanges + k] = std::min(steps[axis], all[axis] - arguments[kFirst + axis]);
    }
    item(i, [&] { call(task, context, arguments.data(), std::index_sequence_for<Index...>()); });
    size_t axis = kRanges;
    for (; axis > 0; --axis) {
      size_t& at = arguments[kFirst + axis - 1];
      at += steps[axis - 1];
      if (at < all[axis - 1]) {
        break;
      }
      at = 0;
    }
    if (axis == 0) {
      return;
    }
  }
}

template <size_t kRanges, size_t kTiles, bool kThread, typename... Index, typename... Sizes>
void run(
    const char* name,
    pthreadpool_t pool,
    void (*task)(void*, Index...),
    void* context,
    uint32_t flags,
    Sizes... sizes) {
  const std::array<size_t, kRanges + kTiles> all{sizes...};
  if (pool == nullptr) { // part of an item of another loop
    for_each_item<kRanges, kTiles, kThread>(task, context, all, [](size_t, const auto& run_item) { run_item(); });
    return;
  }
  Loop& loop = enter(name);
  if (pretended_threads() == 0) {
    static const auto real_loop =
        real<void (*)(pthreadpool_t, void (*)(void*, Index...), void*, Sizes..., uint32_t)>(name);
    Timed<Index...> timed{task, context};
    busy_seconds = 0;
    const double start = now();
    real_loop(pool, Timed<Index...>::run, &timed, sizes..., flags);
    if (const double wall = now() - start; wall < loop.wall) {
      loop.wall = wall;
      loop.busy = busy_seconds;
    }
    return;
  }
  for_each_item<kRanges, kTiles, kThread>(task, context, all, [&loop](size_t item, const auto& run_item) {
    const double start = now();
    run_item();
    const double seconds = now() - start;
    if (item == loop.items.size()) {
      loop.items.push_back(seconds);
    }
    loop.items[item] = std::min(loop.items[item], seconds);
  });
}

} // namespace

namespace executorch::extension::threadpool {

// A pool that runs nothing has no content.
pthreadpool_t get_pthreadpool() {
  static char nothing;
  static const auto of_executorch =
      real<pthreadpool_t (*)()>("_ZN10executorch9extension10threadpool15get_pthreadpoolEv");
  return pretended_threads() > 0 ? reinterpret_cast<pthreadpool_t>(&nothing) : of_executorch();
}

} // namespace executorch::extension::threadpool

extern "C" {

// Between two calls of a method.
void et_xnnpack_next_call() {
  next_loop = 0;
}

void et_xnnpack_forget_loops() {
  loops.clear();
  next_loop = 0;
}

// Writes a line for each loop: its name, seconds of the pool and of its threads at work, and seconds of each item.
int et_xnnpack_write_loops(const char* path) {
  std::FILE* const file = std::fopen(path, "w");
  if (file == nullptr) {
    return 1;
  }
  for (const Loop& loop : loops) {
    std::fprintf(file, "%s %.9f %.9f", loop.name, loop.wall, loop.busy);
    for (const double seconds : loop.items) {
      std::fprintf(file, " %.9f", seconds);
    }
    std::fputc('\n', file);
  }
  return std::fclose(file);
}

size_t pthreadpool_get_threads_count(pthreadpool_t pool) {
  static const auto real_count = real<size_t (*)(pthreadpool_t)>("pthreadpool_get_threads_count");
  return pretended_threads() > 0 ? pretended_threads() : real_count(pool);
}

#define ETX_UNPACK(...) __VA_ARGS__
#define ETX_LOOP(name, ranges, tiles, thread, parameters, arguments)                                                \
  void pthreadpool_parallelize_##name(                                                                              \
      pthreadpool_t pool, pthreadpool_task_##name##_t task, void* context, ETX_UNPACK parameters, uint32_t flags) { \
    run<ranges, tiles, thread>("pthreadpool_parallelize_" #name, pool, task, context, flags, ETX_UNPACK arguments); \
  }
ETX_LOOP(1d, 1, 0, false, (size_t a), (a))
ETX_LOOP(1d_with_thread, 1, 0, true, (size_t a), (a))
ETX_LOOP(1d_tile_1d, 1, 1, false, (size_t a, size_t s), (a, s))
ETX_LOOP(2d, 2, 0, false, (size_t a, size_t b), (a, b))
ETX_LOOP(2d_with_thread, 2, 0, true, (size_t a, size_t b), (a, b))
ETX_LOOP(2d_tile_1d, 2, 1, false, (size_t a, size_t b, size_t s), (a, b, s))
ETX_LOOP(2d_tile_2d, 2, 2, false, (size_t a, size_t b, size_t s, size_t t), (a, b, s, t))
ETX_LOOP(3d, 3, 0, false, (size_t a, size_t b, size_t c), (a, b, c))
ETX_LOOP(3d_tile_1d, 3, 1, false, (size_t a, size_t b, size_t c, size_t s), (a, b, c, s))
ETX_LOOP(3d_tile_1d_with_thread, 3, 1, true, (size_t a, size_t b, size_t c, size_t s), (a, b, c, s))
ETX_LOOP(3d_tile_2d, 3, 2, false, (size_t a, size_t b, size_t c, size_t s, size_t t), (a, b, c, s, t))
ETX_LOOP(4d, 4, 0, false, (size_t a, size_t b, size_t c, size_t d), (a, b, c, d))
ETX_LOOP(4d_tile_2d, 4, 2, false, (size_t a, size_t b, size_t c, size_t d, size_t s, size_t t), (a, b, c, d, s, t))
ETX_LOOP(5d, 5, 0, false, (size_t a, size_t b, size_t c, size_t d, size_t e), (a, b, c, d, e))
ETX_LOOP(
    5d_tile_2d,
    5,
    2,
    false,
    (size_t a, size_t b, size_t c, size_t d, size_t e, size_t s, size_t t),
    (a, b, c, d, e, s, t))
ETX_LOOP(
    6d_tile_2d,
    6,
    2,
    false,
    (size_t a, size_t b, size_t c, size_t d, size_t e, size_t f, size_t s, size_t t),
    (a, b, c, d, e, f, s, t))

} // extern "C"
