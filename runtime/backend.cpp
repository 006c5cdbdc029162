// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "backend.h"

#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <unordered_map>

#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/runtime.h>

#include "runtime/execute/arguments.h"
#include "runtime/execute/executable.h"
#include "runtime/execute/tracing_profiler.h"
#include "runtime/ops/infer.h"
#include "runtime/plan/plan.h"
#include "runtime/xnnpack/library.h"
#include "runtime/kernels/simd/isa.h"
#include "runtime/base/interpreter.h"
#include "runtime/base/text.h"

namespace executorch::backends::et_xnnpack {
namespace {

using executorch::runtime::ArrayRef;
using executorch::runtime::BackendExecutionContext;
using executorch::runtime::BackendInitContext;
using executorch::runtime::BackendOptionContext;
using executorch::runtime::CompileSpec;
using executorch::runtime::DelegateHandle;
using executorch::runtime::EventTracer;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::Result;

// What a handle points to.
struct Delegate {
  Mutex<LockLevel::Delegate> mutex; // held while it executes
  Options options;
  std::shared_ptr<States> states; // of its group, null without one
  std::shared_ptr<Workspace> workspace; // null if it is the executable's own
  const NamedDataMap* named_data = nullptr; // lives until the first call
  bool profile = false;
  std::unique_ptr<Executable> executable;
  Arguments arguments;
  std::vector<ArgumentSize> inputs; // of the current call, kept to reuse the memory
  std::vector<const void*> input_data;
  std::vector<void*> output_data;
};

// Held while a delegate is loaded, executed or destroyed: keeps out others that share with it.
class SharedLock {
 public:
  explicit SharedLock(Delegate& delegate) : states_(delegate.states), workspace_(delegate.workspace) {
    if (states_ != nullptr) {
      states_lock_ = wait_for(states_->mutex());
    }
    if (workspace_ != nullptr) {
      workspace_lock_ = wait_for(workspace_->mutex());
    }
  }

