// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "conv.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/caches.h"
#include "runtime/base/memory.h"
#include "runtime/base/round_up.h"
#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kPatchFloats = 1 << 18, kMinPixels = 120, kGrain = 16384;
constexpr size_t kDepthwiseGrain = 65536; // multiplications

// Gives the input position that tap k of output o reads; false if there is none.
template <bool kTransposed>
bool source(size_t o, size_t k, const ConvParameters::Axis& axis, size_t size, size_t* i) {
  if (kTransposed) {
    const size_t shifted = o + axis.padding - k * axis.dilation;
    *i = shifted / axis.stride;
    return o + axis.padding >= k * axis.dilation && shifted % axis.stride == 0 && *i < size;
  }
  *i = o * axis.stride + k * axis.dilation - axis.padding;
  return *i < size; // also false if it wrapped below 0
}

Depthwise depthwise_of(const ConvParameters& p) {
  const auto axis = [&](size_t i, const ConvParameters::Axis& a) {
    return Depthwise::Axis{p.input[i], p.output[i], p.weight[i], a.stride, a.padding, a.dilation};
  };
  Depthwise conv;
  conv.images = p.input[0];
  conv.channels = p.output[3];
  conv.group = p.weight[3];
  conv.part = {0, conv.channels};
  conv.height = axis(1, p.height);
  conv.width = axis(2, p.width);
  conv.min = p.min;
  conv.max = p.max;
  return conv;
}

size_t rows_at_once(const Depthwise& conv) {
  const size_t taps = conv.height.kernel * conv.width.kernel * conv.group;
  return kDepthwiseGrain / (conv.width.output * conv.channels * taps + 1) + 1;
}

// As many channels as find what windows of a row see in the second-level cache when the next row is computed.
size_t channels_at_once(const Depthwise& conv) {
  const size_t seen = conv.height.kernel * conv.width.input * element_size(conv.input_type); // of a channel
  const size_t l2 = Caches::get().l2;
  if (seen * conv.channels <= l2 / 4) {
    return conv.channels;
  }
  return std::max<size_t>(l2 / 8 / seen / kPartChannels, 1) * kPartChannels;
}

// As many rows as gain from that.
size_t rows_in_band(const Depthwise& conv, size_t num_threads) {
  constexpr size_t kMostRows = 8, kBandsOfThread = 2;
  const size_t grain = rows_at_once(conv);
  if (channels_at_once(conv) >= conv.channels) {
    return grain;
  }
  const size_t rows = conv.images * conv.height.output;
  return std::max(grain, std::min(kMostRows, rows / (kBandsOfThread * num_threads)));
}

// Rows [begin, end) of those of all images.
void compute_band(const Depthwise& conv, DepthwiseRow compute, size_t begin, size_t end, float* output) {
  const size_t line = conv.width.output * conv.channels;
  const size_t channels = channels_at_once(conv);
  Depthwise part = conv;
  for (part.part.begin = 0; part.part.begin < conv.channels; part.part.begin = part.part.end) {
    part.part.end = std::min(part.part.begin + channels, conv.channels);
    for (size_t row = begin; row < end; ++row) {
      compute(part, row, output + (row - begin) * line);
    }
  }
}

void compute_rows(const Depthwise& conv, DepthwiseRow compute, const KernelArguments& arguments) {
  float* const output = arguments.output<float>(0);
  const size_t line = conv.width.output * conv.channels;
  const size_t grain = rows_in_band(conv, threads_of(arguments.pool));
  parallel_for(arguments.pool, conv.images * conv.height.output, grain, [&](size_t begin, size_t end) {
    compute_band(conv, compute, begin, end, output + begin * line);
  });
}

} // namespace

std::pair<size_t, size_t> positions_seeing(const ConvParameters::Axis& axis, size_t tap, size_t input) {
  const size_t reach = tap * axis.dilation;
  const size_t first = reach < axis.padding ? divide_up(axis.padding - reach, axis.stride) : 0;
  const size_t behind = input + axis.padding; // where the padding behind the image begins
  return {first, reach < behind ? (behind - reach - 1) / axis.stride + 1 : 0};
}

