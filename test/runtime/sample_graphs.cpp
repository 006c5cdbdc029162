// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "sample_graphs.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BinaryKind;
using schema::DimOp;
using schema::UnaryKind;

GraphDef elementwise() {
  GraphDef g;
  const int64_t batch = g.ranged(DimOp::InputDim, 0, 0, 0, 8, 3);
  const uint32_t x = g.input({batch, 4});
  const uint32_t y = g.input({4});
  uint32_t last = x;
  for (const UnaryKind kind : schema::EnumValuesUnaryKind()) {
    last = g.node(kind == UnaryKind::Clamp ? clamp(-1, 1) : unary(kind), {last}, {batch, 4});
  }
  for (const BinaryKind kind : schema::EnumValuesBinaryKind()) {
    if (kind < BinaryKind::BitAnd) {
      last = g.node(binary(kind), {last, y}, {batch, 4});
    }
  }
  g.output(last);
  return g;
}

GraphDef matmul() {
  GraphDef g;
  const int64_t batch = g.ranged(DimOp::InputDim, 0, 0, 1, 16, 2);
  const uint32_t x = g.input({batch, 5});
  const uint32_t w = g.constant({4, 5}, some_numbers(20));
  const uint32_t b = g.constant({4}, some_numbers(4));
  const uint32_t y = g.node(linear(), {x, w, b}, {batch, 4});
  const uint32_t dynamic_weight = g.input({3, 4});
  const uint32_t z = g.node(linear(), {y, dynamic_weight}, {batch, 3});
  const uint32_t product = g.node(batch_matmul(true), {y, y}, {batch, batch});
  const uint32_t other = g.node(batch_matmul(), {product, z}, {batch, 3});
  const uint32_t scale = g.constant({3}, some_numbers(3));
  const uint32_t norm = g.node(layer_norm(), {other, scale, kNone}, {batch, 3});
  g.output(g.node(softmax(1), {norm}, {batch, 3}));
  g.output(z);
  return g;
}

GraphDef images() {
  GraphDef g;
  const int64_t height = g.ranged(DimOp::InputDim, 0, 1, 4, 12, 8);
  const int64_t two = g.expr(DimOp::Const, 2);
  const int64_t half = g.expr(DimOp::FloorDiv, -1 - height, -1 - two);
  const uint32_t x = g.input({1, height, 6, 4});
  g.inputs[0].dim_order = {0, 2, 3, 1};
  const uint32_t w = g.constant({6, 3, 3, 2}, some_numbers(108));
  const uint32_t b = g.constant({6}, some_numbers(6));
  const uint32_t conv = g.node(conv2d({1, 1}, {1, 1, 1, 1}, {1, 1}, 2), {x, w, b}, {1, height, 6, 6});
  const uint32_t dw = g.constant({6, 3, 3, 1}, some_numbers(54));
  const uint32_t depthwise = g.node(conv2d({1, 1}, {1, 1, 1, 1}, {1, 1}, 6), {conv, dw}, {1, height, 6, 6});
  const uint32_t average = g.node(avg_pool2d({2, 2}, {2, 2}), {depthwise}, {1, half, 3, 6});
  const uint32_t maximum = g.node(max_pool2d({2, 2}, {2, 2}), {depthwise}, {1, half, 3, 6});
  const uint32_t sum = g.node(binary(BinaryKind::Add), {average, maximum}, {1, half, 3, 6});
  const int64_t even = g.expr(DimOp::Mul, -1 - half, -1 - two);
  const uint32_t tw = g.constant({4, 2, 2, 6}, some_numbers(96));
  const uint32_t up = g.node(conv_transpose2d({2, 2}), {sum, tw}, {1, even, 6, 4});
  g.output(up);
  g.outputs[0].dim_order = {0, 2, 3, 1};
  const uint32_t pooled = g.node(adaptive_pool2d(schema::AdaptivePoolKind::Average, {1, 1}), {up}, {1, 1, 1, 4});
  g.output(g.node(adaptive_pool2d(schema::AdaptivePoolKind::Max, {2, 3}), {up}, {1, 2, 3, 4}));
  g.output(g.node(reduce(schema::ReduceKind::Sum, {1, 2}), {up}, {1, 4}));
  g.output(g.node(reduce(schema::ReduceKind::Mean, {3}, true), {pooled}, {1, 1, 1, 1}));
  return g;
}

