// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "backend.h"

#include <memory>
#include <new>
#include <unordered_map>

#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/runtime.h>

#include "arguments.h"
#include "executable.h"
#include "kernels/isa.h"
#include "threadpool.h"

namespace executorch::backends::et_xnnpack {
namespace {

using executorch::runtime::ArrayRef;
using executorch::runtime::BackendExecutionContext;
using executorch::runtime::BackendInitContext;
using executorch::runtime::BackendOptionContext;
using executorch::runtime::CompileSpec;
using executorch::runtime::DelegateHandle;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::Result;

// What a handle points to.
struct Delegate {
  std::mutex mutex; // held while it executes
  Options options;
  std::shared_ptr<States> states; // of its group, null without one
  std::unique_ptr<Executable> executable;
  std::vector<ArgumentSize> inputs; // of the current call, kept to reuse the memory
  std::vector<const void*> input_data;
  std::vector<void*> output_data;
};

std::string& last_error_of_this_thread() {
  thread_local std::string message;
  return message;
}

// Logs a failure, remembers its message and gives its code.
Error report(const Status& status, const char* what) {
  if (!status.ok()) {
    ET_LOG(Error, "et_xnnpack: %s: %s", what, status.message().c_str());
    last_error_of_this_thread() = status.message();
  }
  return status.code();
}

// The states that methods of this group share, as long as one of them is loaded.
std::shared_ptr<States> states_of_group(int group) {
  static std::mutex* const mutex = new std::mutex;
  static auto* const groups = new std::unordered_map<int, std::weak_ptr<States>>;
  const std::lock_guard<std::mutex> lock(*mutex);
  std::shared_ptr<States> states = (*groups)[group].lock();
  if (states == nullptr) {
    states = std::make_shared<States>();
    (*groups)[group] = states;
  }
  return states;
}

Status check_cpu() {
  ETX_CHECK(
      xnn_initialize(nullptr) == xnn_status_success,
      NotSupported,
      "XNNPACK needs a CPU with SSE2 or NEON, or could not find out which CPU this is");
  return {};
}

Status check_compile_specs(ArrayRef<CompileSpec> specs) {
  for (size_t i = 0; i < specs.size(); ++i) {
    const char* key = specs.data() == nullptr ? nullptr : specs[i].key;
    ETX_CHECK(false, InvalidArgument, "there is no compile spec '%s'", key == nullptr ? "(null)" : key);
  }
  return {};
}

StatusOr<std::unique_ptr<Delegate>> load(
    BackendInitContext& context, const FreeableBuffer& processed, ArrayRef<CompileSpec> specs, Options options) {
  ETX_RETURN_IF_ERROR(check_compile_specs(specs));
  ETX_RETURN_IF_ERROR(set_options(context.runtime_specs(), &options));
  const Result<const void*> bytes = processed.data_safe();
  ETX_CHECK(bytes.ok(), NotSupported, "the blob is not in memory that this CPU can address");
  ETX_CHECK(*bytes != nullptr, InvalidProgram, "there is no blob");
  ETX_RETURN_IF_ERROR(check_cpu());
  ETX_RETURN_IF_ERROR(check_isa());
  ETX_ASSIGN_OR_RETURN(Blob blob, Blob::open({static_cast<const uint8_t*>(*bytes), processed.size()}));
  std::unique_ptr<Delegate> delegate(new (std::nothrow) Delegate);
  ETX_CHECK(delegate != nullptr, MemoryAllocationFailed, "no memory");
  delegate->options = options;
  std::unique_lock<std::mutex> lock;
  if (blob.num_states() > 0 && options.state_group != 0) {
    delegate->states = states_of_group(options.state_group);
    lock = std::unique_lock<std::mutex>(delegate->states->mutex());
  }
  ETX_ASSIGN_OR_RETURN(
      delegate->executable,
      Executable::create(
          std::move(blob),
          context.get_named_data_map(),
          delegate->states,
          options.fuse_elementwise != 0,
          options.weight_cache != 0 ? &PackedWeights::of_process() : nullptr));
  return delegate;
}

Status call(Delegate& delegate, Span<executorch::runtime::EValue*> args) {
  Executable& executable = *delegate.executable;
  const Blob& blob = executable.blob();
  ETX_RETURN_IF_ERROR(read_arguments(blob, args, &delegate.inputs, &delegate.input_data));
  const pthreadpool_t pool =
      delegate.options.num_threads == 1 ? nullptr : executorch::extension::threadpool::get_pthreadpool();
  ETX_RETURN_IF_ERROR(executable.reshape({delegate.inputs.data(), delegate.inputs.size()}, pool));
  delegate.output_data.resize(blob.num_outputs());
  for (size_t i = 0; i < blob.num_outputs(); ++i) {
    executorch::runtime::EValue* arg = args[blob.num_inputs() + i];
    ETX_CHECK(arg != nullptr, InvalidArgument, "output %zu is absent", i);
    Status status = prepare_output(blob, i, executable.output_type(i).shape, *arg, &delegate.output_data[i]);
    ETX_RETURN_IF_ERROR(std::move(status).in("output " + std::to_string(i)));
  }
  std::unique_lock<std::mutex> lock;
  if (delegate.states != nullptr) {
    lock = std::unique_lock<std::mutex>(delegate.states->mutex());
  }
  return executable.run(
      {delegate.input_data.data(), delegate.input_data.size()},
      {delegate.output_data.data(), delegate.output_data.size()});
}

} // namespace

bool EtXnnpackBackend::is_available() const {
  return report(check_cpu(), "not available") == Error::Ok;
}

Result<DelegateHandle*> EtXnnpackBackend::init(
    BackendInitContext& context, FreeableBuffer* processed, ArrayRef<CompileSpec> compile_specs) const {
  StatusOr<std::unique_ptr<Delegate>> delegate = load(context, *processed, compile_specs, options());
  processed->Free();
  if (!delegate.ok()) {
    return report(delegate.status(), "cannot load the delegate");
  }
  return static_cast<DelegateHandle*>(delegate->release());
}

Error EtXnnpackBackend::execute(
    BackendExecutionContext&, DelegateHandle* handle, Span<executorch::runtime::EValue*> args) const {
  Delegate& delegate = *static_cast<Delegate*>(handle);
  const std::lock_guard<std::mutex> lock(delegate.mutex);
  return report(call(delegate, args), "cannot execute");
}

void EtXnnpackBackend::destroy(DelegateHandle* handle) const {
  delete static_cast<Delegate*>(handle);
}

Error EtXnnpackBackend::set_option(BackendOptionContext&, const Span<BackendOption>& options) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return report(et_xnnpack::set_options({options.data(), options.size()}, &options_), "set_option");
}

