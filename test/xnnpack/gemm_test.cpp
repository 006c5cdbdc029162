// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Products of matrices: every microkernel of a linear layer, and the operator that divides its work among them.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include <runtime/base/threadpool.h>
#include <runtime/xnnpack/rounded_rows.h>
#include <runtime/xnnpack/versions.h>

#include "insides.h"
#include "product.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using Parameters = xnn_quantization_params;

constexpr size_t kMostBytes = 1 << 20;
constexpr size_t kGap = 3; // elements between rows

struct Tile {
  size_t rows, columns, unit; // elements of depth that belong together
};

Tile tile_of(const xnn_ukernel_gemm& gemm) {
  return {gemm.mr, gemm.nr, size_t{gemm.kr} * gemm.sr};
}

// What a layer of so many columns takes: XNNPACK, and we, choose by them.
Tile find_tile(Format format, size_t columns) {
  const Operator op = create_linear(Weights(format, 1, columns, 1, kBlock, false), kBlock, columns);
  return op == nullptr ? Tile{} : tile_of(gemm_of(op.get()));
}

std::set<size_t> columns_around(Format format, size_t columns) {
  const size_t n = find_tile(format, columns).columns;
  return {1, 2, 3, 4, 5, n - 1, n, n + 1, 2 * n + 3, columns};
}

std::set<size_t> blocks_of(Format format) {
  return has_blocks(format) ? std::set<size_t>{kBlock, 2 * kBlock, 4 * kBlock, 8 * kBlock} : std::set<size_t>{kBlock};
}

std::set<size_t> depths_around(Format format, size_t unit, size_t block) {
  std::set<size_t> result;
  if (has_blocks(format)) {
    return block == kBlock ? std::set<size_t>{block, 2 * block, 3 * block, 5 * block}
                           : std::set<size_t>{block, 3 * block};
  }
  if (wants_all()) {
    for (size_t depth = 1; depth <= 4 * unit + 35; ++depth) {
      result.insert(depth);
    }
    return result;
  }
  return {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, unit + 1, 2 * unit + 3, 4 * unit - 1 + (unit == 1), 4 * unit + 1};
}

class GemmTest : public ::testing::TestWithParam<Format> {
 protected:
  GemmTest() : x_(kMostBytes), y_(kMostBytes), parameters_(1 << 14) {}

  // Rows of the input, behind which XNNPACK may read only what it documents.
  const uint8_t* place(const std::vector<int>& numbers, size_t first, size_t rows, size_t depth, size_t stride) {
    const Format format = GetParam();
    uint8_t* to = x_.use(((rows - 1) * stride + depth) * input_bytes(format), XNN_EXTRA_BYTES);
    for (size_t row = 0; row < rows; ++row) {
      write_input(format, numbers.data() + (first + row) * depth, depth, to + row * stride * input_bytes(format));
    }
    return to;
  }

  // Those of `rows` rows, then the last ones as often as a tile reads them.
  const Parameters* place(const std::vector<Parameters>& each, size_t first, size_t rows, size_t count) {
    auto* to = reinterpret_cast<Parameters*>(parameters_.use(count * sizeof(Parameters)));
    for (size_t i = 0; i < count; ++i) {
      to[i] = each[first + std::min(i, rows - 1)];
      to[i].zero_point += is_unsigned(GetParam()) ? 128 : 0;
    }
    return to;
  }

  void check_microkernels(const Weights& w);
  void check_operator(const Weights& w, pthreadpool_t pool);
  void check_rows_alone(const Weights& w, size_t rows, float scale);

  Fence x_, y_, parameters_;
};

// Another zero point and scale for each row.
std::vector<Parameters> some_parameters(size_t rows) {
  Random random;
  std::vector<Parameters> result(rows);
  for (Parameters& p : result) {
    p = {random.next(-128, 127), static_cast<float>(random.next(1, 100)) / 256};
  }
  return result;
}

std::vector<Expected> expect_rows(
    const Weights& w, const std::vector<int>& numbers, const std::vector<Parameters>& parameters) {
  std::vector<Expected> result;
  for (size_t row = 0; row < parameters.size(); ++row) {
    for (size_t column = 0; column < w.columns; ++column) {
      result.push_back(expect(w, column, {numbers.data() + row * w.depth}, parameters[row]));
    }
  }
  return result;
}