GraphDef volumes() {
  GraphDef g;
  const int64_t height = g.ranged(DimOp::InputDim, 0, 2, 4, 12, 8);
  const int64_t two = g.expr(DimOp::Const, 2);
  const int64_t half = g.expr(DimOp::FloorDiv, -1 - height, -1 - two);
  const uint32_t x = g.input({2, 3, height, 5, 4});
  const uint32_t scale = g.constant({4}, some_numbers(4));
  const uint32_t norm = g.node(group_norm(4, 2), {x, scale, kNone}, {2, 3, height, 5, 4});
  g.output(g.also({2, 2}));
  g.output(g.also({2, 2}));
  const uint32_t rms = g.node(rms_norm(1), {norm, scale}, {2, 3, height, 5, 4});
  g.output(g.node(max_pool_indices({2, 2, 1}, {1, 2, 1}), {rms}, {2, 2, half, 5, 4}));
  g.output(g.also({2, 2, half, 5, 4}, DType::Int64));
  const uint32_t image = g.input({2, height, 5, 3});
  const uint32_t grid = g.input({2, height, 4, 2});
  for (const schema::GridPaddingMode border : schema::EnumValuesGridPaddingMode()) {
    g.output(g.node(grid_sample(schema::SampleKind::Bicubic, border), {image, grid}, {2, height, 4, 3}));
  }
  const int64_t longer = g.expr(DimOp::Add, -1 - height, -1 - two);
  for (const schema::PadMode mode : schema::EnumValuesPadMode()) {
    g.output(g.node(pad({0, 2, 1, 0}, {0, 0, 0, 0}, 0, mode), {image}, {2, longer, 6, 3}));
  }
  return g;
}

GraphDef sequences() {
  GraphDef g;
  const int64_t steps = g.ranged(DimOp::InputDim, 0, 0, 1, 9, 4);
  const uint32_t x = g.input({steps, 2, 12});
  const uint32_t w = g.constant({12, 3}, some_numbers(36));
  g.output(g.node(recurrent(schema::RecurrentKind::Lstm), {x, w}, {steps, 2, 3}));
  g.output(g.also({2, 3}));
  const uint32_t cell = g.also({2, 3});
  const uint32_t projection = g.constant({2, 3}, some_numbers(6));
  const uint32_t narrow = g.constant({12, 2}, some_numbers(24));
  g.output(
      g.node(recurrent(schema::RecurrentKind::Lstm, true), {x, narrow, kNone, kNone, cell, projection}, {steps, 2, 2}));
  g.also({2, 2});
  g.also({2, 3});
  const uint32_t gates = g.constant({12, 4}, some_numbers(48));
  const uint32_t bias = g.constant({12}, some_numbers(12));
  const uint32_t gru = g.node(recurrent(schema::RecurrentKind::Gru), {x, gates, bias}, {steps, 2, 4});
  const uint32_t last = g.also({2, 4});
  const uint32_t square = g.constant({4, 4}, some_numbers(16));
  g.output(g.node(recurrent(schema::RecurrentKind::Tanh), {gru, square, kNone, last}, {steps, 2, 4}));
  g.also({2, 4});
  return g;
}

GraphDef transforms() {
  GraphDef g;
  const int64_t length = g.ranged(DimOp::InputDim, 0, 1, 1, 12, 6);
  const int64_t half = g.expr(DimOp::FloorDiv, -1 - length, -1 - g.expr(DimOp::Const, 2));
  const int64_t count = g.expr(DimOp::Add, -1 - half, -1 - g.expr(DimOp::Const, 1));
  const uint32_t x = g.input({3, length});
  const uint32_t real = g.node(fft(schema::FftKind::RealToComplex, 1), {x}, {3, count});
  const uint32_t imag = g.also({3, count});
  const uint32_t first = g.node(fft(schema::FftKind::Complex, 0), {real, imag}, {3, count});
  const uint32_t second = g.also({3, count});
  const uint32_t back = g.node(fft(schema::FftKind::Inverse, 0), {first, second}, {3, count});
  const uint32_t other = g.also({3, count});
  g.output(g.node(fft(schema::FftKind::ComplexToReal, 1, length), {back, other}, {3, length}));
  g.output(g.node(fft(schema::FftKind::RealToComplex, 1, 0, true), {x}, {3, length}));
  g.output(g.also({3, length}));
  return g;
}

