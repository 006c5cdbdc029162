// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <string>

#include <executorch/runtime/core/event_tracer.h>

#include "profiler.h"

namespace executorch::backends::et_xnnpack {

// Makes an event of each operator, and of each phase of a load. An operator that shares a pass over memory with others
// has their names as metadata.
class TracingProfiler final : public Profiler {
 public:
  explicit TracingProfiler(executorch::runtime::EventTracer* tracer) : tracer_(tracer) {}

  void record(const Blob& blob, Span<const uint32_t> nodes, et_timestamp_t start, et_timestamp_t end) override;
  void record(const char* phase, et_timestamp_t start, et_timestamp_t end) override;

 private:
  void log(const char* name, et_timestamp_t start, et_timestamp_t end, const std::string& metadata);

  executorch::runtime::EventTracer* const tracer_;
};

} // namespace executorch::backends::et_xnnpack
