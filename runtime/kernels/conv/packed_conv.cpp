// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "packed_conv.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/caches.h"
#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kPatchFloats = 1 << 18, kMinPixels = 96, kGrain = 16384;

// Faster than memcpy() for runs of a few channels.
inline void copy_run(const float* from, float* to, size_t count) {
  constexpr size_t kFew = 64, kStep = 4;
  if (count < kStep || count > kFew) {
    std::memcpy(to, from, count * sizeof(float));
    return;
  }
  for (size_t i = 0; i + kStep < count; i += kStep) {
    std::memcpy(to + i, from + i, kStep * sizeof(float));
  }
  std::memcpy(to + count - kStep, from + count - kStep, kStep * sizeof(float));
}

// Calls function with the number of taps of each phase (ConvPhases).
template <typename Function>
void for_each_phase(
    const ConvParameters& p, const ConvParameters::Axis& axis, size_t kernel, const Function& function) {
  for (size_t tap = 0; p.by_tap && tap < kernel; ++tap) {
    function(1);
  }
  if (p.by_tap) {
    return;
  }
  if (!p.transposed || axis.stride == 1) {
    function(kernel);
    return;
  }
  const auto is_same = [&](size_t a, size_t b) { return (b - a) * axis.dilation % axis.stride == 0; };
  for (size_t tap = 0; tap < kernel; ++tap) {
    size_t earlier = 0, count = 0;
    for (size_t other = 0; other < kernel; ++other) {
      (other < tap ? earlier : count) += is_same(std::min(tap, other), std::max(tap, other));
    }
    if (earlier == 0) {
      function(count);
    }
  }
}

float limited(float value, const ConvParameters& p) {
  const float raised = value < p.min ? p.min : value; // keeps NaN
  return raised > p.max ? p.max : raised;
}

Status assign_phases(const ConvParameters& p, ConvPhases* rows, ConvPhases* columns) {
  if (p.by_tap) {
    ETX_RETURN_IF_ERROR(rows->assign_taps(p.height, p.weight[1], p.input[1]));
    return columns->assign_taps(p.width, p.weight[2], p.input[2]);
  }
  ETX_RETURN_IF_ERROR(rows->assign(p.height, p.weight[1], p.transposed));
  return columns->assign(p.width, p.weight[2], p.transposed);
}

// Where the numbers of a group begin among those of all output channels; null if there are none.
const float* of_group(const float* channels, size_t group, size_t columns) {
  return channels == nullptr ? nullptr : channels + group * columns;
}

} // namespace

Status ConvPhases::assign(const ConvParameters::Axis& axis, size_t kernel, bool transposed) {
  const auto stride = transposed ? static_cast<int64_t>(axis.stride) : 1;
  const auto reach_of = [&](size_t tap) {
    return static_cast<int64_t>(tap * axis.dilation) - static_cast<int64_t>(axis.padding);
  };
  const auto first_of = [&](size_t tap) { return (reach_of(tap) % stride + stride) % stride; };
  const auto offset_of = [&](size_t tap) {
    return transposed ? (first_of(tap) - reach_of(tap)) / stride : reach_of(tap);
  };
  ETX_RETURN_IF_ERROR(taps_.assign(kernel));
  for (size_t tap = 0; tap < kernel; ++tap) {
    taps_[tap] = {offset_of(tap), tap};
  }
  std::sort(taps_.begin(), taps_.end(), [&](const ConvPhase::Tap& a, const ConvPhase::Tap& b) {
    return std::pair(first_of(a.tap), a.offset) < std::pair(first_of(b.tap), b.offset);
  });
  const auto is_new = [&](size_t i) { return i == 0 || first_of(taps_[i].tap) != first_of(taps_[i - 1].tap); };
  size_t count = 0;
  for (size_t i = 0; i < taps_.size(); ++i) {
    count += is_new(i);
  }
  ETX_RETURN_IF_ERROR(phases_.assign(count));
  ConvPhase* next = phases_.begin();
  for (size_t i = 0; i < taps_.size();) {
    const size_t begin = i++;
    while (i < taps_.size() && !is_new(i)) {
      ++i;
    }
    *next++ = {
        static_cast<size_t>(first_of(taps_[begin].tap)),
        transposed ? axis.stride : 1,
        transposed ? 1 : axis.stride,
        {&taps_[begin], i - begin}};
  }
  return {};
}

