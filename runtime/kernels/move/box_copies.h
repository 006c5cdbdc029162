// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/kernels/common/arguments.h"
#include "strided_copy.h"

namespace executorch::backends::et_xnnpack {

// Boxes of dense inputs, or of one repeated element, that together make a dense output. Elements are moved as
// they are.
struct BoxCopiesParameters {
  // Stands for `fill` in place of an input.
  static constexpr size_t kFill = ~size_t{0};

  struct Part {
    size_t input;
    CopyBox box;
  };
  std::vector<Part> parts;
  size_t element_size = 1; // bytes: 1, 2, 4 or 8
  std::array<char, 8> fill{}; // an element
};

// Inputs: those that the parts name. Output: one that the parts fill.
class BoxCopies {
 public:
  size_t reshape(const BoxCopiesParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments) const;

 private:
  struct Part {
    size_t input;
    StridedCopy copy;
  };
  std::vector<Part> parts_;
  std::array<char, 8> fill_{};
};

// x -> x
BoxCopiesParameters copied(const Shape& x, size_t element_size);
// Axis i of the result is axis perm[i] of x.
BoxCopiesParameters transposed(const Shape& x, Span<const size_t> perm, size_t element_size);
// x broadcasts to y.
BoxCopiesParameters expanded(const Shape& x, const Shape& y, size_t element_size);
// Every `step`th element from `start` on, as many as y has on that axis.
BoxCopiesParameters sliced(const Shape& x, const Shape& y, size_t axis, size_t start, size_t step, size_t element_size);
// The inputs behind one another.
BoxCopiesParameters concatenated(Span<const Shape> inputs, const Shape& y, size_t axis, size_t element_size);
// x in the middle of y, with before[axis] elements before it; the rest is `fill`.
BoxCopiesParameters padded(
    const Shape& x, const Shape& y, Span<const size_t> before, size_t element_size, const std::array<char, 8>& fill);

} // namespace executorch::backends::et_xnnpack