Error EtXnnpackBackend::get_option(BackendOptionContext&, Span<BackendOption>& options) {
  return report(et_xnnpack::get_options(this->options(), options), "get_option");
}

Options EtXnnpackBackend::options() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return options_;
}

Error EtXnnpackBackend::verify(Span<const uint8_t> blob) const {
  return report(Blob::open(blob).status(), "verify");
}

Error EtXnnpackBackend::inspect(Span<const uint8_t> bytes, std::string* text) const {
  StatusOr<Blob> blob = Blob::open(bytes);
  if (blob.ok()) {
    *text = et_xnnpack::inspect(*blob);
  }
  return report(blob.status(), "inspect");
}

const std::string& EtXnnpackBackend::last_error() const {
  return last_error_of_this_thread();
}

namespace {

Error register_once() {
  executorch::runtime::runtime_init();
  // Never destroyed: loaded methods may outlive static destruction.
  static EtXnnpackBackend* const backend = new EtXnnpackBackend;
  const Error error = executorch::runtime::register_backend({kBackendName, backend});
  if (error != Error::Ok) {
    ET_LOG(
        Error,
        "et_xnnpack: cannot register (error 0x%x): another copy of the library is loaded, or ExecuTorch's "
        "table of backends is full",
        static_cast<unsigned>(error));
  }
  return error;
}

} // namespace
} // namespace executorch::backends::et_xnnpack

extern "C" __attribute__((visibility("default"))) std::uint32_t et_xnnpack_register(void) {
  static const executorch::runtime::Error error = executorch::backends::et_xnnpack::register_once();
  return static_cast<std::uint32_t>(error);
}

namespace {
[[maybe_unused]] const std::uint32_t registered_on_load = et_xnnpack_register();
} // namespace
