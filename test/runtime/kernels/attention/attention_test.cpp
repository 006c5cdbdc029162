// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/attention/attention.h>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

struct Options {
  float scale = 0.3f;
  bool causal = false;
  std::optional<Tensor> mask = std::nullopt;
  size_t start = 0;
  bool by_token = false;
  bool is_int8 = false;
};

// A tensor of floats with axes -2 and -3 swapped.
Tensor swapped(const Tensor& x) {
  Shape shape = x.shape();
  const size_t rank = shape.rank, heads = shape[rank - 3], tokens = shape[rank - 2], width = shape[rank - 1];
  std::swap(shape[rank - 3], shape[rank - 2]);
  Tensor y(DType::Float32, shape);
  for (size_t i = 0; i < x.numel() / std::max<size_t>(width, 1); ++i) {
    const size_t token = i % tokens, head = i / tokens % heads, batch = i / tokens / heads;
    const size_t to = (batch * tokens + token) * heads + head;
    std::copy_n(x.data<float>() + i * width, width, y.data<float>() + to * width);
  }
  return y;
}

// Floats as integers with a scale and a zero point for each row, and what they stand for.
struct Integers {
  Tensor values, scale, zero_point, numbers;
};
Integers integers_of(const Tensor& x) {
  Shape rows = x.shape();
  const size_t width = rows.last();
  rows[rows.rank - 1] = 1;
  Integers y{Tensor(DType::Int8, x.shape()), Tensor(DType::Float32, rows), Tensor(DType::Int8, rows), x};
  for (size_t i = 0; i < x.numel(); ++i) {
    const size_t row = i / width;
    const float scale = 0.01f + 0.001f * static_cast<float>(row % 7);
    const int zero_point = static_cast<int>(row * 37 % 256) - 128;
    const int value = std::clamp(static_cast<int>(std::lround(x.data<float>()[i] / scale)) + zero_point, -128, 127);
    y.values.data<int8_t>()[i] = static_cast<int8_t>(value);
    y.scale.data<float>()[row] = scale;
    y.zero_point.data<int8_t>()[row] = static_cast<int8_t>(zero_point);
    y.numbers.data<float>()[i] = static_cast<float>(value - zero_point) * scale;
  }
  return y;
}

PlainCase make_case(const Tensor& query, const Tensor& key, const Tensor& value, const Options& options) {
  AttentionParameters parameters;
  parameters.query = query.shape();
  parameters.key = key.shape();
  parameters.value = value.shape();
  if (options.mask) {
    parameters.mask = options.mask->shape();
    parameters.mask_is_bool = options.mask->type.dtype == DType::Bool;
  }
  parameters.scale = options.scale;
  parameters.causal = options.causal;
  parameters.start = options.start;
  parameters.by_token = options.by_token;
  Shape shape = query.shape();
  shape[shape.rank - 1] = value.shape().last();
  return {plain_kernel<Attention>(parameters), {query, key, value, options.mask}, {{DType::Float32, shape}}};
}

Tensor reference(const PlainCase& kernel_case, const Options& options) {
  const Tensor &query = *kernel_case.inputs[0], &key = *kernel_case.inputs[1], &value = *kernel_case.inputs[2];
  const size_t rank = query.shape().rank;
  const size_t rows = query.shape()[rank - 2], width = query.shape()[rank - 1];
  const size_t keys = key.shape()[rank - 2], value_width = value.shape().last();
  const size_t group = rank < 3 || key.shape()[rank - 3] == 0 ? 1 : query.shape()[rank - 3] / key.shape()[rank - 3];
  Tensor y(DType::Float32, kernel_case.outputs[0].shape);

  Shape row_shape = query.shape();
  row_shape[rank - 1] = 1;
  Shape score_shape = query.shape();
  score_shape[rank - 1] = keys;
  Index at(score_shape);
  for (size_t row = 0; row < row_shape.numel(); ++row) {
    const size_t head = row / rows / group;
    std::vector<double> scores(keys);
    double highest = -kInfinity, sum = 0;
    bool nan = false;
    for (size_t k = 0; k < keys; ++k, at.next()) {
      for (size_t e = 0; e < width; ++e) {
        scores[k] += static_cast<double>(query.data<float>()[row * width + e]) *
            key.data<float>()[(head * keys + k) * width + e];
      }
      scores[k] *= options.scale;
      if (options.mask && options.mask->type.dtype == DType::Bool) {
        scores[k] = options.mask->data<uint8_t>()[at.in(options.mask->shape())] != 0 ? scores[k] : -kInfinity;
      } else if (options.mask) {
        scores[k] += options.mask->data<float>()[at.in(options.mask->shape())];
      }
      if (options.causal && k > options.start + row % rows) {
        scores[k] = -kInfinity;
      }
      nan = nan || std::isnan(scores[k]);
      highest = std::max(highest, scores[k]);
    }
    const bool empty = highest == -kInfinity && !nan;
    for (double& score : scores) {
      score = empty ? 0 : std::exp(score - highest);
      sum += score;
    }
    for (size_t e = 0; e < value_width; ++e) {
      double total = 0;
      for (size_t k = 0; k < keys; ++k) {
        total += scores[k] * value.data<float>()[(head * keys + k) * value_width + e];
      }
      y.data<float>()[row * value_width + e] = static_cast<float>(empty ? 0 : total / sum);
    }
  }
  return y;
}

