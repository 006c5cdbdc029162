// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "group_norm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/ops/op.h"
#include "group_norm_part.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/norm/group_norm.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "norm-inl.h"
#include "runtime/kernels/common/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

void normalize_planar(PlanarGroup& g) {
  const size_t length = g.channels * g.inner;
  const double per_element = 1 / static_cast<double>(g.outer * length);
  double total = 0;
  for (size_t o = 0; o < g.outer; ++o) {
    for (size_t i = 0; i < length; i += kBlock) {
      total += sum(g.x + o * g.stride + i, std::min(kBlock, length - i));
    }
  }
  const float mean = static_cast<float>(total * per_element);
  double deviation = 0, squares = 0;
  for (size_t o = 0; o < g.outer; ++o) {
    for (size_t i = 0; i < length; i += kBlock) {
      float first, second;
      deviations(g.x + o * g.stride + i, std::min(kBlock, length - i), mean, &first, &second);
      deviation += first;
      squares += second;
    }
  }
  // What rounding the mean to float has left.
  const double rest = deviation * per_element;
  const double variance = std::max(squares * per_element - rest * rest, 0.0);
  const double scale = 1 / std::sqrt(variance + static_cast<double>(g.epsilon));
  g.mean = static_cast<float>(static_cast<double>(mean) + rest);
  g.rstd = static_cast<float>(scale);
  for (size_t c = 0; c < g.channels; ++c) {
    const double weight = g.weight == nullptr ? 1 : static_cast<double>(g.weight[c]);
    const double bias = g.bias == nullptr ? 0 : static_cast<double>(g.bias[c]);
    const float s = static_cast<float>(scale * weight), t = static_cast<float>(bias - rest * scale * weight);
    for (size_t o = 0; o < g.outer; ++o) {
      const size_t offset = o * g.stride + c * g.inner;
      normalize<false, false>(g.x + offset, g.inner, mean, s, t, nullptr, nullptr, g.y + offset);
    }
  }
}

// Calls function(channel, count) for vectors of channels, `count` lanes of which are there.
template <typename Function>
HWY_INLINE void for_channels(size_t channels, const Function& function) {
  for (size_t c = 0; c < channels; c += kLanes) {
    function(c, std::min(kLanes, channels - c));
  }
}

HWY_INLINE Vector load(const float* x, size_t count) {
  return count == kLanes ? hn::LoadU(kFloats, x) : hn::LoadN(kFloats, x, count);
}

HWY_INLINE void store(Vector v, float* y, size_t count) {
  if (count == kLanes) {
    hn::StoreU(v, kFloats, y);
  } else {
    hn::StoreN(v, kFloats, y, count);
  }
}

void sum_pixels(const PixelRun& run, float* sums) {
  for_channels(run.channels, [&](size_t c, size_t count) HWY_ATTR {
    Vector a = hn::Zero(kFloats), b = a;
    size_t p = 0;
    for (; p + 2 <= run.pixels; p += 2) {
      a = hn::Add(a, load(run.x + p * run.channels + c, count));
      b = hn::Add(b, load(run.x + (p + 1) * run.channels + c, count));
    }
    if (p < run.pixels) {
      a = hn::Add(a, load(run.x + p * run.channels + c, count));
    }
    store(hn::Add(a, b), sums + c, count);
  });
}

// The sums of x - mean and of its square for each channel.
void deviate_pixels(const PixelRun& run, const float* mean, float* first, float* second) {
  for_channels(run.channels, [&](size_t c, size_t count) HWY_ATTR {
    const Vector m = load(mean + c, count);
    Vector a = hn::Zero(kFloats), b = a;
    for (size_t p = 0; p < run.pixels; ++p) {
      const Vector d = hn::Sub(load(run.x + p * run.channels + c, count), m);
      a = hn::Add(a, d);
      b = hn::MulAdd(d, d, b);
    }
    store(a, first + c, count);
    store(b, second + c, count);
  });
}