float seen_share(const ConvParameters& p) {
  const auto share_of = [&](const ConvParameters::Axis& axis, size_t i) {
    size_t seen = 0;
    for (size_t tap = 0; tap < p.weight[i]; ++tap) {
      const auto [first, end] = positions_seeing(axis, tap, p.input[i]);
      seen += std::max(std::min(end, p.output[i]), first) - first;
    }
    return static_cast<float>(seen) / static_cast<float>(std::max<size_t>(p.weight[i] * p.output[i], 1));
  };
  return share_of(p.height, 1) * share_of(p.width, 2);
}

bool is_pointwise(const ConvParameters& p) {
  return p.weight[1] * p.weight[2] == 1 && p.input[1] == p.output[1] && p.input[2] == p.output[2] &&
      p.height.stride == 1 && p.width.stride == 1 && p.height.padding == 0 && p.width.padding == 0;
}

size_t Conv::reshape(const ConvParameters& parameters, size_t num_threads) {
  parameters_ = parameters;
  const Shape& weight = parameters.weight;
  product_ = {};
  product_.depth = weight.numel(1, 4);
  product_.columns = weight[0] / parameters.groups;
  product_.b_stride = product_.depth;
  product_.b_transposed = true;
  product_.c_stride = weight[0];
  product_.min = parameters.min;
  product_.max = parameters.max;
  const size_t pixels = parameters.output.numel(0, 3);
  if (is_pointwise(parameters)) {
    product_.rows = chunk_ = pixels;
    product_.a_stride = parameters.input[3];
    patches_ = 0;
  } else {
    chunk_ = std::min(pixels, std::max(kMinPixels, kPatchFloats / std::max<size_t>(product_.depth, 1)));
    product_.rows = chunk_;
    product_.a_stride = product_.depth;
    patches_ = round_up_to_alignment(chunk_ * product_.depth * sizeof(float));
  }
  return patches_ + matrix_product_scratch(product_, num_threads);
}

void Conv::run(const KernelArguments& arguments) {
  const float* x = arguments.input<float>(0);
  const float* weight = arguments.input<float>(1);
  const float* bias = arguments.input<float>(2);
  float* y = arguments.output<float>(0);
  float* patches = static_cast<float*>(arguments.scratch);
  void* scratch = static_cast<char*>(arguments.scratch) + patches_;
  const size_t pixels = parameters_.output.numel(0, 3);
  for (size_t group = 0; group < parameters_.groups; ++group) {
    const float* channels = x + group * parameters_.weight[3];
    MatrixProduct product = product_;
    product.b = weight + group * product.columns * product.depth;
    product.bias = bias == nullptr ? nullptr : bias + group * product.columns;
    for (size_t pixel = 0; pixel < pixels; pixel += chunk_) {
      product.rows = std::min(chunk_, pixels - pixel);
      product.c = y + pixel * product.c_stride + group * product.columns;
      if (patches_ == 0) {
        product.a = channels;
      } else {
        const size_t grain = kGrain / (product.depth + 1) + 1;
        parallel_for(arguments.pool, product.rows, grain, [&](size_t begin, size_t end) {
          for (size_t i = begin; i < end; ++i) {
            float* const patch = patches + i * product.depth;
            parameters_.transposed ? gather<true>(channels, pixel + i, patch)
                                   : gather<false>(channels, pixel + i, patch);
          }
        });
        product.a = patches;
      }
      multiply_matrices(product, scratch, arguments.pool);
    }
  }
}

