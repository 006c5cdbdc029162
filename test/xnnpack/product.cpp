// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "product.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <runtime/xnnpack/rounded_rows.h>
#include <runtime/xnnpack/versions.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr uint8_t kWeightZero = 8; // of weights of 4 bits
constexpr size_t kBefore = 1024; // bytes before the memory in use that are watched

char announced[512];

template <typename Create>
Operator made(const Create& create) {
  xnn_operator_t op = nullptr;
  const xnn_status status = create(&op);
  EXPECT_TRUE(status == xnn_status_success || status == xnn_status_unsupported_hardware) << status;
  return Operator(op);
}

int8_t as_int8(float value) {
  return static_cast<int8_t>(value);
}

// What XNNPACK packs: a vector at a time, so it reads behind the end of weights of 8 bits. The runtime gives it as
// much.
std::vector<uint8_t> with_tail(std::vector<uint8_t> weights) {
  weights.resize(weights.size() + XNN_EXTRA_BYTES, 0xA5);
  return weights;
}

template <typename T>
const T* pointer(const std::vector<uint8_t>& bytes) {
  return bytes.empty() ? nullptr : reinterpret_cast<const T*>(bytes.data());
}

} // namespace

Fence::Fence(size_t most) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t usable = (most + page - 1) / page * page + page;
  mapped_ = usable + page;
  base_ = static_cast<uint8_t*>(mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  end_ = base_ + usable;
  mprotect(base_, usable, PROT_READ | PROT_WRITE);
  data_ = base_ + kBefore;
}

Fence::~Fence() {
  munmap(base_, mapped_);
}

uint8_t* Fence::use(size_t size, size_t readable) {
  EXPECT_LE(kBefore + size + readable, static_cast<size_t>(end_ - base_));
  data_ = end_ - size - readable;
  std::memset(data_ - kBefore, kUntouched, kBefore + size + readable);
  return data_;
}

bool Fence::intact() const {
  return std::all_of(data_ - kBefore, data_, [](uint8_t byte) { return byte == kUntouched; });
}

Operator create_linear(const Weights& w, size_t x_stride, size_t y_stride) {
  const std::vector<uint8_t> kernel = with_tail(w.kernel()), bias = w.bias_bytes();
  const std::vector<uint16_t> block_scales = w.block_scales();
  const auto* floats = pointer<float>(bias);
  const auto* integers = pointer<int32_t>(bias);
  const auto* bytes = pointer<int8_t>(kernel);
  const float* scales = w.scales.data();
  return made([&](xnn_operator_t* op) {
    const auto create = [&](auto function, auto... rest) {
      return create_with_weights(function, nullptr, op, w.depth, w.columns, x_stride, y_stride, rest..., uint32_t{0});
    };
    switch (w.format) {
      case Format::F32:
        return create(xnn_create_fully_connected_nc_f32, pointer<float>(kernel), floats, w.min, w.max);
      case Format::F16:
        return create(xnn_create_fully_connected_nc_f16, pointer<void>(kernel), pointer<void>(bias), w.min, w.max);
      case Format::F32C8:
        return create(xnn_create_fully_connected_nc_f32_qc8w, scales, bytes, floats, w.min, w.max);
      case Format::F32C4:
        return create(xnn_create_fully_connected_nc_f32_qc4w, kWeightZero, scales, kernel.data(), floats, w.min, w.max);
      case Format::QS8:
        return create(
            xnn_create_fully_connected_nc_qs8,
            int8_t{kInputZero},
            1.0f,
            scales[0],
            bytes,
            integers,
            int8_t{kOutputZero},
            1.0f,
            as_int8(w.min),
            as_int8(w.max));
      case Format::QS8C8:
        return create(
            xnn_create_fully_connected_nc_qs8_qc8w,
            int8_t{kInputZero},
            1.0f,
            scales,
            bytes,
            integers,
            int8_t{kOutputZero},
            1.0f,
            as_int8(w.min),
            as_int8(w.max));
      case Format::QD8C8:
        return create(xnn_create_fully_connected_nc_qd8_f32_qc8w, scales, bytes, floats, w.min, w.max);
      case Format::QD8C4:
        return create(
            xnn_create_fully_connected_nc_qd8_f32_qc4w,
            kWeightZero,
            scales,
            pointer<void>(kernel),
            floats,
            w.min,
            w.max);
      case Format::QD8B4:
        return create(
            xnn_create_fully_connected_nc_qd8_f32_qb4w,
            w.block,
            kWeightZero,
            block_scales.data(),
            pointer<void>(kernel),
            floats,
            w.min,
            w.max);
      case Format::QDU8C8:
        return create(xnn_create_fully_connected_nc_qdu8_f32_qc8w, scales, bytes, floats, w.min, w.max);
      case Format::QDU8C4:
        return create(
            xnn_create_fully_connected_nc_qdu8_f32_qc4w,
            kWeightZero,
            scales,
            pointer<void>(kernel),
            floats,
            w.min,
            w.max);
      case Format::QDU8B4:
        return create(
            xnn_create_fully_connected_nc_qdu8_f32_qb4w,
            w.block,
            kWeightZero,
            block_scales.data(),
            pointer<void>(kernel),
            floats,
            w.min,
            w.max);
    }
    return xnn_status_invalid_parameter;
  });
}