// The larger the scores, the less float arithmetic can promise.
void check(
    const Tensor& query, const Tensor& key, const Tensor& value, const Options& options = {}, float tolerance = 5e-6f) {
  const PlainCase kernel_case = make_case(query, key, value, options);
  check_kernel(kernel_case, reference(kernel_case, options), {tolerance, tolerance});
}

Tensor bool_mask(const Shape& shape, size_t one_false_in) {
  Tensor mask(DType::Bool, shape);
  for (size_t i = 0; i < mask.numel(); ++i) {
    mask.data<uint8_t>()[i] = i * 2654435761u / 7 % one_false_in != 0;
  }
  return mask;
}

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

// With the heads of a token side by side, and with keys and values that are integers, too.
void check_layouts(const Tensor& query, Tensor key, Tensor value, Options options) {
  check(query, key, value, options);
  const auto run = [&](const Integers* keys, const Integers* values) {
    Tensor expected = reference(make_case(query, key, value, options), options);
    std::vector<std::optional<Tensor>> inputs{query, key, value, options.mask};
    if (keys != nullptr) {
      inputs = {
          query,
          keys->values,
          values->values,
          options.mask,
          keys->scale,
          keys->zero_point,
          values->scale,
          values->zero_point};
    }
    PlainCase plain = make_case(query, key, value, options);
    AttentionParameters parameters;
    parameters.query = query.shape();
    parameters.key = key.shape();
    parameters.value = value.shape();
    if (options.mask) {
      parameters.mask = options.mask->shape();
      parameters.mask_is_bool = options.mask->type.dtype == DType::Bool;
    }
    parameters.scale = options.scale;
    parameters.causal = options.causal;
    parameters.start = options.start;
    parameters.is_int8 = keys != nullptr;
    check_kernel(PlainCase{plain_kernel<Attention>(parameters), inputs, plain.outputs}, expected, {2e-5f, 2e-5f});
    parameters.by_token = true;
    inputs[0] = swapped(query);
    if (keys == nullptr) {
      inputs[1] = swapped(key);
      inputs[2] = swapped(value);
    } else {
      const Integers key_tokens = integers_of(swapped(key)), value_tokens = integers_of(swapped(value));
      inputs = {
          inputs[0],
          key_tokens.values,
          value_tokens.values,
          options.mask,
          key_tokens.scale,
          key_tokens.zero_point,
          value_tokens.scale,
          value_tokens.zero_point};
      Options plain_options = options;
      expected = reference(
          make_case(query, swapped(key_tokens.numbers), swapped(value_tokens.numbers), plain_options), options);
    }
    for (Shape* shape : {&parameters.query, &parameters.key, &parameters.value, &plain.outputs[0].shape}) {
      std::swap((*shape)[shape->rank - 3], (*shape)[shape->rank - 2]);
    }
    check_kernel(
        PlainCase{plain_kernel<Attention>(parameters), inputs, plain.outputs}, swapped(expected), {2e-5f, 2e-5f});
  };
  run(nullptr, nullptr);
  const Integers keys = integers_of(key), values = integers_of(value);
  key = keys.numbers;
  value = values.numbers;
  run(&keys, &values);
}

