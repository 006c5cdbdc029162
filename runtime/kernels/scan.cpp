// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "scan.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <type_traits>

#include "../ops/op.h"
#include "strided_copy.h"
#include "with_type.h"

namespace executorch::backends::et_xnnpack {
namespace {

using schema::ArgReduceKind;
using schema::ReduceKind;
using schema::ScanKind;

constexpr size_t kGrain = 16384; // elements

template <typename T>
bool is_nan(T x) {
  return x != x;
}

// Integers wrap instead of overflowing.
template <typename T>
T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}
template <typename T>
T product(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

template <typename T>
struct SumOf {
  static constexpr T kFirst = 0;
  static T join(T a, T b) {
    return sum(a, b);
  }
};
template <typename T>
struct ProdOf {
  static constexpr T kFirst = 1;
  static T join(T a, T b) {
    return product(a, b);
  }
};
template <typename T>
struct MaxOf {
  static constexpr T kFirst =
      std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  static T join(T a, T b) {
    return a > b || is_nan(a) ? a : b;
  }
};
template <typename T>
struct MinOf {
  static constexpr T kFirst =
      std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  static T join(T a, T b) {
    return a < b || is_nan(a) ? a : b;
  }
};
struct AnyOf {
  static constexpr uint8_t kFirst = 0;
  static uint8_t join(uint8_t a, uint8_t b) {
    return a != 0 || b != 0;
  }
};
struct AllOf {
  static constexpr uint8_t kFirst = 1;
  static uint8_t join(uint8_t a, uint8_t b) {
    return a != 0 && b != 0;
  }
};

// Some axes of a dense tensor, as if there were no others. Neighbours are merged.
class Axes {
 public:
  void clear() {
    rank_ = 0;
  }
  void add(size_t size, size_t stride) {
    if (rank_ > 0 && strides_[rank_ - 1] == size * stride) {
      sizes_[rank_ - 1] *= size;
      strides_[rank_ - 1] = stride;
    } else {
      sizes_[rank_] = size;
      strides_[rank_++] = stride;
    }
  }
  size_t count() const {
    return std::accumulate(sizes_.begin(), sizes_.begin() + rank_, size_t{1}, std::multiplies<>());
  }
  // Where the `i`th element is.
  size_t offset(size_t i) const {
    size_t result = 0;
    for (size_t axis = rank_; axis-- > 0; i /= sizes_[axis]) {
      result += i % sizes_[axis] * strides_[axis];
    }
    return result;
  }
  // The last axis: a row of this many elements, so far apart.
  size_t row_size() const {
    return rank_ == 0 ? 1 : sizes_[rank_ - 1];
  }
  size_t row_stride() const {
    return rank_ == 0 ? 1 : strides_[rank_ - 1];
  }

 private:
  size_t rank_ = 0;
  std::array<size_t, kMaxRank> sizes_{}, strides_{};
};

class TypedReduce final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::Reduce>();
    kind_ = attributes.kind();
    dtype_ = node.input(0).dtype;
    const Shape& x = node.input(0).shape;
    const Strides strides = dense_strides(x);
    kept_.clear();
    reduced_.clear();
    for (size_t axis = 0; axis < x.rank; ++axis) {
      const auto* axes = attributes.axes();
      const bool reduces = std::find(axes->begin(), axes->end(), axis) != axes->end();
      (reduces ? reduced_ : kept_).add(x[axis], strides[axis]);
    }
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    if (dtype_ == DType::Bool) {
      return kind_ == ReduceKind::Any ? reduce<uint8_t, AnyOf>(arguments) : reduce<uint8_t, AllOf>(arguments);
    }
    with_type(dtype_, [&](auto zero) {
      using T = decltype(zero);
      switch (kind_) {
        case ReduceKind::Max:
          return reduce<T, MaxOf<T>>(arguments);
        case ReduceKind::Min:
          return reduce<T, MinOf<T>>(arguments);
        case ReduceKind::Prod:
          return reduce<T, ProdOf<T>>(arguments);
        default:
          return reduce<T, SumOf<T>>(arguments);
      }
    });
  }

 private:
  static constexpr size_t kColumns = 64;

