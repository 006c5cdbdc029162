// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <algorithm>
#include <cstddef>

#include "runtime/base/round_up.h"
#include "runtime/base/shape.h"

namespace executorch::backends::et_xnnpack {

// Into what the images of an output [N, H, W, C] are divided, to be computed part by part.
class ImageParts {
 public:
  struct Part {
    size_t image, row, column; // of its first pixel
    size_t rows, columns;
  };

  ImageParts() = default;

  // Enough parts for each thread to have several, of whole rows if there are enough of these, and so small that
  // fits(rows, columns). Rows are not divided into fewer than `least_columns`, fit or not.
  template <typename Fits>
  ImageParts(const Shape& output, size_t num_threads, size_t least_columns, const Fits& fits)
      : images_(output[0]), height_(output[1]), width_(output[2]) {
    if (images_ * height_ * width_ == 0) {
      images_ = 0;
      return;
    }
    constexpr size_t kWanted = 4, kEnough = 2; // for each thread
    const size_t wanted = num_threads > 1 ? divide_up(kWanted * num_threads, images_) : 1;
    rows_ = divide_up(height_, wanted);
    columns_ = width_;
    while (rows_ > 1 && !fits(rows_, columns_)) {
      rows_ = divide_up(rows_, 2);
    }
    const size_t enough = num_threads > 1 ? kEnough * num_threads : 1;
    while (columns_ > least_columns && (!fits(rows_, columns_) || size() < enough)) {
      columns_ = std::min(round_up(divide_up(columns_, 2), least_columns), columns_ - 1);
    }
  }

  size_t size() const {
    return images_ == 0 ? 0 : images_ * divide_up(height_, rows_) * divide_up(width_, columns_);
  }
  Part operator[](size_t i) const {
    const size_t column_parts = divide_up(width_, columns_), row_parts = divide_up(height_, rows_);
    const size_t column = i % column_parts * columns_, row = i / column_parts % row_parts * rows_;
    return {
        i / column_parts / row_parts, row, column, std::min(rows_, height_ - row), std::min(columns_, width_ - column)};
  }

  // Of a part, at most; 0 if there is none.
  size_t rows() const {
    return rows_;
  }
  size_t columns() const {
    return columns_;
  }

 private:
  size_t images_ = 0, height_ = 0, width_ = 0;
  size_t rows_ = 0, columns_ = 0;
};

} // namespace executorch::backends::et_xnnpack
