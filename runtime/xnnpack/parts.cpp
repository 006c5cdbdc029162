// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "parts.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "library.h"
#include "operator.h"
#include "versions.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Whether it was built with this part of ours, a word in parentheses behind its version.
bool is_built_with(const std::string& part) {
  const std::string version = xnnpack_version();
  const size_t parts = version.find('(');
  for (size_t at = version.find(part, parts); at != std::string::npos; at = version.find(part, at + 1)) {
    const char before = version[at - 1], after = version[at + part.size()];
    if ((before == '(' || before == ' ') && (after == ')' || after == ' ')) {
      return true;
    }
  }
  return false;
}

bool is_success(xnn_status status) {
  return status == xnn_status_success;
}

// What an operator of XNNPACK shows. Unknown: it could not run, for lack of memory or because this CPU has none.
enum class Answer : uint8_t { Unknown, No, Yes };

Answer answer(bool yes) {
  return yes ? Answer::Yes : Answer::No;
}

// Numbers that XNNPACK may read behind.
template <typename Number>
std::vector<Number> numbers(size_t count, Number number = {}) {
  return std::vector<Number>(count + kTailBytes / sizeof(Number), number);
}

// The numbers that are needed here, in Float32 and Float16.
float one(float) {
  return 1;
}
uint16_t one(uint16_t) {
  return 0x3C00;
}
float nan(float) {
  return std::numeric_limits<float>::quiet_NaN();
}
uint16_t nan(uint16_t) {
  return 0x7E00;
}
bool is_nan(float number) {
  return std::isnan(number);
}
bool is_nan(uint16_t number) {
  return (number & 0x7FFF) > 0x7C00;
}

// Whether NaN is at the last `count` of the first `size` of these numbers, and nowhere else.
template <typename Number>
bool ends_with_nan(const std::vector<Number>& y, size_t count, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (is_nan(y[i]) != (i >= size - count)) {
      return false;
    }
  }
  return true;
}

// A product of rows of ones, the last of which holds a NaN. `how` is what stands between the sizes and the limits.
template <typename Number, typename Create, typename Reshape, typename SetUp, typename... How>
Answer linear_keeps_nan(size_t columns, uint32_t flags, Create create, Reshape reshape, SetUp set_up, How... how) {
  constexpr size_t kDepth = 4, kRows = 9;
  StatusOr<OperatorPtr> product = create_operator("xnn_create_fully_connected_nc", [&](xnn_operator_t* op) {
    return create_with_weights(
        create, nullptr, op, kDepth, columns, kDepth, columns, how..., Address(nullptr), -kInfinity, kInfinity, flags);
  });
  if (!product.ok()) {
    return Answer::Unknown;
  }
  for (const size_t rows : {size_t{1}, kRows}) { // there are microkernels for one row
    std::vector<Number> x = numbers(rows * kDepth, one(Number()));
    x[rows * kDepth - 2] = nan(Number());
    std::vector<Number> y = numbers<Number>(rows * columns);
    if (!is_success(reshape(product->get(), rows, nullptr)) ||
        !is_success(set_up(product->get(), x.data(), y.data())) ||
        !is_success(xnn_run_operator(product->get(), nullptr))) {
      return Answer::Unknown;
    }
    if (!ends_with_nan(y, columns, rows * columns)) {
      return Answer::No;
    }
  }
  return Answer::Yes;
}

Answer linear_keeps_nan(bool float16, size_t columns) {
  const std::vector<float> weight = numbers(columns * 4, 1.0f);
  const Address ones(weight.data());
  return float16 ? linear_keeps_nan<uint16_t>(
                       columns,
                       XNN_FLAG_FP32_STATIC_WEIGHTS,
                       xnn_create_fully_connected_nc_f16,
                       xnn_reshape_fully_connected_nc_f16,
                       xnn_setup_fully_connected_nc_f16,
                       ones)
                 : linear_keeps_nan<float>(
                       columns,
                       0,
                       xnn_create_fully_connected_nc_f32,
                       xnn_reshape_fully_connected_nc_f32,
                       xnn_setup_fully_connected_nc_f32,
                       ones);
}

struct Window {
  uint32_t top; // rows of padding
  uint32_t height, width;
  uint32_t groups;
  size_t group_input_channels, group_output_channels;
};

