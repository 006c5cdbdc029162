// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
// Runs a method of a program with random or given inputs, and says how long that takes: et_xnnpack_runner --help.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/extension/threadpool/threadpool_guard.h>
#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/backend/interface.h>

#if __has_include(<executorch/extension/threadpool/threadpool.h>) && __has_include(<pthreadpool.h>)
#include <executorch/extension/threadpool/threadpool.h>
#else
// What is used here of it: ExecuTorch's Python package has the library without this header.
namespace executorch::extension::threadpool {
class ThreadPool {
 public:
  size_t get_thread_count() const;
  bool _unsafe_reset_threadpool(uint32_t threads);
};
ThreadPool* get_threadpool();
} // namespace executorch::extension::threadpool
#endif

namespace {

using executorch::aten::ScalarType;
using executorch::extension::Module;
using executorch::extension::TensorPtr;
using executorch::runtime::BackendOption;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using Clock = std::chrono::steady_clock;
using Sizes = std::vector<executorch::aten::SizesType>;

struct Arguments {
  std::string program, method = "forward", backend = "EtXnnpackBackend";
  std::vector<std::string> data, libraries, inputs, shapes, options;
  std::string output, etdump, maps;
  int64_t high = 2;
  uint32_t seed = 0;
  int calls = 10, warm_up = 2;
  uint32_t threads = 0;
  bool one_thread = false, mark_phases = false;
};

void check(bool good, const std::string& what, const std::string& why) {
  if (!good) {
    throw std::runtime_error(what + ": " + why);
  }
}

void check(Error error, const std::string& what) {
  check(error == Error::Ok, what, executorch::runtime::to_string(error));
}

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// To whoever counts instructions under an emulator (benchmarks/instructions_plugin.c): a system call that does not exist.
void mark_phase(const Arguments& arguments, long phase) {
  constexpr long kPhaseEnds = 0x4554;
  if (arguments.mark_phases) {
    ::syscall(kPhaseEnds, phase);
  }
}

// ---- Inputs

// "1x3x224x224"
Sizes read_sizes(const std::string& text) {
  Sizes sizes;
  const char *at = text.data(), *const end = at + text.size();
  for (bool more = true; more; ++at) {
    int32_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    more = next < end && *next == 'x';
    check(error == std::errc() && size >= 0 && (more || next == end), text, "is not such as 1x3x224x224");
    sizes.push_back(size);
    at = next;
  }
  return sizes;
}

template <typename Number, typename Distribution>
std::vector<uint8_t> random_bytes(size_t count, Distribution distribution, std::mt19937& generator) {
  std::vector<uint8_t> bytes(count * sizeof(Number));
  for (size_t i = 0; i < count; ++i) {
    const auto number = static_cast<Number>(distribution(generator));
    std::memcpy(&bytes[i * sizeof(Number)], &number, sizeof(Number));
  }
  return bytes;
}

// From 0 to below `high`, as far as the type goes.
template <typename Number>
std::vector<uint8_t> random_integers(size_t count, int64_t high, std::mt19937& generator) {
  const int64_t most = std::min<int64_t>(high - 1, std::numeric_limits<Number>::max());
  return random_bytes<Number>(count, std::uniform_int_distribution<int64_t>(0, most), generator);
}

// Floats from 0 to 1, integers from 0 to below `high`.
std::vector<uint8_t> random_elements(ScalarType type, size_t count, int64_t high, std::mt19937& generator) {
  const std::uniform_real_distribution<double> floats(0, 1);
  switch (type) {
    case ScalarType::Float:
      return random_bytes<float>(count, floats, generator);
    case ScalarType::Double:
      return random_bytes<double>(count, floats, generator);
    case ScalarType::Half:
      return random_bytes<executorch::aten::Half>(count, floats, generator);
    case ScalarType::BFloat16:
      return random_bytes<executorch::aten::BFloat16>(count, floats, generator);
    case ScalarType::Long:
      return random_integers<int64_t>(count, high, generator);
    case ScalarType::Int:
      return random_integers<int32_t>(count, high, generator);
    case ScalarType::Short:
      return random_integers<int16_t>(count, high, generator);
    case ScalarType::Char:
      return random_integers<int8_t>(count, high, generator);
    case ScalarType::Byte:
      return random_integers<uint8_t>(count, high, generator);
    case ScalarType::Bool:
      return random_bytes<bool>(count, std::uniform_int_distribution<int>(0, 1), generator);
    default:
      throw std::runtime_error("there are no random inputs of this type: give it as a file");
  }
}

std::vector<uint8_t> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  check(file.good(), path, "cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

// Tensors of the sizes that the method was exported for, unless others are given.
std::vector<TensorPtr> make_inputs(const executorch::runtime::MethodMeta& meta, const Arguments& arguments) {
  std::mt19937 generator(arguments.seed);
  std::vector<TensorPtr> tensors;
  const size_t count = meta.num_inputs();
  check(arguments.inputs.size() <= count, "--input", "the method takes " + std::to_string(count));
  check(arguments.shapes.size() <= count, "--shape", "the method takes " + std::to_string(count) + " inputs");
  for (size_t i = 0; i < count; ++i) {
    const std::string name = "input " + std::to_string(i);
    const auto info = meta.input_tensor_meta(i);
    check(info.ok(), name, "it is no tensor, which this program cannot give");
    Sizes sizes(info->sizes().begin(), info->sizes().end());
    if (i < arguments.shapes.size() && !arguments.shapes[i].empty()) {
      Sizes given = read_sizes(arguments.shapes[i]);
      const std::string rank = std::to_string(sizes.size());
      check(given.size() == sizes.size(), arguments.shapes[i], name + " has " + rank + " sizes");
      sizes = std::move(given);
    }
    const size_t element = executorch::runtime::elementSize(info->scalar_type());
    size_t bytes = element;
    std::vector<uint8_t> data;
    for (const auto size : sizes) {
      const bool is_beyond = __builtin_mul_overflow(bytes, static_cast<size_t>(size), &bytes);
      check(!is_beyond && bytes <= data.max_size(), name, "it is larger than any memory");
    }
    if (i < arguments.inputs.size() && arguments.inputs[i] != "random") {
      data = read_file(arguments.inputs[i]);
      check(
          data.size() == bytes,
          arguments.inputs[i],
          "has " + std::to_string(data.size()) + " bytes, but " + name + " has " + std::to_string(bytes));
    } else {
      data = random_elements(info->scalar_type(), bytes / element, arguments.high, generator);
    }
    std::vector<executorch::aten::DimOrderType> order(info->dim_order().begin(), info->dim_order().end());
    tensors.push_back(executorch::extension::make_tensor_ptr(
        std::move(sizes), std::move(data), std::move(order), {}, info->scalar_type()));
  }
  return tensors;
}

// ---- The program

// KEY=VALUE: true and false, whole numbers, or text.
BackendOption read_option(const std::string& text) {
  const size_t equals = text.find('=');
  check(equals != std::string::npos && equals > 0, text, "is not such as num_threads=1");
  const std::string key = text.substr(0, equals), value = text.substr(equals + 1);
  BackendOption option{};
  check(key.size() < sizeof(option.key), key, "is too long");
  std::copy(key.begin(), key.end(), option.key);
  int number = 0;
  const char* const end = value.data() + value.size();
  const auto [next, error] = std::from_chars(value.data(), end, number);
  if (value == "true" || value == "false") {
    option.value = value == "true";
  } else if (error == std::errc() && next == end) {
    option.value = number;
  } else {
    std::array<char, executorch::runtime::kMaxOptionValueLength> characters{};
    check(value.size() < characters.size(), key, "the value is too long");
    std::copy(value.begin(), value.end(), characters.begin());
    option.value = characters;
  }
  return option;
}

void load(Module& module, const Arguments& arguments) {
  std::vector<BackendOption> options;
  std::transform(arguments.options.begin(), arguments.options.end(), std::back_inserter(options), read_option);
  executorch::runtime::LoadBackendOptionsMap by_backend;
  if (!options.empty()) {
    check(by_backend.set_options(arguments.backend.c_str(), {options.data(), options.size()}), "--option");
  }
  check(module.load(by_backend), arguments.program);
  check(module.load_method(arguments.method), arguments.program + ", method " + arguments.method);
}

// The bytes of output i, into FILE for the first one and FILE.i for the others.
void write_outputs(const std::vector<EValue>& outputs, const std::string& path) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = i == 0 ? path : path + "." + std::to_string(i);
    check(outputs[i].isTensor(), name, "the output is no tensor");
    const auto& tensor = outputs[i].toTensor();
    std::ofstream file(name, std::ios::binary);
    file.write(static_cast<const char*>(tensor.const_data_ptr()), static_cast<std::streamsize>(tensor.nbytes()));
    check(static_cast<bool>(file.flush()), name, "cannot be written");
  }
}

