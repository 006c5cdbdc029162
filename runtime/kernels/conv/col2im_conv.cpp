// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "col2im_conv.h"

#include <algorithm>
#include <limits>

#include "runtime/base/caches.h"
#include "runtime/base/memory.h"
#include "runtime/base/round_up.h"
#include "runtime/kernels/common/parallel.h"
#include "runtime/kernels/gemm/block_product.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/conv/col2im_conv.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// `count` runs of floats, equally long and equally far from each other, none of which overlap in `to`.
struct Runs {
  const float* from;
  float* to;
  size_t count, from_stride, to_stride;
};

// Adds kVectors vectors of `tag` from the beginning of each run, and makes the rest of the runs. Vectors are whole:
// masked stores would delay loads of their neighbours.
template <size_t kVectors, typename Tag>
HWY_INLINE void add_begin(Tag tag, Runs& runs) {
  const float* HWY_RESTRICT from = runs.from;
  float* HWY_RESTRICT to = runs.to;
  const size_t lanes = hn::Lanes(tag);
  for (size_t i = 0; i < runs.count; ++i, from += runs.from_stride, to += runs.to_stride) {
    HWY_UNROLL(4)
    for (size_t n = 0; n < kVectors; ++n) {
      hn::StoreU(hn::Add(hn::LoadU(tag, to + n * lanes), hn::LoadU(tag, from + n * lanes)), tag, to + n * lanes);
    }
  }
  runs.from += kVectors * lanes;
  runs.to += kVectors * lanes;
}

template <size_t kFloats>
HWY_INLINE void add_rest(Runs& runs, size_t length) {
  if constexpr (kFloats > 0) {
    if (length % (2 * kFloats) >= kFloats) {
      add_begin<1>(hn::CappedTag<float, kFloats>(), runs);
    }
    add_rest<kFloats / 2>(runs, length);
  }
}

// to[i * to_stride + j] += from[i * from_stride + j] for j below `length`, all i of `count`
void add_runs(const float* from, size_t from_stride, float* to, size_t to_stride, size_t count, size_t length) {
  Runs runs{from, to, count, from_stride, to_stride};
  size_t vectors = length / kLanes;
  for (; vectors >= 4; vectors -= 4) {
    add_begin<4>(kFloats, runs);
  }
  for (; vectors > 0; --vectors) {
    add_begin<1>(kFloats, runs);
  }
  add_rest<kLanes / 2>(runs, length);
}

// Raises and lowers to the limits what lies beyond; NaN stays.
void limit_floats(float* y, size_t count, float min, float max) {
  const Vector low = hn::Set(kFloats, min), high = hn::Set(kFloats, max);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(clamped(hn::LoadU(kFloats, y + i), low, high), kFloats, y + i);
  }
  hn::StoreN(clamped(hn::LoadN(kFloats, y + i, count - i), low, high), kFloats, y + i, count - i);
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {
namespace {

HWY_EXPORT(add_runs);
HWY_EXPORT(limit_floats);

int64_t floor_divide(int64_t number, int64_t divisor) {
  return number / divisor - (number % divisor < 0 ? 1 : 0);
}

} // namespace

// Rows [begin, end) of the output of one image: those before `ready` hold the bias or more, those before `done` are
// final.
class Col2ImConv::Rows {
 public:
  const int64_t begin, end;

  Rows(const ConvParameters& p, const float* bias, float* image, RowRange rows)
      : begin(static_cast<int64_t>(rows.begin)),
        end(static_cast<int64_t>(rows.end)),
        p_(p),
        bias_(bias),
        image_(image),
        ready_(begin),
        done_(begin) {}

  float* at(int64_t row) const {
    return image_ + static_cast<size_t>(row) * line();
  }

  void prepare(int64_t before) {
    for (before = std::min(before, end); ready_ < before; ++ready_) {
      float* const to = at(ready_);
      if (bias_ == nullptr) {
        std::fill_n(to, line(), 0.0f);
        continue;
      }
      for (size_t i = 0; i < line(); i += p_.output[3]) {
        std::copy_n(bias_, p_.output[3], to + i);
      }
    }
  }

  void finish(int64_t before) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    before = std::min(before, end);
    prepare(before);
    if (before > done_ && (p_.min > -kInfinity || p_.max < kInfinity)) {
      const size_t count = static_cast<size_t>(before - done_) * line();
      ETX_DISPATCH(limit_floats)(at(done_), count, p_.min, p_.max);
    }
    done_ = std::max(done_, before);
  }

 private:
  size_t line() const {
    return p_.output[2] * p_.output[3];
  }

  const ConvParameters& p_;
  const float* const bias_;
  float* const image_;
  int64_t ready_, done_;
};