// A convolution of ones to an image of 2 x 3, of which only the last pixel sees the NaN.
template <typename Number, typename Create, typename Reshape, typename SetUp>
Answer conv_keeps_nan(const Window& window, uint32_t flags, Create create, Reshape reshape, SetUp set_up) {
  const size_t x_channels = window.groups * window.group_input_channels;
  const size_t y_channels = window.groups * window.group_output_channels;
  const size_t height = window.height + 1 - window.top, width = window.width + 2;
  const std::vector<float> weight =
      numbers(y_channels * window.height * window.width * window.group_input_channels, 1.0f);
  StatusOr<OperatorPtr> product = create_operator("xnn_create_convolution2d_nhwc", [&](xnn_operator_t* op) {
    return create_with_weights(
        create,
        nullptr,
        op,
        window.top,
        0u,
        0u,
        0u, // padding
        window.height,
        window.width,
        1u,
        1u, // stride
        1u,
        1u, // dilation
        window.groups,
        window.group_input_channels,
        window.group_output_channels,
        x_channels,
        y_channels,
        Address(weight.data()),
        Address(nullptr),
        -kInfinity,
        kInfinity,
        flags);
  });
  std::vector<Number> x = numbers(height * width * x_channels, one(Number())), y = numbers<Number>(6 * y_channels);
  std::fill_n(&x[(height * width - 1) * x_channels], x_channels, nan(Number()));
  size_t workspace_bytes = 0, y_height = 0, y_width = 0;
  if (!product.ok() ||
      !is_success(reshape_with_workspace(
          reshape,
          std::make_tuple(product->get(), size_t{1}, height, width),
          &workspace_bytes,
          std::make_tuple(&y_height, &y_width, pthreadpool_t{})))) {
    return Answer::Unknown;
  }
  StatusOr<Buffer> workspace = Buffer::allocate(workspace_bytes);
  const bool done = workspace.ok() &&
      is_success(setup_with_workspace(
          set_up,
          std::make_tuple(product->get()),
          workspace->data(),
          std::make_tuple(Address(x.data()), Address(y.data())))) &&
      is_success(xnn_run_operator(product->get(), nullptr)) && y_height * y_width == 6;
  return done ? answer(ends_with_nan(y, y_channels, 6 * y_channels)) : Answer::Unknown;
}

Answer conv_keeps_nan(bool float16, const Window& window) {
  return float16 ? conv_keeps_nan<uint16_t>(
                       window,
                       XNN_FLAG_FP32_STATIC_WEIGHTS,
                       xnn_create_convolution2d_nhwc_f16,
                       xnn_reshape_convolution2d_nhwc_f16,
                       xnn_setup_convolution2d_nhwc_f16)
                 : conv_keeps_nan<float>(
                       window,
                       0,
                       xnn_create_convolution2d_nhwc_f32,
                       xnn_reshape_convolution2d_nhwc_f32,
                       xnn_setup_convolution2d_nhwc_f32);
}

Window depthwise(size_t taps) {
  constexpr uint32_t kGroups = 37;
  if (taps <= 1) {
    return {taps == 0 ? 0u : 1u, 1, 1, kGroups, 1, 1};
  }
  return {0, 1, static_cast<uint32_t>(taps), kGroups, 1, 1};
}

// A pool of ones to an image of 2 x 2, of which only the last pixel sees the NaN.
template <typename Number, typename Create, typename Reshape, typename SetUp>
Answer pool_keeps_nan(uint32_t window, Create create, Reshape reshape, SetUp set_up) {
  constexpr size_t kChannels = 21;
  StatusOr<OperatorPtr> pool = create_operator("xnn_create_average_pooling2d_nhwc", [&](xnn_operator_t* op) {
    return create(0, 0, 0, 0, window, window, 1, 1, -kInfinity, kInfinity, 0, op);
  });
  const size_t side = window + 1;
  std::vector<Number> x = numbers(side * side * kChannels, one(Number())), y = numbers<Number>(4 * kChannels);
  std::fill_n(&x[(side * side - 1) * kChannels], kChannels, nan(Number()));
  size_t workspace_bytes = 0, height = 0, width = 0;
  if (!pool.ok() ||
      !is_success(reshape_with_workspace(
          reshape,
          std::make_tuple(pool->get(), size_t{1}, side, side, kChannels, kChannels, kChannels),
          &workspace_bytes,
          std::make_tuple(&height, &width, pthreadpool_t{})))) {
    return Answer::Unknown;
  }
  StatusOr<Buffer> workspace = Buffer::allocate(workspace_bytes);
  const bool done = workspace.ok() &&
      is_success(setup_with_workspace(
          set_up,
          std::make_tuple(pool->get()),
          workspace->data(),
          std::make_tuple(Address(x.data()), Address(y.data())))) &&
      is_success(xnn_run_operator(pool->get(), nullptr)) && height * width == 4;
  return done ? answer(ends_with_nan(y, kChannels, 4 * kChannels)) : Answer::Unknown;
}