// Writes what the taps of one output pixel see, [KH, KW, IC].
template <bool kTransposed>
void Conv::gather(const float* x, size_t pixel, float* patch) const {
  const Shape &input = parameters_.input, &weight = parameters_.weight, &output = parameters_.output;
  const size_t channels = weight[3];
  const size_t column = pixel % output[2];
  const size_t row = pixel / output[2] % output[1];
  const float* image = x + pixel / output[2] / output[1] * input.numel(1, 4);
  for (size_t kh = 0; kh < weight[1]; ++kh) {
    size_t h;
    const bool row_inside = source<kTransposed>(row, kh, parameters_.height, input[1], &h);
    for (size_t kw = 0; kw < weight[2]; ++kw, patch += channels) {
      size_t w;
      if (row_inside && source<kTransposed>(column, kw, parameters_.width, input[2], &w)) {
        std::memcpy(patch, image + (h * input[2] + w) * input[3], channels * sizeof(float));
      } else {
        std::fill_n(patch, channels, 0.0f);
      }
    }
  }
}

std::optional<std::string> DepthwiseConv::packed_layout(const ConvParameters& p, size_t i) {
  return i == 1 ? std::optional(std::string(name_of(p.precision.type)) + " taps, channels") : std::nullopt;
}

size_t DepthwiseConv::packed_bytes(const ConvParameters& p, size_t /*i*/) {
  return p.weight.numel() * element_size(p.precision.type);
}

Status DepthwiseConv::pack(const ConvParameters& p, size_t /*i*/, const void* original, void* packed) {
  pack_depthwise(p.precision.type, original, p.weight[0], p.weight[1] * p.weight[2], packed);
  return {};
}

StatusOr<size_t> DepthwiseConv::reshape(const ConvParameters& p, size_t num_threads) {
  ETX_RETURN_IF_ERROR(scales_.assign(p.weight_scales, p.weight[0]));
  conv_ = depthwise_of(p);
  conv_.input_type = p.input_type;
  conv_.type = p.precision.type;
  conv_.scale = scales_.scale();
  conv_.zero_point = scales_.zero_point();
  packs_weight_ = p.packs_weight;
  const size_t line = std::max<size_t>(conv_.width.output * conv_.channels, 1) * sizeof(float);
  tail_rows_ = std::min(rows_in_band(conv_, num_threads), std::max<size_t>(Caches::get().l2 / 2 / line, 1));
  multiplier_ = p.input[3] == 0 ? 1 : p.output[3] / p.input[3];
  const size_t repeated = multiplier_ == 1 ? 0 : p.input.numel(0, 3) * p.output[3] * sizeof(float);
  return weight_bytes() + round_up_to_alignment(repeated);
}

// Of scratch memory for a weight that is not packed ahead.
size_t DepthwiseConv::weight_bytes() const {
  const size_t taps = conv_.height.kernel * conv_.width.kernel;
  return packs_weight_ ? 0 : round_up_to_alignment(conv_.channels * taps * element_size(conv_.type));
}

// With what changes from run to run. REQUIRES: there are channels
Depthwise DepthwiseConv::prepare(const KernelArguments& arguments) const {
  Depthwise conv = conv_;
  conv.input = arguments.input<void>(0);
  conv.weight = arguments.input<void>(1);
  if (!packs_weight_) {
    const size_t taps = conv.height.kernel * conv.width.kernel;
    pack_depthwise(conv.type, conv.weight, conv.channels, taps, arguments.scratch);
    conv.weight = arguments.scratch;
  }
  conv.bias = arguments.input<float>(2);
  if (multiplier_ > 1) {
    float* const repeated = reinterpret_cast<float*>(static_cast<char*>(arguments.scratch) + weight_bytes());
    repeat_channels(arguments, repeated);
    conv.input = repeated;
  }
  return conv;
}

// The image with each channel as often as it is seen.
void DepthwiseConv::repeat_channels(const KernelArguments& arguments, float* to) const {
  const float* const from = arguments.input<float>(0);
  const size_t pixels = conv_.images * conv_.height.input * conv_.width.input;
  const auto repeat = [&](auto times) {
    parallel_for(arguments.pool, pixels, kGrain / conv_.channels + 1, [&](size_t begin, size_t end) {
      const size_t channels = conv_.channels / times;
      for (size_t i = begin * channels; i < end * channels; ++i) {
        for (size_t k = 0; k < times; ++k) {
          to[i * times + k] = from[i];
        }
      }
    });
  };
  multiplier_ == 2 ? repeat(std::integral_constant<size_t, 2>()) : repeat(multiplier_);
}

