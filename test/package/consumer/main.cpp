// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
// Is the backend there in a program that only links the library?
#include <cstdio>

#include <et_xnnpack.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/runtime.h>

static bool available(const char* name) {
  const auto* backend = executorch::runtime::get_backend_class(name);
  const bool result = backend != nullptr && backend->is_available();
  std::printf("%s: %s\n", name, result ? "available" : "missing");
  return result;
}

int main() {
  executorch::runtime::runtime_init();
  bool good = available("EtXnnpackBackend");
#ifdef WITH_OFFICIAL_DELEGATE
  good = available("XnnpackBackend") && good;
#endif
#ifndef WITHOUT_CALL
  if (et_xnnpack_register() != 0) {
    std::printf("registering again is an error\n");
    good = false;
  }
#endif
  return good ? 0 : 1;
}