GraphDef attend() {
  GraphDef g;
  const int64_t length = g.ranged(DimOp::InputDim, 0, 1, 1, 10, 5);
  const uint32_t query = g.input({4, length, 8});
  const uint32_t key = g.input({2, length, 8});
  const uint32_t value = g.input({2, length, 6});
  const uint32_t mask = g.input({length, length}, DType::Bool);
  const uint32_t angles = g.constant({8}, some_numbers(8));
  const uint32_t turned = g.node(rotary_embedding(), {query, angles, angles}, {4, length, 8});
  const uint32_t masked = g.node(attention(0.25f), {turned, key, value, mask}, {4, length, 6});
  const uint32_t causal = g.node(attention(0.25f, true), {query, key, value}, {4, length, 6});
  g.output(g.node(binary(BinaryKind::Sub), {masked, causal}, {4, length, 6}));
  const int64_t start = g.ranged(DimOp::InputInt, 4, 0, 0, 9, 2);
  g.inputs.push_back({kNone, {}});
  const uint32_t keys = g.input({20, 2, 8}), tokens = g.input({length, 4, 8});
  g.output(g.node(attention(0.25f, true, start, true), {tokens, keys, keys}, {length, 4, 8}));
  return g;
}

GraphDef shapes() {
  GraphDef g;
  const int64_t rows = g.ranged(DimOp::InputDim, 0, 0, 0, 9, 4);
  const int64_t start = g.ranged(DimOp::InputInt, 1, 0, 0, 4, 1);
  const int64_t two = g.expr(DimOp::Const, 2);
  const int64_t three = g.expr(DimOp::Const, 3);
  const int64_t twice = g.expr(DimOp::Mul, -1 - rows, -1 - two);
  const int64_t longer = g.expr(DimOp::Add, -1 - rows, -1 - two);
  const int64_t rest = g.expr(DimOp::Mod, -1 - rows, -1 - three);
  const int64_t least = g.expr(DimOp::Min, -1 - rows, -1 - three);
  const int64_t most = g.expr(DimOp::Max, -1 - rest, -1 - least);
  const int64_t scaled = g.expr(DimOp::Scale, -1 - rows, bits_of(0.7));
  const uint32_t x = g.input({rows, 2, 6}, DType::Int64);
  g.inputs.push_back({kNone, {}});
  const uint32_t flat = g.node(reshape({twice, 6}), {x}, {twice, 6}, DType::Int64);
  g.output(g.node(slice(1, start, 2), {flat}, {twice, 2}, DType::Int64));
  g.output(g.node(slice(0, 0, most), {x}, {most, 2, 6}, DType::Int64));
  g.output(g.node(slice(0, 0, scaled), {x}, {scaled, 2, 6}, DType::Int64));
  const uint32_t y = g.input({rows, 3});
  const uint32_t turned = g.node(transpose({1, 0}), {y}, {3, rows});
  const uint32_t padded = g.node(pad({0, 1}, {0, 1}, 0.5f), {turned}, {3, longer});
  const uint32_t one = g.constant({1}, {2});
  const uint32_t expanded = g.node(expand({2, longer}), {one}, {2, longer});
  g.output(g.node(concat(0), {padded, expanded, padded}, {8, longer}));
  g.output(g.node(slice(0, 0, 2, 2), {padded}, {2, longer}));
  const uint32_t weights = g.named({2, 3}, "table", DType::Int32);
  g.output(g.node(transpose({1, 0}), {weights}, {3, 2}, DType::Int32));
  return g;
}

