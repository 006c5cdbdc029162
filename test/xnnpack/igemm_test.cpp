// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Convolutions: every microkernel that finds its rows through pointers, and the operator that makes these.

#include <algorithm>
#include <set>

#include <runtime/base/threadpool.h>

#include <runtime/xnnpack/rounded_rows.h>

#include "insides.h"
#include "product.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using Parameters = xnn_quantization_params;

constexpr size_t kMostBytes = 1 << 20;
constexpr size_t kGap = 3; // elements between pixels
constexpr size_t kImages = 2;

class IgemmTest : public ::testing::TestWithParam<Format> {
 protected:
  IgemmTest() : x_(kMostBytes), y_(kMostBytes), padding_(1 << 16), parameters_(1 << 12) {}

  void check_microkernels(const Weights& w);
  void check_operator(const Weights& w, uint32_t flags, pthreadpool_t pool);

  // Images of one line, behind which XNNPACK may read only what it documents.
  const uint8_t* place(const Weights& w, const std::vector<int>& numbers, size_t pixels, size_t stride) {
    const size_t channels = w.groups * w.depth;
    uint8_t* to = x_.use(((pixels - 1) * stride + channels) * input_bytes(w.format), XNN_EXTRA_BYTES);
    for (size_t i = 0; i < pixels; ++i) {
      write_input(w.format, numbers.data() + i * channels, channels, to + i * stride * input_bytes(w.format));
    }
    return to;
  }
  // What XNNPACK documents may be read behind them, but says nothing.
  const Parameters* place_parameters(const Parameters* from, size_t count) {
    constexpr size_t kBehind = XNN_EXTRA_QUANTIZATION_PARAMS * sizeof(Parameters);
    auto* to = reinterpret_cast<Parameters*>(parameters_.use(count * sizeof(Parameters), kBehind));
    std::copy_n(from, count, to);
    for (size_t i = 0; i < count; ++i) {
      to[i].zero_point += is_unsigned(GetParam()) ? 128 : 0;
    }
    return to;
  }

  Fence x_, y_, padding_, parameters_;
};

constexpr Parameters kImageParameters[kImages] = {{17, 0.5f}, {-90, 0.125f}};

// The pixels under a window, null for padding.
std::vector<const int*> window_at(const Weights& w, const int* image, size_t width, size_t x, size_t group) {
  std::vector<const int*> result;
  for (size_t t = 0; t < w.taps; ++t) {
    const size_t before = w.taps / 2;
    const bool inside = x + t >= before && x + t - before < width;
    result.push_back(inside ? image + (x + t - before) * w.groups * w.depth + group * w.depth : nullptr);
  }
  return result;
}

std::vector<Expected> expect_pixels(const Weights& w, const std::vector<int>& numbers, size_t images, size_t width) {
  std::vector<Expected> result;
  for (size_t image = 0; image < images; ++image) {
    const int* pixels = numbers.data() + image * width * w.groups * w.depth;
    for (size_t x = 0; x < width; ++x) {
      for (size_t column = 0; column < w.all_columns(); ++column) {
        result.push_back(
            expect(w, column, window_at(w, pixels, width, x, column / w.columns), kImageParameters[image]));
      }
    }
  }
  return result;
}

std::string describe(const Weights& w, size_t pixels) {
  return std::string(name_of(w.format)) + ", " + std::to_string(pixels) + " pixels, " + std::to_string(w.groups) +
      " groups of " + std::to_string(w.columns) + " columns, " + std::to_string(w.taps) + " taps of depth " +
      std::to_string(w.depth) + (w.max < 1e30f ? ", clamped" : "");
}

void IgemmTest::check_microkernels(const Weights& w) {
  const size_t stride = w.depth + kGap, y_stride = w.columns + kGap;
  const Operator op = create_conv(w, stride, y_stride, 0);
  ASSERT_NE(op, nullptr);
  ASSERT_EQ(op->ukernel.type, xnn_microkernel_type_igemm);
  const xnn_ukernel_igemm& igemm = igemm_of(op.get());
  const std::vector<int> numbers = some_rows(w, igemm.mr, w.depth);
  size_t workspace = 0;
  ASSERT_EQ(reshape_conv(w.format, op.get(), 1, igemm.mr, &workspace, nullptr), xnn_status_success);
  const igemm_context& context = igemm_context_of(op.get());
  uint8_t* const padding = padding_.use(w.depth * input_bytes(w.format), XNN_EXTRA_BYTES);
  std::memset(
      padding,
      is_dynamic(w.format)         ? kImageParameters[0].zero_point + (is_unsigned(w.format) ? 128 : 0)
          : is_quantized(w.format) ? kInputZero
                                   : 0,
      w.depth * input_bytes(w.format) + XNN_EXTRA_BYTES);
  for (size_t most = 1; most <= XNN_MAX_MR; ++most) {
    for (const xnn_igemm_ukernel_fn microkernel : igemm.igemm_cases[most - 1].function) {
      for (size_t rows = 1; microkernel != nullptr && rows <= most; ++rows) {
        announce(describe(w, rows) + " by the tile of " + std::to_string(most));
        const uint8_t* x = place(w, numbers, rows, stride);
        const std::vector<Expected> expected = expect_pixels(w, numbers, 1, rows);
        std::vector<const void*> pointers;
        for (size_t t = 0; t < w.taps; ++t) {
          for (size_t i = 0; i < most; ++i) {
            const size_t at = std::min(i, rows - 1) + t; // one pixel to the right
            const bool inside = at >= 1 && at - 1 < rows;
            pointers.push_back(inside ? x + (at - 1) * stride * input_bytes(w.format) : padding);
          }
        }
        Output y(y_, w.format, rows, w.columns, y_stride);
        const size_t pointer_bytes = pointers.size() * sizeof(void*);
        if (is_dynamic(w.format)) {
          reinterpret_cast<xnn_dqigemm_ukernel_fn>(reinterpret_cast<void (*)()>(microkernel))(
              rows,
              w.columns,
              context.kc,
              pointer_bytes,
              pointers.data(),
              context.packed_w,
              y.data(),
              y.stride_bytes(),
              context.cn_stride,
              /*a_offset=*/0,
              padding,
              padding,
              &context.params,
              reinterpret_cast<const xnn_qd8_quantization_params*>(place_parameters(kImageParameters, 1)));
        } else {
          microkernel(
              rows,
              w.columns,
              context.kc,
              pointer_bytes,
              pointers.data(),
              context.packed_w,
              y.data(),
              y.stride_bytes(),
              context.cn_stride,
              /*a_offset=*/0,
              padding,
              &context.params);
        }
        ASSERT_NO_FATAL_FAILURE(y.check(expected));
      }
    }
  }
}

