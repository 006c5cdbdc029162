// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "fft.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "runtime/base/round_up.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/fft/fft.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/common/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// What is best for several transforms on this instruction set.
FftVariant lanes_variant() {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  return FftVariant::Single;
#elif HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && defined(ET_XNNPACK_KISSFFT_AVX2)
  return FftVariant::Avx2;
#else
  return FftVariant::Lanes;
#endif
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(lanes_variant);

namespace {

const double kPi = std::acos(-1.0);
constexpr size_t kGrain = 16384; // elements
constexpr size_t kFewRows = 2; // are computed one by one

size_t largest_prime_factor(size_t n) {
  size_t largest = 1;
  for (size_t factor = 2; factor * factor <= n; ++factor) {
    for (; n % factor == 0; n /= factor) {
      largest = factor;
    }
  }
  return std::max(largest, n);
}

// exp(2 pi i k / n), with zeros and ones that are exact.
template <typename T>
void unit_root(size_t k, size_t n, T* real, T* imag) {
  const double angle = 2 * kPi * static_cast<double>(k) / static_cast<double>(n);
  *real = 4 * k == n || 4 * k == 3 * n ? T{0} : static_cast<T>(std::cos(angle));
  *imag = 2 * k % n == 0 ? T{0} : static_cast<T>(std::sin(angle));
}

// Elements of a vector of complex numbers that has several lanes.
template <size_t kLanes, typename T>
T& real_of(T* z, size_t k, size_t lane) {
  return z[2 * k * kLanes + lane];
}
template <size_t kLanes, typename T>
T& imag_of(T* z, size_t k, size_t lane) {
  return z[(2 * k + 1) * kLanes + lane];
}

// Calls function(k, lane) for all of them.
template <typename Function>
void for_each(size_t count, size_t lanes, const Function& function) {
  for (size_t k = 0; k < count; ++k) {
    for (size_t lane = 0; lane < lanes; ++lane) {
      function(k, lane);
    }
  }
}

// z[k] *= w[k], in each lane.
template <size_t kLanes, typename T>
void multiply(T* z, const T* w, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    const T c = w[2 * k], s = w[2 * k + 1];
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const T real = real_of<kLanes>(z, k, lane), imag = imag_of<kLanes>(z, k, lane);
      real_of<kLanes>(z, k, lane) = real * c - imag * s;
      imag_of<kLanes>(z, k, lane) = real * s + imag * c;
    }
  }
}

template <size_t kLanes, typename T>
void swap_parts(T* z, size_t count) {
  for_each(count, kLanes, [&](size_t k, size_t lane) {
    std::swap(real_of<kLanes>(z, k, lane), imag_of<kLanes>(z, k, lane));
  });
}

} // namespace

// Up to as many rows as there are lanes. A row starts at an offset, and its elements are `stride` apart.
template <typename T>
struct Fft<T>::Rows {
  const T* x_real = nullptr;
  const T* x_imag = nullptr;
  T* y_real = nullptr;
  T* y_imag = nullptr;
  size_t stride = 0;
  size_t count = 0;
  size_t x_offset[kFftLanes] = {}, y_offset[kFftLanes] = {};

  T real(size_t k, size_t lane) const {
    return x_real[x_offset[lane] + k * stride];
  }
  T imag(size_t k, size_t lane) const {
    return x_imag[x_offset[lane] + k * stride];
  }
};

template <typename T>
StatusOr<size_t> Fft<T>::reshape(const FftParameters& parameters, size_t num_threads) {
  parameters_ = parameters;
  const bool has_lanes = std::is_same_v<T, float>; // KISS FFT has none of double
  const FftVariant variant = has_lanes && rows() > kFewRows ? ETX_DISPATCH(lanes_variant)() : FftPlan::single_of<T>();
  if (planned_ != points() || plan_.variant() != variant || twiddles_.empty() == is_halved()) {
    planned_ = 0;
    const bool is_direct = largest_prime_factor(points()) <= FftPlan::kMaxFactor;
    ETX_RETURN_IF_ERROR(plan_.make(is_direct ? points() : fast_length(2 * points() - 1), variant));
    ETX_RETURN_IF_ERROR(make_tables());
    planned_ = points();
  }
  const size_t task_threads = std::max<size_t>(num_threads, 1);
  return 2 * task_threads * round_up_to_alignment(2 * plan_.length() * lanes_of(variant) * sizeof(T));
}