GraphDef integers() {
  GraphDef g;
  const int64_t rows = g.ranged(DimOp::InputDim, 0, 0, 1, 9, 4);
  const uint32_t table = g.input({rows, 3});
  const uint32_t size = g.node(size_value(rows), {}, {}, DType::Int64);
  const uint32_t counted = g.node(iota(rows), {}, {rows}, DType::Int64);
  const uint32_t doubled = g.node(binary(BinaryKind::Add), {counted, counted}, {rows}, DType::Int64);
  const uint32_t places = g.node(binary(BinaryKind::Remainder), {doubled, size}, {rows}, DType::Int64);
  const uint32_t picked = g.node(index(0), {table, places}, {rows, 3});
  const uint32_t column = g.node(reshape({rows, 1}), {places}, {rows, 1}, DType::Int64);
  const uint32_t gathered = g.node(gather(0), {table, column}, {rows, 1});
  const uint32_t less = g.node(compare(schema::CompareKind::Less), {picked, gathered}, {rows, 3}, DType::Bool);
  const uint32_t both = g.node(binary(BinaryKind::BitAnd), {less, less}, {rows, 3}, DType::Bool);
  const uint32_t chosen = g.node(where(), {both, picked, gathered}, {rows, 3});
  const uint32_t image = g.node(reshape({1, rows, 3, 1}), {chosen}, {1, rows, 3, 1});
  g.output(g.node(resize2d(schema::ResizeKind::Bilinear, {rows, 7}), {image}, {1, rows, 7, 1}));
  g.output(g.node(cast(DType::Int32), {less}, {rows, 3}, DType::Int32));
  return g;
}

GraphDef writes() {
  GraphDef g;
  const int64_t rows = g.ranged(DimOp::InputDim, 0, 0, 1, 9, 4);
  const uint32_t x = g.input({rows, 3});
  const uint32_t counted = g.node(iota(rows), {}, {rows}, DType::Int64);
  const uint32_t put = g.node(index_put(0), {x, x, counted}, {rows, 3});
  const uint32_t column = g.node(slice(1, 1, 1), {put}, {rows, 1});
  const uint32_t written = g.node(slice_scatter({0, 2}, {1, 1}), {put, column}, {rows, 3});
  const uint32_t places = g.node(reshape({rows, 1}), {counted}, {rows, 1}, DType::Int64);
  const uint32_t scattered = g.node(scatter(0, schema::UpdateKind::Add), {written, column, places}, {rows, 3});
  const uint32_t less = g.node(compare(schema::CompareKind::Less), {scattered, x}, {rows, 3}, DType::Bool);
  const uint32_t masked = g.node(masked_scatter(), {x, less, scattered}, {rows, 3});
  g.output(g.node(embedding_bag(schema::BagKind::Max), {masked, counted, counted}, {rows, 3}));
  return g;
}

GraphDef orders() {
  GraphDef g;
  const int64_t rows = g.ranged(DimOp::InputDim, 0, 0, 1, 9, 4);
  const uint32_t x = g.input({rows, 3});
  const uint32_t total = g.node(scan(schema::ScanKind::Sum, 0), {x}, {rows, 3});
  const uint32_t sorted = g.node(sort(1), {total}, {rows, 3}, DType::Int64);
  g.output(g.node(gather(1), {x, sorted}, {rows, 3}));
  g.output(g.node(sort(1, true, 2), {x}, {rows, 2}, DType::Int64));
  g.output(g.node(arg_reduce(schema::ArgReduceKind::Max, 1), {x}, {rows}, DType::Int64));
  g.output(g.node(reduce(schema::ReduceKind::Max, {1}), {x}, {rows}));
  return g;
}

// Sizes that are found in data, one after the other, and what depends on them.
GraphDef found_sizes() {
  GraphDef g;
  const int64_t rows = g.ranged(DimOp::InputDim, 0, 0, 1, 9, 4);
  const int64_t kept = g.ranged(DimOp::FoundSize, 1, 0, 0, 9, 4);
  const int64_t repeated = g.ranged(DimOp::FoundSize, 5, 0, 0, 9, 4);
  const int64_t apart = g.ranged(DimOp::FoundSize, 8, 0, 0, 9, 4);
  const uint32_t boxes = g.input({rows, 4});
  const uint32_t scores = g.input({rows});
  const uint32_t zero = g.constant({}, {0});
  const uint32_t mask = g.node(compare(schema::CompareKind::GreaterEqual), {scores, zero}, {rows}, DType::Bool);
  const uint32_t found = g.node(nonzero(kept), {mask}, {kept, 1}, DType::Int64);
  const uint32_t places = g.node(reshape({kept}), {found}, {kept}, DType::Int64);
  const uint32_t picked = g.node(index(0), {scores, places}, {kept});
  const uint32_t once = g.node(cast(DType::Int64), {mask}, {rows}, DType::Int64);
  const uint32_t each = g.node(repeat_indices(repeated), {once}, {repeated}, DType::Int64);
  const uint32_t some = g.node(index(0), {boxes, each}, {repeated, 4});
  const uint32_t some_scores = g.node(index(0), {scores, each}, {repeated});
  g.output(g.node(non_max_suppression(0.5, apart), {some, some_scores}, {apart}, DType::Int64));
  g.output(g.node(unary(UnaryKind::Neg), {picked}, {kept}));
  g.output(g.node(reduce(schema::ReduceKind::Sum, {0}), {some}, {4}));
  const uint32_t turned = g.node(transpose({1, 0}), {some}, {4, repeated});
  g.output(g.node(batch_matmul(), {turned, some}, {4, 4}));
  const uint32_t counted = g.node(iota(apart), {}, {apart}, DType::Int64);
  g.output(g.node(cast(DType::Float32), {counted}, {apart}));
  return g;
}

