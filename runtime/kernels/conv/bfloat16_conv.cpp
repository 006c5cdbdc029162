// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "bfloat16_conv.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/round_up.h"
#include "runtime/kernels/common/parallel.h"
#include "runtime/kernels/gemm/bfloat16_panels.h"
#include "runtime/kernels/simd/bfloat16_rounding.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kBlockBytes = 256 << 10; // of the image that meets all panels
constexpr size_t kPartBytes = 512 << 10; // of the output that the tail takes at once
// Weights that a core's own caches do not hold are read again for each part: that is of so many strips at least.
constexpr size_t kLargeWeightBytes = 1 << 20, kMinStrips = 4;
constexpr size_t kGrain = 1 << 14; // numbers

// Pixels of a row of the window that lie side by side, as one run.
size_t joined_taps(const ConvParameters& p) {
  return bfloat16_tile()->run_multiple == 1 && p.width.dilation == 1 ? p.weight[2] : 1;
}

// Of a pixel of the rounded image, padded with zeros.
size_t rounded_channels(const ConvParameters& p) {
  const size_t channels = round_up(p.weight[3], bfloat16_tile()->run_multiple);
  return p.weight[1] * p.weight[2] == 1 ? bfloat16_row_stride(channels) : channels;
}

size_t runs(const ConvParameters& p) {
  return p.weight[1] * p.weight[2] / joined_taps(p);
}

// Of the panels.
size_t padded_run(const ConvParameters& p) {
  return bfloat16_tile()->padded(BFloat16Conv::run_of(p));
}

// Pixels of the padded image that the windows of `count` output pixels see.
size_t seen(const ConvParameters::Axis& axis, size_t count, size_t kernel) {
  return count == 0 ? 0 : (count - 1) * axis.stride + axis.dilation * (kernel - 1) + 1;
}

void round_run(const float* from, uint16_t* to, size_t count) {
  static_cast<void>(round_to_bfloat16(from, to, count)); // products take denormal numbers for zero
}

void round_run(const uint16_t* from, uint16_t* to, size_t count) {
  std::memcpy(to, from, count * sizeof(uint16_t));
}

} // namespace

size_t BFloat16Conv::run_of(const ConvParameters& p) {
  return joined_taps(p) * p.weight[3];
}

std::optional<std::string> BFloat16Conv::packed_layout(const ConvParameters& p, size_t i) {
  return i == 1
      ? std::optional(
            "BFloat16 panels of pairs, runs of " + std::to_string(padded_run(p)) + " of " + std::to_string(run_of(p)))
      : std::nullopt;
}

size_t BFloat16Conv::packed_bytes(const ConvParameters& p, size_t /*i*/) {
  return bfloat16_panels_bytes(p.weight[0], runs(p) * padded_run(p));
}

Status BFloat16Conv::pack(const ConvParameters& p, size_t /*i*/, const void* original, void* packed) {
  Array<size_t> taps;
  ETX_RETURN_IF_ERROR(taps.assign(runs(p)));
  for (size_t tap = 0; tap < taps.size(); ++tap) {
    taps[tap] = tap;
  }
  pack_bfloat16(
      static_cast<const uint16_t*>(original),
      p.weight[0],
      p.weight.numel(1, 4),
      {taps.data(), taps.size()},
      run_of(p),
      padded_run(p),
      packed);
  return {};
}

StatusOr<size_t> BFloat16Conv::reshape(const ConvParameters& p, size_t /*num_threads*/) {
  parameters_ = p;
  channels_ = rounded_channels(p);
  height_ = seen(p.height, p.output[1], p.weight[1]);
  width_ = round_up(seen(p.width, p.output[2], p.weight[2]), p.width.stride);
  ETX_RETURN_IF_ERROR(taps_.assign(runs(p)));
  const size_t taps_of_row = taps_.size() / p.weight[1];
  for (size_t i = 0; i < taps_.size(); ++i) {
    const size_t row = i / taps_of_row * p.height.dilation, column = i % taps_of_row * p.width.dilation;
    taps_[i] = (row * width_ + column) * channels_;
  }
  const BFloat16Tile& tile = *bfloat16_tile();
  in_place_ = p.input_type == DType::BFloat16 && is_pointwise(p) && channels_ == p.input[3] &&
      p.output.numel(0, 3) >= (tile.whole_groups ? tile.group_rows : 1);
  ETX_RETURN_IF_ERROR(find_groups(tile));
  return in_place_ || p.output.numel() == 0 ? 0 : p.output[0] * image_ * sizeof(uint16_t);
}

