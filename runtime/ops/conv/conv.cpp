// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "conv_kernel.h"
#include "infer_conv.h"
#include "xnnpack_conv.h"
#include "runtime/kernels/conv/winograd_cost.h"
#include "runtime/kernels/gemm/bfloat16_product.h"
#include "runtime/kernels/gemm/block_product.h"
#include "runtime/kernels/simd/isa.h"
#include "runtime/ops/gemm/low_precision_weight.h"
#include "runtime/ops/common/choose.h"

namespace executorch::backends::et_xnnpack {
namespace {

// XNNPACK packs weights when it creates the operator, and counts channels in 32 bits.
bool weights_fit_xnnpack(const NodeContext& node) {
  constexpr size_t kMaxChannels = 1 << 24;
  return node.is_constant(1) && (!node.has_input(2) || node.is_constant(2)) && node.input(0).shape[3] <= kMaxChannels &&
      node.input(1).shape[0] <= kMaxChannels;
}

constexpr Limit kWeightLimit = "XNNPACK takes constant weights with up to 2^24 channels.";

template <typename Attributes>
bool is_depthwise_conv2d(const NodeContext& node) {
  return std::is_same_v<Attributes, schema::Conv2d> && is_depthwise(node);
}

// What PackedConv requires.
template <typename Attributes>
bool fits_packed(const NodeContext& node) {
  return weights_fit_xnnpack(node) &&
      window_limit(window_height<Attributes>(node), window_width<Attributes>(node)) == nullptr;
}
template <typename Attributes>
bool has_large_weight(const NodeContext& node) {
  return node.input(1).shape.numel() / node.attributes<Attributes>().groups() >= kMinLowPrecisionElements;
}

// Whether our kernels multiply with the weight as the program has it, of 16 or 8 bits, which XNNPACK would
// widen to 32 bits.
template <typename Attributes>
bool has_low_precision_weight(const NodeContext& node) {
  const TensorType& weight = node.input(1);
  return is_low_precision(weight) && fits_packed<Attributes>(node) &&
      (weight.quantization != nullptr || is_depthwise_conv2d<Attributes>(node) || has_large_weight<Attributes>(node));
}

// Of shorter runs much would be padding.
bool is_direct_bfloat16(const NodeContext& node) {
  constexpr size_t kMinRun = 16;
  return has_bfloat16_product() && node.attributes<schema::Conv2d>().groups() == 1 &&
      BFloat16Conv::run_of(conv2d_parameters(node)) >= kMinRun;
}

// XNNPACK keeps the sums of a pixel in memory when a depthwise window has more taps than this.
constexpr uint32_t kMaxDepthwiseTaps = 25;

bool is_large_depthwise(const NodeContext& node) {
  const Shape& weight = node.input(1).shape;
  return is_depthwise(node) && weight[1] * weight[2] > kMaxDepthwiseTaps;
}

// Why XNNPACK does not compute either in Float32, or in Float16: it would lose NaN, or spread it.
template <typename Attributes>
Limit special_limit(const NodeContext& node, bool float16) {
  const Shape& weight = node.input(1).shape;
  const size_t columns = weight[0] / node.attributes<Attributes>().groups();
  if (std::is_same_v<Attributes, schema::Conv2d> && is_depthwise(node)) {
    const Window height = window_height<Attributes>(node), width = window_width<Attributes>(node);
    const bool only_scales = height.is_pointwise() && width.is_pointwise();
    return nan_limit(Limited::Depthwise, float16, only_scales ? 0 : weight[1] * weight[2]);
  }
  return nan_limit(Limited::Conv, float16, columns);
}

Limit conv2d_limit(const NodeContext& node) {
  if (is_large_depthwise(node)) {
    return "XNNPACK is slow with depthwise windows of more than 25 taps.";
  }
  if (const Limit limit = operand_limit(node); limit != nullptr) {
    return limit;
  }
  return weights_fit_xnnpack(node)
      ? window_limit(window_height<schema::Conv2d>(node), window_width<schema::Conv2d>(node))
      : kWeightLimit;
}

// Why XNNPACK does not quantize the images of a convolution with this weight itself.
Limit dynamic_quantization_limit(const NodeContext& node, uint32_t groups) {
  const TensorType& weight = node.input(1);
  const bool is_float = node.input(0).quantization == nullptr && node.output().quantization == nullptr &&
      (!node.has_input(2) || node.input(2).quantization == nullptr);
  if (!is_float || weight.quantization == nullptr || weight.quantized_dtype != DType::Int8) {
    return "XNNPACK quantizes images of Float32 for weights of Int8.";
  }
  if (const Limit limit = depth_limit(weight.shape.numel(1, 4)); limit != nullptr) {
    return limit;
  }
  if (!xnnpack_has(Part::Sums)) {
    return kWrongSums;
  }
  if (groups > 1 && weight.shape[3] == 1) {
    return "XNNPACK has no depthwise convolution that quantizes its images.";
  }
  return weight.quantization->scale()->size() > 1 && has_symmetric_channels(weight)
      ? nullptr
      : "XNNPACK takes weights with a scale for each output channel, and zero points of 0.";
}

template <typename Attributes>
Limit quantized_limit(const NodeContext& node) {
  const auto& attributes = node.attributes<Attributes>();
  return attributes.dynamic_quantization() ? dynamic_quantization_limit(node, attributes.groups())
                                           : integer_product_limit(node, attributes.clamp());
}

// How one of the two ops is computed.
struct ConvImplementations {
  Limit (*limit)(const NodeContext& node); // of XNNPACK, whatever the types
  MakeXnnpackKernel xnnpack;
  std::unique_ptr<Kernel> (*low_precision)(const NodeContext& node); // with the weight as the program has it
  std::unique_ptr<Kernel> (*in_bfloat16)(const NodeContext& node);
  bool in_bfloat16_directly; // without gathering patches of the image, which small weights do not pay for
  std::unique_ptr<Kernel> (*in_float32)(const NodeContext& node);
};

template <typename Attributes>
Choice choose_conv(
    const NodeContext& node, const Cpu& cpu, const ChoiceOptions& options, const ConvImplementations& conv) {
  const bool in_bfloat16 = is_in_bfloat16(node, cpu, options) && fits_packed<Attributes>(node) &&
      (conv.in_bfloat16_directly || has_large_weight<Attributes>(node)) && !is_depthwise_conv2d<Attributes>(node);
  if (in_bfloat16) {
    return Choice::kernel(conv.in_bfloat16, options.bfloat16 ? kForcedBFloat16 : kLowPrecision).in_bfloat16();
  }
  const bool is_low_precision = has_low_precision_weight<Attributes>(node);
  if (!node.is_quantized()) {
    Limit limit = conv.limit(node), float16_limit = float16_clamp_limit(node.attributes<Attributes>().clamp());
    if (limit == nullptr) {
      limit = special_limit<Attributes>(node, /*float16=*/false);
      float16_limit = float16_limit != nullptr || !options.float16 ? float16_limit
                                                                   : special_limit<Attributes>(node, /*float16=*/true);
    }
    Choice choice = choose_xnnpack_or_kernel(node, options, limit, conv.xnnpack, conv.in_float32, float16_limit);
    return is_low_precision && !keeps_weight(choice, node.input(1)) ? Choice::kernel(conv.low_precision, kLowPrecision)
                                                                    : choice;
  }
  Limit limit = quantized_limit<Attributes>(node);
  limit = limit != nullptr ? limit : conv.limit(node);
  if (!is_low_precision || (limit == nullptr && options.xnnpack)) {
    return choose_xnnpack_or_kernel(node, options, limit, conv.xnnpack, conv.in_float32);
  }
  return choose_dequantized_but_weight(conv.low_precision, limit);
}

Limit conv_transpose2d_limit(const NodeContext& node) {
  const schema::Size2D& output_padding = *node.attributes<schema::ConvTranspose2d>().output_padding();
  const Window height = window_height<schema::ConvTranspose2d>(node);
  const Window width = window_width<schema::ConvTranspose2d>(node);
  if (const Limit limit = operand_limit(node); limit != nullptr) {
    return limit;
  }
  if (!weights_fit_xnnpack(node)) {
    return kWeightLimit;
  }
  if (output_padding.height() >= height.stride || output_padding.width() >= width.stride) {
    return "XNNPACK takes an output padding below the stride.";
  }
  return window_limit(height, width);
}

// Rows and columns of the tiles in which to compute a Conv2d with fewer multiplications, or 0.
size_t winograd_tile(const NodeContext& node, const Cpu& cpu, const ChoiceOptions& options) {
  const bool in_bfloat16 = is_in_bfloat16(node, cpu, options);
  if (options.winograd_tile == 0 || options.float16 || !is_float32(node) || !node.is_constant(1) ||
      (has_low_precision_weight<schema::Conv2d>(node) && !in_bfloat16)) {
    return 0;
  }
  const size_t speed = in_bfloat16 ? bfloat16_tile()->speed : 1;
  return choose_winograd_tile(conv2d_parameters(node), options.winograd_tile, float_lanes(), Caches::get(), speed);
}

constexpr const char* kSmallGroups = "XNNPACK's vectors have more columns than a group has channels.";

// What XNNPACK would compute between integers.
Choice choose_int8_conv2d(const NodeContext& node, const Cpu& cpu, Choice xnnpack) {
  constexpr const char* kFourProducts = "This CPU adds up four products of 8 bits at once.";
  const auto& attributes = node.attributes<schema::Conv2d>();
  const Shape& weight = node.input(1).shape;
  if (node.input(0).quantization == nullptr || attributes.dilation()->height() != 1 ||
      attributes.dilation()->width() != 1) {
    return xnnpack;
  }
  if (is_depthwise(node)) {
    const bool has = Int8DepthwiseConv::has(weight[1], weight[2], attributes.stride()->width());
    return has ? Choice::kernel(make_int8_depthwise_conv2d, kFourProducts) : xnnpack;
  }
  if (attributes.groups() > 1) {
    return Int8GroupedConv::has(int8_conv2d_parameters(node)) ? Choice::kernel(make_int8_grouped_conv2d, kSmallGroups)
                                                              : xnnpack;
  }
  const bool sees_one_pixel = weight[1] * weight[2] == 1;
  if (weight.numel() >= (sees_one_pixel ? cpu.blocks.int8_linear : cpu.blocks.int8_conv)) {
    return Choice::kernel(make_int8_block_conv2d, kInt8Blocks);
  }
  return Int8PixelConv::has(int8_conv2d_parameters(node)) ? Choice::kernel(make_int8_pixel_conv2d, kFourProducts)
                                                          : xnnpack;
}

// XNNPACK loads each pixel of a depthwise convolution for each window that sees it.
bool is_fast_depthwise(const NodeContext& node) {
  const auto& attributes = node.attributes<schema::Conv2d>();
  const size_t kernel = node.input(1).shape[2];
  return is_depthwise(node) &&
      loads_pixels_once({0, 0, kernel, attributes.stride()->width(), 0, attributes.dilation()->width()});
}

Choice choose_depthwise(std::string reason) {
  return Choice::kernel(make_depthwise_conv2d, std::move(reason))
      .leading()
      .in_strips(make_depthwise_conv2d, /*with_window=*/true);
}

// Whether much of what the taps see is padding, as where windows are dilated as far as the image is wide.
bool sees_much_padding(const NodeContext& node) {
  constexpr float kMostSeen = 0.75f;
  constexpr size_t kMinChannels = 16; // in and out, of a group
  const Shape& weight = node.input(1).shape;
  return weight[3] >= kMinChannels && weight[0] / node.attributes<schema::Conv2d>().groups() >= kMinChannels &&
      seen_share(conv2d_parameters(node)) <= kMostSeen && fits_packed<schema::Conv2d>(node);
}

constexpr size_t kFewChannels = 16;

// Whether no window overlaps another.
bool is_patch(const NodeContext& node) {
  const schema::Size2D& stride = *node.attributes<schema::Conv2d>().stride();
  const Shape& weight = node.input(1).shape;
  return stride.height() >= weight[1] && stride.width() >= weight[2];
}

// XNNPACK finds few channels by each pointer. Where windows are small as well, storing the sums takes the time.
bool has_few_channels(const NodeContext& node) {
  constexpr size_t kMinDepth = 96;
  const Shape& weight = node.input(1).shape;
  return weight[3] < kFewChannels && weight[0] >= kFewChannels && weight.numel(1, 4) >= kMinDepth && !is_patch(node) &&
      WindowConv::has(conv2d_parameters(node)) && fits_packed<schema::Conv2d>(node);
}

// XNNPACK is as fast where there are so few rows that they read the weight once, whatever the blocks; where windows overlap
// and pixels have few channels gathering them takes too long.
bool pays_in_blocks(const NodeContext& node, const Cpu& cpu) {
  constexpr size_t kMinPixels = 16;
  const auto& attributes = node.attributes<schema::Conv2d>();
  const Shape& weight = node.input(1).shape;
  return attributes.groups() == 1 && weight.numel() * sizeof(float) >= cpu.blocks.float32_conv &&
      weight.numel(1, 4) >= kMinBlockDepth && (is_patch(node) || weight[3] >= kFewChannels) &&
      weight[0] >= kFewChannels && node.output().shape.numel(0, 3) >= kMinPixels && fits_packed<schema::Conv2d>(node);
}

// What XNNPACK would compute in Float32.
Choice choose_float32_conv2d(const NodeContext& node, const Cpu& cpu, Choice xnnpack) {
  if (sees_much_padding(node)) {
    return Choice::kernel(make_conv2d_by_tap, "It leaves out what the taps of the window see of the padding.");
  }
  if (is_fast_depthwise(node)) {
    return choose_depthwise("It loads each pixel once for all windows of a row that see it.");
  }
  if (is_multiplied_depthwise(node)) {
    return Choice::kernel(make_depthwise_conv2d, "XNNPACK multiplies one channel of the image at a time.").leading();
  }
  if (GroupedConv::has(conv2d_parameters(node))) {
    return Choice::kernel(make_grouped_conv2d, kSmallGroups);
  }
  if (cpu.float32_windows && has_few_channels(node)) {
    return Choice::kernel(
        make_window_conv2d, "It reads windows of few channels where they lie, in rows with their padding.");
  }
  const MakeKernel make = xnnpack.make;
  Choice choice = pays_in_blocks(node, cpu) ? Choice::kernel(make_packed_conv2d, kInBlocks) : std::move(xnnpack);
  return is_pixel_product(node) ? std::move(choice).in_strips(make, /*with_window=*/false) : choice;
}

template <size_t kTile>
Choice choose_winograd() {
  const std::string tile = std::to_string(kTile);
  return Choice::kernel(
             make_winograd_conv2d<kTile>, "Winograd's tiles of " + tile + " x " + tile + " take fewer multiplications.")
      .leading()
      .reading({0}, {DType::BFloat16});
}

constexpr const char* kCol2Im =
    "It multiplies each pixel by the weights of all taps at once; columns of so few channels would leave vectors mostly empty.";

// Whether the columns of all taps fill vectors that those of so few channels would not. `most_channels`: up to which that is
// faster than what else there is.
template <typename Attributes>
bool pays_by_col2im(
    const NodeContext& node,
    const ConvParameters& p,
    const Cpu& cpu,
    const ChoiceOptions& options,
    size_t most_channels) {
  constexpr size_t kMinDepth = 16, kMinLanes = 8;
  const Shape& weight = p.weight;
  return weight[0] <= most_channels && weight[3] >= kMinDepth && weight[1] * weight[2] > 1 && Col2ImConv::has(p) &&
      float_lanes() >= kMinLanes && is_float32(node) && !options.float16 && !is_in_bfloat16(node, cpu, options) &&
      !has_low_precision_weight<Attributes>(node) && fits_packed<Attributes>(node);
}

Choice choose_conv2d(const NodeContext& node, const Cpu& cpu, const ChoiceOptions& options) {
  constexpr size_t kMostChannels = 12, kMostChannelsForWinograd = 4;
  const size_t tile = winograd_tile(node, cpu, options);
  if (pays_by_col2im<schema::Conv2d>(
          node, conv2d_parameters(node), cpu, options, tile == 0 ? kMostChannels : kMostChannelsForWinograd)) {
    return Choice::kernel(make_col2im_conv2d, kCol2Im);
  }
  switch (tile) {
    case 2:
      return choose_winograd<2>();
    case 4:
      return choose_winograd<4>();
    default:
      break;
  }
  const bool depthwise = is_depthwise(node), direct = is_direct_bfloat16(node);
  Choice choice = choose_conv<schema::Conv2d>(
      node,
      cpu,
      options,
      {conv2d_limit,
       make_xnnpack_conv2d,
       depthwise ? make_low_precision_depthwise_conv2d : make_low_precision_conv2d,
       direct ? make_bfloat16_conv2d : make_gathering_bfloat16_conv2d,
       direct,
       !node.is_constant(1) ? make_runtime_conv2d
           : depthwise      ? make_depthwise_conv2d
                            : make_conv2d});
  if (choice.kind == Choice::Kind::Xnnpack && cpu.int8_sums) {
    choice = choose_int8_conv2d(node, cpu, std::move(choice));
  }
  if (choice.kind == Choice::Kind::Xnnpack && !choice.float16 && is_float32(node)) {
    return choose_float32_conv2d(node, cpu, std::move(choice));
  }
  if (choice.kind != Choice::Kind::Kernel || node.is_quantized()) {
    return choice;
  }
  if (choice.bfloat16) {
    choice = direct ? std::move(choice).leading().reading({0}, {DType::BFloat16}) : choice;
    return direct && is_pixel_product(node) ? std::move(choice).in_strips(make_bfloat16_conv2d, /*with_window=*/false)
                                            : choice;
  }
  if (!depthwise || !node.is_constant(1)) {
    return choice;
  }
  if (has_low_precision_weight<schema::Conv2d>(node)) { // not quantized, so of 16 bits
    return std::move(choice)
        .leading()
        .reading({0}, {node.input(1).constant_dtype})
        .in_strips(make_low_precision_depthwise_conv2d, /*with_window=*/true);
  }
  return choose_depthwise(std::move(choice.reason));
}

// Whether pixels of the output see different taps, those of a phase the same ones, and PackedConv is faster than XNNPACK: it
// multiplies all pixels of a phase by vectors of columns at once, XNNPACK row by row. Where vectors are short XNNPACK's tiles
// have so few pixels that rows fill them.
bool has_wide_phases(const NodeContext& node) {
  constexpr size_t kMinColumns = 16, kMinLanes = 8;
  const auto& attributes = node.attributes<schema::ConvTranspose2d>();
  return (attributes.stride()->height() > 1 || attributes.stride()->width() > 1) && float_lanes() >= kMinLanes &&
      node.input(1).shape[0] / attributes.groups() >= kMinColumns && fits_packed<schema::ConvTranspose2d>(node);
}

Choice choose_conv_transpose2d(const NodeContext& node, const Cpu& cpu, const ChoiceOptions& options) {
  constexpr size_t kMostChannels = 16;
  const ConvParameters parameters = conv_transpose2d_parameters(node);
  const bool is_pixel = parameters.input.numel(0, 3) == 1; // which all taps see
  if (pays_by_col2im<schema::ConvTranspose2d>(
          node, parameters, cpu, options, is_pixel ? parameters.weight[0] : kMostChannels)) {
    return Choice::kernel(make_col2im_conv_transpose2d, kCol2Im);
  }
  Choice choice = choose_conv<schema::ConvTranspose2d>(
      node,
      cpu,
      options,
      {conv_transpose2d_limit,
       make_xnnpack_conv_transpose2d,
       make_low_precision_conv_transpose2d,
       make_bfloat16_conv_transpose2d,
       /*in_bfloat16_directly=*/false,
       make_conv_transpose2d});
  const bool in_float32 = is_float32(node) && !has_low_precision_weight<schema::ConvTranspose2d>(node) &&
      !choice.bfloat16 && !choice.float16;
  return in_float32 && has_wide_phases(node)
      ? Choice::kernel(
            make_packed_conv_transpose2d,
            "It multiplies all pixels that see the same taps at once, XNNPACK row by row.")
      : choice;
}

} // namespace

const OpImpl kConv2dOp{infer_conv2d, choose_conv2d};
const OpImpl kConvTranspose2dOp{infer_conv_transpose2d, choose_conv_transpose2d};

} // namespace executorch::backends::et_xnnpack
