// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "scan.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/ops/op.h"
#include "runtime/kernels/common/axis_rows.h"
#include "runtime/kernels/simd/isa.h"
#include "runtime/kernels/common/with_type.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/reduce/scan.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/simd/vector-inl.h"
#include "runtime/kernels/common/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// How many elements from the first on do not come before `last`, an element before them, when all
// are sorted; or fewer.
size_t count_behind(const float* x, size_t count, float last, bool descending) {
  if (last != last) {
    return descending ? count : 0;
  }
  const Vector bound = hn::Set(kFloats, last);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Vector v = hn::LoadU(kFloats, x + i);
    const intptr_t lane = hn::FindFirstTrue(kFloats, descending ? hn::Not(hn::Le(v, bound)) : hn::Lt(v, bound));
    if (lane >= 0) {
      return i + static_cast<size_t>(lane);
    }
  }
  while (i < count && (descending ? x[i] <= last : !(x[i] < last))) {
    ++i;
  }
  return i;
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(count_behind);

namespace {

using schema::ScanKind;

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

class Scan final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::Scan>();
    kind_ = attributes.kind();
    dtype_ = node.input(0).dtype;
    rows_ = AxisRows(node.input(0).shape, attributes.axis());
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
    // Rows at once: the next element of one need not wait for the last of another.
    constexpr size_t kRows = 4, kColumns = 16;
    const bool dense = rows_.inner == 1;
    parallel_for(arguments.pool, rows_.count(), rows_.grain(), [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end;) {
        const size_t offset = rows_.offset(row);
        const size_t left = std::min(end - row, dense ? end : rows_.inner - row % rows_.inner);
        if (dense && left >= kRows) {
          scan_together<Function, kRows>(x + offset, rows_.size, size_t{1}, rows_.size, y + offset);
          row += kRows;
        } else if (!dense && left >= kColumns) {
          const std::integral_constant<size_t, 1> next;
          scan_together<Function, kColumns>(x + offset, rows_.size, rows_.inner, next, y + offset);
          row += kColumns;
        } else {
          scan_together<Function, 1>(x + offset, rows_.size, rows_.inner, size_t{0}, y + offset);
          ++row;
        }
      }
    });
  }

  // R rows, `next` apart, of elements `stride` apart.
  template <typename Function, size_t R, typename T, typename Next>
  static void scan_together(const T* HWY_RESTRICT x, size_t size, size_t stride, Next next, T* HWY_RESTRICT y) {
    std::decay_t<decltype(Function::kFirst)> totals[R];
    std::fill_n(totals, R, Function::kFirst);
    for (size_t i = 0; i < size; ++i, x += stride, y += stride) {
      for (size_t r = 0; r < R; ++r) {
        totals[r] = Function::join(totals[r], x[r * next]);
        y[r * next] = static_cast<T>(totals[r]);
      }
    }
  }

  ScanKind kind_ = ScanKind::Sum;
  DType dtype_ = DType::Float32;
  AxisRows rows_;
};

// Unsigned integers in the order of numbers: equal for equal ones, the largest for NaN.
uint32_t key_of(float x) {
  if (is_nan(x)) {
    return UINT32_MAX;
  }
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  bits = bits == 0x80000000u ? 0 : bits; // -0 is 0
  return bits ^ (static_cast<uint32_t>(static_cast<int32_t>(bits) >> 31) | 0x80000000u);
}
uint64_t key_of(int64_t x) {
  return static_cast<uint64_t>(x) ^ (static_cast<uint64_t>(1) << 63);
}
template <typename T>
uint32_t key_of(T x) {
  return static_cast<uint32_t>(static_cast<int32_t>(x)) ^ 0x80000000u;
}

// An element to sort, compared by its key, then by its place.
struct Narrow {
  using Key = uint32_t;
  uint64_t value;

  Narrow() = default;
  Narrow(Key key, uint32_t place) : value(uint64_t{key} << 32 | place) {}
  Key key() const {
    return static_cast<Key>(value >> 32);
  }
  uint32_t place() const {
    return static_cast<uint32_t>(value);
  }
  bool operator<(const Narrow& other) const {
    return value < other.value;
  }
};
struct Wide {
  using Key = uint64_t;
  Key value;
  uint32_t at;

  Wide() = default;
  Wide(Key key, uint32_t place) : value(key), at(place) {}
  Key key() const {
    return value;
  }
  uint32_t place() const {
    return at;
  }
  bool operator<(const Wide& other) const {
    return value < other.value || (value == other.value && at < other.at);
  }
};

