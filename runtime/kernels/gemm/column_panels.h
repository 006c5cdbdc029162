// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <algorithm>
#include <cstddef>

#include "runtime/base/round_up.h"

namespace executorch::backends::et_xnnpack {

// Columns of a weight in panels of kPanel, the last one of a multiple of kColumns.
struct ColumnPanels {
  static constexpr size_t kPanel = 64, kColumns = 16;

  size_t count = 0; // of columns

  size_t panels() const {
    return divide_up(count, kPanel);
  }
  size_t padded() const {
    return round_up(count, kColumns);
  }
  size_t width(size_t panel) const {
    return std::min(kPanel, padded() - panel * kPanel);
  }
  // Where that of a column is among numbers of groups of weights, which each panel has as [groups, width].
  size_t of_group(size_t groups, size_t group, size_t column) const {
    const size_t panel = column / kPanel;
    return panel * kPanel * groups + group * width(panel) + column % kPanel;
  }
};

} // namespace executorch::backends::et_xnnpack
