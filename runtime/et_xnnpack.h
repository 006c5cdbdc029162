// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// The public C++ interface. Link libet_xnnpack and load any program lowered for
// et_xnnpack with ExecuTorch's Module; nothing else needs to be called.

#include <cstdint>
#include <string>

#include <executorch/runtime/backend/interface.h>

// Registers the backend with ExecuTorch unless that has happened. Returns an
// executorch::runtime::Error as a number, 0 for success. Also runs when the shared
// library is loaded or a program with the static one starts. Thread-safe.
extern "C" std::uint32_t et_xnnpack_register(void);

namespace executorch::backends::et_xnnpack {

// The name of the backend in a program and in ExecuTorch's registry.
inline constexpr char kBackendName[] = "EtXnnpackBackend";

// Of an interpreter that lets one thread run at a time, and for which ExecuTorch's log may wait.
struct InterpreterHooks {
  // Before and after a thread waits for another one; the second gets what the first returned, unless that is null.
  void* (*begin_waiting)() = nullptr;
  void (*end_waiting)(void* state) = nullptr;
  // Logs a message and, unless it is null, what was tried. False: ExecuTorch is to log it.
  bool (*log)(const char* what, const char* message) = nullptr;
};

// What the registered backend offers beyond ExecuTorch's interface. Get it with
//   static_cast<const Inspector*>(executorch::runtime::get_backend_class(kBackendName))
class Inspector : public executorch::runtime::BackendInterface {
 public:
  // Options of methods that this thread loads until the next call of this function, beyond those
  // of set_option(): for those who cannot pass a LoadBackendOptionsMap.
  virtual executorch::runtime::Error set_load_options(
      executorch::runtime::Span<const executorch::runtime::BackendOption> options) const = 0;

  // How often init() was called on this thread: whether there was a use for such options.
  virtual std::uint64_t num_loads() const = 0;

  // Whether set_option() would take these; sets nothing.
  virtual executorch::runtime::Error check_options(
      executorch::runtime::Span<const executorch::runtime::BackendOption> options) const = 0;

  // Whether these are compile specs that init() would take.
  virtual executorch::runtime::Error check_specs(
      executorch::runtime::ArrayRef<executorch::runtime::CompileSpec> specs) const = 0;

  // Whether the bytes are a delegate blob that this runtime can load, weights aside.
  virtual executorch::runtime::Error verify(executorch::runtime::Span<const uint8_t> blob) const = 0;

  // The blob as text, one line for each input, constant, node with its attributes, and output; then its plan for this
  // CPU, the options of the process and, beyond those, `options`: the steps, and who computes each node and why.
  virtual executorch::runtime::Error inspect(
      executorch::runtime::Span<const uint8_t> blob,
      executorch::runtime::Span<const executorch::runtime::BackendOption> options,
      std::string* text) const = 0;

  // REQUIRES: no method is loaded
  virtual void set_interpreter_hooks(InterpreterHooks hooks) const = 0;

  // The version of XNNPACK that computes, and what of ours it is built with: "92a7ad5 (packing denormals)".
  virtual std::string xnnpack_version() const = 0;

  // The instructions that kernels of ours run on here: "avx512", "neonbf16"; empty where ET_XNNPACK_ISA is wrong.
  virtual std::string instruction_set() const = 0;

  // The microkernels that XNNPACK has chosen on this CPU, one a line: those for products of all types, and those of
  // operators that were made so far in this process. Empty in a library that is built without Python: it lacks the names.
  virtual std::string xnnpack_microkernels() const = 0;

  // What went wrong in the last call of any function of the backend that failed on this
  // thread; empty if none did.
  virtual const std::string& last_error() const = 0;
};

} // namespace executorch::backends::et_xnnpack
