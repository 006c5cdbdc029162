// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "runtime/base/memory.h"
#include "runtime/ops/common/common.h"
#include "conv.h"
#include "runtime/kernels/gemm/narrow_product.h"
#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

// Positions `first`, `first` + `step`, ... of one axis of the output, which see the same taps: position
// `first` + i * `step` reads input i * `stride` + offset by each tap.
struct Phase {
  struct Tap {
    int64_t offset;
    size_t tap;
  };

  size_t first = 0, step = 1, stride = 1;
  Span<const Tap> taps; // by offset

  // How many of `size` positions.
  size_t count(size_t size) const {
    return first < size ? (size - 1 - first) / step + 1 : 0;
  }
  const Tap& last() const {
    return taps[taps.size() - 1];
  }
  // Whether the taps read neighbours.
  bool is_dense() const {
    return last().offset - taps[0].offset + 1 == static_cast<int64_t>(taps.size());
  }
};

// Faster than memcpy() for runs of a few channels.
inline void copy_run(const float* from, float* to, size_t count) {
  constexpr size_t kFew = 64, kStep = 4;
  if (count < kStep || count > kFew) {
    std::memcpy(to, from, count * sizeof(float));
    return;
  }
  for (size_t i = 0; i + kStep < count; i += kStep) {
    std::memcpy(to + i, from + i, kStep * sizeof(float));
  }
  std::memcpy(to + count - kStep, from + count - kStep, kStep * sizeof(float));
}

struct Axis {
  uint32_t kernel, stride, padding, dilation;
};

// The phases of an axis, in order.
class Phases {
 public:
  Status assign(const Axis& axis, bool transposed) {
    const int64_t stride = transposed ? axis.stride : 1;
    const auto reach_of = [&](size_t tap) { return static_cast<int64_t>(tap * axis.dilation) - axis.padding; };
    const auto first_of = [&](size_t tap) { return (reach_of(tap) % stride + stride) % stride; };
    const auto offset_of = [&](size_t tap) {
      return transposed ? (first_of(tap) - reach_of(tap)) / stride : reach_of(tap);
    };
    ETX_RETURN_IF_ERROR(taps_.assign(axis.kernel));
    for (size_t tap = 0; tap < axis.kernel; ++tap) {
      taps_[tap] = {offset_of(tap), tap};
    }
    std::sort(taps_.begin(), taps_.end(), [&](const Phase::Tap& a, const Phase::Tap& b) {
      return std::pair(first_of(a.tap), a.offset) < std::pair(first_of(b.tap), b.offset);
    });
    const auto is_new = [&](size_t i) { return i == 0 || first_of(taps_[i].tap) != first_of(taps_[i - 1].tap); };
    size_t count = 0;
    for (size_t i = 0; i < taps_.size(); ++i) {
      count += is_new(i);
    }
    ETX_RETURN_IF_ERROR(phases_.assign(count));
    Phase* next = phases_.begin();
    for (size_t i = 0; i < taps_.size();) {
      const size_t begin = i++;
      while (i < taps_.size() && !is_new(i)) {
        ++i;
      }
      *next++ = {
          static_cast<size_t>(first_of(taps_[begin].tap)),
          transposed ? axis.stride : size_t{1},
          transposed ? size_t{1} : axis.stride,
          {&taps_[begin], i - begin}};
    }
    return {};
  }

  size_t size() const {
    return phases_.size();
  }
  const Phase* begin() const {
    return phases_.begin();
  }
  const Phase* end() const {
    return phases_.end();
  }

 private:
  Array<Phase::Tap> taps_; // of all phases
  Array<Phase> phases_;
};

// A matrix product for each group, and for each phase of rows and of columns, with the patches of the image
// that the taps of an output pixel see, gathered for as many pixels at a time as fit the scratch memory.
// The weight stays in 16 or 8 bits.
template <typename Attributes>
class NarrowConv final : public Kernel {
 public:
  explicit NarrowConv(const NodeContext& node) {
    const auto& attributes = node.attributes<Attributes>();
    const Shape& weight = node.input(1).shape;
    const auto &stride = *attributes.stride(), &dilation = *attributes.dilation();
    const auto& padding = *attributes.padding();
    const auto size = [](size_t kernel) { return static_cast<uint32_t>(kernel); };
    groups_ = attributes.groups();
    height_ = {size(weight[1]), stride.height(), padding.top(), dilation.height()};
    width_ = {size(weight[2]), stride.width(), padding.left(), dilation.width()};
  }