template <typename T>
Status Fft<T>::make_tables() {
  ETX_RETURN_IF_ERROR(twiddles_.assign(is_halved() ? 2 * (points() + 1) : 0));
  for (size_t k = 0; 2 * k < twiddles_.size(); ++k) {
    unit_root(k, parameters_.length, &twiddles_[2 * k], &twiddles_[2 * k + 1]);
  }
  const size_t n = points(), m = plan_.length();
  if (n == m) {
    return {};
  }
  ETX_RETURN_IF_ERROR(chirp_.assign(2 * n));
  ETX_RETURN_IF_ERROR(filter_.assign(2 * m));
  Array<T> response;
  ETX_RETURN_IF_ERROR(response.assign(2 * m));
  for (size_t k = 0; k < n; ++k) {
    // The square is taken modulo 2 n, so that no digits of the angle are lost.
    const double angle = kPi * static_cast<double>(k * k % (2 * n)) / static_cast<double>(n);
    const double c = std::cos(angle), s = std::sin(angle);
    chirp_[2 * k] = static_cast<T>(c);
    chirp_[2 * k + 1] = static_cast<T>(-s);
    for (const size_t at : {k, (m - k) % m}) {
      response[2 * at] = static_cast<T>(c / static_cast<double>(m));
      response[2 * at + 1] = static_cast<T>(s / static_cast<double>(m));
    }
  }
  FftPlan single;
  ETX_RETURN_IF_ERROR(single.make(m, FftPlan::single_of<T>()));
  single.run(response.data(), filter_.data());
  return {};
}

// The transform of z, in one of the two.
template <typename T>
template <size_t kLanes>
T* Fft<T>::transform(T* z, T* other) const {
  const size_t n = points(), m = plan_.length();
  if (n == m) {
    plan_.run(z, other);
    return other;
  }
  // Bluestein's algorithm: jk is (j^2 + k^2 - (k - j)^2) / 2, so the sum is a convolution with exp(pi i j^2 / n). That
  // back is a transform of numbers whose parts are swapped.
  multiply<kLanes>(z, chirp_.data(), n);
  std::fill(z + 2 * n * kLanes, z + 2 * m * kLanes, T{0});
  plan_.run(z, other);
  multiply<kLanes>(other, filter_.data(), m);
  swap_parts<kLanes>(other, m);
  plan_.run(other, z);
  swap_parts<kLanes>(z, n);
  multiply<kLanes>(z, chirp_.data(), n);
  return z;
}

// That back is a transform of numbers whose parts are swapped, too: `swap` of those who load and store.
template <typename T>
template <size_t kLanes>
void Fft<T>::load(const Rows& r, T* z) const {
  const size_t n = points();
  if (r.count < kLanes) {
    std::fill(z, z + 2 * n * kLanes, T{0});
  }
  const size_t swap = is_inverse() ? 1 : 0;
  const auto put = [&](size_t k, size_t lane, T real, T imag) {
    z[(2 * k + swap) * kLanes + lane] = real;
    z[(2 * k + 1 - swap) * kLanes + lane] = imag;
  };
  if (parameters_.transform == FftTransform::RealToComplex) {
    if (is_halved()) {
      for_each(n, r.count, [&](size_t k, size_t lane) { put(k, lane, r.real(2 * k, lane), r.real(2 * k + 1, lane)); });
    } else {
      for_each(n, r.count, [&](size_t k, size_t lane) { put(k, lane, r.real(k, lane), T{0}); });
    }
    return;
  }
  if (parameters_.transform != FftTransform::ComplexToReal) {
    for_each(n, r.count, [&](size_t k, size_t lane) { put(k, lane, r.real(k, lane), r.imag(k, lane)); });
    return;
  }
  if (!is_halved()) {
    for_each(n / 2 + 1, r.count, [&](size_t k, size_t lane) {
      const T real = r.real(k, lane), imag = k == 0 ? T{0} : r.imag(k, lane);
      put(k, lane, real, imag);
      if (k != 0) {
        put(n - k, lane, real, -imag);
      }
    });
    return;
  }
  // Element k of a transform whose results are those at even places in the real part, at odd ones in the imaginary
  // part.
  for_each(n, r.count, [&](size_t k, size_t lane) {
    const T c = twiddles_[2 * k], s = twiddles_[2 * k + 1];
    const T a = r.real(k, lane), b = k == 0 ? T{0} : r.imag(k, lane);
    const T e = r.real(n - k, lane), f = k == 0 ? T{0} : -r.imag(n - k, lane);
    const T real = (a - e) * c - (b - f) * s, imag = (a - e) * s + (b - f) * c;
    put(k, lane, a + e - imag, b + f + real);
  });
}