// A group is of output pixels that lie equally far apart in the image that is read. These may be pixels of one row, or
// those of all rows one after the other with some in between that are none: whatever takes less time.
Status BFloat16Conv::find_groups(const BFloat16Tile& tile) {
  constexpr size_t kFewRows = 4; // of a group take as long
  const ConvParameters& p = parameters_;
  const size_t columns = p.output[2], pixels = p.output.numel(0, 3);
  const size_t images = pixels == 0 ? 0 : in_place_ ? 1 : p.output[0];
  const size_t rows = images == 0 ? 0 : pixels / images / columns;
  const size_t pitch = p.height.stride * width_ / p.width.stride; // from one row to the next, in pixels of a group
  const size_t all_rows = rows == 0 ? 0 : (rows - 1) * pitch + columns;
  const auto groups_of = [&](size_t count) { return divide_up(count, tile.group_rows); };
  const auto time_of = [&](size_t count) {
    return groups_of(count) * std::max(tile.whole_groups ? tile.group_rows : kFewRows, count / groups_of(count));
  };
  const bool in_rows = rows > 0 && rows * time_of(columns) < time_of(all_rows);
  const size_t line = in_rows ? columns : all_rows, lines = in_rows ? rows : std::min<size_t>(rows, 1);
  const size_t groups_of_line = groups_of(line), count = lines * groups_of_line;

  ETX_RETURN_IF_ERROR(firsts_.assign(images * count));
  ETX_RETURN_IF_ERROR(counts_.assign(firsts_.size()));
  ETX_RETURN_IF_ERROR(offsets_.assign(round_up(firsts_.size(), tile.groups()) * tile.group_rows));
  std::fill_n(offsets_.data(), offsets_.size(), kNoRow);
  const size_t step = p.width.stride * channels_;
  image_ = height_ * width_ * channels_;
  for (size_t i = 0; i < count; ++i) {
    const size_t g = i % groups_of_line, before = i / groups_of_line * pitch;
    const size_t begin = tile.whole_groups ? g * tile.group_rows : line * g / groups_of_line;
    const size_t end = tile.whole_groups ? std::min(line, begin + tile.group_rows) : line * (g + 1) / groups_of_line;
    // All rows of a whole group are there.
    const size_t first = in_place_ && tile.whole_groups ? std::min(begin, line - tile.group_rows) : begin;
    firsts_[i] = (before + first) * step;
    counts_[i] = end - first;
    for (size_t position = begin; position < end; ++position) {
      const size_t row = (before + position) / pitch, column = (before + position) % pitch;
      if (column < columns) {
        offsets_[i * tile.group_rows + position - first] = (row * columns + column) * p.output[3];
      }
    }
    const size_t last = firsts_[i] + ((tile.whole_groups ? tile.group_rows : counts_[i]) - 1) * step;
    image_ = std::max(image_, last + taps_[taps_.size() - 1] + channels_);
  }
  for (size_t i = count; i < firsts_.size(); ++i) {
    const size_t image = i / count, g = i % count;
    firsts_[i] = image * image_ + firsts_[g];
    counts_[i] = counts_[g];
    for (size_t r = 0; r < tile.group_rows; ++r) {
      const size_t offset = offsets_[g * tile.group_rows + r];
      offsets_[i * tile.group_rows + r] = offset == kNoRow ? kNoRow : image * p.output.numel(1, 4) + offset;
    }
  }
  return {};
}

// Neighbouring pixels, each padded to `channels_`.
template <typename T>
void BFloat16Conv::round_pixels(const T* from, size_t count, uint16_t* to) const {
  const size_t channels = parameters_.input[3];
  if (channels == channels_) {
    round_run(from, to, count * channels);
    return;
  }
  for (size_t i = 0; i < count; ++i, from += channels, to += channels_) {
    round_run(from, to, channels);
    std::fill_n(to + channels, channels_ - channels, uint16_t{0});
  }
}

