// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <optional>
#include <string>

#include "conv.h"
#include "runtime/kernels/gemm/bfloat16_panels.h"

namespace executorch::backends::et_xnnpack {

// A convolution with a constant weight, both rounded to BFloat16: of a copy of the image with its padding, of
// which the tiles of bfloat16_tile() read the pixels that a tap sees, without gathering them. An image that is BFloat16
// and needs no padding, nor between its pixels for the sake of caches, is read where it is.
// REQUIRES: has_bfloat16_product(), one group, not transposed, no 32-bit sum or product of window sizes overflows
class BFloat16Conv {
 public:
  // Numbers side by side that it multiplies at a time: of a pixel, or of all pixels of a row of the window where it
  // can.
  static size_t run_of(const ConvParameters& parameters);
  static std::optional<std::string> packed_layout(const ConvParameters& parameters, size_t i);
  static size_t packed_bytes(const ConvParameters& parameters, size_t i);
  static Status pack(const ConvParameters& parameters, size_t i, const void* original, void* packed);
  static DType packed_from(const ConvParameters& /*parameters*/) {
    return DType::BFloat16;
  }

  StatusOr<size_t> reshape(const ConvParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);
  size_t tail_bytes(size_t num_threads) const;
  void run_into(const KernelArguments& arguments, void* scratch, const Tail& tail);
  // Of pixels by themselves, with a stride of 1 and no padding.
  RowRange rows_seen(RowRange rows) const {
    return rows;
  }
  size_t strip_scratch(size_t rows) const;
  void run_strip(const KernelArguments& arguments, const Strip& strip);

 private:
  Status find_groups(const BFloat16Tile& tile);
  template <typename T>
  void round_image(const T* x, uint16_t* rounded, pthreadpool_t pool) const;
  const uint16_t* prepare_image(const KernelArguments& arguments) const;
  template <typename T>
  void round_pixels(const T* from, size_t count, uint16_t* to) const;
  bool reads_pixels_in_place() const;
  BFloat16Output new_output(const KernelArguments& arguments) const;
  template <typename Function>
  void with_problem(const KernelArguments& arguments, const Function& function) const;
  size_t strips() const;
  size_t strip_bytes() const;
  size_t tail_strips(size_t num_threads) const;

  ConvParameters parameters_;
  size_t channels_ = 0; // of a rounded pixel: padded with zeros
  size_t height_ = 0, width_ = 0; // of a rounded image, with its padding
  size_t image_ = 0; // numbers from one rounded image to the next
  bool in_place_ = false; // the image is read where it is
  Array<size_t> taps_; // where they are in a rounded image
  // Of the groups of output pixels, all images': where the first one is in the images that are read, how many there
  // are, and for each of BFloat16Tile::group_rows where its output is, or kNoRow.
  Array<size_t> firsts_, counts_, offsets_;
};

} // namespace executorch::backends::et_xnnpack
