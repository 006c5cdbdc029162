// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <executorch/runtime/core/event_tracer.h>

namespace executorch::backends::et_xnnpack::testing {

// An event tracer that keeps nothing, and so needs no memory.
class SilentTracer : public executorch::runtime::EventTracer {
 protected:
  using AllocatorID = executorch::runtime::AllocatorID;
  using ChainID = executorch::runtime::ChainID;
  using DebugHandle = executorch::runtime::DebugHandle;
  using EValue = executorch::runtime::EValue;
  using EventTracerEntry = executorch::runtime::EventTracerEntry;
  using Id = executorch::runtime::DelegateDebugIntId;
  using Tensor = executorch::aten::Tensor;
  template <typename T>
  using Result = executorch::runtime::Result<T>;

 public:
  void create_event_block(const char*) override {}
  EventTracerEntry start_profiling(const char*, ChainID, DebugHandle) override {
    return {};
  }
  EventTracerEntry start_profiling_delegate(const char*, Id) override {
    return {};
  }
  void end_profiling_delegate(EventTracerEntry, const void*, size_t) override {}
  void end_profiling(EventTracerEntry) override {}
  void log_profiling_delegate(const char*, Id, et_timestamp_t, et_timestamp_t, const void*, size_t) override {}
  void track_allocation(AllocatorID, size_t) override {}
  AllocatorID track_allocator(const char*) override {
    return 0;
  }
  Result<bool> log_evalue(const EValue&, executorch::runtime::LoggedEValueType) override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, Id, const Tensor&) override {
    return true;
  }
  Result<bool> log_intermediate_output_delegate(const char*, Id, const executorch::runtime::ArrayRef<Tensor>) override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, Id, const int&) override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, Id, const bool&) override {
    return false;
  }
  Result<bool> log_intermediate_output_delegate(const char*, Id, const double&) override {
    return false;
  }
  void set_delegation_intermediate_output_filter(executorch::runtime::EventTracerFilterBase*) override {}
};

} // namespace executorch::backends::et_xnnpack::testing
