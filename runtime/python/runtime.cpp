// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
// The Python module _runtime: loads the backend and offers what ExecuTorch's own bindings do not.

#include <algorithm>
#include <array>
#include <cstring>
#include <iostream>
#include <limits>
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
#include "runtime/measure/limits.h"

namespace py = pybind11;

namespace {

using executorch::backends::et_xnnpack::Inspector;
using executorch::backends::et_xnnpack::kBackendName;
using executorch::backends::et_xnnpack::Limits;
using executorch::backends::et_xnnpack::measure_limits;
using executorch::runtime::BackendOption;
using executorch::runtime::CompileSpec;
using executorch::runtime::Error;
using executorch::runtime::OptionValue;
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
using Value = std::variant<py::bool_, py::int_, py::str>; // of just these types: nothing is converted

constexpr size_t kMaxBytes = sizeof(Text) - 2;

Text text_of(const std::string& content) {
  Text text{};
  std::memcpy(text.data(), content.data(), std::min(content.size(), kMaxBytes));
  return text;
}

BackendOption current(const std::string& name) {
  BackendOption one = option(name);
  check(executorch::runtime::get_option(kBackendName, {&one, 1}));
  return one;
}

OptionValue value_of(const std::string& name, const py::int_& number) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow == 0 && value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max()) {
    return static_cast<int>(value);
  }
  // No option takes it. One of integers says so if it gets a text, others do for any integer.
  return std::holds_alternative<int>(current(name).value) ? OptionValue(text_of(py::str(number))) : OptionValue(0);
}

BackendOption option(const std::string& name, const Value& value) {
  BackendOption result = option(name);
  if (const py::str* given = std::get_if<py::str>(&value)) {
    const std::string text = *given;
    if (text.size() > kMaxBytes || text.find('\0') != std::string::npos) {
      throw py::value_error(
          "option '" + name + "' takes up to " + std::to_string(kMaxBytes) + " bytes, none of them 0");
    }
    result.value = text_of(text);
  } else if (const py::bool_* truth = std::get_if<py::bool_>(&value)) {
    result.value = static_cast<bool>(*truth);
  } else {
    result.value = value_of(name, std::get<py::int_>(value));
  }
  return result;
}

using Values = std::map<std::string, Value>;

std::vector<BackendOption> options(const Values& values) {
  std::vector<BackendOption> result;
  for (const auto& [name, value] : values) {
    result.push_back(option(name, value));
  }
  return result;
}

void set_option(const std::string& name, const Value& value) {
  BackendOption one = option(name, value);
  check(executorch::runtime::set_option(kBackendName, {&one, 1}));
}

Value get_option(const std::string& name) {
  const BackendOption one = current(name);
  if (const Text* text = std::get_if<Text>(&one.value)) {
    return py::str(text->data());
  }
  if (const bool* truth = std::get_if<bool>(&one.value)) {
    return py::bool_(*truth);
  }
  return py::int_(std::get<int>(one.value));
}

void set_load_options(const Values& values) {
  const std::vector<BackendOption> given = options(values);
  check(backend().set_load_options({given.data(), given.size()}));
}

void check_options(const Values& values) {
  const std::vector<BackendOption> given = options(values);
  check(backend().check_options({given.data(), given.size()}));
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

// ExecuTorch's log writes through the stream that it sends to Python in this call, and writing lets other threads run.
bool log(const char* what, const char* message) {
  if (PyGILState_Check() == 0) {
    return false;
  }
  const Streams own;
  process_streams.use();
  if (what == nullptr) {
    PySys_FormatStderr("et_xnnpack: %s\n", message);
  } else {
    PySys_FormatStderr("et_xnnpack: %s: %s\n", what, message);
  }
  own.use();
  return true;
}

} // namespace

PYBIND11_MODULE(_runtime, module) {
  module.doc() = "The compiled part of et_xnnpack.";
  const std::uint32_t error = et_xnnpack_register();
  if (error != 0) {
    throw py::import_error("et_xnnpack could not register with ExecuTorch, error " + std::to_string(error));
  }
  // Who waits lets other Python threads run: ExecuTorch's log, which takes the interpreter, may be what it waits for.
  backend().set_interpreter_hooks({begin_waiting, end_waiting, log});
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
  module.def("inspect", [](std::string_view blob, const Values& values) {
    const std::vector<BackendOption> given = options(values);
    std::string text;
    check(backend().inspect(bytes_of(blob), {given.data(), given.size()}, &text));
    return text;
  });
  module.def("set_option", &set_option);
  module.def("get_option", &get_option);
  module.def("set_load_options", &set_load_options);
  module.def("num_loads", [] { return backend().num_loads(); });
  module.def("check_options", &check_options);
  module.def("check_specs", [](const std::map<std::string, py::bytes>& specs) {
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