xnn_status reshape_linear(Format format, xnn_operator_t op, size_t rows, pthreadpool_t pool) {
  const auto reshape = [&](auto function) {
    size_t workspace = 0;
    const xnn_status status =
        reshape_with_workspace(function, std::make_tuple(op, rows), &workspace, std::make_tuple(pool));
    EXPECT_EQ(workspace, 0) << "only operators with a flag need one";
    return status;
  };
  switch (format) {
    case Format::F32:
      return reshape(xnn_reshape_fully_connected_nc_f32);
    case Format::F16:
      return reshape(xnn_reshape_fully_connected_nc_f16);
    case Format::F32C8:
      return reshape(xnn_reshape_fully_connected_nc_f32_qc8w);
    case Format::F32C4:
      return reshape(xnn_reshape_fully_connected_nc_f32_qc4w);
    case Format::QS8:
      return reshape(xnn_reshape_fully_connected_nc_qs8);
    case Format::QS8C8:
      return reshape(xnn_reshape_fully_connected_nc_qs8_qc8w);
    case Format::QD8C8:
      return reshape(xnn_reshape_fully_connected_nc_qd8_f32_qc8w);
    case Format::QD8C4:
      return reshape(xnn_reshape_fully_connected_nc_qd8_f32_qc4w);
    case Format::QD8B4:
      return reshape(xnn_reshape_fully_connected_nc_qd8_f32_qb4w);
    case Format::QDU8C8:
      return reshape(xnn_reshape_fully_connected_nc_qdu8_f32_qc8w);
    case Format::QDU8C4:
      return reshape(xnn_reshape_fully_connected_nc_qdu8_f32_qc4w);
    case Format::QDU8B4:
      return reshape(xnn_reshape_fully_connected_nc_qdu8_f32_qb4w);
  }
  return xnn_status_invalid_parameter;
}

