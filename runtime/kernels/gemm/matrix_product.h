// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <limits>

#include <pthreadpool.h>

namespace executorch::backends::et_xnnpack {

// c[i][j] = clamp(bias[j] + sum over k of a[i][k] * b[k][j]), for each of `batch` matrices
// that lie batch strides apart. Strides are in floats; rows of c may be further apart than
// they are long.
struct MatrixProduct {
  size_t batch = 1, rows = 0, columns = 0, depth = 0;
  const float* a = nullptr;
  size_t a_stride = 0, a_batch = 0;
  const float* b = nullptr;
  size_t b_stride = 0, b_batch = 0;
  bool b_transposed = false; // b[j][k] instead
  const float* bias = nullptr; // may be null
  size_t bias_batch = 0;
  bool has_one_bias = false; // bias[0] for all columns
  float* c = nullptr;
  size_t c_stride = 0, c_batch = 0;
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();
};

// Up to how many rows b is multiplied where it lies, which is faster than packing it; a is for a single column.
size_t max_unpacked_rows();

// Bytes of scratch memory that multiply_matrices() needs for these sizes, whatever the pointers.
size_t matrix_product_scratch(const MatrixProduct& product, size_t num_threads);

// `scratch` is 64-byte aligned.
void multiply_matrices(const MatrixProduct& product, void* scratch, pthreadpool_t pool);

} // namespace executorch::backends::et_xnnpack
