// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <optional>
#include <string>

#include "int8_conv.h"

namespace executorch::backends::et_xnnpack {

// A convolution of one group, in blocks of pixels: what the windows of a block see is copied with its padding first,
// stays in the second-level cache while all panels of the weight meet it, and is read from the copy without
// indirection. Inputs 0 and 1 are the image and a constant weight, input 2 is an optional constant bias of Int32 whose
// scale is that of the products. Any convolution of one group whose dilation is 1.
class Int8BlockConv {
 public:
  static std::optional<std::string> packed_layout(const Int8ConvParameters& parameters, size_t i);
  static size_t packed_bytes(const Int8ConvParameters& parameters, size_t i);
  static Status pack(const Int8ConvParameters& parameters, size_t i, const void* original, void* packed);

  size_t reshape(const Int8ConvParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  // Into what the output is divided.
  struct Parts {
    size_t pixels = 0; // at most, of a part: whole rows or some of one
    size_t rows = 1, columns = 0; // of it
    size_t panels = 0; // that the part meets
    size_t row_parts = 0, column_parts = 0, panel_parts = 0;
  };

  Parts divide(size_t num_threads) const;
  size_t staged_bytes() const; // what the windows of a part see

  Int8ConvParameters parameters_;
  Int8Sums sums_;
  Parts parts_;
  size_t offsets_bytes_ = 0, thread_bytes_ = 0;
};

} // namespace executorch::backends::et_xnnpack
