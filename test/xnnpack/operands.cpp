// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "operands.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fp16/fp16.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

template <typename T>
std::vector<uint8_t> bytes_of(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T>
std::vector<uint8_t> as(const std::vector<int>& values) {
  return bytes_of(std::vector<T>(values.begin(), values.end()));
}

std::vector<uint8_t> as_half(const std::vector<int>& values) {
  std::vector<uint16_t> halves;
  for (const int v : values) {
    halves.push_back(fp16_ieee_from_fp32_value(static_cast<float>(v)));
  }
  return bytes_of(halves);
}

bool has_4_bits(Format format) {
  return format == Format::F32C4 || format == Format::QD8C4 || format == Format::QDU8C4 || has_blocks(format);
}

} // namespace

const char* name_of(Format format) {
  constexpr const char* kNames[] = {
      "f32",
      "f16",
      "f32_qc8w",
      "f32_qc4w",
      "qs8",
      "qs8_qc8w",
      "qd8_f32_qc8w",
      "qd8_f32_qc4w",
      "qd8_f32_qb4w",
      "qdu8_f32_qc8w",
      "qdu8_f32_qc4w",
      "qdu8_f32_qb4w"};
  return kNames[static_cast<size_t>(format)];
}
bool is_float(Format format) {
  return format <= Format::F32C4;
}
bool is_quantized(Format format) {
  return format == Format::QS8 || format == Format::QS8C8;
}
bool is_dynamic(Format format) {
  return format >= Format::QD8C8;
}
bool is_unsigned(Format format) {
  return format >= Format::QDU8C8;
}
bool has_blocks(Format format) {
  return format == Format::QD8B4 || format == Format::QDU8B4;
}
size_t input_bytes(Format format) {
  return format == Format::F16 ? 2 : is_float(format) ? 4 : 1;
}
size_t output_bytes(Format format) {
  return format == Format::F16 ? 2 : is_quantized(format) ? 1 : 4;
}

int Random::next(int low, int high) {
  state_ = state_ * 1664525 + 1013904223;
  return low + static_cast<int>((state_ >> 8) % static_cast<uint32_t>(high - low + 1));
}

Weights::Weights(
    Format f, size_t num_groups, size_t num_columns, size_t num_taps, size_t num_deep, bool clamped, size_t block_size)
    : format(f),
      groups(num_groups),
      columns(num_columns),
      taps(num_taps),
      depth(num_deep),
      block(has_blocks(f) ? block_size : num_deep) {
  Random random;
  const int size = static_cast<int>(taps * depth);
  // Of Float16, which is exact up to 2048, as large as their sum allows.
  most = format == Format::F16 ? (size <= 220 ? 3 : 1) : is_float(format) ? 50 : 128;
  const int low = has_4_bits(format) ? -8 : format == Format::F16 ? -most : -most;
  const int high = has_4_bits(format) ? 7 : is_float(format) ? most : 127;
  numbers.resize(all_columns() * taps * depth);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t column = i / (taps * depth);
    // The largest sums there are, too.
    numbers[i] = column == 0 ? low : column == 1 ? high : random.next(low, high);
  }
  for (size_t column = 0; column < all_columns(); ++column) {
    bias.push_back(random.next(-9, 9));
    for (size_t i = 0; i < depth / block; ++i) {
      // Powers of two keep sums of floats exact. Blocks have scales of 16 bits.
      const float step = 1.0f + static_cast<float>(random.next(0, 3)) / 4;
      scales.push_back(is_float(format) ? std::ldexp(1.0f, random.next(-3, 3)) : step / 64);
    }
  }
  const float spread = std::sqrt(static_cast<float>(size)); // of sums
  if (is_quantized(format)) {
    for (float& scale : scales) {
      scale = 40.0f * (format == Format::QS8 ? 1.1f : scale * 64) / (74.0f * 74.0f * spread);
      bias[static_cast<size_t>(&scale - scales.data())] *= 500;
    }
    min = clamped ? -30 : -128;
    max = clamped ? 60 : 127;
  } else {
    const float size_of_sums = spread * static_cast<float>(most) * static_cast<float>(high) / 4;
    max = clamped ? std::nearbyint(size_of_sums) / (is_float(format) ? 1 : 16) : std::numeric_limits<float>::infinity();
    min = clamped ? -max / 2 : -max;
    if (clamped && format == Format::F16) {
      min = -std::nearbyint(max / 2);
    }
  }
}

