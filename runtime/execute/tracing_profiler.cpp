// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "tracing_profiler.h"

#include <executorch/runtime/core/event_tracer_hooks_delegate.h>

namespace executorch::backends::et_xnnpack {

void TracingProfiler::record(const Blob& blob, Span<const uint32_t> nodes, et_timestamp_t start, et_timestamp_t end) {
  std::string others;
  for (size_t i = 1; i < nodes.size(); ++i) {
    others += (i == 1 ? "with " : ", ") + blob.name(nodes[i]);
  }
  log(blob.name(nodes[0]).c_str(), start, end, others);
}

void TracingProfiler::record(const char* phase, et_timestamp_t start, et_timestamp_t end) {
  log(phase, start, end, "");
}

void TracingProfiler::log(const char* name, et_timestamp_t start, et_timestamp_t end, const std::string& metadata) {
  executorch::runtime::event_tracer_log_profiling_delegate(
      tracer_,
      name,
      static_cast<executorch::runtime::DebugHandle>(executorch::runtime::kUnsetDelegateDebugIntId),
      start,
      end,
      metadata.data(),
      metadata.size());
}

} // namespace executorch::backends::et_xnnpack