void write_etdump(executorch::etdump::ETDumpGen& tracer, const std::string& path) {
  const executorch::etdump::ETDumpResult dump = tracer.get_etdump_data();
  const std::unique_ptr<void, decltype(&std::free)> memory(dump.buf, std::free);
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(dump.buf), static_cast<std::streamsize>(dump.size));
  check(dump.buf != nullptr && file.flush(), path, "cannot be written");
}

void print(const std::vector<EValue>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].isTensor()) {
      continue;
    }
    const auto& tensor = outputs[i].toTensor();
    std::string sizes;
    for (const auto size : tensor.sizes()) {
      sizes += (sizes.empty() ? "" : " x ") + std::to_string(size);
    }
    std::printf("output %zu: %s [%s]", i, executorch::runtime::toString(tensor.scalar_type()), sizes.c_str());
    if (tensor.scalar_type() == ScalarType::Float) {
      constexpr ssize_t kFirst = 6;
      std::printf(", begins with");
      for (ssize_t k = 0; k < std::min<ssize_t>(tensor.numel(), kFirst); ++k) {
        std::printf(" %.5g", tensor.const_data_ptr<float>()[k]);
      }
    }
    std::printf("\n");
  }
}

// Before anything is loaded that may keep the pool. Returns the number of threads that compute.
size_t set_threads(const Arguments& arguments) {
  if (arguments.one_thread) {
    return 1;
  }
  auto* const pool = executorch::extension::threadpool::get_threadpool();
  check(pool != nullptr, "--threads", "ExecuTorch has no thread pool here");
  if (arguments.threads > 0 && arguments.threads != pool->get_thread_count()) {
    check(pool->_unsafe_reset_threadpool(arguments.threads), "--threads", "ExecuTorch's thread pool stays as it is");
  }
  return pool->get_thread_count();
}