Answer pools_keep_nan(bool float16) {
  const auto keeps = [float16](uint32_t window) {
    return float16 ? pool_keeps_nan<uint16_t>(
                         window,
                         xnn_create_average_pooling2d_nhwc_f16,
                         xnn_reshape_average_pooling2d_nhwc_f16,
                         xnn_setup_average_pooling2d_nhwc_f16)
                   : pool_keeps_nan<float>(
                         window,
                         xnn_create_average_pooling2d_nhwc_f32,
                         xnn_reshape_average_pooling2d_nhwc_f32,
                         xnn_setup_average_pooling2d_nhwc_f32);
  };
  return std::min(keeps(2), keeps(4)); // Unknown before No before Yes
}

Answer find_keeps_nan(Limited op, bool float16, size_t size) {
  switch (op) {
    case Limited::Linear:
      return linear_keeps_nan(float16, size);
    case Limited::Conv:
      return std::min(conv_keeps_nan(float16, {0, 3, 3, 1, 2, size}), conv_keeps_nan(float16, {0, 1, 1, 1, 2, size}));
    case Limited::Depthwise:
      return conv_keeps_nan(float16, depthwise(size));
    case Limited::AvgPool:
      return pools_keep_nan(float16);
  }
  return Answer::Unknown;
}

// Products of integers with weights of -128, in as many rows and columns as tiles have.
Answer multiplies_the_least_integers() {
  constexpr size_t kDepth = 64, kColumns = 40, kRows = 9;
  const std::vector<float> scale = numbers(kColumns, 1.0f / 128);
  const std::vector<int8_t> least = numbers(std::max(kColumns, kRows) * kDepth, int8_t{-128});
  StatusOr<OperatorPtr> product = create_operator("xnn_create_fully_connected_nc_qs8_qc8w", [&](xnn_operator_t* op) {
    return create_with_weights(
        xnn_create_fully_connected_nc_qs8_qc8w,
        nullptr,
        op,
        kDepth,
        kColumns,
        kDepth,
        kColumns,
        int8_t{0},
        1.0f / 128,
        scale.data(),
        least.data(),
        Address(nullptr),
        int8_t{0},
        1.0f,
        int8_t{-128},
        int8_t{127},
        0u);
  });
  if (!product.ok()) {
    return Answer::Unknown;
  }
  for (const size_t rows : {size_t{1}, kRows}) {
    std::vector<int8_t> y = numbers<int8_t>(rows * kColumns);
    if (!is_success(xnn_reshape_fully_connected_nc_qs8_qc8w(product->get(), rows, nullptr)) ||
        !is_success(xnn_setup_fully_connected_nc_qs8_qc8w(product->get(), least.data(), y.data())) ||
        !is_success(xnn_run_operator(product->get(), nullptr))) {
      return Answer::Unknown;
    }
    const auto end = y.begin() + static_cast<ptrdiff_t>(rows * kColumns);
    if (!std::all_of(y.begin(), end, [](int8_t number) { return number == kDepth; })) {
      return Answer::No;
    }
  }
  return Answer::Yes;
}

// An answer that is asked for until it is known.
class Question {
 public:
  template <typename Ask>
  bool is_yes(const Ask& ask) {
    if (answer_ == Answer::Unknown) {
      answer_ = ask();
    }
    return answer_ == Answer::Yes;
  }

 private:
  std::atomic<Answer> answer_{Answer::Unknown};
};

} // namespace

bool xnnpack_has(Part part) {
  switch (part) {
    case Part::Denormals: {
      static const bool denormals = is_built_with("denormals"); // XNNPACK itself never keeps them
      return denormals;
    }
    case Part::Rounding: {
      static const bool rounding = is_built_with("rounding"); // nor looks for NaN
      return rounding;
    }
    case Part::Sums: {
      static const bool sums = is_built_with("sums");
      static Question question;
      return sums || question.is_yes(multiplies_the_least_integers);
    }
  }
  return false;
}

bool xnnpack_keeps_nan(Limited op, bool float16, size_t size) {
  static const bool has_limits = is_built_with("nan");
  // Tiles have 64 columns at most, and the last of a product may be another one.
  constexpr size_t kColumns = 64, kSizes = 2 * kColumns, kOperators = 6;
  static std::array<Question, kOperators * 2 * kSizes> questions;
  const size_t like = size < kColumns ? size : kColumns + size % kColumns;
  const size_t i = static_cast<size_t>(op) * 2 + (float16 ? 1 : 0);
  // What spreads NaN is in no part: depthwise convolutions of as many taps as no microkernel has.
  return (has_limits && op != Limited::Depthwise) ||
      questions[i * kSizes + like].is_yes([&] { return find_keeps_nan(op, float16, like); });
}

} // namespace executorch::backends::et_xnnpack