// (x - mean) * scale + shift for each channel.
void scale_pixels(const PixelRun& run, const float* mean, const float* scale, const float* shift, float* y) {
  for (size_t p = 0; p < run.pixels; ++p) {
    const size_t offset = p * run.channels;
    for_channels(run.channels, [&](size_t c, size_t count) HWY_ATTR {
      const Vector d = hn::Sub(load(run.x + offset + c, count), load(mean + c, count));
      store(hn::MulAdd(d, load(scale + c, count), load(shift + c, count)), y + offset + c, count);
    });
  }
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(normalize_planar);
HWY_EXPORT(sum_pixels);
HWY_EXPORT(deviate_pixels);
HWY_EXPORT(scale_pixels);

namespace {

constexpr size_t kGrain = 16384; // elements

// x is [images, outer, channels, inner] here.
class GroupNorm : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::GroupNorm>();
    const Shape& x = node.input(0).shape;
    const size_t axis = attributes.axis();
    images_ = x[0];
    outer_ = x.numel(1, axis);
    channels_ = x[axis];
    inner_ = x.numel(axis + 1, x.rank);
    groups_ = attributes.groups();
    epsilon_ = attributes.epsilon();
    return scratch();
  }

  void run(const KernelArguments& arguments) override {
    if (outer_ * channels_ * inner_ != 0) {
      normalize(arguments);
    } else if (arguments.outputs.size() == 3) {
      std::fill_n(arguments.output<float>(1), images_ * groups_, 0.0f);
      std::fill_n(arguments.output<float>(2), images_ * groups_, std::numeric_limits<float>::quiet_NaN());
    }
  }

 protected:
  virtual size_t scratch() {
    return 0;
  }
  virtual void normalize(const KernelArguments& arguments) = 0;

  size_t images_ = 0, outer_ = 0, channels_ = 0, inner_ = 0;
  size_t groups_ = 1;
  float epsilon_ = 0;
};

class PlanarGroupNorm final : public GroupNorm {
  void normalize(const KernelArguments& arguments) override {
    const float* weight = arguments.input<float>(1);
    const float* bias = arguments.input<float>(2);
    const bool wants_statistics = arguments.outputs.size() == 3;
    PlanarGroup whole;
    whole.outer = outer_;
    whole.stride = channels_ * inner_;
    whole.channels = channels_ / groups_;
    whole.inner = inner_;
    whole.epsilon = epsilon_;
    const size_t grain = kGrain / (outer_ * whole.channels * inner_) + 1;
    parallel_for(arguments.pool, images_ * groups_, grain, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        PlanarGroup group = whole;
        const size_t channel = i % groups_ * group.channels;
        const size_t offset = i / groups_ * outer_ * group.stride + channel * inner_;
        group.x = arguments.input<float>(0) + offset;
        group.y = arguments.output<float>(0) + offset;
        group.weight = weight == nullptr ? nullptr : weight + channel;
        group.bias = bias == nullptr ? nullptr : bias + channel;
        function_(group);
        if (wants_statistics) {
          arguments.output<float>(1)[i] = group.mean;
          arguments.output<float>(2)[i] = group.rstd;
        }
      }
    });
  }

  const decltype(ETX_DISPATCH(normalize_planar)) function_ = ETX_DISPATCH(normalize_planar);
};

// Channels are the last axis. Each image is cut into runs of pixels, whose sums are added up.
class PixelGroupNorm final : public GroupNorm {
  size_t scratch() override {
    const size_t elements = outer_ * channels_;
    const size_t pixels = std::clamp<size_t>(kGrain / std::max<size_t>(channels_, 1), 1, kMaxPixels);
    pixels_ = std::min(pixels, std::max<size_t>(outer_, 1));
    runs_ = elements == 0 ? 0 : (outer_ + pixels_ - 1) / pixels_;
    return (2 * runs_ + 3) * images_ * channels_ * sizeof(float);
  }