TEST(AttentionKernel, StartsInACache) {
  for (const size_t rows : {1, 2, 5, 70}) {
    for (const size_t start : {0, 1, 15, 255, 256, 300, 630}) {
      SCOPED_TRACE(std::to_string(rows) + " rows from " + std::to_string(start));
      Options options;
      options.causal = true;
      options.start = start;
      check_layouts(
          random_floats({2, 4, rows, 24}), random_floats({2, 2, 700, 24}), random_floats({2, 2, 700, 24}), options);
    }
  }
  Options options;
  options.causal = true;
  options.start = 9;
  for (const size_t width : {1, 7, 16, 33, 64}) {
    for (const size_t heads : {1, 3, 6}) {
      check_layouts(
          random_floats({heads, 3, width}),
          random_floats({heads, 20, width}),
          random_floats({heads, 20, width}),
          options);
    }
  }
}

TEST(AttentionKernel, LayoutsWithMasks) {
  const Tensor query = random_floats({1, 4, 13, 16}), key = random_floats({1, 2, 300, 16}),
               value = random_floats({1, 2, 300, 16});
  for (const Shape& shape : {Shape{13, 300}, Shape{1, 300}, Shape{4, 1, 300}, Shape{1, 4, 13, 300}, Shape{13, 1}}) {
    Options options;
    options.mask = random_floats(shape);
    check_layouts(query, key, value, options);
    options.mask = bool_mask(shape, 3);
    check_layouts(query, key, value, options);
  }
}

// Keys at the end, in the middle and at the beginning that no row sees, in whole blocks and parts of them.
TEST(AttentionKernel, SkipsWhatMasksHide) {
  for (const size_t rows : {1, 3, 20}) {
    const Tensor query = random_floats({2, rows, 8}), key = random_floats({2, 1100, 8}),
                 value = random_floats({2, 1100, 8});
    for (const auto& [begin, end] : std::vector<std::pair<size_t, size_t>>{
             {0, 1}, {0, 256}, {0, 300}, {256, 512}, {300, 301}, {700, 1100}, {1099, 1100}, {513, 513}}) {
      for (const float hidden : {-kInfinity, std::numeric_limits<float>::lowest()}) {
        SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(begin) + " to " + std::to_string(end));
        Options options;
        options.mask = repeated({rows, 1100}, {hidden});
        Tensor kept(DType::Bool, {rows, 1100});
        for (size_t row = 0; row < rows; ++row) {
          for (size_t k = 0; k < 1100; ++k) {
            const bool sees = (k >= begin + row % 3 && k < end) || (row == 1 && k < 4);
            kept.data<uint8_t>()[row * 1100 + k] = sees;
            if (sees) {
              options.mask->data<float>()[row * 1100 + k] = 0;
            }
          }
        }
        check(query, key, value, options);
        options.mask = kept;
        check(query, key, value, options);
      }
    }
  }
}

// What no row may look at may be anything, as memory that was never written.
TEST(AttentionKernel, ReadsNothingBehindTheLastVisibleKey) {
  for (const size_t rows : {1, 9}) {
    Tensor key = random_floats({2, 600, 8}), value = random_floats({2, 600, 8});
    const Tensor query = random_floats({2, rows, 8});
    Options options;
    options.causal = true;
    options.start = 20;
    const Tensor expected = reference(make_case(query, key, value, options), options);
    for (size_t head = 0; head < 2; ++head) {
      for (size_t i = (20 + rows) * 8; i < 600 * 8; ++i) {
        key.data<float>()[head * 4800 + i] = value.data<float>()[head * 4800 + i] = kNaN;
      }
    }
    check_kernel(make_case(query, key, value, options), expected, {5e-6f, 5e-6f});
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
  Tensor query = random_floats({1, 30, 8});
  query.data<float>()[100] = kNaN;
  const Tensor key = random_floats({1, 300, 8}), value = random_floats({1, 300, 8});
  check(query, key, value);
  Options options;
  options.mask = random_floats({30, 300});
  options.mask->data<float>()[5 * 300 + 7] = kNaN;
  options.mask->data<float>()[6 * 300 + 8] = kInfinity;
  check(query, key, value, options);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
