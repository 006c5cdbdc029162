// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "concat_rows.h"

#include <algorithm>
#include <numeric>

#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kBlock = 16384, kGrain = 65536; // bytes

} // namespace

size_t ConcatRows::reshape(const ConcatRowsParameters& parameters, size_t /*num_threads*/) {
  rows_ = parameters.rows;
  row_bytes_ = std::accumulate(parameters.units.begin(), parameters.units.end(), size_t{0});
  parts_.clear();
  size_t offset = 0;
  for (size_t i = 0; i < parameters.units.size(); ++i) {
    const size_t unit = parameters.units[i];
    if (unit > 0) {
      const CopyPiece piece{{1, 0, 0}, {rows_, unit, row_bytes_}, unit};
      parts_.push_back({i, offset, piece, choose_copy(piece, /*transposes=*/false, /*element_size=*/1)});
    }
    offset += unit;
  }
  return 0;
}

void ConcatRows::run(const KernelArguments& arguments) const {
  if (row_bytes_ == 0) {
    return;
  }
  const size_t block = kBlock / row_bytes_ + 1;
  parallel_for(arguments.pool, rows_, kGrain / row_bytes_ + 1, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; row += block) {
      for (const Part& part : parts_) {
        CopyPiece piece = part.piece;
        piece.columns.size = std::min(block, end - row);
        part.copy(
            piece,
            arguments.input<char>(part.input) + row * piece.unit,
            arguments.output<char>(0) + row * row_bytes_ + part.offset);
      }
    }
  });
}

} // namespace executorch::backends::et_xnnpack