bool Col2ImConv::has(const ConvParameters& p) {
  const bool moves_by_one = p.height.stride == 1 && p.width.stride == 1;
  return p.groups == 1 && p.height.dilation == 1 && p.width.dilation == 1 && (p.transposed || moves_by_one);
}

std::optional<std::string> Col2ImConv::packed_layout(const ConvParameters& p, size_t i) {
  return i == 1
      ? std::optional(
            low_precision_layout(kFloat32InBlocks) + (p.transposed ? " of taps" : " of taps from the last on"))
      : std::nullopt;
}

size_t Col2ImConv::packed_bytes(const ConvParameters& p, size_t /*i*/) {
  return low_precision_panels_bytes(kFloat32InBlocks, p.weight.numel(0, 3), p.weight[3]);
}

Status Col2ImConv::pack(const ConvParameters& p, size_t /*i*/, const void* original, void* packed) {
  constexpr size_t kOneRun[] = {0};
  const size_t channels = p.weight[3], taps = p.weight[1] * p.weight[2];
  Array<float> by_tap; // [taps, OC, IC]
  ETX_RETURN_IF_ERROR(by_tap.assign(p.weight.numel()));
  const float* from = static_cast<const float*>(original);
  for (size_t output = 0; output < p.weight[0]; ++output) {
    for (size_t i = 0; i < taps; ++i, from += channels) {
      const size_t tap = p.transposed ? i : taps - 1 - i;
      std::copy_n(from, channels, by_tap.data() + (tap * p.weight[0] + output) * channels);
    }
  }
  pack_low_precision(kFloat32InBlocks, by_tap.data(), taps * p.weight[0], channels, {kOneRun, 1}, channels, packed);
  return {};
}

// Of rows, 1, or of columns, 2.
Col2ImConv::Axis Col2ImConv::axis_of(const ConvParameters& p, size_t i) {
  const ConvParameters::Axis& axis = i == 1 ? p.height : p.width;
  const auto number = [](size_t size) { return static_cast<int64_t>(size); };
  const int64_t kernel = number(p.weight[i]), padding = number(axis.padding);
  return {
      number(axis.stride),
      p.transposed ? padding : kernel - 1 - padding, // taps from the last on
      kernel,
      number(p.input[i]),
      number(p.output[i])};
}

size_t Col2ImConv::reshape(const ConvParameters& p, size_t num_threads) {
  // At least so many rows of the image in a part for each row that the next part multiplies as well.
  constexpr size_t kRowsOfSharedRow = 8;
  constexpr size_t kPartsOfThread = 4;
  constexpr size_t kPixelStep = 48; // whole tiles of any instruction set
  parameters_ = p;
  height_ = axis_of(p, 1);
  width_ = axis_of(p, 2);
  columns_ = p.weight.numel(0, 3);
  rows_ = parts_ = thread_bytes_ = 0;
  if (p.output.numel() == 0) {
    return 0;
  }
  num_threads = std::max<size_t>(num_threads, 1);
  const size_t shared = divide_up(p.weight[1], p.height.stride) - 1;
  const size_t least = kRowsOfSharedRow * shared * p.height.stride;
  const size_t wanted = num_threads == 1 ? 1 : divide_up(kPartsOfThread * num_threads, p.output[0]);
  rows_ = std::max(divide_up(p.output[1], wanted), std::min(least, divide_up(p.output[1], num_threads)));
  parts_ = divide_up(p.output[1], rows_);
  const size_t fitting = Caches::get().l1 / 2 / (std::max<size_t>(columns_, 1) * sizeof(float));
  pixels_ = std::min(std::max(fitting / kPixelStep, size_t{2}) * kPixelStep, p.input.numel(1, 3));
  thread_bytes_ = round_up_to_alignment(pixels_ * columns_ * sizeof(float));
  return num_threads * thread_bytes_;
}

