// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <limits>
#include <random>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {

// Few different numbers, so that there are ties; the ends of the type among them.
template <typename T>
Tensor few(DType dtype, const Shape& shape) {
  Tensor x(dtype, shape);
  std::minstd_rand random(static_cast<unsigned>(x.numel()));
  for (size_t i = 0; i < x.numel(); ++i) {
    const unsigned k = random() % 1000;
    x.data<T>()[i] = k == 0 ? std::numeric_limits<T>::max()
        : k == 1            ? std::numeric_limits<T>::lowest()
                            : static_cast<T>(k % 23);
  }
  return x;
}

// A number that is special in every place of a row, and of a column.
template <typename Check>
void in_every_place(float special, const Check& check) {
  for (const size_t size : {1, 2, 7, 16, 33, 66, 130}) {
    Tensor rows = random_floats({size, size});
    for (size_t i = 0; i < size; ++i) {
      rows.data<float>()[i * size + i] = special;
    }
    check(rows);
  }
}

} // namespace executorch::backends::et_xnnpack::testing
