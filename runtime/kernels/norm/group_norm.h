// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

// Of x [images, outer, channels, inner], whose channels form groups of the same size.
struct GroupNormParameters {
  size_t images = 0, outer = 0, channels = 0, inner = 0;
  size_t groups = 1;
  float epsilon = 0;
  bool channels_last = false; // channels are the last axis, so inner is 1
};

// Inputs: x, weight [channels] or absent, bias [channels] or absent, all of Float32. Outputs: y, or that with
// the mean and 1 / sqrt(variance + epsilon) of each group, [images, groups]: 0 and NaN if groups are empty.
class GroupNorm {
 public:
  size_t reshape(const GroupNormParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments) const;

 private:
  struct Sums;

  void run_planar(const KernelArguments& arguments) const;
  void run_channels_last(const KernelArguments& arguments) const;
  double total(const float* sums, size_t image, size_t group) const;
  void finish(const KernelArguments& arguments, size_t image, size_t group, const Sums& sums) const;

  GroupNormParameters parameters_;
  // Channels last: each image is cut into runs of pixels, whose sums are added up.
  size_t pixels_ = 1, runs_ = 0; // of one run; in an image
};

} // namespace executorch::backends::et_xnnpack
