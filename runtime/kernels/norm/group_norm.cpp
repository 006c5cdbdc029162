// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "group_norm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "group_norm_part.h"
#include "runtime/base/round_up.h"
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
  const Moments moments = moments_of(g.x, g.outer, g.channels * g.inner, g.stride);
  const double rest = moments.rest;
  const double scale = 1 / std::sqrt(moments.variance + static_cast<double>(g.epsilon));
  g.mean = static_cast<float>(static_cast<double>(moments.mean) + rest);
  g.rstd = static_cast<float>(scale);
  for (size_t c = 0; c < g.channels; ++c) {
    const double weight = g.weight == nullptr ? 1 : static_cast<double>(g.weight[c]);
    const double bias = g.bias == nullptr ? 0 : static_cast<double>(g.bias[c]);
    const float s = static_cast<float>(scale * weight), t = static_cast<float>(bias - rest * scale * weight);
    for (size_t o = 0; o < g.outer; ++o) {
      const size_t offset = o * g.stride + c * g.inner;
      normalize<false, false>(g.x + offset, g.inner, moments.mean, s, t, nullptr, nullptr, g.y + offset);
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
constexpr size_t kMaxPixels = 512; // sums over more would lose too much

} // namespace

// Parts of the scratch memory: two sums of each channel in each run of pixels, then what follows from them for each
// channel of an image.
struct GroupNorm::Sums {
  float* first; // [images, runs, channels]
  float* second;
  float* mean; // [images, channels]
  float* scale;
  float* shift;
};

size_t GroupNorm::reshape(const GroupNormParameters& parameters, size_t) {
  parameters_ = parameters;
  if (!parameters.channels_last) {
    return 0;
  }
  const size_t outer = parameters.outer, channels = parameters.channels;
  const size_t pixels = std::clamp<size_t>(kGrain / std::max<size_t>(channels, 1), 1, kMaxPixels);
  pixels_ = std::min(pixels, std::max<size_t>(outer, 1));
  runs_ = outer * channels == 0 ? 0 : divide_up(outer, pixels_);
  return (2 * runs_ + 3) * parameters.images * channels * sizeof(float);
}

void GroupNorm::run(const KernelArguments& arguments) const {
  const GroupNormParameters& p = parameters_;
  if (p.outer * p.channels * p.inner == 0) {
    if (arguments.outputs.size() == 3) {
      std::fill_n(arguments.output<float>(1), p.images * p.groups, 0.0f);
      std::fill_n(arguments.output<float>(2), p.images * p.groups, std::numeric_limits<float>::quiet_NaN());
    }
  } else if (p.channels_last) {
    run_channels_last(arguments);
  } else {
    run_planar(arguments);
  }
}

void GroupNorm::run_planar(const KernelArguments& arguments) const {
  const GroupNormParameters& p = parameters_;
  const auto normalize = ETX_DISPATCH(normalize_planar);
  const float* weight = arguments.input<float>(1);
  const float* bias = arguments.input<float>(2);
  const bool wants_statistics = arguments.outputs.size() == 3;
  PlanarGroup whole;
  whole.outer = p.outer;
  whole.stride = p.channels * p.inner;
  whole.channels = p.channels / p.groups;
  whole.inner = p.inner;
  whole.epsilon = p.epsilon;
  const size_t grain = kGrain / (p.outer * whole.channels * p.inner) + 1;
  parallel_for(arguments.pool, p.images * p.groups, grain, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      PlanarGroup group = whole;
      const size_t channel = i % p.groups * group.channels;
      const size_t offset = i / p.groups * p.outer * group.stride + channel * p.inner;
      group.x = arguments.input<float>(0) + offset;
      group.y = arguments.output<float>(0) + offset;
      group.weight = weight == nullptr ? nullptr : weight + channel;
      group.bias = bias == nullptr ? nullptr : bias + channel;
      normalize(group);
      if (wants_statistics) {
        arguments.output<float>(1)[i] = group.mean;
        arguments.output<float>(2)[i] = group.rstd;
      }
    }
  });
}

