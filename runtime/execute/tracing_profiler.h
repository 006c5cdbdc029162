// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <string>

#include <executorch/runtime/core/event_tracer.h>

#include "profiler.h"

namespace executorch::backends::et_xnnpack {

// Makes an event of each operator, and of each phase of a load. An operator that shares a pass over memory with others
// has their names as metadata. A tracer that takes intermediate outputs gets the results of operators instead, "%12" for
// value 12, as the program has them: contiguous, with their axes in its order. (The Inspector keeps the first event of
// an operator, and copies take longer than most operators.)
class TracingProfiler final : public Profiler {
 public:
  explicit TracingProfiler(executorch::runtime::EventTracer* tracer) : tracer_(tracer) {}

  void record(const Blob& blob, Span<const uint32_t> nodes, et_timestamp_t start, et_timestamp_t end) override;
  void record(const char* phase, et_timestamp_t start, et_timestamp_t end) override;
  bool wants_results() const override;
  Status record_result(uint32_t value, const TensorType& type, Span<const uint8_t> order, const void* data) override;

 private:
  void log(const char* name, et_timestamp_t start, et_timestamp_t end, const std::string& metadata);

  executorch::runtime::EventTracer* const tracer_;
};

} // namespace executorch::backends::et_xnnpack