std::string describe(const Weights& w, size_t rows) {
  return std::string(name_of(w.format)) + ", " + std::to_string(rows) + " rows, " + std::to_string(w.columns) +
      " columns of depth " + std::to_string(w.depth) + " in blocks of " + std::to_string(w.block) +
      (w.max < 1e30f ? ", clamped" : "");
}

// Each by itself, with each number of rows that it takes.
void GemmTest::check_microkernels(const Weights& w) {
  const size_t x_stride = w.depth + kGap, y_stride = w.columns + kGap;
  const Operator op = create_linear(w, x_stride, y_stride);
  ASSERT_NE(op, nullptr);
  const xnn_ukernel_gemm& gemm = gemm_of(op.get());
  const std::vector<int> numbers = some_rows(w, gemm.mr, w.depth);
  const std::vector<Parameters> parameters = some_parameters(gemm.mr);
  const std::vector<Expected> expected = expect_rows(w, numbers, parameters);
  ASSERT_EQ(reshape_linear(w.format, op.get(), gemm.mr, nullptr), xnn_status_success);
  const gemm_context& context = gemm_context_of(op.get());
  for (size_t most = 1; most <= XNN_MAX_MR; ++most) {
    for (const xnn_gemm_ukernel_fn microkernel : gemm.gemm_cases[most - 1].function) {
      for (size_t rows = 1; microkernel != nullptr && rows <= most; ++rows) {
        announce(describe(w, rows) + " by the tile of " + std::to_string(most));
        const uint8_t* x = place(numbers, 0, rows, w.depth, x_stride);
        Output y(y_, w.format, rows, w.columns, y_stride);
        if (is_dynamic(w.format)) {
          reinterpret_cast<xnn_dqgemm_ukernel_fn>(reinterpret_cast<void (*)()>(microkernel))(
              rows,
              w.columns,
              context.k_scaled,
              x,
              context.a_stride,
              context.packed_w,
              y.data(),
              y.stride_bytes(),
              context.cn_stride,
              context.fused_params,
              reinterpret_cast<const xnn_qd8_quantization_params*>(place(parameters, 0, rows, most)));
        } else {
          microkernel(
              rows,
              w.columns,
              context.k_scaled,
              x,
              context.a_stride,
              context.packed_w,
              y.data(),
              y.stride_bytes(),
              context.cn_stride,
              context.fused_params);
        }
        ASSERT_NO_FATAL_FAILURE(y.check(expected));
      }
    }
  }
}

// Rows that XNNPACK quantizes itself, with the parameters that it writes behind them.
struct QuantizedRows {
  std::vector<int> numbers;
  std::vector<Parameters> parameters; // with what is behind them
};

void quantize_rows(
    const std::vector<int>& from,
    size_t rows,
    size_t depth,
    bool without_sign,
    pthreadpool_t pool,
    QuantizedRows* result) {
  std::vector<float> x(rows * depth + XNN_EXTRA_BYTES / sizeof(float));
  for (size_t i = 0; i < rows * depth; ++i) {
    // Each row has another range.
    const float row = static_cast<float>(i / depth);
    x[i] = (static_cast<float>(from[i]) + 10 * row) / (4 + row);
  }
  std::vector<int8_t> numbers(rows * depth + XNN_EXTRA_BYTES);
  // Until it writes them, nothing that could pass for parameters.
  result->parameters.assign(rows + XNN_MAX_MR, {1000000, 1e30f});
  const auto run = [&](auto create, auto reshape, auto set_up) {
    xnn_operator_t convert = nullptr;
    ASSERT_EQ(create(0, &convert), xnn_status_success);
    const Operator owner(convert);
    ASSERT_EQ(reshape(convert, rows, depth, depth, depth, pool), xnn_status_success);
    ASSERT_EQ(
        setup_dynamic_quantization(set_up, convert, x.data(), numbers.data(), result->parameters.data()),
        xnn_status_success);
    ASSERT_EQ(xnn_run_operator(convert, pool), xnn_status_success);
  };
  if (without_sign) {
    run(xnn_create_convert_nc_f32_qdu8, xnn_reshape_convert_nc_f32_qdu8, xnn_setup_convert_nc_f32_qdu8);
  } else {
    run(xnn_create_convert_nc_f32_qd8, xnn_reshape_convert_nc_f32_qd8, xnn_setup_convert_nc_f32_qd8);
  }
  if (::testing::Test::HasFatalFailure()) {
    return;
  }
  result->numbers.assign(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(rows * depth));
  if (without_sign) {
    for (size_t i = 0; i < rows * depth; ++i) {
      result->numbers[i] = static_cast<uint8_t>(numbers[i]) - 128;
    }
    for (Parameters& p : result->parameters) {
      p.zero_point -= 128;
    }
  }
  for (size_t i = 0; i < rows * depth; ++i) {
    const Parameters& p = result->parameters[i / depth];
    const float back = static_cast<float>(result->numbers[i] - p.zero_point) * p.scale;
    ASSERT_NEAR(back, x[i], 0.51f * p.scale);
  }
}

