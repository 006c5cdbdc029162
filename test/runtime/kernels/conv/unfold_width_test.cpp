// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/conv/unfold_width.h>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

class Unfold {
 public:
  size_t reshape(const WidthUnfold& unfold, size_t /*num_threads*/) {
    unfold_ = unfold;
    return 0;
  }
  void run(const KernelArguments& arguments) {
    unfold_width(unfold_, arguments.input<int8_t>(0), arguments.output<int8_t>(0), arguments.pool);
  }

 private:
  WidthUnfold unfold_{};
};

void check(const WidthUnfold& u) {
  const Tensor x = iota(DType::Int8, {u.rows, u.width, u.channels});
  Tensor y(DType::Int8, {u.rows, u.output_width, u.kernel, u.channels});
  int8_t* to = y.data<int8_t>();
  for (size_t row = 0; row < u.rows; ++row) {
    for (size_t column = 0; column < u.output_width; ++column) {
      for (size_t k = 0; k < u.kernel; ++k) {
        const int64_t i = static_cast<int64_t>(column * u.stride + k) - static_cast<int64_t>(u.padding);
        const bool inside = i >= 0 && i < static_cast<int64_t>(u.width);
        for (size_t c = 0; c < u.channels; ++c) {
          *to++ = inside ? x.data<int8_t>()[(row * u.width + static_cast<size_t>(i)) * u.channels + c] : u.zero_point;
        }
      }
    }
  }
  SCOPED_TRACE(x.type.to_string() + " to " + y.type.to_string());
  check_kernel(PlainCase{plain_kernel<Unfold>(u), {x}, {y.type}}, y);
}

TEST(UnfoldWidth, Windows) { // rows, width, channels, width of the output, kernel, stride, padding, zero point
  check({224, 64, 3, 32, 7, 2, 3, -5});
  check({5, 31, 3, 16, 3, 2, 1, 7});
  check({5, 31, 1, 31, 3, 1, 1, 0});
  check({2, 9, 4, 3, 3, 3, 0, 1}); // no padding
  check({3, 20, 2, 4, 2, 5, 0, 1}); // columns that no window sees
  check({3, 12, 5, 8, 5, 1, 0, 1});
  check({2, 40, 6, 36, 7, 1, 1, -128}); // long runs
}

TEST(UnfoldWidth, WindowsOutsideOfTheImage) {
  check({4, 2, 3, 4, 7, 1, 4, 127}); // wider than the image
  check({4, 1, 3, 9, 3, 1, 5, -1}); // beside it
  check({4, 6, 2, 3, 3, 4, 3, 9});
  check({1, 5, 3, 1, 5, 1, 0, 9});
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
