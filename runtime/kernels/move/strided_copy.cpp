// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "strided_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "runtime/base/round_up.h"
#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {

namespace {

constexpr size_t kGrain = 32768; // bytes

// Whether pieces have so few units that going from one to the next takes longer, or are transposed in vectors that stay
// mostly empty.
bool is_small(const CopyPiece& piece, bool transposes) {
  constexpr size_t kFewUnits = 64, kThin = 5;
  const CopyAxis &rows = piece.rows, &columns = piece.columns;
  if (rows.size * columns.size < kFewUnits) {
    return true;
  }
  return transposes && std::min(rows.size, columns.size) < kThin && !interleaves(piece);
}

} // namespace

Strides dense_strides(const Shape& shape) {
  Strides strides{};
  size_t stride = 1;
  for (size_t axis = shape.rank; axis-- > 0; stride *= shape[axis]) {
    strides[axis] = stride;
  }
  return strides;
}

StridedCopy::StridedCopy(const CopyBox& box, size_t element_size)
    : from_offset_(box.from_offset * element_size),
      to_offset_(box.to_offset * element_size),
      bytes_(box.shape.numel() * element_size) {
  if (bytes_ == 0) {
    return;
  }
  std::vector<CopyAxis> axes;
  for (size_t axis = 0; axis < box.shape.rank; ++axis) {
    const CopyAxis next{box.shape[axis], box.from[axis] * element_size, box.to[axis] * element_size};
    if (next.size == 1) {
      continue;
    }
    if (!axes.empty() && axes.back().from == next.from * next.size && axes.back().to == next.to * next.size) {
      axes.back() = {axes.back().size * next.size, next.from, next.to};
    } else {
      axes.push_back(next);
    }
  }
  piece_ = {{1, 0, 0}, {1, 0, 0}, element_size};
  if (!axes.empty() && axes.back().from == element_size && axes.back().to == element_size) {
    piece_.unit *= axes.back().size;
    axes.pop_back();
  }
  if (axes.empty()) {
    return;
  }

  tiles_ = axes;
  piece_.columns = tiles_.back();
  tiles_.pop_back();
  const size_t unit = piece_.unit;
  const auto dense =
      std::find_if(tiles_.begin(), tiles_.end(), [=](const CopyAxis& axis) { return axis.from == unit; });
  const bool power_of_two = (unit & (unit - 1)) == 0;
  const bool transposes =
      unit <= 16 && power_of_two && piece_.columns.to == unit && piece_.columns.from != 0 && dense != tiles_.end();
  if (transposes) {
    piece_.rows = *dense;
    tiles_.erase(dense);
  } else if (!tiles_.empty()) {
    piece_.rows = tiles_.back();
    tiles_.pop_back();
  }
  if (!is_small(piece_, transposes) || !index_units(axes)) {
    function_ = choose_copy(piece_, transposes, element_size);
    choose_tiles(transposes);
  }
  for (const auto& [axis, tile] : {std::pair{piece_.rows, tile_rows_}, {piece_.columns, tile_columns_}}) {
    tiles_.push_back({divide_up(axis.size, tile), tile * axis.from, tile * axis.to});
  }
}

void StridedCopy::choose_tiles(bool transposes) {
  // Tiles of about kGrain bytes, of whole cache lines and far from flat where both axes of
  // a transposition are long.
  const auto up = [](size_t count) { return round_up(count, 16); };
  const size_t units = kGrain / piece_.unit + 1;
  tile_rows_ = transposes ? std::min<size_t>(piece_.rows.size, 64) : 1;
  tile_columns_ = std::min(piece_.columns.size, up(units / tile_rows_));
  if (tile_columns_ == piece_.columns.size) {
    tile_rows_ = std::min(piece_.rows.size, transposes ? up(units / tile_columns_) : units / tile_columns_ + 1);
  }
}

