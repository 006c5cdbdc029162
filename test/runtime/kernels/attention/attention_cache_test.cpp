// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "kernels/attention/attention_case.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using Options = AttentionOptions;

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

// Numbers as keys and values have them, Int8 with a scale and a zero point for each row, and what they stand for.
struct Stored {
  Tensor values;
  std::optional<Tensor> scale, zero_point;
  Tensor numbers;
};
Stored stored_in(DType type, const Tensor& x) {
  if (type == DType::Float32) {
    return {x, std::nullopt, std::nullopt, x};
  }
  if (is_reduced_float(type)) {
    return {narrowed(x, type), std::nullopt, std::nullopt, rounded(x, type)};
  }
  Shape rows = x.shape();
  const size_t width = rows.last();
  rows[rows.rank - 1] = 1;
  Stored y{Tensor(DType::Int8, x.shape()), Tensor(DType::Float32, rows), Tensor(DType::Int8, rows), x};
  for (size_t i = 0; i < x.numel(); ++i) {
    const size_t row = i / width;
    const float scale = 0.01f + 0.001f * static_cast<float>(row % 7);
    const int zero_point = static_cast<int>(row * 37 % 256) - 128;
    const int value = std::clamp(static_cast<int>(std::lround(x.data<float>()[i] / scale)) + zero_point, -128, 127);
    y.values.data<int8_t>()[i] = static_cast<int8_t>(value);
    y.scale->data<float>()[row] = scale;
    y.zero_point->data<int8_t>()[row] = static_cast<int8_t>(zero_point);
    y.numbers.data<float>()[i] = static_cast<float>(value - zero_point) * scale;
  }
  return y;
}

// With the heads of a token side by side, too, and with keys and values of every type.
void check_layouts(const Tensor& query, const Tensor& key, const Tensor& value, const Options& options) {
  check(query, key, value, options);
  for (const DType type : {DType::Float32, DType::BFloat16, DType::Float16, DType::Int8}) {
    SCOPED_TRACE(name_of(type));
    const PlainCase plain = make_case(query, key, value, options);
    AttentionParameters parameters = parameters_of(query, key, value, options);
    parameters.type = type;
    const auto run = [&](const Tensor& rows, const Stored& keys, const Stored& values, const Tensor& expected) {
      std::vector<std::optional<Tensor>> inputs{rows, keys.values, values.values, options.mask};
      if (type == DType::Int8) {
        inputs.insert(inputs.end(), {keys.scale, keys.zero_point, values.scale, values.zero_point});
      }
      const PlainCase typed{plain_kernel<Attention>(parameters), inputs, {{DType::Float32, expected.shape()}}};
      check_kernel(typed, expected, {2e-5f, 2e-5f});
    };
    Stored keys = stored_in(type, key), values = stored_in(type, value);
    run(query, keys, values, reference(make_case(query, keys.numbers, values.numbers, options), options));
    keys = stored_in(type, swapped(key));
    values = stored_in(type, swapped(value));
    const PlainCase by_head = make_case(query, swapped(keys.numbers), swapped(values.numbers), options);
    parameters.by_token = true;
    for (Shape* shape : {&parameters.query, &parameters.key, &parameters.value}) {
      std::swap((*shape)[shape->rank - 3], (*shape)[shape->rank - 2]);
    }
    run(swapped(query), keys, values, swapped(reference(by_head, options)));
  }
}

TEST(AttentionKernel, StartsInACache) {
  for (const size_t rows : {1, 5, 70}) {
    for (const size_t start : {0, 15, 255, 256, 630}) {
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

// Heads that a task takes at once, and more than it can.
TEST(AttentionKernel, FewRowsOfManyHeads) {
  for (const size_t heads : {3, 19}) {
    for (const size_t group : {1, 2, 3, 4}) {
      for (const size_t start : {255, 630}) {
        SCOPED_TRACE(std::to_string(heads) + " heads of " + std::to_string(group) + " from " + std::to_string(start));
        Options options;
        options.causal = true;
        options.start = start;
        const size_t width = start == 630 ? 36 : 16;
        check_layouts(
            random_floats({2, heads * group, 1, width}),
            random_floats({2, heads, 640, width}),
            random_floats({2, heads, 640, 8}),
            options);
      }
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

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
