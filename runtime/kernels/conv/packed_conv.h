// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "conv.h"

namespace executorch::backends::et_xnnpack {

// Positions `first`, `first` + `step`, ... below `end` of one axis of the output, which see the same taps: position
// `first` + i * `step` reads input i * `stride` + offset by each tap.
struct ConvPhase {
  struct Tap {
    int64_t offset;
    size_t tap;
  };

  size_t first = 0, step = 1, stride = 1;
  Span<const Tap> taps; // by offset
  size_t end = std::numeric_limits<size_t>::max();

  // How many of `size` positions.
  size_t count(size_t size) const {
    const size_t last = std::min(size, end);
    return first < last ? (last - 1 - first) / step + 1 : 0;
  }
  const Tap& last() const {
    return taps[taps.size() - 1];
  }
  // Whether the taps read neighbours.
  bool is_dense() const {
    return last().offset - taps[0].offset + 1 == static_cast<int64_t>(taps.size());
  }
};

// The phases of an axis, in order: more than one only of a transposed convolution with a stride, and of one that goes
// tap by tap, where each tap has the positions that see something of the image by it.
class ConvPhases {
 public:
  Status assign(const ConvParameters::Axis& axis, size_t kernel, bool transposed);
  Status assign_taps(const ConvParameters::Axis& axis, size_t kernel, size_t input);

  size_t size() const {
    return phases_.size();
  }
  const ConvPhase* begin() const {
    return phases_.begin();
  }
  const ConvPhase* end() const {
    return phases_.end();
  }

 private:
  Array<ConvPhase::Tap> taps_; // of all phases
  Array<ConvPhase> phases_;
};

// A convolution of Float32 with a constant weight, which is packed and stays in Float32, Float16, BFloat16 or Int8: a
// matrix product for each group, and for each phase of rows and of columns, with the patches of the image that the taps
// of an output pixel see, gathered for as many pixels at a time as fit the scratch memory. With `by_tap` those of all
// taps are added up.
// REQUIRES: no 32-bit sum or product of window sizes overflows
class PackedConv {
 public:
  static std::optional<std::string> packed_layout(const ConvParameters& parameters, size_t i);
  static size_t packed_bytes(const ConvParameters& parameters, size_t i);
  static Status pack(const ConvParameters& parameters, size_t i, const void* original, void* packed);
  static DType packed_from(const ConvParameters& parameters) {
    return parameters.precision.type;
  }

  StatusOr<size_t> reshape(const ConvParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  // Of the output, counted among those of its phases.
  struct Pixel {
    size_t image, row, column;
  };

  size_t pixels_of(const ConvPhase& row, const ConvPhase& column) const;
  bool sees_image(const ConvPhase& row, const ConvPhase& column) const;
  LowPrecisionProduct product_of(const ConvPhase& row, const ConvPhase& column) const;
  void multiply(
      LowPrecisionProduct& product,
      size_t group,
      const ConvPhase& row,
      const ConvPhase& column,
      const KernelArguments& arguments) const;
  Pixel place_of(size_t i, const ConvPhase& row, const ConvPhase& column) const;
  size_t offset_of(const Pixel& pixel, const ConvPhase& row, const ConvPhase& column) const;
  void gather(const float* x, const Pixel& pixel, const ConvPhase& row, const ConvPhase& column, float* patch) const;
  void fill_unseen(const KernelArguments& arguments) const;

  void limit(const KernelArguments& arguments) const;

  ConvParameters parameters_;
  ChannelScales scales_;
  ConvPhases rows_, columns_;
  LowPrecisionProduct product_;
  bool is_image_ = false; // the image itself is the matrix of patches
  size_t patches_bytes_ = 0, offsets_bytes_ = 0;
};

} // namespace executorch::backends::et_xnnpack
