// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
// Runs a program on one thread, with inputs from files, and writes what comes out:
//
//   run_program [--library <file>]... [--calls <n>] [--maps <file>] <program.pte> <output> [<type> <sizes> <file>]...
//
// `type` is that of ExecuTorch (Float, Long), `sizes` is such as 1x3x224x224, files have the bytes of the elements alone.
// `--library` is opened before: backends and kernels register themselves. `--maps` is where the libraries in memory are
// listed, for those who have addresses. After loading and after each call a system call that does not exist says so to
// benchmarks/instructions_plugin.c.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/extension/threadpool/threadpool_guard.h>

using executorch::aten::ScalarType;
using executorch::extension::Module;
using executorch::extension::TensorPtr;

namespace {

constexpr long kPhaseEnds = 0x4554;

[[noreturn]] void fail(const char* what, const char* why) {
  std::fprintf(stderr, "%s: %s\n", what, why);
  std::exit(1);
}

std::vector<uint8_t> read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    fail(path, "cannot be read");
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

TensorPtr read_tensor(const char* type, const char* sizes, const char* path) {
  std::vector<executorch::aten::SizesType> shape;
  size_t bytes = 1;
  for (const char* at = sizes; *at != '\0'; at += *at == 'x') {
    char* end = nullptr;
    shape.push_back(static_cast<int32_t>(std::strtol(at, &end, 10)));
    if (end == at) {
      fail(sizes, "is not such as 1x3x224x224");
    }
    bytes *= static_cast<size_t>(shape.back());
    at = end;
  }
  const bool is_long = std::strcmp(type, "Long") == 0;
  if (!is_long && std::strcmp(type, "Float") != 0) {
    fail(type, "is neither Float nor Long");
  }
  bytes *= is_long ? sizeof(int64_t) : sizeof(float);
  std::vector<uint8_t> data = read(path);
  if (data.size() != bytes) {
    fail(path, "does not have the size that type and sizes give");
  }
  return executorch::extension::make_tensor_ptr(
      std::move(shape), std::move(data), {}, {}, is_long ? ScalarType::Long : ScalarType::Float);
}

void end_phase(long phase) {
  ::syscall(kPhaseEnds, phase);
}

} // namespace

int main(int argc, char** argv) {
  int calls = 1;
  const char* maps = nullptr;
  int next = 1;
  for (; next + 1 < argc && std::strncmp(argv[next], "--", 2) == 0; next += 2) {
    const char* value = argv[next + 1];
    if (std::strcmp(argv[next], "--library") == 0) {
      if (::dlopen(value, RTLD_NOW | RTLD_GLOBAL) == nullptr) {
        fail(value, ::dlerror());
      }
    } else if (std::strcmp(argv[next], "--calls") == 0) {
      calls = std::atoi(value);
    } else if (std::strcmp(argv[next], "--maps") == 0) {
      maps = value;
    } else {
      fail(argv[next], "is no option");
    }
  }
  if (argc - next < 2 || (argc - next - 2) % 3 != 0 || calls < 1) {
    fail(argv[0], "see the comment at the top of its source");
  }
  const char* program = argv[next];
  const char* output = argv[next + 1];

  const executorch::extension::threadpool::NoThreadPoolGuard single_thread;
  std::vector<TensorPtr> tensors;
  std::vector<executorch::runtime::EValue> inputs;
  for (int i = next + 2; i < argc; i += 3) {
    tensors.push_back(read_tensor(argv[i], argv[i + 1], argv[i + 2]));
    inputs.emplace_back(tensors.back());
  }
  Module module(program);
  const auto loaded = module.load_forward();
  if (loaded != executorch::runtime::Error::Ok) {
    fail(program, executorch::runtime::to_string(loaded));
  }
  end_phase(0);
  for (int i = 0; i < calls; ++i) {
    const auto results = module.forward(inputs);
    end_phase(i + 1);
    if (!results.ok()) {
      fail(program, executorch::runtime::to_string(results.error()));
    }
    if (i + 1 == calls) {
      std::ofstream file(output, std::ios::binary);
      const auto& tensor = results->at(0).toTensor();
      file.write(static_cast<const char*>(tensor.const_data_ptr()), static_cast<std::streamsize>(tensor.nbytes()));
      if (!file.flush()) {
        fail(output, "cannot be written");
      }
    }
  }
  if (maps != nullptr) {
    std::ofstream(maps) << std::ifstream("/proc/self/maps").rdbuf();
  }
  return 0;
}