void DepthwiseConv::run(const KernelArguments& arguments) {
  if (conv_.channels == 0) {
    return;
  }
  const Depthwise conv = prepare(arguments);
  compute_rows(conv, row_, arguments);
}

size_t DepthwiseConv::tail_bytes(size_t num_threads) const {
  return num_threads * round_up_to_alignment(tail_rows_ * conv_.width.output * conv_.channels * sizeof(float));
}

void DepthwiseConv::run_into(const KernelArguments& arguments, void* scratch, const Tail& tail) {
  if (conv_.channels == 0) {
    return;
  }
  const Depthwise conv = prepare(arguments);
  const size_t rows = conv.images * conv.height.output;
  const size_t line = conv.width.output * conv.channels;
  parallel_for_with_thread(arguments.pool, divide_up(rows, tail_rows_), [&](size_t thread, size_t i) {
    float* const output = reinterpret_cast<float*>(static_cast<char*>(scratch) + thread * tail_bytes(1));
    const size_t begin = i * tail_rows_, end = std::min(rows, begin + tail_rows_);
    compute_band(conv, row_, begin, end, output);
    tail.take(thread, begin * line, (end - begin) * line, output);
  });
}

RowRange DepthwiseConv::rows_seen(RowRange rows) const {
  const Depthwise::Axis& axis = conv_.height;
  const auto inside = [&axis](size_t padded_row) {
    return std::min(axis.input, padded_row - std::min(padded_row, axis.padding));
  };
  const size_t begin = inside(rows.begin * axis.stride);
  const size_t end = inside((rows.end - 1) * axis.stride + axis.dilation * (axis.kernel - 1) + 1);
  return {begin, std::max(begin, end)};
}

void DepthwiseConv::run_strip(const KernelArguments& arguments, const Strip& strip) {
  if (conv_.channels == 0) {
    return;
  }
  Depthwise conv = prepare(arguments);
  conv.images = 1;
  conv.input = strip.input;
  compute_band(conv, row_, strip.rows.begin, strip.rows.end, strip.output);
}

StatusOr<size_t> RuntimeConv::reshape(const ConvParameters& p, size_t num_threads) {
  is_depthwise_ = p.weight[3] == 1 && p.weight[0] == p.input[3];
  if (is_depthwise_) {
    return depthwise_.reshape(p, num_threads);
  }
  return conv_.reshape(p, num_threads);
}

void RuntimeConv::run(const KernelArguments& arguments) {
  is_depthwise_ ? depthwise_.run(arguments) : conv_.run(arguments);
}

bool GroupedConv::has(const ConvParameters& p) {
  return !p.transposed && p.packs_weight && p.groups * p.weight[3] == p.output[3] && has_grouped_row(depthwise_of(p));
}

std::optional<std::string> GroupedConv::packed_layout(const ConvParameters& /*p*/, size_t i) {
  return i == 1 ? std::optional<std::string>("taps, channels of a group, channels") : std::nullopt;
}

size_t GroupedConv::packed_bytes(const ConvParameters& p, size_t /*i*/) {
  return p.weight.numel() * sizeof(float);
}

Status GroupedConv::pack(const ConvParameters& p, size_t /*i*/, const void* original, void* packed) {
  const float* const from = static_cast<const float*>(original);
  pack_grouped(from, p.weight[0], p.weight[1] * p.weight[2], p.weight[3], static_cast<float*>(packed));
  return {};
}

size_t GroupedConv::reshape(const ConvParameters& p, size_t /*num_threads*/) {
  conv_ = depthwise_of(p);
  return 0;
}

void GroupedConv::run(const KernelArguments& arguments) {
  Depthwise conv = conv_;
  conv.input = arguments.input<float>(0);
  conv.weight = arguments.input<float>(1);
  conv.bias = arguments.input<float>(2);
  compute_rows(conv, row_, arguments);
}

} // namespace executorch::backends::et_xnnpack