template <typename T>
void BFloat16Conv::round_image(const T* x, uint16_t* rounded, pthreadpool_t pool) const {
  const ConvParameters& p = parameters_;
  const size_t channels = p.input[3], line = width_ * channels_;
  const size_t left = std::min(p.width.padding, width_), inside = std::min(p.input[2], width_ - left);
  parallel_for(pool, p.input[0] * height_, kGrain / (line + 1) + 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t image = i / height_, row = i % height_;
      if (row % p.height.stride > p.height.dilation * (p.weight[1] - 1)) {
        continue; // no window sees it
      }
      uint16_t* to = rounded + image * image_ + row * line;
      if (row < p.height.padding || row - p.height.padding >= p.input[1]) {
        std::fill_n(to, line, uint16_t{0});
        continue;
      }
      const T* from = x + (image * p.input[1] + row - p.height.padding) * p.input[2] * channels;
      uint16_t* const line_end = to + line;
      to = std::fill_n(to, left * channels_, uint16_t{0});
      round_pixels(from, inside, to);
      std::fill(to + inside * channels_, line_end, uint16_t{0});
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

// But for where it is.
BFloat16Output BFloat16Conv::new_output(const KernelArguments& arguments) const {
  BFloat16Output output;
  output.columns = parameters_.weight[0];
  output.bias = arguments.input<float>(2);
  output.min = parameters_.min;
  output.max = parameters_.max;
  return output;
}

// Calls function(output, x, rows) with what multiply_bfloat16_panels() takes, but for where the output is.
template <typename Function>
void BFloat16Conv::with_problem(const KernelArguments& arguments, const Function& function) const {
  const ConvParameters& p = parameters_;
  const uint16_t* const image = prepare_image(arguments);
  BFloat16Output output = new_output(arguments);
  BFloat16Rows x{};
  x.stride = p.width.stride * channels_;
  x.taps = {taps_.data(), taps_.size()};
  x.run = round_up(run_of(p), bfloat16_tile()->run_multiple);
  const size_t groups = bfloat16_tile()->groups();
  function(output, x, [&, groups](size_t i, BFloat16Rows* strip, BFloat16Offsets*) {
    const size_t first = i * groups;
    for (size_t g = 0; g < groups; ++g) {
      const bool is_there = first + g < firsts_.size();
      strip->set_group(g, image + firsts_[is_there ? first + g : first], is_there ? counts_[first + g] : 0);
    }
    return offsets_.data() + i * kBFloat16Rows;
  });
}

size_t BFloat16Conv::strips() const {
  const size_t groups = bfloat16_tile()->groups();
  return divide_up(firsts_.size(), groups);
}

// Of the image.
size_t BFloat16Conv::strip_bytes() const {
  return kBFloat16Rows * parameters_.width.stride * channels_ * sizeof(uint16_t);
}

void BFloat16Conv::run(const KernelArguments& arguments) {
  if (firsts_.size() == 0) {
    return;
  }
  with_problem(arguments, [&](BFloat16Output& output, const BFloat16Rows& x, const auto& rows) {
    output.y = arguments.output<float>(0);
    multiply_bfloat16_panels(
        arguments.input<char>(1), output, x, strips(), kBlockBytes / strip_bytes() + 1, rows, arguments.pool);
  });
}

// How many strips the tail takes at once; 0: too few for the threads, so that the whole output is made first.
size_t BFloat16Conv::tail_strips(size_t num_threads) const {
  const size_t output_bytes = kBFloat16Rows * parameters_.output[3] * sizeof(float);
  const ConvParameters& p = parameters_;
  const size_t least = packed_bytes(p, 1) > kLargeWeightBytes ? kMinStrips : 1;
  const size_t most = std::max(least, std::min(kPartBytes / output_bytes, kBlockBytes / strip_bytes() + 1));
  if (num_threads <= 1) {
    return std::min(most, std::max<size_t>(strips(), 1));
  }
  return strips() < 2 * num_threads * least ? 0 : std::max(least, std::min(most, strips() / (4 * num_threads)));
}

size_t BFloat16Conv::tail_bytes(size_t num_threads) const {
  const size_t block = tail_strips(num_threads), rows = kBFloat16Rows * block;
  return block == 0 ? parameters_.output.numel() * sizeof(float)
                    : std::max<size_t>(num_threads, 1) * rows * parameters_.output[3] * sizeof(float);
}

void BFloat16Conv::run_into(const KernelArguments& arguments, void* scratch, const Tail& tail) {
  if (firsts_.size() == 0) {
    return;
  }
  const size_t threads = threads_of(arguments.pool);
  const size_t block = tail_strips(threads), columns = parameters_.output[3];
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
        kBFloat16Rows * block * columns * sizeof(float),
        arguments.input<char>(1),
        output,
        x,
        strips(),
        block,
        rows,
        arguments.pool);
  });
}

// Of a strip.
bool BFloat16Conv::reads_pixels_in_place() const {
  return parameters_.input_type == DType::BFloat16 && channels_ == parameters_.input[3] &&
      !bfloat16_tile()->whole_groups;
}

size_t BFloat16Conv::strip_scratch(size_t rows) const {
  const size_t pixels = round_up(rows * parameters_.input[2], kBFloat16Rows); // whole groups
  return reads_pixels_in_place() ? 0 : pixels * channels_ * sizeof(uint16_t);
}

void BFloat16Conv::run_strip(const KernelArguments& arguments, const Strip& strip) {
  const ConvParameters& p = parameters_;
  const size_t count = strip.rows.count() * p.input[2], first = strip.rows.begin * p.input[2] * p.input[3];
  uint16_t* const rounded = static_cast<uint16_t*>(arguments.scratch);
  const uint16_t* pixels = rounded;
  if (p.input_type != DType::BFloat16) {
    round_pixels(static_cast<const float*>(strip.input) + first, count, rounded);
  } else if (const uint16_t* const from = static_cast<const uint16_t*>(strip.input) + first; reads_pixels_in_place()) {
    pixels = from;
  } else {
    round_pixels(from, count, rounded);
  }
  BFloat16Output output = new_output(arguments);
  output.y = strip.output;
  const size_t whole_pixel = 0;
  BFloat16Rows x{};
  x.stride = channels_;
  x.taps = {&whole_pixel, 1};
  x.run = round_up(run_of(p), bfloat16_tile()->run_multiple);
  multiply_bfloat16_panels(
      arguments.input<char>(1),
      output,
      x,
      divide_up(count, kBFloat16Rows),
      kBlockBytes / strip_bytes() + 1,
      [&](size_t i, BFloat16Rows* rows, BFloat16Offsets* offsets) {
        const auto offset_of = [&](size_t pixel) { return pixel * output.columns; };
        return set_strip(pixels, count, i, offset_of, rows, offsets);
      },
      /*pool=*/nullptr);
}

} // namespace executorch::backends::et_xnnpack
