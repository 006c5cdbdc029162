// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
// The Python module _runtime: loads the backend and offers what ExecuTorch's own bindings do not.

#include <cstring>
#include <stdexcept>
#include <string>
#include <variant>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <executorch/runtime/backend/interface.h>

#include "../et_xnnpack.h"

namespace py = pybind11;

namespace {

using executorch::backends::et_xnnpack::Inspector;
using executorch::backends::et_xnnpack::kBackendName;
using executorch::runtime::BackendOption;
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

BackendOption option(const std::string& name) {
  BackendOption result;
  if (name.size() >= sizeof(result.key)) {
    throw py::value_error("there is no option '" + name + "'");
  }
  std::memcpy(result.key, name.c_str(), name.size() + 1);
  return result;
}

void set_option(const std::string& name, const std::variant<bool, int>& value) {
  BackendOption one = option(name);
  std::visit([&one](auto v) { one.value = v; }, value);
  check(executorch::runtime::set_option(kBackendName, {&one, 1}));
}

std::variant<bool, int> get_option(const std::string& name) {
  BackendOption one = option(name);
  check(executorch::runtime::get_option(kBackendName, {&one, 1}));
  if (const bool* value = std::get_if<bool>(&one.value)) {
    return *value;
  }
  return std::get<int>(one.value);
}

} // namespace

PYBIND11_MODULE(_runtime, module) {
  module.doc() = "The compiled part of et_xnnpack.";
  const std::uint32_t error = et_xnnpack_register();
  if (error != 0) {
    throw py::import_error("et_xnnpack could not register with ExecuTorch, error " + std::to_string(error));
  }
  module.def("is_available", [] { return backend().is_available(); });
  module.def("verify", [](std::string_view blob) { check(backend().verify(bytes_of(blob))); });
  module.def("inspect", [](std::string_view blob) {
    std::string text;
    check(backend().inspect(bytes_of(blob), &text));
    return text;
  });
  module.def("set_option", &set_option);
  module.def("get_option", &get_option);
}
