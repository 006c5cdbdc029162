// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "bfloat16_conv.h"

#include <algorithm>

#include "runtime/kernels/gemm/bfloat16_panels.h"
#include "runtime/kernels/simd/reduced_float.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kBlockBytes = 256 << 10; // of the image that meets all panels
constexpr size_t kGrain = 1 << 14; // numbers

size_t padded_channels(const ConvParameters& p) {
  return round_up(p.weight[3], bfloat16_tile()->depth_multiple);
}

// Pixels of the padded image that the windows of `count` output pixels see.
size_t seen(const ConvParameters::Axis& axis, size_t count, size_t kernel) {
  return count == 0 ? 0 : (count - 1) * axis.stride + axis.dilation * (kernel - 1) + 1;
}

} // namespace

std::optional<std::string> BFloat16Conv::packed_layout(const ConvParameters& p, size_t i) {
  return i == 1 ? std::optional(
                      "BFloat16 panels of pairs, taps of " + std::to_string(padded_channels(p)) + " of " +
                      std::to_string(p.weight[3]) + " channels")
                : std::nullopt;
}

size_t BFloat16Conv::packed_bytes(const ConvParameters& p, size_t /*i*/) {
  return bfloat16_panels_bytes(p.weight[0], p.weight[1] * p.weight[2] * padded_channels(p));
}

Status BFloat16Conv::pack(const ConvParameters& p, size_t /*i*/, const void* original, void* packed) {
  Array<size_t> taps;
  ETX_RETURN_IF_ERROR(taps.assign(p.weight[1] * p.weight[2]));
  for (size_t tap = 0; tap < taps.size(); ++tap) {
    taps[tap] = tap;
  }
  pack_bfloat16(
      static_cast<const float*>(original),
      p.weight[0],
      p.weight.numel(1, 4),
      {taps.data(), taps.size()},
      p.weight[3],
      padded_channels(p),
      packed);
  return {};
}

StatusOr<size_t> BFloat16Conv::reshape(const ConvParameters& p, size_t /*num_threads*/) {
  parameters_ = p;
  channels_ = padded_channels(p);
  height_ = seen(p.height, p.output[1], p.weight[1]);
  width_ = round_up(seen(p.width, p.output[2], p.weight[2]), p.width.stride);
  ETX_RETURN_IF_ERROR(taps_.assign(p.weight[1] * p.weight[2]));
  for (size_t i = 0; i < taps_.size(); ++i) {
    const size_t row = i / p.weight[2] * p.height.dilation, column = i % p.weight[2] * p.width.dilation;
    taps_[i] = (row * width_ + column) * channels_;
  }
  ETX_RETURN_IF_ERROR(find_groups());
  return p.output.numel() == 0 ? 0 : p.output[0] * image_ * sizeof(uint16_t);
}

// A group is of output pixels that lie equally far apart in the rounded image. These may be pixels of one row, or those of
// all rows one after the other with some in between that are none: whatever takes fewer groups.
Status BFloat16Conv::find_groups() {
  const ConvParameters& p = parameters_;
  const size_t rows = p.output[1], columns = p.output[2];
  const size_t images = p.output.numel() == 0 ? 0 : p.output[0];
  const auto groups_of = [](size_t count) { return (count + kBFloat16Rows - 1) / kBFloat16Rows; };
  const size_t pitch = p.height.stride * width_ / p.width.stride; // from one row to the next, in pixels of a group
  const size_t row_groups = groups_of(columns), line_groups = images == 0 ? 0 : groups_of((rows - 1) * pitch + columns);
  const bool in_rows = rows * row_groups <= line_groups;
  const size_t count = in_rows ? rows * row_groups : line_groups;
  ETX_RETURN_IF_ERROR(firsts_.assign(images * count));
  ETX_RETURN_IF_ERROR(offsets_.assign(images * count * kBFloat16Rows));
  image_ = height_ * width_ * channels_;
  for (size_t g = 0; g < count && images > 0; ++g) {
    const size_t first = in_rows ? g / row_groups * pitch + g % row_groups * kBFloat16Rows : g * kBFloat16Rows;
    firsts_[g] = first * p.width.stride * channels_;
    for (size_t r = 0; r < kBFloat16Rows; ++r) {
      const size_t row = (first + r) / pitch, column = (first + r) % pitch;
      const bool is_pixel = row < rows && column < columns && (!in_rows || row == g / row_groups);
      offsets_[g * kBFloat16Rows + r] = is_pixel ? (row * columns + column) * p.output[3] : kNoRow;
    }
    // All rows of a tile are read.
    const size_t last = firsts_[g] + (kBFloat16Rows - 1) * p.width.stride * channels_ + taps_[taps_.size() - 1];
    image_ = std::max(image_, last + channels_);
  }
  for (size_t i = count; i < firsts_.size(); ++i) {
    const size_t image = i / count, g = i % count;
    firsts_[i] = image * image_ + firsts_[g];
    for (size_t r = 0; r < kBFloat16Rows; ++r) {
      const size_t offset = offsets_[g * kBFloat16Rows + r];
      offsets_[i * kBFloat16Rows + r] = offset == kNoRow ? kNoRow : image * p.output.numel(1, 4) + offset;
    }
  }
  return {};
}