// The operator, with each number of rows around the tile.
void GemmTest::check_operator(const Weights& w, pthreadpool_t pool) {
  const size_t x_stride = w.depth + kGap, y_stride = w.columns + kGap;
  const Operator op = create_linear(w, x_stride, y_stride);
  ASSERT_NE(op, nullptr);
  const size_t most = 2 * gemm_of(op.get()).mr + 3;
  const std::vector<int> numbers = some_rows(w, most, w.depth);
  QuantizedRows quantized;
  if (is_dynamic(w.format)) {
    ASSERT_NO_FATAL_FAILURE(quantize_rows(numbers, most, w.depth, is_unsigned(w.format), pool, &quantized));
  } else {
    quantized = {numbers, std::vector<Parameters>(most)};
  }
  const std::vector<Parameters> all(
      quantized.parameters.begin(), quantized.parameters.begin() + static_cast<std::ptrdiff_t>(most));
  const std::vector<Expected> expected = expect_rows(w, quantized.numbers, all);
  for (size_t rows = 1; rows <= most; ++rows) {
    announce(describe(w, rows) + " by the operator");
    if (is_dynamic(w.format)) {
      // Once more, as what is behind the rows depends on their number.
      QuantizedRows again;
      ASSERT_NO_FATAL_FAILURE(quantize_rows(numbers, rows, w.depth, is_unsigned(w.format), pool, &again));
      quantized.parameters = again.parameters;
      for (Parameters& p : quantized.parameters) {
        p.zero_point += is_unsigned(w.format) ? 128 : 0;
      }
    }
    const uint8_t* x = place(quantized.numbers, 0, rows, w.depth, x_stride);
    Output y(y_, w.format, rows, w.columns, y_stride);
    ASSERT_EQ(reshape_linear(w.format, op.get(), rows, pool), xnn_status_success);
    ASSERT_EQ(setup_linear(w.format, op.get(), x, y.data(), quantized.parameters.data()), xnn_status_success);
    ASSERT_EQ(xnn_run_operator(op.get(), pool), xnn_status_success);
    ASSERT_NO_FATAL_FAILURE(y.check(expected));
  }
}

// Each row by itself, and with others: by other microkernels, but in the same layout and order.
void GemmTest::check_rows_alone(const Weights& w, size_t rows, float scale) {
  const size_t x_stride = w.depth + kGap, y_stride = w.columns + kGap;
  const Operator op = create_linear(w, x_stride, y_stride);
  ASSERT_NE(op, nullptr);
  const std::vector<int> numbers = some_rows(w, rows, w.depth);
  std::vector<Parameters> parameters = some_parameters(rows);
  parameters[0].scale = scale;
  const auto multiply = [&](size_t first, size_t count, std::vector<float>* result) {
    const uint8_t* x = place(numbers, first, count, w.depth, x_stride);
    Output y(y_, w.format, count, w.columns, y_stride);
    ASSERT_EQ(reshape_linear(w.format, op.get(), count, nullptr), xnn_status_success);
    const Parameters* p = place(parameters, first, count, count + XNN_MAX_MR);
    ASSERT_EQ(setup_linear(w.format, op.get(), x, y.data(), p), xnn_status_success);
    ASSERT_EQ(xnn_run_operator(op.get(), nullptr), xnn_status_success);
    for (size_t row = 0; row < count; ++row) {
      const float* const from = reinterpret_cast<const float*>(y.data()) + row * y_stride;
      result->insert(result->end(), from, from + w.columns);
    }
  };
  announce(describe(w, rows) + " by the operator, together");
  std::vector<float> together, alone;
  ASSERT_NO_FATAL_FAILURE(multiply(0, rows, &together));
  for (size_t row = 0; row < rows; ++row) {
    announce(describe(w, rows) + " by the operator, one by one");
    ASSERT_NO_FATAL_FAILURE(multiply(row, 1, &alone));
  }
  ASSERT_EQ(alone.size(), together.size());
  for (size_t i = 0; i < alone.size(); ++i) {
    const size_t row = i / w.columns;
    ASSERT_EQ(std::isnan(alone[i]), row == 0 && std::isnan(scale)) << last_announced();
    ASSERT_EQ(std::memcmp(&alone[i], &together[i], sizeof(float)), 0)
        << last_announced() << ": row " << row << ", column " << i % w.columns << " is " << alone[i] << " and "
        << together[i];
  }
}

