// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "bfloat16_conv.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels/gemm/bfloat16_panels.h"
#include "runtime/kernels/simd/reduced_float.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kBlockBytes = 256 << 10; // of the image that meets all panels
constexpr size_t kPartBytes = 256 << 10; // of the output that the tail takes at once
constexpr size_t kGrain = 1 << 14; // numbers

size_t padded_channels(const ConvParameters& p) {
  return round_up(p.weight[3], bfloat16_tile()->depth_multiple);
}

// Pixels of the padded image that the windows of `count` output pixels see.
size_t seen(const ConvParameters::Axis& axis, size_t count, size_t kernel) {
  return count == 0 ? 0 : (count - 1) * axis.stride + axis.dilation * (kernel - 1) + 1;
}

void round_run(const float* from, uint16_t* to, size_t count) {
  narrow(DType::BFloat16, from, to, count);
}

void round_run(const uint16_t* from, uint16_t* to, size_t count) {
  std::memcpy(to, from, count * sizeof(uint16_t));
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
      static_cast<const uint16_t*>(original),
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
  in_place_ = p.input_type == DType::BFloat16 && is_pointwise(p) && channels_ == p.input[3] &&
      p.output.numel(0, 3) >= kBFloat16Rows;
  if (in_place_) {
    ETX_RETURN_IF_ERROR(find_groups_in_place());
    return size_t{0};
  }
  ETX_RETURN_IF_ERROR(find_groups());
  return p.output.numel() == 0 ? 0 : p.output[0] * image_ * sizeof(uint16_t);
}

// The pixels of all images one after the other. The last group begins early enough for all of its rows to be there.
Status BFloat16Conv::find_groups_in_place() {
  const size_t pixels = parameters_.output.numel(0, 3), columns = parameters_.output[3];
  const size_t count = (pixels + kBFloat16Rows - 1) / kBFloat16Rows;
  ETX_RETURN_IF_ERROR(firsts_.assign(count));
  ETX_RETURN_IF_ERROR(offsets_.assign(count * kBFloat16Rows));
  for (size_t g = 0; g < count; ++g) {
    const size_t begin = g * kBFloat16Rows, first = std::min(begin, pixels - kBFloat16Rows);
    firsts_[g] = first * channels_;
    for (size_t r = 0; r < kBFloat16Rows; ++r) {
      offsets_[g * kBFloat16Rows + r] = first + r < begin ? kNoRow : (first + r) * columns;
    }
  }
  return {};
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

template <typename T>
void BFloat16Conv::round_image(const T* x, uint16_t* rounded, pthreadpool_t pool) const {
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
      const T* from = x + (image * p.input[1] + row - p.height.padding) * p.input[2] * channels;
      uint16_t* const line_end = to + line;
      to = std::fill_n(to, left * channels_, uint16_t{0});
      if (channels == channels_) {
        round_run(from, to, inside * channels);
        to += inside * channels;
      } else {
        for (size_t column = 0; column < inside; ++column) {
          round_run(from + column * channels, to, channels);
          std::fill_n(to + channels, channels_ - channels, uint16_t{0});
          to += channels_;
        }
      }
      std::fill(to, line_end, uint16_t{0});
    }
  });
}

// The image as the tiles read it.
const uint16_t* BFloat16Conv::prepare_image(const KernelArguments& arguments) const {
  if (in_place_) {
    return arguments.input<uint16_t>(0);
  }
  uint16_t* const rounded = static_cast<uint16_t*>(arguments.scratch);
  if (parameters_.input_type == DType::BFloat16) {
    round_image(arguments.input<uint16_t>(0), rounded, arguments.pool);
  } else {
    round_image(arguments.input<float>(0), rounded, arguments.pool);
  }
  return rounded;
}

// Calls function(output, x, rows) with what multiply_bfloat16_panels() takes, but for where the output is.
template <typename Function>
void BFloat16Conv::with_problem(const KernelArguments& arguments, const Function& function) const {
  const ConvParameters& p = parameters_;
  const uint16_t* const image = prepare_image(arguments);
  BFloat16Output output;
  output.columns = p.weight[0];
  output.bias = arguments.input<float>(2);
  output.min = p.min;
  output.max = p.max;
  BFloat16Rows x{};
  x.stride = p.width.stride * channels_;
  x.taps = {taps_.data(), taps_.size()};
  x.run = channels_;
  function(output, x, [&](size_t i, BFloat16Rows* pair, BFloat16Offsets*) {
    const bool has_second = 2 * i + 1 < firsts_.size();
    pair->groups[0] = image + firsts_[2 * i];
    pair->groups[1] = image + firsts_[2 * i + (has_second ? 1 : 0)];
    pair->count = has_second ? 2 * kBFloat16Rows : kBFloat16Rows;
    return offsets_.data() + 2 * i * kBFloat16Rows;
  });
}

// Of the image.
size_t BFloat16Conv::pair_bytes() const {
  return 2 * kBFloat16Rows * parameters_.width.stride * channels_ * sizeof(uint16_t);
}

void BFloat16Conv::run(const KernelArguments& arguments) {
  if (firsts_.size() == 0) {
    return;
  }
  with_problem(arguments, [&](BFloat16Output& output, const BFloat16Rows& x, const auto& rows) {
    output.y = arguments.output<float>(0);
    multiply_bfloat16_panels(
        arguments.input<char>(1), output, x, pairs(), kBlockBytes / pair_bytes() + 1, rows, arguments.pool);
  });
}

// How many pairs of groups the tail takes at once; 0: too few for the threads, so that the whole output is made first.
size_t BFloat16Conv::tail_pairs(size_t num_threads) const {
  const size_t output_bytes = 2 * kBFloat16Rows * parameters_.output[3] * sizeof(float);
  const size_t most = std::max<size_t>(1, std::min(kPartBytes / output_bytes, kBlockBytes / pair_bytes() + 1));
  if (num_threads <= 1) {
    return std::min(most, std::max<size_t>(pairs(), 1));
  }
  return pairs() < 2 * num_threads ? 0 : std::max<size_t>(1, std::min(most, pairs() / (4 * num_threads)));
}

size_t BFloat16Conv::tail_bytes(size_t num_threads) const {
  const size_t block = tail_pairs(num_threads), rows = 2 * kBFloat16Rows * block;
  return block == 0 ? parameters_.output.numel() * sizeof(float)
                    : std::max<size_t>(num_threads, 1) * rows * parameters_.output[3] * sizeof(float);
}

void BFloat16Conv::run_into(const KernelArguments& arguments, void* scratch, const Tail& tail) {
  if (firsts_.size() == 0) {
    return;
  }
  const size_t threads = arguments.pool == nullptr ? 1 : pthreadpool_get_threads_count(arguments.pool);
  const size_t block = tail_pairs(threads), columns = parameters_.output[3];
  if (block == 0) {
    void* outputs[] = {scratch};
    KernelArguments whole = arguments;
    whole.outputs = {outputs, 1};
    run(whole);
    take_all(tail, static_cast<const float*>(scratch), parameters_.output.numel(0, 3), columns, arguments.pool);
    return;
  }
  with_problem(arguments, [&](const BFloat16Output& output, const BFloat16Rows& x, const auto& rows) {
    multiply_bfloat16_into(
        tail,
        static_cast<char*>(scratch),
        2 * kBFloat16Rows * block * columns * sizeof(float),
        arguments.input<char>(1),
        output,
        x,
        pairs(),
        block,
        rows,
        arguments.pool);
  });
}

} // namespace executorch::backends::et_xnnpack