Status ConvPhases::assign_taps(const ConvParameters::Axis& axis, size_t kernel, size_t input) {
  ETX_RETURN_IF_ERROR(taps_.assign(kernel));
  ETX_RETURN_IF_ERROR(phases_.assign(kernel));
  for (size_t tap = 0; tap < kernel; ++tap) {
    const auto [first, end] = positions_seeing(axis, tap, input);
    const size_t offset = first * axis.stride + tap * axis.dilation - axis.padding;
    taps_[tap] = {static_cast<int64_t>(offset), tap};
    phases_[tap] = {first, 1, axis.stride, {&taps_[tap], 1}, end};
  }
  return {};
}

std::optional<std::string> PackedConv::packed_layout(const ConvParameters& p, size_t i) {
  if (i != 1) {
    return std::nullopt;
  }
  std::string layout = low_precision_layout(p.precision) + " of " + std::to_string(p.groups) + " groups";
  if (p.by_tap) {
    layout += " by tap";
  }
  if (p.transposed) {
    for (const ConvParameters::Axis& axis : {p.height, p.width}) {
      for (const size_t number : {axis.stride, axis.padding, axis.dilation}) {
        layout += " " + std::to_string(number);
      }
    }
  }
  return layout;
}

size_t PackedConv::packed_bytes(const ConvParameters& p, size_t /*i*/) {
  size_t bytes = 0; // of a group; each phase has panels of its own
  for_each_phase(p, p.height, p.weight[1], [&](size_t rows) {
    for_each_phase(p, p.width, p.weight[2], [&](size_t columns) {
      bytes += low_precision_panels_bytes(p.precision, p.weight[0] / p.groups, rows * columns * p.weight[3]);
    });
  });
  return p.groups * bytes;
}

Status PackedConv::pack(const ConvParameters& p, size_t /*i*/, const void* original, void* packed) {
  const Shape& shape = p.weight;
  const size_t columns = shape[0] / p.groups, depth = shape.numel(1, 4);
  const char* from = static_cast<const char*>(original);
  char* to = static_cast<char*>(packed);
  ConvPhases rows, column_phases;
  ETX_RETURN_IF_ERROR(assign_phases(p, &rows, &column_phases));
  Array<size_t> taps;
  for (size_t group = 0; group < p.groups; ++group) {
    for (const ConvPhase& row : rows) {
      for (const ConvPhase& column : column_phases) {
        ETX_RETURN_IF_ERROR(taps.assign(row.taps.size() * column.taps.size()));
        size_t* next = taps.begin();
        for (const ConvPhase::Tap& kh : row.taps) {
          for (const ConvPhase::Tap& kw : column.taps) {
            *next++ = kh.tap * shape[2] + kw.tap;
          }
        }
        pack_low_precision(p.precision, from, columns, depth, {taps.data(), taps.size()}, shape[3], to);
        to += low_precision_panels_bytes(p.precision, columns, taps.size() * shape[3]);
      }
    }
    from += columns * depth * element_size(p.precision.type);
  }
  return {};
}

StatusOr<size_t> PackedConv::reshape(const ConvParameters& p, size_t num_threads) {
  parameters_ = p;
  ETX_RETURN_IF_ERROR(scales_.assign(p.weight_scales, p.weight[0]));
  ETX_RETURN_IF_ERROR(assign_phases(p, &rows_, &columns_));
  product_ = {};
  product_.precision = p.precision;
  product_.columns = p.weight[0] / p.groups;
  product_.y_stride = p.weight[0];
  product_.adds = p.by_tap;
  if (!p.by_tap) {
    product_.min = p.min;
    product_.max = p.max;
  }
  is_image_ = is_pointwise(p);
  num_threads = std::max<size_t>(num_threads, 1);
  patches_bytes_ = offsets_bytes_ = 0;
  size_t product_bytes = 0;
  for (const ConvPhase& row : rows_) {
    for (const ConvPhase& column : columns_) {
      const LowPrecisionProduct product = product_of(row, column);
      product_bytes = std::max(product_bytes, low_precision_product_scratch(product, num_threads));
      if (!is_image_) {
        const size_t gathered = sees_image(row, column) ? 0 : product.rows * product.depth * sizeof(float);
        patches_bytes_ = std::max(patches_bytes_, gathered);
        offsets_bytes_ = std::max(offsets_bytes_, product.rows * sizeof(size_t));
      }
    }
  }
  patches_bytes_ = round_up_to_alignment(patches_bytes_);
  offsets_bytes_ = round_up_to_alignment(offsets_bytes_);
  return patches_bytes_ + offsets_bytes_ + product_bytes;
}