void IgemmTest::check_operator(const Weights& w, uint32_t flags, pthreadpool_t pool) {
  const size_t x_stride = w.groups * w.depth + kGap, y_stride = w.all_columns() + kGap;
  const Operator op = create_conv(w, x_stride, y_stride, flags);
  ASSERT_NE(op, nullptr);
  const size_t tile = op->ukernel.type == xnn_microkernel_type_igemm ? igemm_of(op.get()).mr : gemm_of(op.get()).mr;
  for (size_t width = 1; width <= 2 * tile + 3; ++width) {
    announce(describe(w, width) + " by the operator");
    const std::vector<int> numbers = some_rows(w, kImages * width, w.groups * w.depth);
    const uint8_t* x = place(w, numbers, kImages * width, x_stride);
    Output y(y_, w.format, kImages * width, w.all_columns(), y_stride);
    size_t workspace_bytes = 0;
    ASSERT_EQ(reshape_conv(w.format, op.get(), kImages, width, &workspace_bytes, pool), xnn_status_success);
    std::vector<std::max_align_t> workspace(workspace_bytes / sizeof(std::max_align_t) + 8);
    auto* aligned = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(workspace.data()) + 63) / 64 * 64);
    ASSERT_EQ(
        setup_conv(w.format, op.get(), aligned, x, y.data(), place_parameters(kImageParameters, kImages)),
        xnn_status_success);
    ASSERT_EQ(xnn_run_operator(op.get(), pool), xnn_status_success);
    ASSERT_NO_FATAL_FAILURE(y.check(expect_pixels(w, numbers, kImages, width)));
  }
}

TEST_P(IgemmTest, EqualsPlainLoops) {
  const Format format = GetParam();
  if (is_unsigned(format) && !kHasUnsignedRows) {
    GTEST_SKIP() << "this version of XNNPACK has no such operator";
  }
  const Operator wide = create_conv(Weights(format, 1, 1000, 3, 8, false), 8, 1000, 0);
  if (wide == nullptr) {
    EXPECT_TRUE(format == Format::F16 || is_unsigned(format)) << "XNNPACK has no such operator";
    std::printf("%s: none for this CPU\n", name_of(format));
    return;
  }
  const xnn_ukernel_igemm& widest = igemm_of(wide.get());
  const size_t n = widest.nr, unit = size_t{widest.kr} * widest.sr;
  std::printf("%s: %d x %zu, %zu deep\n", name_of(format), widest.mr, n, unit);
  pthreadpool_t pool = pthreadpool_create(2);
  std::set<size_t> depths = {2, 3, 4, 7, 8, unit + 1, 2 * unit + 3};
  if (wants_all()) {
    for (size_t depth = 2; depth <= 2 * unit + 17; ++depth) {
      depths.insert(depth);
    }
  }
  for (const size_t columns : std::set<size_t>{2, 3, n - 1, n, n + 1, 2 * n + 3, 16, 17}) {
    for (const size_t depth : depths) {
      for (const bool clamped : {false, true}) {
        const Weights window(format, 1, columns, 3, depth, clamped);
        ASSERT_NO_FATAL_FAILURE(check_microkernels(window));
        if (!wants_all() && depth % 4 == 0) {
          continue;
        }
        ASSERT_NO_FATAL_FAILURE(
            check_operator(window, clamped ? XNN_FLAG_TRANSIENT_INDIRECTION_BUFFER : 0, clamped ? pool : nullptr));
        // Half as many of each in two groups, and a window of one pixel.
        ASSERT_NO_FATAL_FAILURE(
            check_operator(Weights(format, 2, (columns + 1) / 2, 3, depth, clamped), 0, clamped ? nullptr : pool));
        const size_t groups = clamped ? 1 : 2;
        ASSERT_NO_FATAL_FAILURE(
            check_operator(Weights(format, groups, columns, 1, depth, clamped), 0, clamped ? nullptr : pool));
      }
    }
  }
  pthreadpool_destroy(pool);
}

INSTANTIATE_TEST_SUITE_P(
    Formats,
    IgemmTest,
    ::testing::Values(Format::F32, Format::F16, Format::QS8, Format::QS8C8, Format::QD8C8, Format::QDU8C8),
    [](const auto& format) { return name_of(format.param); });

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
