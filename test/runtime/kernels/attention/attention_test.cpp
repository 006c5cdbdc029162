// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <cmath>

#include "kernels/attention/attention_case.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using Options = AttentionOptions;

TEST(AttentionKernel, Sizes) {
  for (const size_t rows : {1, 2, 3, 4, 5, 12, 13, 40, 100}) {
    for (const size_t keys : {1, 3, 15, 16, 17, 33, 64, 100, 255, 256, 257, 600}) {
      SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(keys) + " keys");
      check(random_floats({2, rows, 8}), random_floats({2, keys, 8}), random_floats({2, keys, 16}));
    }
  }
}

TEST(AttentionKernel, Widths) {
  for (const size_t width : {1, 2, 7, 16, 17, 32, 40, 64, 80, 128, 200}) {
    for (const size_t value_width : {1, 3, 16, 31, 32, 33, 64, 80, 100}) {
      SCOPED_TRACE(std::to_string(width) + ", " + std::to_string(value_width));
      Options options;
      options.scale = 1 / std::sqrt(static_cast<float>(width));
      check(random_floats({1, 15, width}), random_floats({1, 37, width}), random_floats({1, 37, value_width}), options);
    }
  }
}

TEST(AttentionKernel, FewRows) {
  for (const size_t rows : {1, 2, 3, 4}) {
    for (const size_t width : {1, 7, 16, 17, 40, 64, 80, 128}) {
      for (const size_t value_width : {1, 3, 16, 31, 33, 64, 100, 128}) {
        SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(width) + ", " + std::to_string(value_width));
        check(random_floats({2, rows, width}), random_floats({2, 37, width}), random_floats({2, 37, value_width}));
        check(random_floats({1, rows, width}), random_floats({1, 261, width}), random_floats({1, 261, value_width}));
      }
    }
  }
  check(random_floats({1, 8, 1, 64}), random_floats({1, 8, 3000, 64}), random_floats({1, 8, 3000, 64}));
  check(random_floats({1, 8, 1, 64}), random_floats({1, 2, 3000, 64}), random_floats({1, 2, 3000, 64}));
  check(random_floats({1, 1, 64}), random_floats({1, 5000, 64}), random_floats({1, 5000, 64}));
  check(random_floats({2, 3, 0}), random_floats({2, 300, 0}), random_floats({2, 300, 8}));
  check(random_floats({2, 3, 8}), random_floats({2, 0, 8}), random_floats({2, 0, 8}));
  check(random_floats({2, 3, 8}), random_floats({2, 5, 8}), random_floats({2, 5, 0}));
}

TEST(AttentionKernel, MasksOfFewRows) {
  for (const size_t keys : {41, 700}) {
    const Tensor query = random_floats({2, 6, 2, 8}), key = random_floats({2, 3, keys, 8}),
                 value = random_floats({2, 3, keys, 8});
    for (const Shape& shape :
         {Shape{2, 6, 2, keys},
          Shape{2, keys},
          Shape{1, keys},
          Shape{keys},
          Shape{2, 1},
          Shape{},
          Shape{2, 1, 1, keys},
          Shape{6, 1, keys}}) {
      SCOPED_TRACE(shape.to_string());
      Options options;
      options.mask = random_floats(shape);
      check(query, key, value, options);
      options.mask = bool_mask(shape, 3);
      check(query, key, value, options);
    }
  }
  // Rows with nothing, with one key, and with a part without keys.
  const Tensor query = random_floats({1, 4, 8}), key = random_floats({1, 700, 8}), value = random_floats({1, 700, 8});
  Options options;
  options.mask = random_floats({4, 700});
  float* const mask = options.mask->data<float>();
  std::fill_n(mask, 700, -kInfinity);
  std::fill_n(mask + 700, 699, -kInfinity);
  std::fill_n(mask + 1400, 256, -kInfinity);
  std::fill_n(mask + 2100, 600, std::numeric_limits<float>::lowest());
  check(query, key, value, options);
}

TEST(AttentionKernel, SpecialNumbersInFewRows) {
  const Tensor key = random_floats({1, 700, 8}), value = random_floats({1, 700, 8});
  Tensor query = random_floats({1, 4, 8});
  query.data<float>()[9] = kNaN;
  check(query, key, value);
  Options options;
  options.scale = 40;
  check(random_floats({1, 4, 8}), key, value, options, 3e-4f);
  for (const float special : {kNaN, kInfinity}) {
    for (const size_t at : {0, 255, 256, 511, 600, 699}) {
      options = {};
      options.mask = random_floats({4, 700});
      options.mask->data<float>()[700 + at] = special;
      std::fill_n(options.mask->data<float>() + 1400, 700, -kInfinity);
      options.mask->data<float>()[1400 + at] = special;
      check(random_floats({1, 4, 8}), key, value, options);
      Tensor keys = key;
      keys.data<float>()[at * 8] = special;
      check(random_floats({1, 3, 8}, 0.1f, 1), keys, value);
    }
  }
}