  std::optional<std::string> packed_layout(const NodeContext& node, size_t i) const override {
    if (i != 1) {
      return std::nullopt;
    }
    std::string layout = narrow_layout(node.input(1).stored) + " of " + std::to_string(groups_) + " groups";
    if (kTransposed) {
      for (const Axis& axis : {height_, width_}) {
        for (const uint32_t number : {axis.stride, axis.padding, axis.dilation}) {
          layout += " " + std::to_string(number);
        }
      }
    }
    return layout;
  }
  size_t packed_bytes(const NodeContext& node, size_t) const override {
    const Shape& weight = node.input(1).shape;
    return groups_ * narrow_panels_bytes(node.input(1).stored, weight[0] / groups_, weight.numel(1, 4));
  }
  Status pack(const NodeContext& node, size_t, const void* original, void* packed) const override {
    const TensorType& weight = node.input(1);
    const Shape& shape = weight.shape;
    const size_t columns = shape[0] / groups_, depth = shape.numel(1, 4);
    const char* from = static_cast<const char*>(original);
    char* to = static_cast<char*>(packed);
    Phases rows, column_phases;
    ETX_RETURN_IF_ERROR(rows.assign(height_, kTransposed));
    ETX_RETURN_IF_ERROR(column_phases.assign(width_, kTransposed));
    Array<size_t> taps;
    for (size_t group = 0; group < groups_; ++group) {
      for (const Phase& row : rows) {
        for (const Phase& column : column_phases) {
          ETX_RETURN_IF_ERROR(taps.assign(row.taps.size() * column.taps.size()));
          size_t* next = taps.begin();
          for (const Phase::Tap& kh : row.taps) {
            for (const Phase::Tap& kw : column.taps) {
              *next++ = kh.tap * shape[2] + kw.tap;
            }
          }
          pack_narrow(weight.stored, from, columns, depth, {taps.data(), taps.size()}, shape[3], to);
          to += narrow_panels_bytes(weight.stored, columns, taps.size() * shape[3]);
        }
      }
      from += columns * depth * (weight.stored == DType::Int8 ? sizeof(int8_t) : sizeof(float));
    }
    return {};
  }

  StatusOr<size_t> reshape(const NodeContext& node, size_t num_threads) override {
    const auto& attributes = node.attributes<Attributes>();
    input_ = node.input(0).shape;
    weight_ = node.input(1).shape;
    output_ = node.output().shape;
    ETX_RETURN_IF_ERROR(scales_.assign(node.input(1), weight_[0]));
    ETX_RETURN_IF_ERROR(rows_.assign(height_, kTransposed));
    ETX_RETURN_IF_ERROR(columns_.assign(width_, kTransposed));
    product_ = {};
    product_.type = node.input(1).stored;
    product_.columns = weight_[0] / groups_;
    product_.y_stride = weight_[0];
    product_.min = clamp_min(attributes.clamp());
    product_.max = clamp_max(attributes.clamp());
    is_image_ = is_pointwise(attributes, input_, weight_, output_);
    num_threads = std::max<size_t>(num_threads, 1);
    patches_bytes_ = places_bytes_ = 0;
    size_t product_bytes = 0;
    for (const Phase& row : rows_) {
      for (const Phase& column : columns_) {
        const NarrowProduct product = product_of(row, column);
        product_bytes = std::max(product_bytes, narrow_product_scratch(product, num_threads));
        if (!is_image_) {
          patches_bytes_ = std::max(patches_bytes_, product.rows * product.depth * sizeof(float));
          places_bytes_ = std::max(places_bytes_, product.rows * sizeof(size_t));
        }
      }
    }
    patches_bytes_ = round_up_to_alignment(patches_bytes_);
    places_bytes_ = round_up_to_alignment(places_bytes_);
    return patches_bytes_ + places_bytes_ + product_bytes;
  }

  void run(const KernelArguments& arguments) override {
    if (output_.numel() == 0) {
      return;
    }
    fill_unseen(arguments);
    const char* panels = arguments.input<char>(1);
    for (size_t group = 0; group < groups_; ++group) {
      for (const Phase& row : rows_) {
        for (const Phase& column : columns_) {
          NarrowProduct product = product_of(row, column);
          product.panels = panels;
          product.scale = at(scales_.scales(), group);
          product.zero_point = at(scales_.zero_points(), group);
          product.bias = at(arguments.input<float>(2), group);
          multiply(product, group, row, column, arguments);
          panels += narrow_panels_bytes(product.type, product.columns, product.depth);
        }
      }
    }
  }

 private:
  static constexpr bool kTransposed = std::is_same_v<Attributes, schema::ConvTranspose2d>;
  static constexpr size_t kPatchFloats = 1 << 18, kMinPixels = 96, kGrain = 16384;

  const float* at(const float* channels, size_t group) const {
    return channels == nullptr ? nullptr : channels + group * product_.columns;
  }

  size_t pixels_of(const Phase& row, const Phase& column) const {
    return output_[0] * row.count(output_[1]) * column.count(output_[2]);
  }

  // With as many rows as are computed at a time.
  NarrowProduct product_of(const Phase& row, const Phase& column) const {
    NarrowProduct product = product_;
    product.depth = row.taps.size() * column.taps.size() * weight_[3];
    product.rows = pixels_of(row, column);
    product.x_stride = input_[3];
    if (!is_image_) {
      product.rows = std::min(product.rows, std::max(kMinPixels, kPatchFloats / product.depth));
      product.x_stride = product.depth;
    }
    return product;
  }

