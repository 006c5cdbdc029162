// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "window_conv.h"

#include <algorithm>

#include "runtime/base/caches.h"
#include "runtime/base/memory.h"
#include "runtime/base/round_up.h"
#include "runtime/kernels/common/parallel.h"
#include "runtime/kernels/gemm/block_product.h"
#include "runtime/kernels/simd/avx512.h"
#include "seen_pixels.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kLeastColumns = 12; // of a part: a tile of products

SeenPixels seen_rows(const ConvParameters& p, size_t row, size_t rows) {
  return {row, rows, p.weight[1], p.height, p.input[1]};
}

SeenPixels seen_columns(const ConvParameters& p, size_t column, size_t columns) {
  return {column, columns, p.weight[2], p.width, p.input[2]};
}

size_t staged_floats(const ConvParameters& p, size_t rows, size_t columns) {
  return seen_rows(p, 0, rows).count * seen_columns(p, 0, columns).count * p.input[3];
}

} // namespace

bool WindowConv::has(const ConvParameters& p) {
  return !p.transposed && p.groups == 1 && p.height.dilation == 1 && p.width.dilation == 1;
}

bool WindowConv::is_fast() {
  return has_avx512();
}

std::optional<std::string> WindowConv::packed_layout(const ConvParameters& /*p*/, size_t i) {
  return i == 1 ? std::optional(low_precision_layout(kFloat32InBlocks)) : std::nullopt;
}

size_t WindowConv::packed_bytes(const ConvParameters& p, size_t /*i*/) {
  return low_precision_panels_bytes(kFloat32InBlocks, p.weight[0], p.weight.numel(1, 4));
}

Status WindowConv::pack(const ConvParameters& p, size_t /*i*/, const void* original, void* packed) {
  constexpr size_t kWholeWindow[] = {0};
  const size_t depth = p.weight.numel(1, 4);
  pack_low_precision(kFloat32InBlocks, original, p.weight[0], depth, {kWholeWindow, 1}, depth, packed);
  return {};
}

size_t WindowConv::reshape(const ConvParameters& p, size_t num_threads) {
  parameters_ = p;
  const size_t room = Caches::get().l2 / (4 * sizeof(float));
  parts_ = ImageParts(p.output, num_threads, kLeastColumns, [&](size_t rows, size_t columns) {
    return staged_floats(p, rows, columns) <= room;
  });
  const size_t staged = parts_.size() == 0 ? 0 : staged_floats(p, parts_.rows(), parts_.columns());
  thread_bytes_ = round_up_to_alignment(staged * sizeof(float));
  return std::max<size_t>(num_threads, 1) * thread_bytes_;
}

void WindowConv::run(const KernelArguments& arguments) {
  const ConvParameters& p = parameters_;
  const auto copy = [](const float* from, size_t count, float* to) { std::copy_n(from, count, to); };
  LowPrecisionProduct common;
  common.precision = kFloat32InBlocks;
  common.panels = arguments.input<void>(1);
  common.bias = arguments.input<float>(2);
  common.x_stride = p.width.stride * p.input[3];
  common.y_stride = common.columns = p.weight[0];
  common.depth = p.weight.numel(1, 4);
  common.min = p.min;
  common.max = p.max;
  parallel_for_with_thread(arguments.pool, parts_.size(), [&](size_t thread, size_t i) {
    const ImageParts::Part part = parts_[i];
    const SeenPixels rows = seen_rows(p, part.row, part.rows), columns = seen_columns(p, part.column, part.columns);
    auto* const staged = reinterpret_cast<float*>(static_cast<char*>(arguments.scratch) + thread * thread_bytes_);
    const float* const x = arguments.input<float>(0) + part.image * p.input.numel(1, 4);
    copy_seen_pixels(x, p.input[2], p.input[3], rows, columns, 0.0f, copy, staged);
    const size_t line = columns.count * p.input[3];
    LowPrecisionProduct product = common;
    product.rows = part.columns;
    product.y =
        arguments.output<float>(0) + ((part.image * p.output[1] + part.row) * p.output[2] + part.column) * p.weight[0];
    for (size_t r = 0; r < part.rows; ++r) {
      product.x = staged + r * p.height.stride * line;
      multiply_lines(product, p.weight[1], line);
      product.y += p.output[2] * p.weight[0];
    }
  });
}

} // namespace executorch::backends::et_xnnpack
