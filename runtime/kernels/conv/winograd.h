// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "conv.h"
#include "winograd_layer.h"
#include "winograd_parts.h"
#include "runtime/base/caches.h"
#include "runtime/kernels/common/tail.h"

namespace executorch::backends::et_xnnpack {

struct WinogradParameters : ConvParameters {
  size_t tile = 2; // rows and columns of the output that are computed together: 2 or 4
  Caches caches = Caches::get();
};

// A convolution by windows of 3 x 3, of stride and dilation 1 and a single group, with fewer multiplications
// (Winograd): tiles of the image and the weights are transformed, multiplied position by position, and what comes out
// is transformed to a tile of the output. The weight, input 1, is a constant of Float32, which is packed; a bias, input
// 2, is optional. An image of BFloat16 is read as it is.
//
// Tiles of 2 x 2 have less error than the sum of products, those of 4 x 4 up to 2.7 times as much (docs/kernels.md). A
// tile whose result is not finite, or, of 4 x 4, whose pixels differ so much in size that small ones would be lost, is
// computed as a sum of products: NaN and infinity reach those pixels whose window sees them, and no others.
class WinogradConv {
 public:
  static std::optional<std::string> packed_layout(const WinogradParameters& parameters, size_t i);
  static size_t packed_bytes(const WinogradParameters& parameters, size_t i);
  static Status pack(const WinogradParameters& parameters, size_t i, const void* original, void* packed);

  size_t reshape(const WinogradParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);
  size_t tail_bytes(size_t num_threads) const;
  void run_into(const KernelArguments& arguments, void* scratch, const Tail& tail);

 private:
  WinogradLayer bound_layer(const KernelArguments& arguments) const;
  void run_shared_strips(const KernelArguments& arguments, const WinogradLayer& layer) const;
  template <typename Function>
  void run_own_strips(const KernelArguments& arguments, const Function& function) const;
  size_t rows_of_strip() const;

  const TransformWinogradTiles transform_ = choose_winograd_transform();
  const MultiplyWinogradTiles multiply_ = choose_winograd_product();
  WinogradLayer layer_;
  WinogradSchedule schedule_;
};

} // namespace executorch::backends::et_xnnpack