  void multiply(
      NarrowProduct& product,
      size_t group,
      const Phase& row,
      const Phase& column,
      const KernelArguments& arguments) const {
    const float* const channels = arguments.input<float>(0) + group * weight_[3];
    float* const patches = static_cast<float*>(arguments.scratch);
    size_t* const places = reinterpret_cast<size_t*>(static_cast<char*>(arguments.scratch) + patches_bytes_);
    void* const scratch = reinterpret_cast<char*>(places) + places_bytes_;
    product.y = arguments.output<float>(0) + group * product.columns;
    if (is_image_) {
      product.x = channels;
      multiply_narrow(product, scratch, arguments.pool);
      return;
    }
    product.x = patches;
    product.places = places;
    const size_t pixels = pixels_of(row, column), chunk = product.rows;
    for (size_t pixel = 0; pixel < pixels; pixel += chunk) {
      product.rows = std::min(chunk, pixels - pixel);
      parallel_for(arguments.pool, product.rows, kGrain / (product.depth + 1) + 1, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
          places[i] = gather(channels, pixel + i, row, column, patches + i * product.depth);
        }
      });
      multiply_narrow(product, scratch, arguments.pool);
    }
  }

  // Writes what the taps of one pixel of these phases see, [KH, KW, IC]. Returns where its output is.
  size_t gather(const float* x, size_t pixel, const Phase& row, const Phase& column, float* patch) const {
    const size_t height = row.count(output_[1]), width = column.count(output_[2]);
    const size_t channels = weight_[3], line = column.taps.size() * channels;
    const size_t i = pixel / width % height, j = pixel % width, image = pixel / width / height;
    const auto size = [this](size_t axis) { return static_cast<int64_t>(input_[axis]); };
    const int64_t top = static_cast<int64_t>(i * row.stride), left = static_cast<int64_t>(j * column.stride);
    const float* const from = x + image * input_.numel(1, 4);
    const int64_t first = left + column.taps[0].offset, last = left + column.last().offset;
    const bool is_inside = first >= 0 && last < size(2);
    const bool is_run = is_inside && channels == input_[3] && column.is_dense();
    for (const Phase::Tap& kh : row.taps) {
      const int64_t h = top + kh.offset;
      if (h < 0 || h >= size(1)) {
        std::fill_n(patch, line, 0.0f);
        patch += line;
        continue;
      }
      const float* const pixels = from + static_cast<size_t>(h) * input_[2] * input_[3];
      if (is_run) {
        copy_run(pixels + static_cast<size_t>(first) * channels, patch, line);
        patch += line;
        continue;
      }
      for (const Phase::Tap& kw : column.taps) {
        const int64_t w = left + kw.offset;
        if (is_inside || (w >= 0 && w < size(2))) {
          copy_run(pixels + static_cast<size_t>(w) * input_[3], patch, channels);
        } else {
          std::fill_n(patch, channels, 0.0f);
        }
        patch += channels;
      }
    }
    const size_t y = row.first + i * row.step, z = column.first + j * column.step;
    return ((image * output_[1] + y) * output_[2] + z) * output_[3];
  }

  // Pixels that no tap writes to are the bias.
  void fill_unseen(const KernelArguments& arguments) const {
    if (!kTransposed || (rows_.size() >= height_.stride && columns_.size() >= width_.stride)) {
      return;
    }
    const float* const bias = arguments.input<float>(2);
    float* const y = arguments.output<float>(0);
    const size_t channels = output_[3];
    parallel_for(arguments.pool, output_.numel(0, 3), kGrain / channels + 1, [&](size_t begin, size_t end) {
      for (size_t i = begin * channels; i < end * channels; ++i) {
        const float value = bias == nullptr ? 0.0f : bias[i % channels];
        const float raised = value < product_.min ? product_.min : value; // keeps NaN
        y[i] = raised > product_.max ? product_.max : raised;
      }
    });
  }

  NarrowScales scales_;
  Axis height_{}, width_{};
  Phases rows_, columns_;
  size_t groups_ = 1;
  Shape input_, weight_, output_;
  NarrowProduct product_;
  bool is_image_ = false; // the image itself is the matrix of patches
  size_t patches_bytes_ = 0, places_bytes_ = 0;
};

} // namespace

std::unique_ptr<Kernel> make_narrow_conv2d(const NodeContext& node) {
  return std::make_unique<NarrowConv<schema::Conv2d>>(node);
}

std::unique_ptr<Kernel> make_narrow_conv_transpose2d(const NodeContext& node) {
  return std::make_unique<NarrowConv<schema::ConvTranspose2d>>(node);
}

} // namespace executorch::backends::et_xnnpack