xnn_status setup_linear(
    Format format, xnn_operator_t op, const void* x, void* y, const xnn_quantization_params* parameters) {
  const auto* floats = static_cast<const float*>(x);
  const auto* bytes = static_cast<const int8_t*>(x);
  auto* to = static_cast<float*>(y);
  const auto setup = [&](auto function) {
    return setup_with_workspace(function, std::make_tuple(op, Address(x), to), nullptr, std::make_tuple(parameters));
  };
  switch (format) {
    case Format::F32:
      return xnn_setup_fully_connected_nc_f32(op, floats, to);
    case Format::F16:
      return xnn_setup_fully_connected_nc_f16(op, x, y);
    case Format::F32C8:
      return xnn_setup_fully_connected_nc_f32_qc8w(op, floats, to);
    case Format::F32C4:
      return xnn_setup_fully_connected_nc_f32_qc4w(op, floats, to);
    case Format::QS8:
      return xnn_setup_fully_connected_nc_qs8(op, bytes, static_cast<int8_t*>(y));
    case Format::QS8C8:
      return xnn_setup_fully_connected_nc_qs8_qc8w(op, bytes, static_cast<int8_t*>(y));
    case Format::QD8C8:
      return setup(xnn_setup_fully_connected_nc_qd8_f32_qc8w);
    case Format::QD8C4:
      return setup(xnn_setup_fully_connected_nc_qd8_f32_qc4w);
    case Format::QD8B4:
      return setup(xnn_setup_fully_connected_nc_qd8_f32_qb4w);
    case Format::QDU8C8:
      return setup(xnn_setup_fully_connected_nc_qdu8_f32_qc8w);
    case Format::QDU8C4:
      return setup(xnn_setup_fully_connected_nc_qdu8_f32_qc4w);
    case Format::QDU8B4:
      return setup(xnn_setup_fully_connected_nc_qdu8_f32_qb4w);
  }
  return xnn_status_invalid_parameter;
}

Operator create_conv(const Weights& w, size_t x_stride, size_t y_stride, uint32_t flags) {
  const std::vector<uint8_t> kernel = with_tail(w.kernel()), bias = w.bias_bytes();
  const auto* floats = pointer<float>(bias);
  const auto* integers = pointer<int32_t>(bias);
  const auto* bytes = pointer<int8_t>(kernel);
  const uint32_t side = w.taps == 3 ? 1 : 0, taps = static_cast<uint32_t>(w.taps);
  const uint32_t groups = static_cast<uint32_t>(w.groups);
  return made([&](xnn_operator_t* op) {
    const auto create = [&](auto function, auto... rest) {
      return create_with_weights(
          function,
          nullptr,
          op,
          uint32_t{0},
          side,
          uint32_t{0},
          side,
          uint32_t{1},
          taps,
          uint32_t{1},
          uint32_t{1},
          uint32_t{1},
          uint32_t{1},
          groups,
          w.depth,
          w.columns,
          x_stride,
          y_stride,
          rest...,
          flags);
    };
    switch (w.format) {
      case Format::F32:
        return create(xnn_create_convolution2d_nhwc_f32, pointer<float>(kernel), floats, w.min, w.max);
      case Format::F16:
        return create(xnn_create_convolution2d_nhwc_f16, pointer<void>(kernel), pointer<void>(bias), w.min, w.max);
      case Format::QS8:
        return create(
            xnn_create_convolution2d_nhwc_qs8,
            int8_t{kInputZero},
            1.0f,
            w.scales[0],
            bytes,
            integers,
            int8_t{kOutputZero},
            1.0f,
            as_int8(w.min),
            as_int8(w.max));
      case Format::QS8C8:
        return create(
            xnn_create_convolution2d_nhwc_qs8_qc8w,
            int8_t{kInputZero},
            1.0f,
            w.scales.data(),
            bytes,
            integers,
            int8_t{kOutputZero},
            1.0f,
            as_int8(w.min),
            as_int8(w.max));
      case Format::QD8C8:
        return create(xnn_create_convolution2d_nhwc_qd8_f32_qc8w, w.scales.data(), bytes, floats, w.min, w.max);
      case Format::QDU8C8:
        return create(xnn_create_convolution2d_nhwc_qdu8_f32_qc8w, w.scales.data(), bytes, floats, w.min, w.max);
      default:
        return xnn_status_invalid_parameter;
    }
  });
}

