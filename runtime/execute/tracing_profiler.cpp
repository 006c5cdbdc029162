// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "tracing_profiler.h"

#include <array>
#include <cstring>

#include <executorch/runtime/core/event_tracer_hooks_delegate.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>

#include "arguments.h"
#include "runtime/base/memory.h"

namespace executorch::backends::et_xnnpack {

void TracingProfiler::record(const Blob& blob, Span<const uint32_t> nodes, et_timestamp_t start, et_timestamp_t end) {
  if (wants_results()) {
    return;
  }
  std::string others;
  for (size_t i = 1; i < nodes.size(); ++i) {
    others += (i == 1 ? "with " : ", ") + blob.name(nodes[i]);
  }
  log(blob.name(nodes[0]).c_str(), start, end, others);
}

void TracingProfiler::record(const char* phase, et_timestamp_t start, et_timestamp_t end) {
  log(phase, start, end, "");
}

bool TracingProfiler::wants_results() const {
  return tracer_->event_tracer_debug_level() >= executorch::runtime::EventTracerDebugLogLevel::kIntermediateOutputs;
}

Status TracingProfiler::record_result(
    uint32_t value, const TensorType& type, Span<const uint8_t> order, const void* data) {
  const size_t rank = type.shape.rank, size = element_size(type.storage());
  // By axis of the result: its size, and its distance in the value.
  std::array<int32_t, kMaxRank> sizes{}, strides{};
  std::array<size_t, kMaxRank> distances{};
  std::array<uint8_t, kMaxRank> dim_order{};
  size_t distance = size;
  for (size_t i = rank; i-- > 0; distance *= type.shape[i]) {
    ETX_CHECK(type.shape[i] <= INT32_MAX, NotSupported, "a tensor of %s cannot be recorded", type.to_string().c_str());
    sizes[order[i]] = static_cast<int32_t>(type.shape[i]);
    distances[order[i]] = distance;
    dim_order[i] = static_cast<uint8_t>(i);
  }
  executorch::runtime::dim_order_to_stride_nocheck(sizes.data(), dim_order.data(), rank, strides.data());
  ETX_ASSIGN_OR_RETURN(Buffer copy, Buffer::allocate(type.bytes()));
  auto* to = static_cast<char*>(copy.data());
  const auto* const from = static_cast<const char*>(data);
  std::array<size_t, kMaxRank> at{};
  for (size_t i = 0, offset = 0, count = type.shape.numel(); i < count; ++i, to += size) {
    std::memcpy(to, from + offset, size);
    for (size_t axis = rank; axis-- > 0;) {
      offset += distances[axis];
      if (++at[axis] < static_cast<size_t>(sizes[axis])) {
        break;
      }
      offset -= at[axis] * distances[axis];
      at[axis] = 0;
    }
  }
  executorch::aten::TensorImpl impl(
      scalar_type(type.dtype), static_cast<ssize_t>(rank), sizes.data(), copy.data(), dim_order.data(), strides.data());
  executorch::runtime::event_tracer_log_output_delegate(
      tracer_,
      ("%" + std::to_string(value)).c_str(),
      static_cast<executorch::runtime::DebugHandle>(executorch::runtime::kUnsetDelegateDebugIntId),
      executorch::aten::Tensor(&impl));
  return {};
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
