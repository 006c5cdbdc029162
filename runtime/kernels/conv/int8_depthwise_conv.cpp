// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "int8_depthwise_conv.h"

#include <algorithm>
#include <cstring>

#include "int8_depthwise_row.h"
#include "runtime/base/memory.h"
#include "runtime/kernels/common/parallel.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/conv/int8_depthwise_conv.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/simd/quad_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX3
ETX_BYTE_DOT_BEGIN

template <size_t kBlock>
struct Vectors {
  using Bytes = hn::CappedTag<uint8_t, kBlock>;
  using SignedBytes = hn::RebindToSigned<Bytes>;
  using Shorts = hn::Repartition<uint16_t, Bytes>;
  using SignedShorts = hn::RebindToSigned<Shorts>;
  using Sums = hn::Repartition<int32_t, Bytes>;
  using Floats = hn::RebindToFloat<Sums>;
};

// What stands where the bytes of a signed integer do, and is 128 more.
template <size_t kBlock>
HWY_INLINE hn::Vec<typename Vectors<kBlock>::Bytes> load(const int8_t* from, size_t count) {
  const typename Vectors<kBlock>::Bytes bytes;
  const auto* const unsigned_from = reinterpret_cast<const uint8_t*>(from);
  const auto loaded = count < kBlock ? hn::LoadN(bytes, unsigned_from, count) : hn::LoadU(bytes, unsigned_from);
  return hn::Xor(loaded, hn::Set(bytes, uint8_t{128}));
}

// kPixels neighbouring pixels from `column` on of a block of channels.
template <size_t kBlock, size_t kWidth, size_t kStride, size_t kPixels>
HWY_NOINLINE void convolve(const Int8DepthwiseRow& row, size_t column, size_t channel, const int8_t* block_weight) {
  using Of = Vectors<kBlock>;
  constexpr size_t kColumns = (kPixels - 1) * kStride + kWidth;
  constexpr typename Of::Bytes kBytes;
  constexpr typename Of::SignedBytes kSignedBytes;
  constexpr typename Of::Shorts kShorts;
  constexpr typename Of::SignedShorts kSignedShorts;
  constexpr typename Of::Sums kSums;
  constexpr typename Of::Floats kFloats;
  const size_t count = std::min(kBlock, row.channels - channel);
  QuadSums<typename Of::Sums> sum[kPixels][4];
  HWY_UNROLL(4)
  for (size_t j = 0; j < 4; ++j) {
    const QuadSums<typename Of::Sums> offset(hn::LoadU(kSums, row.offsets + channel + j * kBlock / 4));
    HWY_UNROLL(4)
    for (size_t p = 0; p < kPixels; ++p) {
      sum[p][j] = offset;
    }
  }
  const size_t first = column * kStride - row.padding; // wraps below 0
  for (size_t q = 0; q < quads_of(row.kernel_height); ++q, block_weight += kWidth * 4 * kBlock) {
    HWY_UNROLL(12)
    for (size_t c = 0; c < kColumns; ++c) {
      hn::Vec<typename Of::Bytes> x[4];
      HWY_UNROLL(4)
      for (size_t r = 0; r < 4; ++r) {
        x[r] = load<kBlock>(row.pixel(q * 4 + r, first + c, channel), count);
      }
      const auto low01 = hn::BitCast(kShorts, hn::InterleaveLower(kBytes, x[0], x[1]));
      const auto low23 = hn::BitCast(kShorts, hn::InterleaveLower(kBytes, x[2], x[3]));
      const auto high01 = hn::BitCast(kShorts, hn::InterleaveUpper(kBytes, x[0], x[1]));
      const auto high23 = hn::BitCast(kShorts, hn::InterleaveUpper(kBytes, x[2], x[3]));
      const hn::Vec<typename Of::Bytes> rows[4] = {
          hn::BitCast(kBytes, hn::InterleaveLower(kShorts, low01, low23)),
          hn::BitCast(kBytes, hn::InterleaveUpper(kShorts, low01, low23)),
          hn::BitCast(kBytes, hn::InterleaveLower(kShorts, high01, high23)),
          hn::BitCast(kBytes, hn::InterleaveUpper(kShorts, high01, high23))};
      HWY_UNROLL(4)
      for (size_t p = 0; p < kPixels; ++p) {
        const size_t k = c - p * kStride; // wraps below 0
        if (k < kWidth) {
          HWY_UNROLL(4)
          for (size_t j = 0; j < 4; ++j) {
            const auto w = hn::LoadU(kSignedBytes, block_weight + (k * 4 + j) * kBlock);
            sum[p][j].add(rows[j], w);
          }
        }
      }
    }
  }
  const auto most = hn::Set(kFloats, static_cast<float>(row.max - row.zero_point));
  const auto zero_point = hn::Set(kSignedShorts, row.zero_point);
  const auto min = hn::Set(kSignedBytes, row.min);
  HWY_UNROLL(4)
  for (size_t p = 0; p < kPixels; ++p) {
    hn::Vec<typename Of::Sums> y[4];
    HWY_UNROLL(4)
    for (size_t j = 0; j < 4; ++j) {
      const auto scale = hn::LoadU(kFloats, row.scales + channel + j * kBlock / 4);
      y[j] = hn::NearestIntInRange(kSums, hn::Min(hn::Mul(hn::ConvertTo(kFloats, sum[p][j].get()), scale), most));
    }
    const auto low = hn::SaturatedAdd(hn::ReorderDemote2To(kSignedShorts, y[0], y[1]), zero_point);
    const auto high = hn::SaturatedAdd(hn::ReorderDemote2To(kSignedShorts, y[2], y[3]), zero_point);
    const auto bytes = hn::Max(hn::ReorderDemote2To(kSignedBytes, low, high), min);
    int8_t* const to = row.output + (column + p) * row.channels + channel;
    if (count < kBlock) {
      hn::StoreN(bytes, kSignedBytes, to, count);
    } else {
      hn::StoreU(bytes, kSignedBytes, to);
    }
  }
}

