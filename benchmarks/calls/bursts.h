// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// The end of a pipe that benchmarks/small_calls.py holds: what loads a model in C++ and calls it as often as is asked for.

#pragma once

#include <dlfcn.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace et_xnnpack_benchmarks {

using Bytes = std::vector<uint8_t>;

inline void check(bool good, const std::string& what) {
  if (!good) {
    throw std::runtime_error(what);
  }
}

// `flags` as dlopen() takes them.
inline void* load_library(const std::string& path, int flags) {
  void* const library = ::dlopen(path.c_str(), flags);
  check(library != nullptr, path + " cannot be loaded: " + (library == nullptr ? ::dlerror() : ""));
  return library;
}

inline Bytes read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  check(file.good(), path + " cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& path, const void* data, size_t bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  check(static_cast<bool>(file.flush()), path + " cannot be written");
}

// Of the process alone, if benchmarks/worker.py says so.
inline double microseconds() {
  static const bool is_cpu_time = std::getenv("ET_XNNPACK_BENCHMARK_CPU_TIME") != nullptr;
  if (is_cpu_time) {
    return static_cast<double>(std::clock()) * (1e6 / CLOCKS_PER_SEC);
  }
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// For each number on standard input as many calls; prints the microseconds that one takes.
template <typename Call>
void answer(const Call& call) {
  long calls = 0;
  while (std::cin >> calls) {
    const double start = microseconds();
    for (long i = 0; i < calls; ++i) {
      call();
    }
    std::cout << (microseconds() - start) / static_cast<double>(calls) << std::endl;
  }
}

// main() of an engine: `run` is given the program, a shared library, where the first result goes, and where inputs are.
template <typename Run>
int main_of(const std::vector<std::string>& arguments, const Run& run) {
  try {
    check(arguments.size() > 3, "usage: " + arguments[0] + " PROGRAM LIBRARY RESULT INPUT...");
    run(arguments[1], arguments[2], arguments[3], std::vector<std::string>(arguments.begin() + 4, arguments.end()));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}

} // namespace et_xnnpack_benchmarks