TEST(AttentionKernel, Ranks) {
  check(random_floats({15, 8}), random_floats({9, 8}), random_floats({9, 8}));
  check(random_floats({2, 1, 3, 15, 8}), random_floats({2, 1, 3, 9, 8}), random_floats({2, 1, 3, 9, 8}));
}

TEST(AttentionKernel, RealSizes) {
  Options options;
  options.scale = 0.125f;
  for (const Shape& shape : {Shape{2, 128, 32}, Shape{1, 197, 64}, Shape{1, 1500, 64}}) {
    check(random_floats(shape), random_floats(shape), random_floats(shape), options);
  }
}

TEST(AttentionKernel, Empty) {
  check(random_floats({2, 0, 8}), random_floats({2, 9, 8}), random_floats({2, 9, 8}));
  check(random_floats({2, 9, 8}), random_floats({2, 0, 8}), random_floats({2, 0, 8}));
  check(random_floats({0, 9, 8}), random_floats({0, 9, 8}), random_floats({0, 9, 8}));
  check(random_floats({2, 9, 8}), random_floats({2, 5, 8}), random_floats({2, 5, 0}));
  check(random_floats({2, 9, 0}), random_floats({2, 5, 0}), random_floats({2, 5, 8}));
}

TEST(AttentionKernel, GroupedHeads) {
  check(random_floats({2, 6, 5, 8}), random_floats({2, 2, 20, 8}), random_floats({2, 2, 20, 8}));
  check(random_floats({2, 6, 1, 8}), random_floats({2, 1, 300, 8}), random_floats({2, 1, 300, 8}));
  Options options;
  options.causal = true;
  options.mask = random_floats({2, 6, 30, 30});
  check(random_floats({2, 6, 30, 8}), random_floats({2, 2, 30, 8}), random_floats({2, 2, 30, 8}), options);
}

TEST(AttentionKernel, Causal) {
  Options options;
  options.causal = true;
  for (const size_t rows : {1, 5, 30, 300}) {
    for (const size_t keys : {1, 5, 30, 300, 700}) {
      SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(keys) + " keys");
      check(random_floats({2, rows, 16}), random_floats({2, keys, 16}), random_floats({2, keys, 16}), options);
    }
  }
}

TEST(AttentionKernel, MaskShapes) {
  const Tensor query = random_floats({2, 3, 14, 8}), key = random_floats({2, 3, 41, 8}),
               value = random_floats({2, 3, 41, 8});
  for (const Shape& shape :
       {Shape{2, 3, 14, 41},
        Shape{14, 41},
        Shape{1, 41},
        Shape{41},
        Shape{14, 1},
        Shape{},
        Shape{1},
        Shape{2, 1, 1, 41},
        Shape{3, 1, 41},
        Shape{2, 1, 14, 1}}) {
    SCOPED_TRACE(shape.to_string());
    Options options;
    options.mask = random_floats(shape);
    check(query, key, value, options);
    options.mask = bool_mask(shape, 3);
    check(query, key, value, options);
  }
}

TEST(AttentionKernel, MaskedOutRowsAreZero) {
  const Tensor query = random_floats({1, 5, 8}), key = random_floats({1, 300, 8}), value = random_floats({1, 300, 8});
  Options options;
  options.mask = random_floats({5, 300});
  std::fill_n(options.mask->data<float>() + 300, 300, -kInfinity);
  std::fill_n(options.mask->data<float>() + 600, 280, -kInfinity); // a whole block of keys
  std::fill_n(options.mask->data<float>() + 920, 280, -kInfinity);
  check(query, key, value, options);

  Tensor mask = bool_mask({5, 300}, 2);
  for (size_t i = 0; i < mask.numel(); ++i) {
    mask.data<uint8_t>()[i] = options.mask->data<float>()[i] != -kInfinity;
  }
  options.mask = mask;
  check(query, key, value, options);
}

TEST(AttentionKernel, LowestFiniteMaskKeepsTheAverage) {
  Options options;
  options.mask = repeated({5, 30}, {std::numeric_limits<float>::lowest()});
  check(random_floats({1, 5, 8}), random_floats({1, 30, 8}), random_floats({1, 30, 8}), options);
}

TEST(AttentionKernel, LargeScores) {
  Options options;
  options.scale = 40;
  check(random_floats({1, 30, 8}), random_floats({1, 700, 8}), random_floats({1, 700, 8}), options, 3e-4f);
}

TEST(AttentionKernel, NotANumberStaysInItsRow) {
  Tensor query = random_floats({1, 40, 8});
  query.data<float>()[100] = kNaN;
  const Tensor key = random_floats({1, 300, 8}), value = random_floats({1, 300, 8});
  check(query, key, value);
  Options options;
  options.mask = random_floats({40, 300});
  options.mask->data<float>()[5 * 300 + 7] = kNaN;
  options.mask->data<float>()[6 * 300 + 8] = kInfinity;
  check(query, key, value, options);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