template <size_t kBlock, size_t kWidth, size_t kStride>
void convolve_block(const Int8DepthwiseRow& row, size_t channel, const int8_t* block_weight) {
  constexpr size_t kPixels = 4;
  if (row.output_width < kPixels) {
    for (size_t column = 0; column < row.output_width; ++column) {
      convolve<kBlock, kWidth, kStride, 1>(row, column, channel, block_weight);
    }
    return;
  }
  for (size_t i = 0; i < row.output_width; i += kPixels) {
    const size_t column = std::min(i, row.output_width - kPixels); // the last ones overlap those before
    convolve<kBlock, kWidth, kStride, kPixels>(row, column, channel, block_weight);
  }
}

template <size_t kWidth, size_t kStride>
void convolve_row(const Int8DepthwiseRow& row) {
  const int8_t* weight = row.weight;
  for (size_t channel = 0; channel < row.channels;) {
    const size_t block = block_size(row.channels - channel);
    (block == 64       ? convolve_block<64, kWidth, kStride>
         : block == 32 ? convolve_block<32, kWidth, kStride>
                       : convolve_block<16, kWidth, kStride>)(row, channel, weight);
    weight += row.weight_bytes(block);
    channel += block;
  }
}

void convolve_row_by_vnni(const Int8DepthwiseRow& row) {
  if (row.kernel_width == 3) {
    (row.stride == 1 ? convolve_row<3, 1> : convolve_row<3, 2>)(row);
  } else {
    (row.stride == 1 ? convolve_row<5, 1> : convolve_row<5, 2>)(row);
  }
}

ETX_BYTE_DOT_END
#endif // HWY_AVX3

