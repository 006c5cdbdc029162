// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "pool_window.h"

#include <algorithm>
#include <cstdint>

#include "runtime/base/round_up.h"

namespace executorch::backends::et_xnnpack {

Status assign_windows(const PoolAxis& axis, Array<PoolWindow>& windows) {
  ETX_RETURN_IF_ERROR(windows.assign(axis.output));
  if (axis.adaptive) {
    for (size_t i = 0; i < windows.size(); ++i) {
      const size_t begin = i * axis.input / windows.size();
      const size_t end = divide_up((i + 1) * axis.input, windows.size());
      windows[i] = {begin, end, 1, end - begin};
    }
    return {};
  }
  const auto size = static_cast<int64_t>(axis.input);
  const auto kernel = static_cast<int64_t>(axis.kernel), stride = static_cast<int64_t>(axis.stride);
  const auto padding = static_cast<int64_t>(axis.padding), dilation = static_cast<int64_t>(axis.dilation);
  const auto low = -static_cast<int64_t>(axis.counted_before);
  const auto high = size + static_cast<int64_t>(axis.counted_after);
  for (size_t i = 0; i < windows.size(); ++i) {
    const int64_t origin = static_cast<int64_t>(i) * stride - padding;
    const int64_t begin = origin >= 0 ? origin : origin + (-origin + dilation - 1) / dilation * dilation;
    const int64_t end = origin + (kernel - 1) * dilation + 1;
    const int64_t counted = std::min(end, high) - std::max(origin, low);
    windows[i] = {
        static_cast<size_t>(begin),
        static_cast<size_t>(std::clamp<int64_t>(end, 0, size)),
        static_cast<size_t>(dilation),
        static_cast<size_t>(std::max<int64_t>(counted, 0))};
  }
  return {};
}

} // namespace executorch::backends::et_xnnpack