  template <typename T, typename Function>
  void reduce(const KernelArguments& arguments) const {
    const T* const x = arguments.input<T>(0);
    T* const y = arguments.output<T>(0);
    const size_t count = reduced_.count();
    const size_t row = reduced_.row_size(), stride = reduced_.row_stride();
    const size_t rows = row == 0 ? 0 : count / row;
    // Neighbouring results from neighbouring elements are computed together.
    const size_t width = kept_.row_stride() == 1 ? std::min(kColumns, std::max<size_t>(kept_.row_size(), 1)) : 1;
    parallel_for(arguments.pool, kept_.count(), kGrain / (count + 1) / width * width + width, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end;) {
        const size_t left = width == 1 ? 1 : kept_.row_size() - i % kept_.row_size();
        const size_t columns = std::min({width, left, end - i});
        const T* const from = x + kept_.offset(i);
        T totals[kColumns];
        std::fill_n(totals, columns, Function::kFirst);
        for (size_t r = 0; r < rows; ++r) {
          const T* p = from + reduced_.offset(r * row);
          if (columns == 1) {
            totals[0] = reduce_row<T, Function>(p, row, stride, totals[0]);
            continue;
          }
          for (size_t k = 0; k < row; ++k, p += stride) {
            for (size_t c = 0; c < columns; ++c) {
              totals[c] = Function::join(totals[c], p[c]);
            }
          }
        }
        std::copy_n(totals, columns, y + i);
        i += columns;
      }
    });
  }

  // Several totals at once, so that one does not wait for the other.
  template <typename T, typename Function>
  static T reduce_row(const T* p, size_t count, size_t stride, T total) {
    constexpr size_t kTotals = 16;
    size_t k = 0;
    if (stride == 1 && count >= kTotals) {
      T totals[kTotals];
      std::fill_n(totals, kTotals, Function::kFirst);
      for (; k + kTotals <= count; k += kTotals) {
        for (size_t c = 0; c < kTotals; ++c) {
          totals[c] = Function::join(totals[c], p[k + c]);
        }
      }
      for (const T one : totals) {
        total = Function::join(total, one);
      }
    }
    for (; k < count; ++k) {
      total = Function::join(total, p[k * stride]);
    }
    return total;
  }

  ReduceKind kind_ = ReduceKind::Sum;
  DType dtype_ = DType::Float32;
  Axes kept_, reduced_;
};

// A dense tensor as rows along one axis, whose elements are `inner` apart.
struct Rows {
  size_t outer = 0, size = 0, inner = 0;

  Rows() = default;
  Rows(const Shape& x, size_t axis) : outer(x.numel(0, axis)), size(x[axis]), inner(x.numel(axis + 1, x.rank)) {}
  size_t count() const {
    return outer * inner;
  }
  size_t grain() const {
    return kGrain / (size + 1) + 1;
  }
  size_t offset(size_t row) const {
    return row / inner * size * inner + row % inner;
  }
};

class ArgReduce final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::ArgReduce>();
    finds_max_ = attributes.kind() == ArgReduceKind::Max;
    dtype_ = node.input(0).dtype;
    rows_ = Rows(node.input(0).shape, attributes.axis());
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    with_type(dtype_, [&](auto zero) {
      using T = decltype(zero);
      const T* const x = arguments.input<T>(0);
      int64_t* const y = arguments.output<int64_t>(0);
      parallel_for(arguments.pool, rows_.count(), rows_.grain(), [&](size_t begin, size_t end) {
        for (size_t row = begin; row < end; ++row) {
          y[row] = static_cast<int64_t>(find(x + rows_.offset(row)));
        }
      });
    });
  }

 private:
  template <typename T>
  size_t find(const T* x) const {
    size_t best = 0;
    T value = *x;
    for (size_t i = 1; i < rows_.size && !is_nan(value); ++i) {
      const T next = x[i * rows_.inner];
      if ((finds_max_ ? next > value : next < value) || is_nan(next)) {
        value = next;
        best = i;
      }
    }
    return best;
  }

  bool finds_max_ = true;
  DType dtype_ = DType::Float32;
  Rows rows_;
};