GraphDef quantization() {
  GraphDef g;
  const int64_t rows = g.ranged(DimOp::InputDim, 0, 0, 0, 9, 4);
  const uint32_t x = g.input({rows, 6});
  const uint32_t scale = g.constant({}, {0.25f});
  const uint32_t zero_point = g.node(cast(DType::Int32), {scale}, {}, DType::Int32);
  const uint32_t q = g.node(quantize(DType::Int8, -128, 127), {x, scale, zero_point}, {rows, 6}, DType::Int8);
  const uint32_t moved = g.node(reshape({rows, 3, 2}), {q}, {rows, 3, 2}, DType::Int8);
  const uint32_t scales = g.constant({1, 3, 1}, some_numbers(3));
  const uint32_t zero_points = g.node(cast(DType::Int32), {scales}, {1, 3, 1}, DType::Int32);
  g.output(g.node(dequantize(), {moved, scales, zero_points}, {rows, 3, 2}));
  return g;
}

GraphDef quantized_images() {
  GraphDef g;
  const int64_t height = g.ranged(DimOp::InputDim, 0, 1, 4, 12, 8);
  const uint32_t x = g.input({1, height, 6, 4});
  const uint32_t q = g.quantized(g.node(unary(UnaryKind::Copy), {x}, {1, height, 6, 4}), 0.02f, 3);
  const uint32_t w = g.integers({6, 3, 3, 4}, {{0.01f, 0.02f, 0.01f, 0.03f, 0.01f, 0.02f}, {0, 0, 0, 0, 0, 0}, 0});
  const uint32_t b =
      g.integers({6}, {{0.0002f, 0.0004f, 0.0002f, 0.0006f, 0.0002f, 0.0004f}, {0, 0, 0, 0, 0, 0}, 0}, DType::Int32);
  const uint32_t conv = g.quantized(g.node(conv2d({1, 1}, {1, 1, 1, 1}), {q, w, b}, {1, height, 6, 6}), 0.05f, -7);
  const uint32_t table = g.quantized(g.node(unary(UnaryKind::Tanh), {conv}, {1, height, 6, 6}), 0.01f, 0);
  const uint32_t sum = g.quantized(g.node(binary(BinaryKind::Add), {conv, table}, {1, height, 6, 6}), 0.05f, 0);
  const uint32_t cat = g.quantized(g.node(concat(3), {sum, sum}, {1, height, 6, 12}), 0.05f, 0);
  const uint32_t mean = g.quantized(g.node(reduce(schema::ReduceKind::Mean, {1, 2}), {cat}, {1, 12}), 0.02f, 1);
  const uint32_t v = g.integers({5, 12}, {{0.01f}, {0}, 0});
  const uint32_t y = g.quantized(g.node(linear(), {mean, v}, {1, 5}), 0.1f, 5, DType::Int8);
  g.output(g.node(unary(UnaryKind::Copy), {y}, {1, 5}));
  return g;
}

// A constant of bytes, other ones each.
uint32_t bytes(GraphDef& g, const std::vector<int64_t>& dims, DType dtype) {
  const uint32_t id = g.value(dims, dtype);
  std::vector<uint8_t> data(static_cast<size_t>(dims[0] * dims[1]));
  for (size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<uint8_t>(i * 31);
  }
  g.values[id].constant = ConstantDef{std::nullopt, data};
  return id;
}