void run(const Arguments& arguments) {
  for (const std::string& library : arguments.libraries) {
    check(::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr, library, "cannot be loaded");
  }
  std::optional<executorch::extension::threadpool::NoThreadPoolGuard> without_pool;
  if (arguments.one_thread) {
    without_pool.emplace();
  }
  const size_t threads = set_threads(arguments);
  std::unique_ptr<executorch::etdump::ETDumpGen> tracer;
  executorch::etdump::ETDumpGen* dump = nullptr;
  if (!arguments.etdump.empty()) {
    tracer = std::make_unique<executorch::etdump::ETDumpGen>();
    dump = tracer.get();
  }
  Module module(arguments.program, arguments.data, Module::LoadMode::Mmap, std::move(tracer));

  const Clock::time_point started = Clock::now();
  load(module, arguments);
  const double load_time = milliseconds_since(started);
  mark_phase(arguments, 0);

  const auto meta = module.method_meta(arguments.method);
  check(meta.error(), arguments.method);
  const std::vector<TensorPtr> tensors = make_inputs(*meta, arguments);
  const std::vector<EValue> inputs(tensors.begin(), tensors.end());
  std::vector<double> times;
  std::vector<EValue> outputs;
  for (int call = 1; call <= arguments.warm_up + arguments.calls; ++call) {
    const Clock::time_point begin = Clock::now();
    auto result = module.execute(arguments.method, inputs);
    const double time = milliseconds_since(begin);
    mark_phase(arguments, call);
    check(result.error(), arguments.method);
    outputs = std::move(*result);
    if (call > arguments.warm_up) {
      times.push_back(time);
    }
  }
  std::sort(times.begin(), times.end());
  std::printf(
      "%zu thread%s; load %.2f ms; call: median %.3f ms, least %.3f, most %.3f, of %zu\n",
      threads,
      threads == 1 ? "" : "s",
      load_time,
      times[times.size() / 2],
      times.front(),
      times.back(),
      times.size());
  print(outputs);
  if (!arguments.output.empty()) {
    write_outputs(outputs, arguments.output);
  }
  if (dump != nullptr) {
    write_etdump(*dump, arguments.etdump);
  }
  if (!arguments.maps.empty()) {
    std::ofstream file(arguments.maps);
    file << std::ifstream("/proc/self/maps").rdbuf();
    check(static_cast<bool>(file.flush()), arguments.maps, "cannot be written");
  }
}

void add_options(CLI::App& app, Arguments& a) {
  app.add_option("program", a.program, "The program, a .pte file")->required()->check(CLI::ExistingFile);
  app.add_option("--data", a.data, "Files of weights that are outside of it (.ptd)")->check(CLI::ExistingFile);
  app.add_option("--method", a.method, "What to run")->capture_default_str();
  app.add_option("--input", a.inputs, "The elements of an input as a file has them, or `random`, in order")->take_all();
  app.add_option("--shape", a.shapes, "Sizes of an input, such as 1x3x224x224, in order; else those of the export")
      ->take_all();
  app.add_option("--seed", a.seed, "Of random inputs")->capture_default_str();
  app.add_option("--high", a.high, "Random integers are below this")->capture_default_str()->check(CLI::PositiveNumber);
  constexpr uint32_t kMostThreads = 1024;
  auto* const threads = app.add_option("--threads", a.threads, "Of ExecuTorch's pool; else as many as it has by itself")
                            ->check(CLI::Range(1u, kMostThreads));
  app.add_flag("--one-thread", a.one_thread, "Computes without the pool, so that none is made")->excludes(threads);
  app.add_option("--calls", a.calls, "Calls that are timed")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--warm-up", a.warm_up, "Calls before them")->capture_default_str()->check(CLI::NonNegativeNumber);
  app.add_option("--option", a.options, "KEY=VALUE for the backend, such as packed_cache_path=weights.packed")
      ->take_all();
  app.add_option("--backend", a.backend, "Whose options these are")->capture_default_str();
  app.add_option("--library", a.libraries, "Loaded before: its backends and kernels register themselves")->take_all();
  app.add_option("--output", a.output, "Where the elements of the outputs go: FILE, FILE.1, ...");
  app.add_option("--etdump", a.etdump, "Where the time of each operator goes, for ExecuTorch's Inspector");
  app.add_option("--maps", a.maps, "Where the libraries in memory are listed, for those who have addresses");
  app.add_flag("--mark-phases", a.mark_phases, "Tells an emulator where loading and each call end");
}

} // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Runs a method of an ExecuTorch program with random or given inputs, and times it.");
  add_options(app, arguments);
  CLI11_PARSE(app, argc, argv);
  try {
    run(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