 private:
  const std::shared_ptr<States> states_;
  const std::shared_ptr<Workspace> workspace_;
  std::unique_lock<Mutex<LockLevel::States>> states_lock_;
  std::unique_lock<Mutex<LockLevel::Workspace>> workspace_lock_;
};

std::string& last_error_of_this_thread() {
  thread_local std::string message;
  return message;
}

// Logs a failure, remembers its message and gives its code. REQUIRES: this thread holds no lock
Error report(const Status& status, const char* what) {
  if (!status.ok()) {
    log_error(what, status.message().c_str());
    const Status remembered = guarded([&]() -> Status {
      last_error_of_this_thread() = status.message();
      return {};
    });
    if (!remembered.ok()) {
      last_error_of_this_thread().clear();
    }
  }
  return status.code();
}

// What goes wrong but does not keep a method from running: is logged, as it is, when no lock is held.
using Notes = std::vector<std::string>;

void log(const Notes& notes) {
  for (const std::string& note : notes) {
    log_error(nullptr, note.c_str());
  }
}

// What methods with this key share, as long as one of them is loaded.
template <typename T, typename Key>
std::shared_ptr<T> shared_by(Key key) {
  static auto* const mutex = new TableMutex;
  static auto* const items = new std::unordered_map<Key, std::weak_ptr<T>>;
  std::shared_ptr<T> item; // before the lock: goes without
  const std::lock_guard<TableMutex> lock(*mutex);
  if (const auto found = items->find(key); found != items->end()) {
    item = found->second.lock();
  }
  if (item == nullptr) {
    item = std::make_shared<T>();
    for (auto other = items->begin(); other != items->end();) {
      other = other->second.expired() ? items->erase(other) : std::next(other);
    }
    items->emplace(key, item);
  }
  return item;
}

Status check_cpu() {
  ETX_CHECK(
      xnn_initialize(nullptr) == xnn_status_success,
      NotSupported,
      "XNNPACK needs a CPU with SSE2 or NEON, or could not find out which CPU this is");
  return {};
}

// An address that the methods of a program have in common: of the last name in its data. Beside .ptd files ExecuTorch
// makes a map for each method, in which what the program has itself comes last.
const void* key_of_program(BackendInitContext& context) {
  const NamedDataMap* const data = context.get_named_data_map();
  const Result<uint32_t> count = data == nullptr ? Result<uint32_t>(0u) : data->get_num_keys();
  if (count.ok() && *count > 0) {
    if (const Result<const char*> name = data->get_key(*count - 1); name.ok()) {
      return *name;
    }
  }
  return data != nullptr ? static_cast<const void*>(data) : context.get_runtime_allocator();
}

// The memory in which methods compute that share it as `sharing` says. Null: its own.
std::shared_ptr<Workspace> shared_workspace(WorkspaceSharing sharing, BackendInitContext& context) {
  switch (sharing) {
    case WorkspaceSharing::Model:
      return shared_by<Workspace>(key_of_program(context));
    case WorkspaceSharing::Global:
      return shared_by<Workspace>(static_cast<const void*>(nullptr));
    case WorkspaceSharing::None:
      break;
  }
  return nullptr;
}

std::vector<BackendOption>& load_options_of_this_thread() {
  thread_local std::vector<BackendOption> options;
  return options;
}

uint64_t& num_loads_of_this_thread() {
  thread_local uint64_t count = 0;
  return count;
}

// What holds for a method: what its program asks for, what the process does, what the load does.
StatusOr<Options> options_of(BackendInitContext& context, ArrayRef<CompileSpec> specs, const OptionChanges& process) {
  Options options;
  ETX_RETURN_IF_ERROR(set_options(specs, &options));
  ETX_RETURN_IF_ERROR(process.apply_to(&options));
  const std::vector<BackendOption>& of_thread = load_options_of_this_thread();
  ETX_RETURN_IF_ERROR(set_options({of_thread.data(), of_thread.size()}, &options));
  ETX_RETURN_IF_ERROR(set_options(context.runtime_specs(), &options));
  return options;
}

// The threads of a method; null: the calling one.
pthreadpool_t pool_of(const Options& options) {
  return options.num_threads == 1 ? nullptr : wait_for_pool();
}

// `is_damaged`: the file of packed weights is, if there is one.
Status create_executable(Delegate& delegate, Blob blob, bool is_damaged, Profiler* profiler, Notes* notes) {
  const Options& options = delegate.options;
  const std::string& path = options.packed_cache_path;
  std::optional<PackedFile> file;
  if (!path.empty()) {
    file.emplace(is_damaged ? PackedFile::damaged(path) : PackedFile(path));
  }
  Executable::Settings settings;
  settings.states = delegate.states;
  settings.workspace = delegate.workspace;
  settings.packed_weights = options.weight_cache ? &PackedWeights::of_process() : nullptr;
  settings.packed_file = file ? &*file : nullptr;
  settings.pool = pool_of(options);
  settings.profiler = profiler;
  settings.fuse_elementwise = options.fuse_elementwise;
  settings.force_fp16 = options.force_fp16;
  settings.winograd_tile = static_cast<size_t>(options.winograd_tile);
  settings.force_bf16 = options.force_bf16;
  settings.shrink_memory = options.shrink_memory;
  ETX_ASSIGN_OR_RETURN(
      delegate.executable, Executable::create(std::move(blob), delegate.named_data, std::move(settings)));
  if (file && !file->problem().empty()) {
    notes->push_back("packed weights in " + printable(path) + ": " + file->problem());
  }
  return {};
}

StatusOr<Blob> open(const uint8_t* bytes, size_t size, Profiler* profiler) {
  const Phase phase(profiler, "open");
  return open_blob({bytes, size});
}

StatusOr<std::unique_ptr<Delegate>> load(
    BackendInitContext& context,
    const FreeableBuffer& processed,
    ArrayRef<CompileSpec> specs,
    const OptionChanges& process,
    Notes* notes) {
  ETX_ASSIGN_OR_RETURN(const Options options, options_of(context, specs, process));
  const Result<const void*> bytes = processed.data_safe();
  ETX_CHECK(bytes.ok(), NotSupported, "the blob is not in memory that this CPU can address");
  ETX_CHECK(*bytes != nullptr, InvalidProgram, "there is no blob");
  ETX_RETURN_IF_ERROR(check_cpu());
  ETX_RETURN_IF_ERROR(check_isa());
  auto delegate = std::make_unique<Delegate>();
  delegate->options = options;
  delegate->profile = options.profiling && context.event_tracer() != nullptr;
  TracingProfiler tracing(context.event_tracer());
  Profiler* const profiler = delegate->profile ? &tracing : nullptr;
  ETX_ASSIGN_OR_RETURN(Blob blob, open(static_cast<const uint8_t*>(*bytes), processed.size(), profiler));
  delegate->arguments = Arguments(blob);
  if (blob.num_states() > 0 && options.state_group != 0) {
    delegate->states = shared_by<States>(options.state_group);
  }
  delegate->workspace = shared_workspace(options.workspace_sharing, context);
  delegate->named_data = context.get_named_data_map();
  const SharedLock lock(*delegate);
  ETX_RETURN_IF_ERROR(create_executable(*delegate, std::move(blob), /*is_damaged=*/false, profiler, notes));
  if (const std::string& why = delegate->executable->why_not_float16(); !why.empty()) {
    notes->push_back("force_fp16: the model computes in float32: " + why);
  }
  if (const std::string& why = delegate->executable->why_not_bfloat16(); !why.empty()) {
    notes->push_back("force_bf16: no product is rounded to bfloat16: " + why);
  }
  return delegate;
}

// Prepares the executable for the inputs of the current call. If its packed weights are found to be damaged
// it is made anew.
Status reshape(Delegate& delegate, Profiler* profiler, Notes* notes) {
  const Span<const ArgumentSize> inputs = view(delegate.inputs);
  const pthreadpool_t pool = pool_of(delegate.options);
  Status status = delegate.executable->reshape(inputs, pool, profiler);
  while (status.code() == Error::InvalidExternalData) {
    ETX_RETURN_IF_ERROR(create_executable(delegate, delegate.executable->blob(), /*is_damaged=*/true, profiler, notes));
    status = delegate.executable->reshape(inputs, pool, profiler);
  }
  return status;
}

Status call(Delegate& delegate, Span<executorch::runtime::EValue*> args, EventTracer* tracer, Notes* notes) {
  const auto own_lock = wait_for(delegate.mutex);
  const SharedLock lock(delegate);
  const Arguments& arguments = delegate.arguments;
  ETX_RETURN_IF_ERROR(arguments.read(args, &delegate.inputs, &delegate.input_data));
  TracingProfiler tracing(tracer);
  Profiler* const profiler = delegate.profile && tracer != nullptr ? &tracing : nullptr;
  ETX_RETURN_IF_ERROR(reshape(delegate, profiler, notes));
  Executable& executable = *delegate.executable;
  delegate.output_data.resize(arguments.num_outputs());
  const auto prepare = [&](size_t i, const TensorType& type) -> StatusOr<void*> {
    EValue& output = *args[arguments.num_inputs() + i];
    ETX_ASSIGN_OR_RETURN(delegate.output_data[i], arguments.prepare_output(i, type.shape, output));
    return delegate.output_data[i];
  };
  for (size_t i = 0; i < arguments.num_outputs(); ++i) {
    if (!executable.finds_output_type(i)) {
      ETX_RETURN_IF_ERROR_IN(
          prepare(i, executable.output_type(i)).status(), "output " + std::to_string(i) + " of the delegate");
    }
  }
  // std::cref allocates nothing.
  return executable.run(view(delegate.input_data), view(delegate.output_data), std::cref(prepare), profiler);
}

} // namespace

bool EtXnnpackBackend::is_available() const {
  return report(check_cpu(), "not available") == Error::Ok;
}

Result<DelegateHandle*> EtXnnpackBackend::init(
    BackendInitContext& context, FreeableBuffer* processed, ArrayRef<CompileSpec> compile_specs) const {
  ++num_loads_of_this_thread();
  Notes notes;
  StatusOr<std::unique_ptr<Delegate>> delegate =
      guarded([&] { return load(context, *processed, compile_specs, changes(), &notes); });
  processed->Free();
  log(notes);
  if (!delegate.ok()) {
    return report(delegate.status(), "cannot load the delegate");
  }
  return static_cast<DelegateHandle*>(delegate->release());
}

Error EtXnnpackBackend::execute(
    BackendExecutionContext& context, DelegateHandle* handle, Span<executorch::runtime::EValue*> args) const {
  Delegate& delegate = *static_cast<Delegate*>(handle);
  Notes notes;
  const Status status = guarded([&] { return call(delegate, args, context.event_tracer(), &notes); });
  log(notes);
  return report(status, "cannot execute");
}

void EtXnnpackBackend::destroy(DelegateHandle* handle) const {
  std::unique_ptr<Delegate> delegate(static_cast<Delegate*>(handle));
  const SharedLock lock(*delegate);
  delegate.reset();
}

Error EtXnnpackBackend::set_option(BackendOptionContext&, const Span<BackendOption>& options) {
  const Status status = guarded([&] {
    const std::lock_guard<TableMutex> lock(mutex_);
    return changes_.add({options.data(), options.size()});
  });
  return report(status, "set_option");
}

Error EtXnnpackBackend::get_option(BackendOptionContext&, Span<BackendOption>& options) {
  const Status status = guarded([&]() -> Status {
    Options current;
    ETX_RETURN_IF_ERROR(changes().apply_to(&current));
    return get_options(current, options);
  });
  return report(status, "get_option");
}

Error EtXnnpackBackend::set_load_options(Span<const BackendOption> options) const {
  const Status status = guarded([&]() -> Status {
    Options checked;
    ETX_RETURN_IF_ERROR(set_options(options, &checked));
    load_options_of_this_thread() = std::vector<BackendOption>(options.begin(), options.end());
    return {};
  });
  return report(status, "set_load_options");
}

uint64_t EtXnnpackBackend::num_loads() const {
  return num_loads_of_this_thread();
}

Error EtXnnpackBackend::check_options(Span<const BackendOption> options) const {
  const Status status = guarded([&] {
    Options checked;
    return set_options(options, &checked);
  });
  return report(status, "check_options");
}

Error EtXnnpackBackend::check_specs(ArrayRef<CompileSpec> specs) const {
  const Status status = guarded([&] {
    Options checked;
    return set_options(specs, &checked);
  });
  return report(status, "check_specs");
}

OptionChanges EtXnnpackBackend::changes() const {
  const std::lock_guard<TableMutex> lock(mutex_);
  return changes_;
}

std::string EtXnnpackBackend::xnnpack_version() const {
  return et_xnnpack::xnnpack_version();
}

std::string EtXnnpackBackend::instruction_set() const {
  return check_isa().ok() ? isa_name() : "";
}

std::string EtXnnpackBackend::xnnpack_microkernels() const {
  std::string text;
  (void)report(
      guarded([&]() -> Status {
        text = et_xnnpack::xnnpack_microkernels();
        return {};
      }),
      "xnnpack_microkernels");
  return text;
}

Error EtXnnpackBackend::verify(Span<const uint8_t> blob) const {
  return report(guarded([&] { return open_blob(blob); }).status(), "verify");
}

Error EtXnnpackBackend::inspect(Span<const uint8_t> bytes, Span<const BackendOption> given, std::string* text) const {
  const Status status = guarded([&]() -> Status {
    ETX_ASSIGN_OR_RETURN(const Blob blob, open_blob(bytes));
    ETX_ASSIGN_OR_RETURN(const Sizes sizes, planned_sizes(blob.graph()));
    ETX_ASSIGN_OR_RETURN(const std::vector<TensorType> types, infer_types(blob, sizes));
    Options options;
    ETX_RETURN_IF_ERROR(changes().apply_to(&options));
    ETX_RETURN_IF_ERROR(set_options(given, &options));
    const bool float16 = options.force_fp16 && Cpu::get().float16;
    const Plan plan = make_plan(
        blob,
        {types.data(), types.size()},
        sizes,
        {options.fuse_elementwise, float16, static_cast<size_t>(options.winograd_tile), options.force_bf16});
    *text = et_xnnpack::inspect(blob) + "\nplan for this CPU:\n" + describe(plan, blob);
    return {};
  });
  return report(status, "inspect");
}

void EtXnnpackBackend::set_interpreter_hooks(InterpreterHooks hooks) const {
  et_xnnpack::set_interpreter_hooks(hooks);
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