void GroupNorm::run_channels_last(const KernelArguments& arguments) const {
  const GroupNormParameters& p = parameters_;
  const auto sum = ETX_DISPATCH(sum_pixels);
  const auto deviate = ETX_DISPATCH(deviate_pixels);
  const auto scale = ETX_DISPATCH(scale_pixels);
  const float* x = arguments.input<float>(0);
  const size_t all = p.images * p.channels;
  float* const scratch = static_cast<float*>(arguments.scratch);
  float* const mean = scratch + 2 * runs_ * all;
  const Sums sums{scratch, scratch + runs_ * all, mean, mean + all, mean + 2 * all};
  const auto for_runs = [&](const auto& function) {
    parallel_for(arguments.pool, p.images * runs_, 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const size_t image = i / runs_, pixel = i % runs_ * pixels_;
        const size_t offset = (image * p.outer + pixel) * p.channels;
        const PixelRun run{x + offset, std::min(pixels_, p.outer - pixel), p.channels};
        function(run, image * p.channels, i * p.channels, offset);
      }
    });
  };
  for_runs([&](const PixelRun& run, size_t, size_t i, size_t) { sum(run, sums.first + i); });
  const size_t count = p.channels / p.groups;
  for (size_t image = 0; image < p.images; ++image) {
    for (size_t group = 0; group < p.groups; ++group) {
      const double average = total(sums.first, image, group) / static_cast<double>(p.outer * count);
      std::fill_n(sums.mean + image * p.channels + group * count, count, static_cast<float>(average));
    }
  }
  for_runs([&](const PixelRun& run, size_t image, size_t i, size_t) {
    deviate(run, sums.mean + image, sums.first + i, sums.second + i);
  });
  for (size_t image = 0; image < p.images; ++image) {
    for (size_t group = 0; group < p.groups; ++group) {
      finish(arguments, image, group, sums);
    }
  }
  for_runs([&](const PixelRun& run, size_t image, size_t, size_t offset) {
    scale(run, sums.mean + image, sums.scale + image, sums.shift + image, arguments.output<float>(0) + offset);
  });
}

double GroupNorm::total(const float* sums, size_t image, size_t group) const {
  const size_t channels = parameters_.channels, count = channels / parameters_.groups;
  double result = 0;
  for (size_t run = 0; run < runs_; ++run) {
    const float* row = sums + (image * runs_ + run) * channels + group * count;
    for (size_t c = 0; c < count; ++c) {
      result += static_cast<double>(row[c]);
    }
  }
  return result;
}

// Turns the sums of a group of channels into what scales and shifts them.
void GroupNorm::finish(const KernelArguments& arguments, size_t image, size_t group, const Sums& sums) const {
  const GroupNormParameters& p = parameters_;
  const size_t count = p.channels / p.groups;
  const double per_element = 1 / static_cast<double>(p.outer * count);
  const double rest = total(sums.first, image, group) * per_element;
  const double variance = std::max(total(sums.second, image, group) * per_element - rest * rest, 0.0);
  const double rstd = 1 / std::sqrt(variance + static_cast<double>(p.epsilon));
  const float* weight = arguments.input<float>(1);
  const float* bias = arguments.input<float>(2);
  for (size_t c = group * count; c < (group + 1) * count; ++c) {
    const double s = weight == nullptr ? rstd : rstd * static_cast<double>(weight[c]);
    const double b = bias == nullptr ? 0 : static_cast<double>(bias[c]);
    sums.scale[image * p.channels + c] = static_cast<float>(s);
    sums.shift[image * p.channels + c] = static_cast<float>(b - rest * s);
  }
  if (arguments.outputs.size() == 3) {
    const double average = static_cast<double>(sums.mean[image * p.channels + group * count]) + rest;
    arguments.output<float>(1)[image * p.groups + group] = static_cast<float>(average);
    arguments.output<float>(2)[image * p.groups + group] = static_cast<float>(rstd);
  }
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