GraphDef dynamic_quantization() {
  GraphDef g;
  const int64_t rows = g.ranged(DimOp::InputDim, 0, 0, 0, 20, 4);
  const uint32_t x = g.input({rows, 8});
  const uint32_t scale = g.node(choose_qparams(schema::QParamsKind::Asymmetric, 1, -128, 127), {x}, {rows, 1});
  const uint32_t zero_point = g.also({rows, 1}, DType::Int32);
  const uint32_t q = g.node(quantize(DType::Int8, -128, 127), {x, scale, zero_point}, {rows, 8}, DType::Int8);
  const uint32_t rounded = g.node(dequantize(), {q, scale, zero_point}, {rows, 8});
  const uint32_t one_scale = g.constant({8, 1}, std::vector<float>(8, 0.01f));
  const uint32_t bias = g.constant({8}, some_numbers(8));
  const uint32_t eight = bytes(g, {8, 8}, DType::Int8);
  const uint32_t a = g.node(quantized_linear(8, true), {rounded, eight, one_scale, bias}, {rows, 8});
  const uint32_t four = bytes(g, {8, 4}, DType::UInt8);
  const uint32_t b = g.node(quantized_linear(4, false), {a, four, one_scale, bias}, {rows, 8});
  const uint32_t scales = g.constant({8, 2}, std::vector<float>(16, 0.02f));
  const uint32_t zeros = g.node(cast(DType::Int32), {scales}, {8, 2}, DType::Int32);
  g.output(g.node(quantized_linear(4, true), {b, four, scales, kNone, zeros}, {rows, 8}));
  return g;
}

// A kernel of ours that gives its result to a pass, a part at a time.
GraphDef led_pass() {
  GraphDef g;
  const int64_t batch = g.ranged(DimOp::InputDim, 0, 0, 0, 3, 2);
  const int64_t height = g.ranged(DimOp::InputDim, 0, 1, 1, 9, 5);
  const uint32_t x = g.input({batch, height, 6, 8});
  const uint32_t w = g.constant({8, 7, 7, 1}, some_numbers(392));
  const uint32_t scale = g.constant({8}, some_numbers(8));
  const uint32_t conv = g.node(conv2d({1, 1}, {3, 3, 3, 3}, {1, 1}, 8), {x, w}, {batch, height, 6, 8});
  const uint32_t scaled = g.node(binary(BinaryKind::Mul), {conv, scale}, {batch, height, 6, 8});
  g.output(g.node(binary(BinaryKind::Add), {scaled, x}, {batch, height, 6, 8}));
  g.output(g.node(binary(BinaryKind::Sub), {conv, scaled}, {batch, height, 6, 8}));
  return g;
}

} // namespace

std::vector<SampleGraph> sample_graphs() {
  return {
      {"small", small_graph()},
      {"elementwise", elementwise()},
      {"matmul", matmul()},
      {"images", images()},
      {"volumes", volumes()},
      {"sequences", sequences()},
      {"transforms", transforms()},
      {"attend", attend()},
      {"shapes", shapes()},
      {"integers", integers()},
      {"writes", writes()},
      {"orders", orders()},
      {"found_sizes", found_sizes()},
      {"quantization", quantization()},
      {"quantized_images", quantized_images()},
      {"dynamic_quantization", dynamic_quantization()},
      {"led_pass", led_pass()},
  };
}

GraphDef small_graph() {
  GraphDef g;
  const int64_t batch = g.ranged(DimOp::InputDim, 0, 0, 1, 6, 2);
  const int64_t two = g.expr(DimOp::Const, 2);
  const int64_t twice = g.expr(DimOp::Mul, -1 - batch, -1 - two);
  const uint32_t x = g.input({batch, 3}); // 0
  const uint32_t w = g.named({4, 3}, "w"); // 1
  const uint32_t b = g.constant({4}, {1, 2, 3, 4}); // 2
  const uint32_t negative = g.node(unary(UnaryKind::Neg), {x}, {batch, 3}); // 3
  const uint32_t y = g.node(linear(), {negative, w, b}, {batch, 4}); // 4
  const uint32_t norm = g.node(layer_norm(), {y, kNone, b}, {batch, 4}); // 5
  g.output(g.node(reshape({twice, 2}), {norm}, {twice, 2})); // 6
  for (uint32_t i = 0; i < g.nodes.size(); ++i) {
    g.nodes[i].debug_handle = 10 + i;
  }
  return g;
}

} // namespace executorch::backends::et_xnnpack::testing
