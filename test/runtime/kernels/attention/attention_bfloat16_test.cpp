// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Attention by products of bfloat16, where the CPU has them.

#include "kernels/attention/attention_case.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using Options = AttentionOptions;

// Of operands that are bfloat16 anyway weights are all that is rounded: to 8 bits, of values of up to `largest`.
void check_bfloat16(
    const Tensor& query, const Tensor& key, const Tensor& value, const Options& options = {}, float largest = 2) {
  const Tensor x = rounded(query, DType::BFloat16), k = rounded(key, DType::BFloat16),
               v = rounded(value, DType::BFloat16);
  AttentionParameters parameters = parameters_of(x, k, v, options);
  parameters.bfloat16 = true;
  const PlainCase floats = make_case(x, k, v, options);
  const Tensor expected = reference(floats, options);
  const Tolerance tolerance{largest / 512 + 1e-5f, 1e-5f};
  PlainCase bfloat16 = floats;
  bfloat16.make = plain_kernel<Attention>(parameters);
  check_kernel(bfloat16, expected, tolerance, Isas::OnlyBFloat16);

  parameters.type = DType::BFloat16;
  bfloat16.make = plain_kernel<Attention>(parameters);
  bfloat16.inputs[1] = narrowed(k, DType::BFloat16);
  bfloat16.inputs[2] = narrowed(v, DType::BFloat16);
  check_kernel(bfloat16, expected, tolerance, Isas::OnlyBFloat16);
}

TEST(BFloat16Attention, Sizes) {
  for (const size_t rows : {1, 4, 5, 8, 9, 31, 32, 33, 100, 225, 300}) {
    for (const size_t keys : {1, 2, 15, 16, 17, 31, 33, 64, 255, 256, 257, 600}) {
      SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(keys) + " keys");
      check_bfloat16(random_floats({2, rows, 8}), random_floats({2, keys, 8}), random_floats({2, keys, 16}));
    }
  }
}

TEST(BFloat16Attention, Widths) {
  for (const size_t width : {1, 2, 7, 16, 17, 31, 32, 40, 64, 80, 128, 200, 257}) {
    for (const size_t value_width : {1, 3, 16, 17, 31, 32, 33, 64, 80}) {
      SCOPED_TRACE(std::to_string(width) + ", " + std::to_string(value_width));
      Options options;
      options.scale = 1 / std::sqrt(static_cast<float>(width));
      const Shape keys{1, 37, width}, values{1, 37, value_width};
      check_bfloat16(random_floats({1, 15, width}), random_floats(keys), random_floats(values), options);
    }
  }
}

// Each query finds one key, whose value is the result: which shows that all numbers are in their places.
TEST(BFloat16Attention, PicksValues) {
  constexpr size_t kCount = 300;
  Tensor key(DType::Float32, {1, kCount, 40});
  for (size_t i = 0; i < key.numel(); ++i) { // the bits of its place, as numbers of one length
    key.data<float>()[i] = (i / 40 >> i % 40 % 9 & 1) != 0 ? 1.0f : -1.0f;
  }
  Options options;
  options.scale = 64;
  check_bfloat16(key, key, random_floats({1, kCount, 50}), options, /*largest=*/0);
}

TEST(BFloat16Attention, Shapes) {
  check_bfloat16(random_floats({15, 8}), random_floats({9, 8}), random_floats({9, 8}));
  check_bfloat16(random_floats({2, 1, 3, 15, 8}), random_floats({2, 1, 3, 9, 8}), random_floats({2, 1, 3, 9, 8}));
  check_bfloat16(random_floats({2, 6, 5, 8}), random_floats({2, 2, 20, 8}), random_floats({2, 2, 20, 8}));
  check_bfloat16(random_floats({2, 0, 8}), random_floats({2, 9, 8}), random_floats({2, 9, 8}));
  check_bfloat16(random_floats({2, 9, 8}), random_floats({2, 0, 8}), random_floats({2, 0, 8}));
  check_bfloat16(random_floats({0, 9, 8}), random_floats({0, 9, 8}), random_floats({0, 9, 8}));
  check_bfloat16(random_floats({2, 9, 8}), random_floats({2, 5, 8}), random_floats({2, 5, 0}));
  check_bfloat16(random_floats({2, 9, 0}), random_floats({2, 5, 0}), random_floats({2, 5, 8}));
}

TEST(BFloat16Attention, Scales) {
  for (const float scale : {0.125f, 1.0f, 0.0883883f, -0.25f, 0.0f}) {
    SCOPED_TRACE(scale);
    Options options;
    options.scale = scale;
    check_bfloat16(random_floats({1, 40, 16}), random_floats({1, 300, 16}), random_floats({1, 300, 16}), options);
  }
}