TEST_P(GemmTest, EqualsPlainLoops) {
  const Format format = GetParam();
  if (is_unsigned(format) && !kHasUnsignedRows) {
    GTEST_SKIP() << "this version of XNNPACK has no such operator";
  }
  const Tile widest = find_tile(format, 1000);
  if (widest.rows == 0) {
    EXPECT_TRUE(format == Format::F16 || is_unsigned(format)) << "XNNPACK has no such operator";
    std::printf("%s: none for this CPU\n", name_of(format));
    return;
  }
  std::printf("%s: %zu x %zu, %zu deep\n", name_of(format), widest.rows, widest.columns, widest.unit);
  pthreadpool_t pool = pthreadpool_create(2);
  std::set<size_t> columns = columns_around(format, 1000);
  columns.merge(columns_around(format, 16));
  columns.erase(1000);
  columns.erase(0);
  for (const size_t column_count : columns) {
    for (const size_t block : blocks_of(format)) {
      for (const size_t depth : depths_around(format, widest.unit, block)) {
        for (const bool clamped : {false, true}) {
          const Weights w(format, 1, column_count, 1, depth, clamped, block);
          ASSERT_NO_FATAL_FAILURE(check_microkernels(w));
          if (wants_all() || depth % 4 != 3) {
            ASSERT_NO_FATAL_FAILURE(check_operator(w, clamped ? pool : nullptr));
          }
        }
      }
    }
  }
  pthreadpool_destroy(pool);
}

INSTANTIATE_TEST_SUITE_P(
    Formats,
    GemmTest,
    ::testing::Values(
        Format::F32,
        Format::F16,
        Format::F32C8,
        Format::F32C4,
        Format::QS8,
        Format::QS8C8,
        Format::QD8C8,
        Format::QD8C4,
        Format::QD8B4,
        Format::QDU8C8,
        Format::QDU8C4,
        Format::QDU8B4),
    [](const auto& format) { return name_of(format.param); });

// A token of a language model is a row by itself, or one of many in its prompt.
using RowsTest = GemmTest;

TEST_P(RowsTest, AreTogetherAsAlone) {
  const Format format = GetParam();
  if (is_unsigned(format) && !kHasUnsignedRows) {
    GTEST_SKIP() << "this version of XNNPACK has no such operator";
  }
  if (find_tile(format, 1000).rows == 0) {
    EXPECT_TRUE(is_unsigned(format)) << "XNNPACK has no such operator";
    return;
  }
  for (const float scale : {0.0137f, std::numeric_limits<float>::quiet_NaN()}) {
    for (const size_t block : blocks_of(format)) {
      for (const size_t depth : {block, 3 * block}) {
        for (size_t columns = 1; columns <= 65; ++columns) {
          ASSERT_NO_FATAL_FAILURE(check_rows_alone({format, 1, columns, 1, depth, columns % 2 == 1, block}, 2, scale));
        }
        for (size_t rows = 3; rows <= 2 * XNN_MAX_MR + 3; ++rows) {
          ASSERT_NO_FATAL_FAILURE(check_rows_alone({format, 1, 37, 1, depth, rows % 2 == 1, block}, rows, scale));
        }
      }
      for (const size_t columns : {96, 101, 112, 117}) { // so many bytes that they may be divided
        ASSERT_NO_FATAL_FAILURE(check_rows_alone({format, 1, columns, 1, 2048, false, block}, 2, scale));
      }
      for (const size_t rows : {16, 17, 31, 32}) { // up to the size that is copied, and more
        ASSERT_NO_FATAL_FAILURE(check_rows_alone({format, 1, 17, 1, 4096, false, block}, rows, scale));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Formats,
    RowsTest,
    ::testing::Values(Format::QD8C8, Format::QD8C4, Format::QD8B4, Format::QDU8C8, Format::QDU8C4, Format::QDU8B4),
    [](const auto& format) { return name_of(format.param); });

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