  void normalize(const KernelArguments& arguments) override {
    const float* x = arguments.input<float>(0);
    const size_t all = images_ * channels_;
    float* const first = static_cast<float*>(arguments.scratch); // [images, runs, channels]
    float* const second = first + runs_ * all;
    float* const mean = second + runs_ * all; // [images, channels]
    float* const scale = mean + all;
    float* const shift = scale + all;
    const auto for_runs = [&](const auto& function) {
      parallel_for(arguments.pool, images_ * runs_, 1, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
          const size_t image = i / runs_, pixel = i % runs_ * pixels_;
          const size_t offset = (image * outer_ + pixel) * channels_;
          const PixelRun run{x + offset, std::min(pixels_, outer_ - pixel), channels_};
          function(run, image * channels_, i * channels_, offset);
        }
      });
    };
    for_runs([&](const PixelRun& run, size_t, size_t i, size_t) { sum_(run, first + i); });
    for (size_t image = 0; image < images_; ++image) {
      for (size_t group = 0; group < groups_; ++group) {
        const double average = total(first, image, group) / static_cast<double>(outer_ * (channels_ / groups_));
        std::fill_n(
            mean + image * channels_ + group * (channels_ / groups_), channels_ / groups_, static_cast<float>(average));
      }
    }
    for_runs([&](const PixelRun& run, size_t image, size_t i, size_t) {
      deviate_(run, mean + image, first + i, second + i);
    });
    for (size_t image = 0; image < images_; ++image) {
      for (size_t group = 0; group < groups_; ++group) {
        finish(arguments, image, group, first, second, mean, scale, shift);
      }
    }
    for_runs([&](const PixelRun& run, size_t image, size_t, size_t offset) {
      scale_(run, mean + image, scale + image, shift + image, arguments.output<float>(0) + offset);
    });
  }

  double total(const float* sums, size_t image, size_t group) const {
    const size_t count = channels_ / groups_;
    double result = 0;
    for (size_t run = 0; run < runs_; ++run) {
      const float* row = sums + (image * runs_ + run) * channels_ + group * count;
      for (size_t c = 0; c < count; ++c) {
        result += static_cast<double>(row[c]);
      }
    }
    return result;
  }

  void finish(
      const KernelArguments& arguments,
      size_t image,
      size_t group,
      const float* first,
      const float* second,
      const float* mean,
      float* scale,
      float* shift) const {
    const size_t count = channels_ / groups_;
    const double per_element = 1 / static_cast<double>(outer_ * count);
    const double rest = total(first, image, group) * per_element;
    const double variance = std::max(total(second, image, group) * per_element - rest * rest, 0.0);
    const double rstd = 1 / std::sqrt(variance + static_cast<double>(epsilon_));
    const float* weight = arguments.input<float>(1);
    const float* bias = arguments.input<float>(2);
    for (size_t c = group * count; c < (group + 1) * count; ++c) {
      const double s = weight == nullptr ? rstd : rstd * static_cast<double>(weight[c]);
      const double b = bias == nullptr ? 0 : static_cast<double>(bias[c]);
      scale[image * channels_ + c] = static_cast<float>(s);
      shift[image * channels_ + c] = static_cast<float>(b - rest * s);
    }
    if (arguments.outputs.size() == 3) {
      const double average = static_cast<double>(mean[image * channels_ + group * count]) + rest;
      arguments.output<float>(1)[image * groups_ + group] = static_cast<float>(average);
      arguments.output<float>(2)[image * groups_ + group] = static_cast<float>(rstd);
    }
  }

  static constexpr size_t kMaxPixels = 512; // sums over more would lose too much

  const decltype(ETX_DISPATCH(sum_pixels)) sum_ = ETX_DISPATCH(sum_pixels);
  const decltype(ETX_DISPATCH(deviate_pixels)) deviate_ = ETX_DISPATCH(deviate_pixels);
  const decltype(ETX_DISPATCH(scale_pixels)) scale_ = ETX_DISPATCH(scale_pixels);
  size_t pixels_ = 1, runs_ = 0; // of one run; in an image
};

} // namespace

std::unique_ptr<Kernel> make_group_norm(const NodeContext& node) {
  const size_t last = node.input(0).shape.rank - 1;
  if (node.attributes<schema::GroupNorm>().axis() == last) {
    return std::make_unique<PixelGroupNorm>();
  }
  return std::make_unique<PlanarGroupNorm>();
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