void PackedConv::run(const KernelArguments& arguments) {
  if (parameters_.output.numel() == 0) {
    return;
  }
  fill_unseen(arguments);
  const char* panels = arguments.input<char>(1);
  for (size_t group = 0; group < parameters_.groups; ++group) {
    for (const ConvPhase& row : rows_) {
      for (const ConvPhase& column : columns_) {
        LowPrecisionProduct product = product_of(row, column);
        product.panels = panels;
        product.scale = of_group(scales_.scale(), group, product.columns);
        product.zero_point = of_group(scales_.zero_point(), group, product.columns);
        product.bias = of_group(arguments.input<float>(2), group, product.columns);
        if (product.rows > 0) {
          multiply(product, group, row, column, arguments);
        }
        panels += low_precision_panels_bytes(product.precision, product.columns, product.depth);
      }
    }
  }
  if (parameters_.by_tap) {
    limit(arguments);
  }
}

size_t PackedConv::pixels_of(const ConvPhase& row, const ConvPhase& column) const {
  const Shape& output = parameters_.output;
  return output[0] * row.count(output[1]) * column.count(output[2]);
}

// With as many rows as are computed at a time.
LowPrecisionProduct PackedConv::product_of(const ConvPhase& row, const ConvPhase& column) const {
  LowPrecisionProduct product = product_;
  product.depth = row.taps.size() * column.taps.size() * parameters_.weight[3];
  product.rows = pixels_of(row, column);
  product.x_stride = sees_image(row, column) ? parameters_.input[3] : product.depth;
  if (!is_image_) {
    const size_t floats = product.precision.in_blocks ? Caches::get().l2 / (2 * sizeof(float)) : kPatchFloats;
    product.rows = std::min(product.rows, std::max(kMinPixels, floats / product.depth));
  }
  return product;
}

// Whether each pixel of these phases sees the one of the image that comes next.
bool PackedConv::sees_image(const ConvPhase& row, const ConvPhase& column) const {
  const auto sees_axis = [this](const ConvPhase& phase, size_t axis) {
    return phase.taps.size() == 1 && phase.taps[0].offset == 0 && phase.stride == 1 &&
        phase.count(parameters_.output[axis]) == parameters_.input[axis];
  };
  return sees_axis(row, 1) && sees_axis(column, 2);
}

void PackedConv::multiply(
    LowPrecisionProduct& product,
    size_t group,
    const ConvPhase& row,
    const ConvPhase& column,
    const KernelArguments& arguments) const {
  const float* const channels = arguments.input<float>(0) + group * parameters_.weight[3];
  float* const patches = static_cast<float*>(arguments.scratch);
  size_t* const offsets = reinterpret_cast<size_t*>(static_cast<char*>(arguments.scratch) + patches_bytes_);
  void* const scratch = reinterpret_cast<char*>(offsets) + offsets_bytes_;
  product.y = arguments.output<float>(0) + group * product.columns;
  if (is_image_) {
    product.x = channels;
    multiply_low_precision(product, scratch, arguments.pool);
    return;
  }
  product.row_offsets = offsets;
  const size_t pixels = pixels_of(row, column), chunk = product.rows;
  const bool gathers = !sees_image(row, column);
  for (size_t pixel = 0; pixel < pixels; pixel += chunk) {
    product.x = gathers ? patches : channels + pixel * product.x_stride;
    product.rows = std::min(chunk, pixels - pixel);
    parallel_for(arguments.pool, product.rows, kGrain / (product.depth + 1) + 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const Pixel at = place_of(pixel + i, row, column);
        if (gathers) {
          gather(channels, at, row, column, patches + i * product.depth);
        }
        offsets[i] = offset_of(at, row, column);
      }
    });
    multiply_low_precision(product, scratch, arguments.pool);
  }
}

