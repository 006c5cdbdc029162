// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
// The Python module _runtime: loads the backend and offers what ExecuTorch's own bindings do not.

#include <array>
#include <cstring>
#include <iostream>
#include <map>
#include <stdexcept>
#include <streambuf>
#include <string>
#include <variant>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <executorch/runtime/backend/interface.h>

#include "../et_xnnpack.h"
#include "limits.h"

namespace py = pybind11;

namespace {

using executorch::backends::et_xnnpack::Inspector;
using executorch::backends::et_xnnpack::kBackendName;
using executorch::backends::et_xnnpack::Limits;
using executorch::backends::et_xnnpack::measure_limits;
using executorch::runtime::BackendOption;
using executorch::runtime::CompileSpec;
using executorch::runtime::Error;
using executorch::runtime::Span;

const Inspector& backend() {
  auto* found = executorch::runtime::get_backend_class(kBackendName);
  if (found == nullptr) {
    throw std::runtime_error("the et_xnnpack backend is not registered; see the log of ExecuTorch");
  }
  return *static_cast<const Inspector*>(found);
}

void check(Error error) {
  if (error != Error::Ok) {
    throw py::value_error(backend().last_error());
  }
}

Span<const uint8_t> bytes_of(const std::string_view& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// ExecuTorch takes names as C strings.
void check_name(const std::string& name) {
  if (name.find('\0') != std::string::npos) {
    throw py::value_error("the name of an option has a zero byte");
  }
}

BackendOption option(const std::string& name) {
  check_name(name);
  BackendOption result;
  if (name.size() >= sizeof(result.key)) {
    throw py::value_error("there is no option '" + name + "'");
  }
  std::memcpy(result.key, name.c_str(), name.size() + 1);
  return result;
}

using Text = std::array<char, executorch::runtime::kMaxOptionValueLength>;
using Value = std::variant<bool, int, std::string>;

BackendOption option(const std::string& name, const Value& value) {
  BackendOption result = option(name);
  if (const std::string* text = std::get_if<std::string>(&value)) {
    if (text->size() > sizeof(Text) - 2 || text->find('\0') != std::string::npos) {
      throw py::value_error(
          "option '" + name + "' takes up to " + std::to_string(sizeof(Text) - 2) + " bytes, none of them 0");
    }
    Text copy{};
    std::memcpy(copy.data(), text->data(), text->size());
    result.value = copy;
  } else if (const bool* truth = std::get_if<bool>(&value)) {
    result.value = *truth;
  } else {
    result.value = std::get<int>(value);
  }
  return result;
}

void set_option(const std::string& name, const Value& value) {
  BackendOption one = option(name, value);
  check(executorch::runtime::set_option(kBackendName, {&one, 1}));
}

Value get_option(const std::string& name) {
  BackendOption one = option(name);
  check(executorch::runtime::get_option(kBackendName, {&one, 1}));
  if (const Text* text = std::get_if<Text>(&one.value)) {
    return std::string(text->data());
  }
  if (const bool* truth = std::get_if<bool>(&one.value)) {
    return *truth;
  }
  return std::get<int>(one.value);
}

void set_load_options(const std::map<std::string, Value>& values) {
  std::vector<BackendOption> options;
  for (const auto& [name, value] : values) {
    options.push_back(option(name, value));
  }
  check(backend().set_load_options({options.data(), options.size()}));
}

struct Streams {
  std::streambuf* out = std::cout.rdbuf();
  std::streambuf* err = std::cerr.rdbuf();

  void use() const {
    std::cout.rdbuf(out);
    std::cerr.rdbuf(err);
  }
};

// ExecuTorch's binding sends the C++ streams to Python's while it calls us, and puts back afterwards what it found.
// So while a thread waits, others find those of the process, and it has its own again when it goes on: else one
// thread would put back the buffer of another, whose call has ended.
const Streams process_streams; // when this library is loaded
thread_local Streams own_streams;

void* begin_waiting() {
  if (PyGILState_Check() == 0) {
    return nullptr;
  }
  own_streams = Streams();
  process_streams.use();
  return PyEval_SaveThread();
}

void end_waiting(void* thread) {
  PyEval_RestoreThread(static_cast<PyThreadState*>(thread));
  own_streams.use();
}

} // namespace

PYBIND11_MODULE(_runtime, module) {
  module.doc() = "The compiled part of et_xnnpack.";
  const std::uint32_t error = et_xnnpack_register();
  if (error != 0) {
    throw py::import_error("et_xnnpack could not register with ExecuTorch, error " + std::to_string(error));
  }
  // Who waits lets other Python threads run: ExecuTorch's log, which takes the interpreter, may be what it waits for.
  backend().set_wait_hooks({begin_waiting, end_waiting});
  module.def("is_available", [] { return backend().is_available(); });
  module.def("xnnpack_version", [] { return backend().xnnpack_version(); });
  module.def("xnnpack_microkernels", [] { return backend().xnnpack_microkernels(); });
  module.def("instruction_set", [] { return backend().instruction_set(); });
  module.def("limits", [](size_t threads) {
    py::gil_scoped_release release;
    const Limits found = measure_limits(threads);
    return std::map<std::string, double>{
        {"flop_per_second", found.flop_per_second},
        {"bytes_read_per_second", found.bytes_read_per_second},
        {"bytes_copied_per_second", found.bytes_copied_per_second}};
  });
  module.def("verify", [](std::string_view blob) { check(backend().verify(bytes_of(blob))); });
  module.def("inspect", [](std::string_view blob) {
    std::string text;
    check(backend().inspect(bytes_of(blob), &text));
    return text;
  });
  module.def("set_option", &set_option);
  module.def("get_option", &get_option);
  module.def("set_load_options", &set_load_options);
  module.def("num_loads", [] { return backend().num_loads(); });
  module.def("check_options", [](const std::map<std::string, py::bytes>& specs) {
    std::vector<std::string> texts;
    std::vector<CompileSpec> list;
    for (const auto& [name, value] : specs) {
      check_name(name);
      texts.emplace_back(value);
    }
    size_t i = 0;
    for (const auto& [name, value] : specs) {
      list.push_back({name.c_str(), {texts[i].data(), texts[i].size()}});
      ++i;
    }
    check(backend().check_specs({list.data(), list.size()}));
  });
}
