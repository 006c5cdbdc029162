// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <vector>

#include <executorch/runtime/platform/platform.h>

#include "runtime/program/blob.h"

namespace executorch::backends::et_xnnpack {

// Is told what takes how long, in ticks of ExecuTorch's clock, and what comes out of it.
class Profiler {
 public:
  virtual ~Profiler() = default;
  // These nodes of the blob ran together.
  virtual void record(const Blob& blob, Span<const uint32_t> nodes, et_timestamp_t start, et_timestamp_t end) = 0;
  // A part of loading, or of preparing for other sizes.
  virtual void record(const char* phase, et_timestamp_t start, et_timestamp_t end) = 0;
  // Whether it is to be told of results, which costs much.
  virtual bool wants_results() const {
    return false;
  }
  // A value that a node has made is the result of an operator of the program, whose axis order[i] is its axis i.
  virtual Status record_result(
      uint32_t /*value*/, const TensorType& /*type*/, Span<const uint8_t> /*order*/, const void* /*data*/) {
    return {};
  }
};

// Tells a profiler that wants results those among `values`, which have just been made. `types` and `data` are by value.
Status record_results(
    Profiler& profiler,
    const Blob& blob,
    Span<const uint32_t> values,
    Span<const TensorType> types,
    const std::vector<char*>& data);

// Tells a profiler, if there is one, how long this lives.
class Phase {
 public:
  Phase(Profiler* profiler, const char* name)
      : profiler_(profiler), name_(name), start_(profiler == nullptr ? 0 : et_pal_current_ticks()) {}
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;
  ~Phase() {
    if (profiler_ != nullptr) {
      profiler_->record(name_, start_, et_pal_current_ticks());
    }
  }

 private:
  Profiler* const profiler_;
  const char* const name_;
  const et_timestamp_t start_;
};

} // namespace executorch::backends::et_xnnpack