PackedConv::Pixel PackedConv::place_of(size_t i, const ConvPhase& row, const ConvPhase& column) const {
  const size_t height = row.count(parameters_.output[1]), width = column.count(parameters_.output[2]);
  return {i / width / height, i / width % height, i % width};
}

// In the output.
size_t PackedConv::offset_of(const Pixel& pixel, const ConvPhase& row, const ConvPhase& column) const {
  const Shape& output = parameters_.output;
  const size_t y = row.first + pixel.row * row.step, x = column.first + pixel.column * column.step;
  return ((pixel.image * output[1] + y) * output[2] + x) * output[3];
}

// Writes what the taps of one pixel of these phases see, [KH, KW, IC].
void PackedConv::gather(
    const float* x, const Pixel& pixel, const ConvPhase& row, const ConvPhase& column, float* patch) const {
  const Shape& input = parameters_.input;
  const size_t channels = parameters_.weight[3], line = column.taps.size() * channels;
  const auto size = [&](size_t axis) { return static_cast<int64_t>(input[axis]); };
  const auto top = static_cast<int64_t>(pixel.row * row.stride);
  const auto left = static_cast<int64_t>(pixel.column * column.stride);
  const float* const from = x + pixel.image * input.numel(1, 4);
  const int64_t first = left + column.taps[0].offset, last = left + column.last().offset;
  const bool is_inside = first >= 0 && last < size(2);
  const bool is_run = is_inside && channels == input[3] && column.is_dense();
  for (const ConvPhase::Tap& kh : row.taps) {
    const int64_t h = top + kh.offset;
    if (h < 0 || h >= size(1)) {
      std::fill_n(patch, line, 0.0f);
      patch += line;
      continue;
    }
    const float* const pixels = from + static_cast<size_t>(h) * input[2] * input[3];
    if (is_run) {
      copy_run(pixels + static_cast<size_t>(first) * channels, patch, line);
      patch += line;
      continue;
    }
    for (const ConvPhase::Tap& kw : column.taps) {
      const int64_t w = left + kw.offset;
      if (is_inside || (w >= 0 && w < size(2))) {
        copy_run(pixels + static_cast<size_t>(w) * input[3], patch, channels);
      } else {
        std::fill_n(patch, channels, 0.0f);
      }
      patch += channels;
    }
  }
}

// Pixels that no tap writes to are the bias, and so are all to which taps add.
void PackedConv::fill_unseen(const KernelArguments& arguments) const {
  const ConvParameters& p = parameters_;
  if (!p.by_tap && (!p.transposed || (rows_.size() >= p.height.stride && columns_.size() >= p.width.stride))) {
    return;
  }
  const float* const bias = arguments.input<float>(2);
  float* const y = arguments.output<float>(0);
  const size_t channels = p.output[3];
  parallel_for(arguments.pool, p.output.numel(0, 3), kGrain / channels + 1, [&](size_t begin, size_t end) {
    for (size_t i = begin * channels; i < end * channels; ++i) {
      const float value = bias == nullptr ? 0.0f : bias[i % channels];
      y[i] = p.by_tap ? value : limited(value, p);
    }
  });
}

void PackedConv::limit(const KernelArguments& arguments) const {
  const ConvParameters& p = parameters_;
  if (p.min == -std::numeric_limits<float>::infinity() && p.max == std::numeric_limits<float>::infinity()) {
    return;
  }
  float* const y = arguments.output<float>(0);
  parallel_for(arguments.pool, p.output.numel(), kGrain, [&](size_t begin, size_t end) {
    std::transform(y + begin, y + end, y + begin, [&](float value) { return limited(value, p); });
  });
}

} // namespace executorch::backends::et_xnnpack