void BFloat16Conv::round_image(const float* x, uint16_t* rounded, pthreadpool_t pool) const {
  const ConvParameters& p = parameters_;
  const size_t channels = p.input[3], line = width_ * channels_;
  const size_t left = std::min(p.width.padding, width_), inside = std::min(p.input[2], width_ - left);
  parallel_for(pool, p.input[0] * height_, kGrain / (line + 1) + 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t image = i / height_, row = i % height_;
      uint16_t* to = rounded + image * image_ + row * line;
      if (row < p.height.padding || row - p.height.padding >= p.input[1]) {
        std::fill_n(to, line, uint16_t{0});
        continue;
      }
      const float* from = x + (image * p.input[1] + row - p.height.padding) * p.input[2] * channels;
      uint16_t* const line_end = to + line;
      to = std::fill_n(to, left * channels_, uint16_t{0});
      if (channels == channels_) {
        narrow(DType::BFloat16, from, to, inside * channels);
        to += inside * channels;
      } else {
        for (size_t column = 0; column < inside; ++column) {
          narrow(DType::BFloat16, from + column * channels, to, channels);
          std::fill_n(to + channels, channels_ - channels, uint16_t{0});
          to += channels_;
        }
      }
      std::fill(to, line_end, uint16_t{0});
    }
  });
}

void BFloat16Conv::run(const KernelArguments& arguments) {
  const ConvParameters& p = parameters_;
  const size_t groups = firsts_.size();
  if (groups == 0) {
    return;
  }
  uint16_t* const rounded = static_cast<uint16_t*>(arguments.scratch);
  round_image(arguments.input<float>(0), rounded, arguments.pool);
  BFloat16Output output;
  output.y = arguments.output<float>(0);
  output.columns = p.weight[0];
  output.bias = arguments.input<float>(2);
  output.min = p.min;
  output.max = p.max;
  BFloat16Rows x{};
  x.stride = p.width.stride * channels_;
  x.taps = {taps_.data(), taps_.size()};
  x.run = channels_;
  const size_t pair_bytes = 2 * kBFloat16Rows * x.stride * sizeof(uint16_t);
  multiply_bfloat16_panels(
      arguments.input<char>(1),
      output,
      x,
      (groups + 1) / 2,
      kBlockBytes / pair_bytes + 1,
      [&](size_t i, BFloat16Rows* pair, BFloat16Offsets*) {
        const bool has_second = 2 * i + 1 < groups;
        pair->groups[0] = rounded + firsts_[2 * i];
        pair->groups[1] = rounded + firsts_[2 * i + (has_second ? 1 : 0)];
        pair->count = has_second ? 2 * kBFloat16Rows : kBFloat16Rows;
        return offsets_.data() + 2 * i * kBFloat16Rows;
      },
      arguments.pool);
}

} // namespace executorch::backends::et_xnnpack