template <typename T>
template <size_t kLanes>
void Fft<T>::store(const T* z, const Rows& r) const {
  const size_t n = points();
  const size_t swap = is_inverse() ? 1 : 0;
  const T scale = static_cast<T>(parameters_.scale);
  const auto put = [&](size_t k, size_t lane, T real, T imag) {
    const size_t at = r.y_offset[lane] + k * r.stride;
    r.y_real[at] = real * scale;
    r.y_imag[at] = imag * scale;
  };
  if (!is_halved()) {
    for_each(complex_length(), r.count, [&](size_t k, size_t lane) {
      put(k, lane, z[(2 * k + swap) * kLanes + lane], z[(2 * k + 1 - swap) * kLanes + lane]);
    });
    return;
  }
  // The transforms of what was at even and at odd places: those of the real and of the imaginary part.
  for_each(n + 1, r.count, [&](size_t k, size_t lane) {
    const T* const here = z + 2 * (k == n ? 0 : k) * kLanes + lane;
    const T* const there = z + 2 * (k == 0 ? 0 : n - k) * kLanes + lane;
    const T a = here[0], b = here[kLanes], e = there[0], f = there[kLanes];
    const T even_real = (a + e) * T{0.5}, even_imag = (b - f) * T{0.5};
    const T odd_real = (b + f) * T{0.5}, odd_imag = (e - a) * T{0.5};
    const T c = twiddles_[2 * k], s = twiddles_[2 * k + 1];
    const T real = even_real + (odd_real * c + odd_imag * s);
    const T imag = even_imag + (odd_imag * c - odd_real * s);
    put(k, lane, real, imag);
    if (parameters_.full && k != 0 && k != n) {
      put(2 * n - k, lane, real, -imag);
    }
  });
}

template <typename T>
template <size_t kLanes>
void Fft<T>::store_real(const T* z, const Rows& r) const {
  const T scale = static_cast<T>(parameters_.scale);
  const size_t parts = is_halved() ? 2 : 1;
  // Parts are swapped.
  for_each(parameters_.length, r.count, [&](size_t i, size_t lane) {
    const size_t k = i / parts, part = 1 - i % parts;
    r.y_real[r.y_offset[lane] + i * r.stride] = z[(2 * k + part) * kLanes + lane] * scale;
  });
}

template <typename T>
template <size_t kLanes>
void Fft<T>::compute(const KernelArguments& arguments) const {
  const bool to_real = parameters_.transform == FftTransform::ComplexToReal;
  const bool from_real = parameters_.transform == FftTransform::RealToComplex;
  const size_t inner = parameters_.inner, length = parameters_.length;
  const size_t x_length = from_real ? length : complex_length(), y_length = to_real ? length : complex_length();
  const size_t numbers = round_up_to_alignment(2 * plan_.length() * kLanes * sizeof(T)) / sizeof(T);
  const size_t groups = divide_up(rows(), kLanes);
  const size_t groups_together = std::max<size_t>(1, kGrain / (kLanes * length));
  const size_t tasks = divide_up(groups, groups_together);
  parallel_for_with_thread(arguments.pool, tasks, [&](size_t thread, size_t task) {
    T* const z = static_cast<T*>(arguments.scratch) + 2 * thread * numbers;
    const size_t end = std::min(groups, (task + 1) * groups_together);
    for (size_t group = task * groups_together; group < end; ++group) {
      Rows r;
      r.x_real = arguments.input<T>(0);
      r.x_imag = arguments.input<T>(1);
      r.y_real = arguments.output<T>(0);
      r.y_imag = to_real ? nullptr : arguments.output<T>(1);
      r.stride = inner;
      for (size_t row = group * kLanes; row < rows() && r.count < kLanes; ++row, ++r.count) {
        r.x_offset[r.count] = row / inner * x_length * inner + row % inner;
        r.y_offset[r.count] = row / inner * y_length * inner + row % inner;
      }
      load<kLanes>(r, z);
      const T* const result = transform<kLanes>(z, z + numbers);
      to_real ? store_real<kLanes>(result, r) : store<kLanes>(result, r);
    }
  });
}

template <typename T>
void Fft<T>::run(const KernelArguments& arguments) const {
  if (rows() == 0) {
    return;
  }
  if (lanes_of(plan_.variant()) == 1) {
    compute<1>(arguments);
    return;
  }
  if constexpr (std::is_same_v<T, float>) {
    compute<kFftLanes>(arguments);
  }
}

template class Fft<float>;
template class Fft<double>;

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