void Col2ImConv::run(const KernelArguments& arguments) {
  const ConvParameters& p = parameters_;
  parallel_for_with_thread(arguments.pool, p.output[0] * parts_, [&](size_t thread, size_t i) {
    const size_t image = i / parts_, row = i % parts_ * rows_, end = std::min(row + rows_, p.output[1]);
    float* const y = arguments.output<float>(0) + image * p.output.numel(1, 4);
    Rows rows(p, arguments.input<float>(2), y, {row, end});
    auto* const products = reinterpret_cast<float*>(static_cast<char*>(arguments.scratch) + thread * thread_bytes_);
    compute(arguments, image, rows, products);
    rows.finish(rows.end);
  });
}

void Col2ImConv::compute(const KernelArguments& arguments, size_t image, Rows& rows, float* products) const {
  const ConvParameters& p = parameters_;
  if (pixels_ == 0) {
    return;
  }
  LowPrecisionProduct product;
  product.precision = kFloat32InBlocks;
  product.panels = arguments.input<void>(1);
  product.y = products;
  product.y_stride = product.columns = columns_;
  product.x_stride = product.depth = p.weight[3];
  const float* const x = arguments.input<float>(0) + image * p.input.numel(1, 4);

  // Of the image, what these rows see. How a row is divided does not depend on where these begin, and so neither does
  // the order of sums.
  const int64_t first = floor_divide(rows.begin + height_.padding - height_.kernel, height_.stride) + 1;
  const int64_t last = floor_divide(rows.end - 1 + height_.padding, height_.stride);
  const int64_t end = std::min(last + 1, height_.input);
  const auto most = static_cast<int64_t>(pixels_);
  const int64_t width = std::min(width_.input, most), at_once = most / width; // of pieces, and rows if these are whole
  for (int64_t row = std::max<int64_t>(first, 0); row < end; row += at_once) {
    const int64_t count = std::min(at_once, end - row);
    for (int64_t begin = 0; begin < width_.input; begin += width) {
      const int64_t behind = std::min(begin + width, width_.input);
      product.x = x + static_cast<size_t>(row * width_.input + begin) * product.x_stride;
      product.rows = static_cast<size_t>(count * (behind - begin));
      multiply_lines(product, 1, 0);
      for (int64_t i = 0; i < count; ++i) {
        add({row + i, begin, behind, products + static_cast<size_t>(i * width) * columns_}, rows);
      }
    }
  }
}

void Col2ImConv::add(const Piece& piece, Rows& rows) const {
  const size_t channels = parameters_.output[3];
  const int64_t top = piece.row * height_.stride - height_.padding;
  rows.prepare(top + height_.kernel);

  // Pixels [begin, end) add to whole runs of columns; those before and behind also to columns that are not there.
  const auto clamped = [&](int64_t i) { return std::clamp(i, piece.begin, piece.end); };
  const int64_t begin = clamped(-floor_divide(-width_.padding, width_.stride));
  const int64_t behind = floor_divide(width_.output - width_.kernel + width_.padding, width_.stride) + 1;
  const int64_t end = std::max(begin, clamped(behind));
  const int64_t apart = (width_.kernel + width_.stride - 1) / width_.stride; // of pixels that add to different columns
  const auto add_runs = ETX_DISPATCH(add_runs);
  for (int64_t tap = std::max<int64_t>(0, rows.begin - top); tap < std::min(height_.kernel, rows.end - top); ++tap) {
    float* const to = rows.at(top + tap);
    const float* const from = piece.products + static_cast<size_t>(tap * width_.kernel) * channels;
    const auto add_some = [&](int64_t pixel, size_t count) {
      const int64_t column = pixel * width_.stride - width_.padding;
      const int64_t skipped = std::max<int64_t>(0, -column);
      const int64_t taps = std::min(width_.kernel, width_.output - column) - skipped;
      if (taps > 0) {
        add_runs(
            from + static_cast<size_t>(pixel - piece.begin) * columns_ + static_cast<size_t>(skipped) * channels,
            static_cast<size_t>(apart) * columns_,
            to + static_cast<size_t>(column + skipped) * channels,
            static_cast<size_t>(apart * width_.stride) * channels,
            count,
            static_cast<size_t>(taps) * channels);
      }
    };
    for (int64_t pixel = piece.begin; pixel < begin; ++pixel) {
      add_some(pixel, 1);
    }
    for (int64_t pixel = begin; pixel < std::min(end, begin + apart); ++pixel) {
      add_some(pixel, static_cast<size_t>((end - 1 - pixel) / apart + 1));
    }
    for (int64_t pixel = end; pixel < piece.end; ++pixel) {
      add_some(pixel, 1);
    }
  }
  if (piece.end == width_.input) {
    rows.finish(top + height_.stride);
  }
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
