// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Attention by products of bfloat16, where the CPU has them: what check() of other tests has not.

#include <cmath>

#include "kernels/attention/attention_case.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using Options = AttentionOptions;

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

TEST(BFloat16Attention, Scales) {
  for (const float scale : {0.125f, 1.0f, 0.0883883f, -0.25f, 0.0f}) {
    SCOPED_TRACE(scale);
    Options options;
    options.scale = scale;
    check_bfloat16(random_floats({1, 40, 16}), random_floats({1, 300, 16}), random_floats({1, 300, 16}), options);
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
