// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kissfft.h"
#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

enum class FftTransform : uint8_t { Complex, Inverse, RealToComplex, ComplexToReal };

// Transforms along an axis of `length` elements, which is that of the real ones for RealToComplex and ComplexToReal.
struct FftParameters {
  FftTransform transform = FftTransform::Complex;
  size_t outer = 0, length = 0, inner = 0; // length: 1 to FftPlan::kMaxLength
  double scale = 1; // of the result
  bool full = false; // RealToComplex: all elements instead of length / 2 + 1
};

// Dense numbers of type T, which is float or double. Inputs: real and imaginary parts [outer, length or length / 2 + 1,
// inner], or one of real numbers. Outputs likewise.
template <typename T>
class Fft {
 public:
  // Fails if there is no memory for its tables.
  StatusOr<size_t> reshape(const FftParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments) const;

 private:
  struct Rows;

  Status make_tables();
  template <size_t kLanes>
  void compute(const KernelArguments& arguments) const;
  template <size_t kLanes>
  void load(const Rows& rows, T* z) const;
  template <size_t kLanes>
  void store(const T* z, const Rows& rows) const;
  template <size_t kLanes>
  void store_real(const T* z, const Rows& rows) const;
  template <size_t kLanes>
  T* transform(T* z, T* other) const;

  size_t rows() const {
    return parameters_.outer * parameters_.inner;
  }
  bool is_inverse() const {
    return parameters_.transform == FftTransform::Inverse || parameters_.transform == FftTransform::ComplexToReal;
  }
  // Whether real numbers are taken two by two as complex ones.
  bool is_halved() const {
    return parameters_.transform >= FftTransform::RealToComplex && parameters_.length % 2 == 0;
  }
  // Of the complex transform.
  size_t points() const {
    return is_halved() ? parameters_.length / 2 : parameters_.length;
  }
  // Elements on the axis of complex numbers that are given or made.
  size_t complex_length() const {
    const bool is_half = parameters_.transform >= FftTransform::RealToComplex && !parameters_.full;
    return is_half ? parameters_.length / 2 + 1 : parameters_.length;
  }

  FftParameters parameters_;
  FftPlan plan_; // of points(), or of more if these have a large prime factor (Bluestein's algorithm)
  size_t planned_ = 0; // points() that the tables are for
  Array<T> twiddles_; // halved: exp(2 pi i k / length) for k up to points()
  Array<T> chirp_; // Bluestein: exp(-pi i k^2 / points()), and the transform of what it is multiplied with
  Array<T> filter_;
};

} // namespace executorch::backends::et_xnnpack