TEST(BFloat16Attention, Causal) {
  for (const size_t rows : {5, 30, 300}) {
    for (const size_t keys : {5, 30, 300, 700}) {
      SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(keys) + " keys");
      Options options;
      options.causal = true;
      options.start = keys > rows ? (keys - rows) / 2 : 0;
      const Shape all{2, keys, 16};
      check_bfloat16(random_floats({2, rows, 16}), random_floats(all), random_floats(all), options);
    }
  }
}

TEST(BFloat16Attention, Masks) {
  const Tensor query = random_floats({2, 6, 34, 8}), key = random_floats({2, 3, 300, 8}),
               value = random_floats({2, 3, 300, 8});
  for (const Shape& shape : {Shape{2, 6, 34, 300}, Shape{34, 300}, Shape{300}, Shape{34, 1}, Shape{2, 1, 1, 300}}) {
    SCOPED_TRACE(shape.to_string());
    Options options;
    options.mask = random_floats(shape);
    check_bfloat16(query, key, value, options);
    options.mask = bool_mask(shape, 3);
    check_bfloat16(query, key, value, options);
  }
}

TEST(BFloat16Attention, WhatNobodySeesMayBeAnything) {
  Options options;
  options.mask = random_floats({40, 600});
  float* const mask = options.mask->data<float>();
  for (size_t row = 0; row < 40; ++row) { // the last one that is seen is 288
    std::fill(mask + row * 600 + 250 + row, mask + (row + 1) * 600, -kInfinity);
  }
  std::fill_n(mask + 5 * 600, 600, -kInfinity); // a row that sees nothing
  Tensor key = random_floats({1, 600, 8}), value = random_floats({1, 600, 33});
  const Tensor query = random_floats({1, 40, 8});
  check_bfloat16(query, key, value, options);
  const Tensor expected = reference(
      make_case(
          rounded(query, DType::BFloat16), rounded(key, DType::BFloat16), rounded(value, DType::BFloat16), options),
      options);
  std::fill_n(key.data<float>() + 289 * 8, 311 * 8, kNaN);
  std::fill_n(value.data<float>() + 289 * 33, 311 * 33, kNaN);
  PlainCase hidden = make_case(query, key, value, options);
  AttentionParameters parameters = parameters_of(query, key, value, options);
  parameters.bfloat16 = true;
  hidden.make = plain_kernel<Attention>(parameters);
  check_kernel(hidden, expected, {0.02f, 0.01f}, Isas::OnlyBFloat16);
}

TEST(BFloat16Attention, NotANumberStaysInItsRow) {
  Tensor query = random_floats({1, 40, 8});
  query.data<float>()[100] = kNaN;
  const Tensor key = random_floats({1, 300, 8}), value = random_floats({1, 300, 8});
  check_bfloat16(query, key, value);
  Options options;
  options.mask = random_floats({40, 300});
  options.mask->data<float>()[5 * 300 + 7] = kNaN;
  options.mask->data<float>()[6 * 300 + 8] = kInfinity;
  check_bfloat16(query, key, value, options);
}

TEST(BFloat16Attention, RoundsFloatsAndFloat16) {
  Options options;
  options.scale = 0.25f;
  const Tensor query = random_floats({2, 40, 16}), key = random_floats({2, 70, 16}), value = random_floats({2, 70, 16});
  const Tensor expected = reference(
      make_case(
          rounded(query, DType::BFloat16), rounded(key, DType::BFloat16), rounded(value, DType::BFloat16), options),
      options);
  AttentionParameters parameters = parameters_of(query, key, value, options);
  parameters.bfloat16 = true;
  PlainCase floats = make_case(query, key, value, options);
  floats.make = plain_kernel<Attention>(parameters);
  check_kernel(floats, expected, {4e-3f, 1e-5f}, Isas::OnlyBFloat16);

  PlainCase halves = floats;
  parameters.type = DType::Float16;
  halves.make = plain_kernel<Attention>(parameters);
  for (const size_t i : {1, 2}) {
    halves.inputs[i] = narrowed(*floats.inputs[i], DType::Float16);
  }
  const Tensor twice = reference(
      make_case(
          rounded(query, DType::BFloat16),
          rounded(rounded(key, DType::Float16), DType::BFloat16),
          rounded(rounded(value, DType::Float16), DType::BFloat16),
          options),
      options);
  check_kernel(halves, twice, {4e-3f, 1e-5f}, Isas::OnlyBFloat16);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
