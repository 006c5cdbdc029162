// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "profiler.h"

namespace executorch::backends::et_xnnpack {

Status record_results(
    Profiler& profiler,
    const Blob& blob,
    Span<const uint32_t> values,
    Span<const TensorType> types,
    const std::vector<char*>& data) {
  if (!profiler.wants_results()) {
    return {};
  }
  for (const uint32_t id : values) {
    // Behind the values of the blob are those that the plan has in Float16.
    const auto* order = id < blob.num_values() ? blob.value(id).result_order() : nullptr;
    if (order != nullptr && types[id].shape.numel() > 0) {
      ETX_RETURN_IF_ERROR(profiler.record_result(id, types[id], {order->data(), order->size()}, data[id]));
    }
  }
  return {};
}

} // namespace executorch::backends::et_xnnpack