// Makes pieces of as many inner axes as the target has without gaps, if these are many units; whether it has.
bool StridedCopy::index_units(const std::vector<CopyAxis>& axes) {
  constexpr size_t kMostIndices = 2048, kLeastIndices = 128, kMostBytes = 8;
  const size_t unit = piece_.unit;
  if (unit > kMostBytes || (unit & (unit - 1)) != 0) {
    return false;
  }
  // Axes from `first` on are in a piece, of the outermost one as many positions as fit.
  size_t first = axes.size(), inner = 1, count = 1;
  while (first > 0 && axes[first - 1].to == inner * count * unit && inner * count < kMostIndices) {
    inner *= count;
    count = axes[--first].size;
  }
  if (first == axes.size() || inner * count < kLeastIndices || inner > kMostIndices) {
    return false;
  }
  const size_t rows = std::min(count, kMostIndices / inner);
  std::vector<uint32_t> indices{0};
  for (size_t axis = axes.size(); axis-- > first;) {
    const CopyAxis& next = axes[axis];
    const size_t before = indices.size(), times = axis == first ? rows : next.size;
    if (next.from % unit != 0 || next.from / unit * times + indices.back() > UINT32_MAX) {
      return false;
    }
    for (size_t i = 1; i < times; ++i) {
      for (size_t j = 0; j < before; ++j) {
        indices.push_back(indices[j] + static_cast<uint32_t>(i * (next.from / unit)));
      }
    }
  }
  tiles_.assign(axes.begin(), axes.begin() + static_cast<ptrdiff_t>(first));
  indices_ = std::move(indices);
  piece_ = {axes[first], {inner, 0, unit}, unit};
  CopyPiece piece = piece_;
  piece.indices = indices_.data();
  function_ = choose_copy(piece, /*transposes=*/false, unit);
  tile_rows_ = rows;
  tile_columns_ = inner;
  return true;
}

void StridedCopy::run(const void* from_begin, void* to_begin, pthreadpool_t pool) const {
  const char* from = static_cast<const char*>(from_begin) + from_offset_;
  char* to = static_cast<char*>(to_begin) + to_offset_;
  if (bytes_ == 0) {
    return;
  }
  if (function_ == nullptr) {
    parallel_for(pool, bytes_, 4 * kGrain, [=](size_t begin, size_t end) {
      std::memcpy(to + begin, from + begin, end - begin);
    });
    return;
  }

  size_t tiles = 1;
  for (const CopyAxis& axis : tiles_) {
    tiles *= axis.size;
  }
  const size_t grain = std::max<size_t>(1, kGrain / (tile_rows_ * tile_columns_ * piece_.unit));
  parallel_for(pool, tiles, grain, [=](size_t begin, size_t end) {
    // The position of a tile, and its offsets.
    std::array<size_t, kMaxRank + 2> at{};
    size_t source = 0, target = 0;
    for (size_t axis = tiles_.size(), rest = begin; axis-- > 0; rest /= tiles_[axis].size) {
      at[axis] = rest % tiles_[axis].size;
      source += at[axis] * tiles_[axis].from;
      target += at[axis] * tiles_[axis].to;
    }
    const size_t rows = tiles_.size() - 2, columns = tiles_.size() - 1;
    CopyPiece piece = piece_;
    piece.indices = indices_.empty() ? nullptr : indices_.data();
    for (size_t tile = begin; tile < end; ++tile) {
      piece.rows.size = std::min(tile_rows_, piece_.rows.size - at[rows] * tile_rows_);
      piece.columns.size = std::min(tile_columns_, piece_.columns.size - at[columns] * tile_columns_);
      function_(piece, from + source, to + target);
      for (size_t axis = tiles_.size(); axis-- > 0;) {
        source += tiles_[axis].from;
        target += tiles_[axis].to;
        if (++at[axis] < tiles_[axis].size) {
          break;
        }
        source -= tiles_[axis].size * tiles_[axis].from;
        target -= tiles_[axis].size * tiles_[axis].to;
        at[axis] = 0;
      }
    }
  });
}

} // namespace executorch::backends::et_xnnpack