xnn_status reshape_conv(
    Format format, xnn_operator_t op, size_t images, size_t width, size_t* workspace, pthreadpool_t pool) {
  const auto reshape = [&](auto function) {
    size_t height = 0, y_width = 0;
    const xnn_status status = reshape_with_workspace(
        function, std::make_tuple(op, images, size_t{1}, width), workspace, std::make_tuple(&height, &y_width, pool));
    EXPECT_EQ(y_width, width);
    return status;
  };
  switch (format) {
    case Format::F32:
      return reshape(xnn_reshape_convolution2d_nhwc_f32);
    case Format::F16:
      return reshape(xnn_reshape_convolution2d_nhwc_f16);
    case Format::QS8:
      return reshape(xnn_reshape_convolution2d_nhwc_qs8);
    case Format::QS8C8:
      return reshape(xnn_reshape_convolution2d_nhwc_qs8_qc8w);
    case Format::QD8C8:
      return reshape(xnn_reshape_convolution2d_nhwc_qd8_f32_qc8w);
    case Format::QDU8C8:
      return reshape(xnn_reshape_convolution2d_nhwc_qdu8_f32_qc8w);
    default:
      return xnn_status_invalid_parameter;
  }
}

xnn_status setup_conv(
    Format format,
    xnn_operator_t op,
    void* workspace,
    const void* x,
    void* y,
    const xnn_quantization_params* parameters) {
  const auto* bytes = static_cast<const int8_t*>(x);
  switch (format) {
    case Format::F32:
      return xnn_setup_convolution2d_nhwc_f32(op, workspace, static_cast<const float*>(x), static_cast<float*>(y));
    case Format::F16:
      return xnn_setup_convolution2d_nhwc_f16(op, workspace, x, y);
    case Format::QS8:
      return xnn_setup_convolution2d_nhwc_qs8(op, workspace, bytes, static_cast<int8_t*>(y));
    case Format::QS8C8:
      return xnn_setup_convolution2d_nhwc_qs8_qc8w(op, workspace, bytes, static_cast<int8_t*>(y));
    case Format::QD8C8:
      return xnn_setup_convolution2d_nhwc_qd8_f32_qc8w(op, workspace, bytes, static_cast<float*>(y), parameters);
    case Format::QDU8C8:
      return xnn_setup_convolution2d_nhwc_qdu8_f32_qc8w(op, workspace, Address(x), static_cast<float*>(y), parameters);
    default:
      return xnn_status_invalid_parameter;
  }
}

Output::Output(Fence& fence, Format format, size_t rows, size_t row_size, size_t stride)
    : fence_(fence),
      format_(format),
      rows_(rows),
      row_size_(row_size),
      stride_bytes_(stride * output_bytes(format)),
      data_(fence.use((rows - 1) * stride_bytes_ + row_size * output_bytes(format))) {}

void Output::check(const std::vector<Expected>& expected) const {
  ASSERT_TRUE(fence_.intact()) << "wrote before the output: " << announced;
  const size_t row_bytes = row_size_ * output_bytes(format_);
  for (size_t row = 0; row < rows_; ++row) {
    const uint8_t* from = data_ + row * stride_bytes_;
    for (size_t i = 0; i < row_size_; ++i) {
      const double actual = read_output(format_, from, i);
      const Expected& e = expected[row * row_size_ + i];
      ASSERT_TRUE(std::fabs(actual - e.value) <= e.tolerance)
          << announced << ": row " << row << ", column " << i << " is " << actual << ", not " << e.value;
    }
    for (size_t i = row_bytes; row + 1 < rows_ && i < stride_bytes_; ++i) {
      ASSERT_EQ(from[i], Fence::kUntouched) << announced << ": wrote byte " << i << " behind row " << row;
    }
  }
}

bool wants_all() {
  static const bool result = std::getenv("ET_XNNPACK_TEST_ALL_SIZES") != nullptr;
  return result;
}

void announce(const std::string& what) {
  std::memcpy(announced, what.c_str(), std::min(what.size() + 1, sizeof(announced) - 1));
}

const char* last_announced() {
  return announced;
}

} // namespace executorch::backends::et_xnnpack::testing