void int8_depthwise_row(const Int8DepthwiseRow& row) {
#if HWY_TARGET == HWY_AVX3
  if (has_byte_dot()) {
    return convolve_row_by_vnni(row);
  }
#endif
  const int8_t* weight = row.weight;
  for (size_t channel = 0; channel < row.channels;) {
    const size_t block = block_size(row.channels - channel);
    for (size_t i = 0; i < std::min(block, row.channels - channel); ++i) {
      const size_t place = place_in_block(i, block);
      for (size_t column = 0; column < row.output_width; ++column) {
        auto sum = static_cast<uint32_t>(row.offsets[channel + place]); // wraps around, as in vectors
        for (size_t r = 0; r < row.kernel_height; ++r) {
          for (size_t k = 0; k < row.kernel_width; ++k) {
            const int8_t w = weight[weight_index(r, k, row.kernel_width, block, place)];
            const int8_t x = *row.pixel(r, column * row.stride + k - row.padding, channel + i);
            sum += static_cast<uint32_t>((x + 128) * w);
          }
        }
        row.output[column * row.channels + channel + i] =
            finish_int8(static_cast<int32_t>(sum), row.scales[channel + place], row.zero_point, row.min, row.max);
      }
    }
    weight += row.weight_bytes(block);
    channel += block;
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(int8_depthwise_row);

namespace {

constexpr size_t kGrain = 65536; // multiplications

size_t weight_bytes(const Shape& weight) {
  return padded_channels(weight[0]) * quads_of(weight[1]) * 4 * weight[2];
}

} // namespace

bool Int8DepthwiseConv::has(size_t kernel_height, size_t kernel_width, size_t stride_width) {
  return kernel_height >= 3 && kernel_height <= kMaxWindowRows && (kernel_width == 3 || kernel_width == 5) &&
      (stride_width == 1 || stride_width == 2);
}

std::optional<std::string> Int8DepthwiseConv::packed_layout(const Int8ConvParameters& /*p*/, size_t i) {
  switch (i) {
    case 1:
      return "Int8 in blocks of channels and four rows of a window, sums";
    case 2:
      return "Int32 in blocks of channels";
    default:
      return std::nullopt;
  }
}

size_t Int8DepthwiseConv::packed_bytes(const Int8ConvParameters& p, size_t i) {
  return (i == 1 ? weight_bytes(p.weight) : 0) + padded_channels(p.weight[0]) * sizeof(int32_t);
}

Status Int8DepthwiseConv::pack(const Int8ConvParameters& p, size_t i, const void* original, void* packed) {
  std::memset(packed, 0, packed_bytes(p, i));
  if (i == 2) {
    const auto* bias = static_cast<const int32_t*>(original);
    for_each_channel(p.weight[0], [&](size_t begin, size_t /*block*/, size_t place) {
      static_cast<int32_t*>(packed)[begin + place] = *bias++;
    });
    return {};
  }
  const size_t rows = p.weight[1], columns = p.weight[2];
  const auto* from = static_cast<const int8_t*>(original);
  auto* const weight = static_cast<int8_t*>(packed);
  auto* const sums = reinterpret_cast<int32_t*>(weight + weight_bytes(p.weight));
  for_each_channel(p.weight[0], [&](size_t begin, size_t block, size_t place) {
    int8_t* const of_block = weight + begin * quads_of(rows) * 4 * columns;
    for (size_t r = 0; r < rows; ++r) {
      for (size_t k = 0; k < columns; ++k, ++from) {
        of_block[weight_index(r, k, columns, block, place)] = *from;
        sums[begin + place] += *from;
      }
    }
  });
  return {};
}

size_t Int8DepthwiseConv::reshape(const Int8ConvParameters& p, size_t /*num_threads*/) {
  parameters_ = p;
  const size_t channels = p.weight[0];
  sums_.assign(p, padded_channels(channels), [&](const auto& function) {
    for_each_channel(channels, [&](size_t begin, size_t /*block*/, size_t place) { function(begin + place); });
  });
  offsets_bytes_ = round_up_to_alignment(sums_.bytes());
  return offsets_bytes_ + channels + kMaxBlock;
}

void Int8DepthwiseConv::run(const KernelArguments& arguments) {
  const Int8ConvParameters& p = parameters_;
  const size_t channels = p.weight[0];
  const auto* const weight = arguments.input<int8_t>(1);
  const auto* const sums = reinterpret_cast<const int32_t*>(weight + weight_bytes(p.weight));
  auto* const offsets = static_cast<int32_t*>(arguments.scratch);
  auto* const outside = static_cast<int8_t*>(arguments.scratch) + offsets_bytes_;
  std::memset(outside, p.input_zero_point, channels + kMaxBlock);
  sums_.begin(p, arguments.input<int32_t>(2), sums, offsets);

  Int8DepthwiseRow common{};
  common.outside = outside;
  common.channels = channels;
  common.input_width = p.input[2];
  common.output_width = p.output[2];
  common.kernel_height = p.weight[1];
  common.kernel_width = p.weight[2];
  common.stride = p.width.stride;
  common.padding = p.width.padding;
  common.weight = weight;
  common.offsets = offsets;
  common.scales = sums_.scales();
  common.zero_point = p.output_zero_point;
  common.min = p.min;
  common.max = p.max;
  const auto* const images = arguments.input<int8_t>(0);
  auto* const output = arguments.output<int8_t>(0);
  const auto convolve_row = ETX_DISPATCH(int8_depthwise_row);
  const size_t line = p.output[2] * channels, taps = p.weight[1] * p.weight[2];
  const size_t grain = kGrain / (line * taps + 1) + 1;
  parallel_for(arguments.pool, p.output[0] * p.output[1], grain, [&](size_t begin, size_t end) {
    Int8DepthwiseRow row = common;
    for (size_t i = begin; i < end; ++i) {
      const size_t first = i % p.output[1] * p.height.stride - p.height.padding; // wraps below 0
      const int8_t* const image = images + i / p.output[1] * p.input.numel(1, 4);
      for (size_t r = 0; r < kMaxWindowRows; ++r) {
        const bool inside = r < row.kernel_height && first + r < p.input[1];
        row.input[r] = inside ? image + (first + r) * p.input[2] * channels : outside;
        row.pixel_step[r] = inside ? channels : 0;
      }
      row.output = output + i * line;
      convolve_row(row);
    }
  });
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