std::vector<uint8_t> Weights::kernel() const {
  if (format == Format::F32) {
    return as<float>(numbers);
  }
  if (format == Format::F16) {
    return as_half(numbers);
  }
  if (!has_4_bits(format)) {
    return as<int8_t>(numbers);
  }
  const size_t row = (depth + 1) / 2;
  std::vector<uint8_t> bytes(columns * row);
  for (size_t column = 0; column < columns; ++column) {
    for (size_t k = 0; k < 2 * row; ++k) {
      // Some microkernels multiply what fills up the last byte, others want no bits there. Our depths are even.
      const int filler = format == Format::F32C4 ? -8 : 0;
      const int number = k < depth ? numbers[column * depth + k] : filler;
      bytes[column * row + k / 2] |= static_cast<uint8_t>((number + 8) << (k % 2 == 0 ? 0 : 4));
    }
  }
  return bytes;
}

std::vector<uint8_t> Weights::bias_bytes() const {
  switch (format) {
    case Format::F16:
      return as_half(bias);
    case Format::QS8:
    case Format::QS8C8:
      return as<int32_t>(bias);
    case Format::F32C8:
    case Format::F32C4:
      return {}; // would be scaled, too; nobody uses that
    default:
      return as<float>(bias);
  }
}

std::vector<uint16_t> Weights::block_scales() const {
  std::vector<uint16_t> result;
  for (const float scale : scales) {
    uint32_t bits = 0;
    std::memcpy(&bits, &scale, sizeof(bits));
    result.push_back(static_cast<uint16_t>(bits >> 16)); // exact
  }
  return result;
}

Expected expect(
    const Weights& w, size_t column, const std::vector<const int*>& window, const xnn_quantization_params& parameters) {
  const int zero = is_dynamic(w.format) ? parameters.zero_point : is_quantized(w.format) ? kInputZero : 0;
  const int* from = w.numbers.data() + column * w.taps * w.depth;
  const float* scale = w.scales.data() + column * (w.depth / w.block);
  double sum = 0, size = 0;
  for (size_t t = 0; t < w.taps; ++t, from += w.depth) {
    for (size_t k = 0; window[t] != nullptr && k < w.depth; ++k) {
      const double factor = has_blocks(w.format) ? static_cast<double>(scale[k / w.block]) : 1;
      sum += (window[t][k] - zero) * from[k] * factor;
      // Kernels add a multiple of each weight, and take it back at once.
      size += (std::abs(window[t][k]) + std::abs(zero) + 256) * std::abs(from[k]) * factor;
    }
  }
  const double bias = w.bias[column];
  Expected result{};
  switch (w.format) {
    case Format::F32:
    case Format::F16:
      result = {sum + bias, 0};
      break;
    case Format::F32C8:
    case Format::F32C4:
      result = {sum * static_cast<double>(scale[0]), 0};
      break;
    case Format::QS8:
    case Format::QS8C8: // halves go up or down
      result = {(sum + bias) * static_cast<double>(scale[0]) + kOutputZero, 0.5 + 1e-3};
      break;
    default: {
      const double factor =
          static_cast<double>(parameters.scale) * (has_blocks(w.format) ? 1 : static_cast<double>(scale[0]));
      result = {sum * factor + bias, 4 * 0x1p-24 * (size * factor + std::abs(bias))};
    }
  }
  result.value = std::min(std::max(result.value, static_cast<double>(w.min)), static_cast<double>(w.max));
  return result;
}

std::vector<int> some_rows(const Weights& w, size_t rows, size_t row_size) {
  Random random;
  std::vector<int> result(rows * row_size);
  for (size_t i = 0; i < result.size(); ++i) {
    const size_t row = i / row_size;
    const int high = is_float(w.format) ? w.most : 127;
    result[i] = row == 1 ? -w.most : row == 2 ? high : random.next(-w.most, high);
  }
  return result;
}

void write_input(Format format, const int* from, size_t count, void* to) {
  std::vector<int> values(from, from + count);
  if (is_unsigned(format)) {
    std::transform(values.begin(), values.end(), values.begin(), [](int value) { return value + 128; });
  }
  const std::vector<uint8_t> bytes = format == Format::F16 ? as_half(values)
      : is_float(format)                                   ? as<float>(values)
      : is_unsigned(format)                                ? as<uint8_t>(values)
                                                           : as<int8_t>(values);
  std::memcpy(to, bytes.data(), bytes.size());
}

double read_output(Format format, const void* from, size_t i) {
  const auto* p = static_cast<const uint8_t*>(from) + i * output_bytes(format);
  if (is_quantized(format)) {
    return *reinterpret_cast<const int8_t*>(p);
  }
  if (format == Format::F16) {
    uint16_t half = 0;
    std::memcpy(&half, p, sizeof(half));
    return static_cast<double>(fp16_ieee_to_fp32_value(half));
  }
  float value = 0;
  std::memcpy(&value, p, sizeof(value));
  return static_cast<double>(value);
}

} // namespace executorch::backends::et_xnnpack::testing
