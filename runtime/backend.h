// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "et_xnnpack.h"
#include "options.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"

namespace executorch::backends::et_xnnpack {

// The adapter between ExecuTorch and Executable. There is one, made at registration and
// never destroyed. All functions are thread-safe; two calls of execute() with the same
// handle run one after the other, with different handles at the same time. base/mutex.h has the order of locks.
// Whatever the standard library throws ends here, as an error: ExecuTorch knows no exceptions.
class EtXnnpackBackend final : public Inspector {
 public:
  bool is_available() const override;

  executorch::runtime::Result<executorch::runtime::DelegateHandle*> init(
      executorch::runtime::BackendInitContext& context,
      executorch::runtime::FreeableBuffer* processed,
      executorch::runtime::ArrayRef<executorch::runtime::CompileSpec> compile_specs) const override;

  Error execute(
      executorch::runtime::BackendExecutionContext& context,
      executorch::runtime::DelegateHandle* handle,
      executorch::runtime::Span<executorch::runtime::EValue*> args) const override;

  void destroy(executorch::runtime::DelegateHandle* handle) const override;

  // The options of methods that are loaded from now on.
  Error set_option(
      executorch::runtime::BackendOptionContext& context,
      const executorch::runtime::Span<BackendOption>& options) override;
  Error get_option(
      executorch::runtime::BackendOptionContext& context, executorch::runtime::Span<BackendOption>& options) override;

  Error set_load_options(Span<const BackendOption> options) const override;
  std::uint64_t num_loads() const override;
  Error check_options(Span<const BackendOption> options) const override;
  Error check_specs(executorch::runtime::ArrayRef<executorch::runtime::CompileSpec> specs) const override;
  Error verify(Span<const uint8_t> blob) const override;
  Error inspect(Span<const uint8_t> blob, Span<const BackendOption> options, std::string* text) const override;
  std::string xnnpack_version() const override;
  std::string instruction_set() const override;
  std::string xnnpack_microkernels() const override;
  void set_interpreter_hooks(InterpreterHooks hooks) const override;
  const std::string& last_error() const override;

 private:
  OptionChanges changes() const;

  mutable TableMutex mutex_; // guards changes_
  OptionChanges changes_;
};

} // namespace executorch::backends::et_xnnpack