class Scan final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::Scan>();
    kind_ = attributes.kind();
    dtype_ = node.input(0).dtype;
    rows_ = Rows(node.input(0).shape, attributes.axis());
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    with_type(dtype_, [&](auto zero) {
      using T = decltype(zero);
      // Eager PyTorch adds up floats in double precision.
      using Total = std::conditional_t<std::is_floating_point_v<T>, double, T>;
      return kind_ == ScanKind::Sum ? scan<T, SumOf<Total>>(arguments) : scan<T, ProdOf<Total>>(arguments);
    });
  }

 private:
  template <typename T, typename Function>
  void scan(const KernelArguments& arguments) const {
    const T* const x = arguments.input<T>(0);
    T* const y = arguments.output<T>(0);
    parallel_for(arguments.pool, rows_.count(), rows_.grain(), [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        const size_t offset = rows_.offset(row);
        auto total = Function::kFirst;
        for (size_t i = 0; i < rows_.size; ++i) {
          total = Function::join(total, x[offset + i * rows_.inner]);
          y[offset + i * rows_.inner] = static_cast<T>(total);
        }
      }
    });
  }

  ScanKind kind_ = ScanKind::Sum;
  DType dtype_ = DType::Float32;
  Rows rows_;
};

class Sort final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t num_threads) override {
    const auto& attributes = node.attributes<schema::Sort>();
    descending_ = attributes.descending();
    dtype_ = node.input(0).dtype;
    rows_ = Rows(node.input(0).shape, attributes.axis());
    // Two arrays of places for each thread.
    return num_threads * 2 * rows_.size * sizeof(uint32_t);
  }

  void run(const KernelArguments& arguments) override {
    with_type(dtype_, [&](auto zero) {
      using T = decltype(zero);
      const T* const x = arguments.input<T>(0);
      int64_t* const y = arguments.output<int64_t>(0);
      parallel_for_with_thread(arguments.pool, rows_.count(), [&](size_t thread, size_t row) {
        uint32_t* const places = static_cast<uint32_t*>(arguments.scratch) + thread * 2 * rows_.size;
        const size_t offset = rows_.offset(row);
        const uint32_t* const sorted = sort(x + offset, places, places + rows_.size);
        for (size_t i = 0; i < rows_.size; ++i) {
          y[offset + i * rows_.inner] = sorted[i];
        }
      });
    });
  }

 private:
  // Merges ever longer runs; std::stable_sort would allocate.
  template <typename T>
  const uint32_t* sort(const T* x, uint32_t* from, uint32_t* to) const {
    const auto less = [&](uint32_t a, uint32_t b) {
      const T p = x[a * rows_.inner], q = x[b * rows_.inner];
      return descending_ ? p > q || (is_nan(p) && !is_nan(q)) : p < q || (is_nan(q) && !is_nan(p));
    };
    const size_t size = rows_.size;
    constexpr size_t kRun = 16;
    std::iota(from, from + size, 0u);
    for (size_t begin = 0; begin < size; begin += kRun) {
      const size_t end = std::min(size, begin + kRun);
      for (size_t i = begin + 1; i < end; ++i) {
        std::rotate(std::upper_bound(from + begin, from + i, from[i], less), from + i, from + i + 1);
      }
    }
    for (size_t run = kRun; run < size; run *= 2) {
      for (size_t begin = 0; begin < size; begin += 2 * run) {
        const size_t middle = std::min(size, begin + run), end = std::min(size, begin + 2 * run);
        std::merge(from + begin, from + middle, from + middle, from + end, to + begin, less);
      }
      std::swap(from, to);
    }
    return from;
  }

  bool descending_ = false;
  DType dtype_ = DType::Float32;
  Rows rows_;
};

} // namespace

std::unique_ptr<Kernel> make_typed_reduce(const NodeContext&) {
  return std::make_unique<TypedReduce>();
}
std::unique_ptr<Kernel> make_arg_reduce(const NodeContext&) {
  return std::make_unique<ArgReduce>();
}
std::unique_ptr<Kernel> make_scan(const NodeContext&) {
  return std::make_unique<Scan>();
}
std::unique_ptr<Kernel> make_sort(const NodeContext&) {
  return std::make_unique<Sort>();
}

} // namespace executorch::backends::et_xnnpack
