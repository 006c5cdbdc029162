// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "depthwise_row.h"
#include "grouped_row.h"
#include "runtime/base/shape.h"
#include "runtime/kernels/common/arguments.h"
#include "runtime/kernels/common/strip.h"
#include "runtime/kernels/common/tail.h"
#include "runtime/kernels/gemm/low_precision_product.h"
#include "runtime/kernels/gemm/matrix_product.h"

namespace executorch::backends::et_xnnpack {

// A convolution, or a transposed one, of images.
struct ConvParameters {
  struct Axis {
    size_t stride = 1, padding = 0, dilation = 1; // padding before the image; that behind it is in `output`
  };

  Shape input; // [N, H, W, groups * IC]
  // Of BFloat16Conv and WinogradConv also BFloat16, of DepthwiseConv the weight's type of 16 bits.
  DType input_type = DType::Float32;
  Shape weight; // [groups * OC, KH, KW, IC]
  Shape output; // [N, OH, OW, groups * OC]
  Axis height, width;
  size_t groups = 1;
  bool transposed = false;
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();
  // For kernels that multiply with a weight of low precision, and what its integers stand for.
  LowPrecision precision{DType::Float32};
  WeightScales weight_scales;
  bool packs_weight = true; // for DepthwiseConv: whether the weight is a constant
  bool by_tap = false; // for PackedConv, not transposed, of Float32: leaves out what taps would multiply of the padding
};

// The positions of the output, from the first on up to an end, which may be more than there are, that see something of
// the image by a tap of an axis.
std::pair<size_t, size_t> positions_seeing(const ConvParameters::Axis& axis, size_t tap, size_t input);

// The share of what the taps of a convolution see that is not padding.
float seen_share(const ConvParameters& parameters);

// Whether each pixel of the output sees the one at its place only: the image is the matrix of patches.
bool is_pointwise(const ConvParameters& parameters);

// Inputs 0 and 1 and an optional bias, input 2, of Float32: a matrix product with the patches of the image that the
// taps of each output pixel see, gathered for as many pixels at a time as fit the scratch memory.
class Conv {
 public:
  size_t reshape(const ConvParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  template <bool kTransposed>
  void gather(const float* x, size_t pixel, float* patch) const;

  ConvParameters parameters_;
  MatrixProduct product_;
  size_t chunk_ = 0; // pixels
  size_t patches_ = 0; // bytes; 0: the image itself is the matrix
};

// With one channel in and one or, of Float32, more out in each group, not transposed. The weight is of any type that
// Depthwise takes; a constant one is packed.
class DepthwiseConv {
 public:
  static std::optional<std::string> packed_layout(const ConvParameters& parameters, size_t i);
  static size_t packed_bytes(const ConvParameters& parameters, size_t i);
  static Status pack(const ConvParameters& parameters, size_t i, const void* original, void* packed);

  StatusOr<size_t> reshape(const ConvParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);
  size_t tail_bytes(size_t num_threads) const;
  void run_into(const KernelArguments& arguments, void* scratch, const Tail& tail);
  RowRange rows_seen(RowRange rows) const;
  void run_strip(const KernelArguments& arguments, const Strip& strip); // REQUIRES: the weight is a constant

 private:
  Depthwise prepare(const KernelArguments& arguments) const;
  size_t weight_bytes() const;
  void repeat_channels(const KernelArguments& arguments, float* to) const;

  ChannelScales scales_;
  const DepthwiseRow row_ = choose_depthwise_row();
  Depthwise conv_;
  bool packs_weight_ = true;
  size_t tail_rows_ = 1; // that the tail takes at once
  size_t multiplier_ = 1; // channels out of each group
};

// Either of the two, for a weight that is no constant: it may have more channels in each group in one call than in
// another.
class RuntimeConv {
 public:
  StatusOr<size_t> reshape(const ConvParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  Conv conv_;
  DepthwiseConv depthwise_;
  bool is_depthwise_ = false;
};

// In groups of few channels, as many out as in, with a constant weight of Float32, not transposed.
class GroupedConv {
 public:
  // Whether kernels made now take it.
  static bool has(const ConvParameters& parameters);
  static std::optional<std::string> packed_layout(const ConvParameters& parameters, size_t i);
  static size_t packed_bytes(const ConvParameters& parameters, size_t i);
  static Status pack(const ConvParameters& parameters, size_t i, const void* original, void* packed);

  size_t reshape(const ConvParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  const DepthwiseRow row_ = choose_grouped_row();
  Depthwise conv_;
};

} // namespace executorch::backends::et_xnnpack