class Sort final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t num_threads) override {
    const auto& attributes = node.attributes<schema::Sort>();
    descending_ = attributes.descending();
    dtype_ = node.input(0).dtype;
    rows_ = AxisRows(node.input(0).shape, attributes.axis());
    count_ = attributes.count() == 0 ? rows_.size : attributes.count();
    selects_ = 4 * count_ + kMoreEntries < rows_.size;
    // What is sorted takes turns with a second array; a selection happens in one.
    entries_ = selects_ ? 2 * count_ + kMoreEntries : 2 * rows_.size;
    return num_threads * entries_ * (dtype_ == DType::Int64 ? sizeof(Wide) : sizeof(Narrow));
  }

  void run(const KernelArguments& arguments) override {
    with_type(dtype_, [&](auto zero) {
      using T = decltype(zero);
      using Entry = std::conditional_t<std::is_same_v<T, int64_t>, Wide, Narrow>;
      const T* const x = arguments.input<T>(0);
      int64_t* const y = arguments.output<int64_t>(0);
      parallel_for_with_thread(arguments.pool, rows_.count(), [&](size_t thread, size_t row) {
        Entry* const entries = static_cast<Entry*>(arguments.scratch) + thread * entries_;
        const T* const from = x + rows_.offset(row);
        const Entry* const sorted = selects_ ? select(from, entries) : sort(from, entries);
        int64_t* const to = y + row / rows_.inner * count_ * rows_.inner + row % rows_.inner;
        for (size_t i = 0; i < count_; ++i) {
          to[i * rows_.inner] = sorted[i].place();
        }
      });
    });
  }

 private:
  static constexpr size_t kMoreEntries = 64;

  template <typename Entry, typename T>
  Entry entry(const T* x, size_t place) const {
    const auto key = key_of(x[place * rows_.inner]);
    return {descending_ ? ~key : key, static_cast<uint32_t>(place)};
  }

  // By one digit after the other, from the lowest on; std::stable_sort would allocate.
  template <typename T, typename Entry>
  const Entry* sort(const T* x, Entry* from) const {
    const size_t size = rows_.size;
    for (size_t i = 0; i < size; ++i) {
      from[i] = entry<Entry>(x, i);
    }
    constexpr size_t kFew = 200;
    if (size < kFew) {
      std::sort(from, from + size);
      return from;
    }
    constexpr size_t kBits = 8, kDigits = sizeof(typename Entry::Key);
    uint32_t counts[kDigits][1 << kBits] = {};
    for (size_t i = 0; i < size; ++i) {
      auto key = from[i].key();
      for (size_t digit = 0; digit < kDigits; ++digit, key >>= kBits) {
        ++counts[digit][key & 0xff];
      }
    }
    Entry* to = from + size;
    for (size_t digit = 0; digit < kDigits; ++digit) {
      const size_t shift = digit * kBits;
      uint32_t* const places = counts[digit];
      if (places[from[0].key() >> shift & 0xff] == size) {
        continue; // the same everywhere
      }
      uint32_t total = 0;
      for (size_t i = 0; i < 1 << kBits; ++i) {
        total += std::exchange(places[i], total);
      }
      for (size_t i = 0; i < size; ++i) {
        to[places[from[i].key() >> shift & 0xff]++] = from[i];
      }
      std::swap(from, to);
    }
    return from;
  }

  // Collects what comes before the last of the first `count_` so far, and drops what no longer
  // does when there is too much.
  template <typename T, typename Entry>
  const Entry* select(const T* x, Entry* entries) const {
    const size_t size = rows_.size;
    const auto drop = [&](size_t held) { std::nth_element(entries, entries + count_ - 1, entries + held); };
    size_t i = 0;
    for (; i < entries_; ++i) {
      entries[i] = entry<Entry>(x, i);
    }
    drop(i);
    size_t held = count_;
    Entry last = entries[count_ - 1];
    for (; i < size; ++i) {
      if constexpr (std::is_same_v<T, float>) {
        if (rows_.inner == 1) {
          i += skip_(x + i, size - i, x[last.place()], descending_);
          if (i == size) {
            break;
          }
        }
      }
      const Entry next = entry<Entry>(x, i);
      if (next < last) {
        entries[held++] = next;
        if (held == entries_) {
          drop(held);
          held = count_;
          last = entries[count_ - 1];
        }
      }
    }
    drop(held);
    std::sort(entries, entries + count_);
    return entries;
  }

  const decltype(ETX_DISPATCH(count_behind)) skip_ = ETX_DISPATCH(count_behind);
  bool descending_ = false, selects_ = false;
  DType dtype_ = DType::Float32;
  AxisRows rows_;
  size_t count_ = 0, entries_ = 0;
};

} // namespace

std::unique_ptr<Kernel> make_scan(const NodeContext&) {
  return std::make_unique<Scan>();
}
std::unique_ptr<Kernel> make_sort(const NodeContext&) {
  return std::make_unique<Sort>();
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
