// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "sort.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/kernels/common/parallel.h"
#include "runtime/kernels/common/with_type.h"
#include "runtime/kernels/simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/reduce/sort.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "runtime/kernels/simd/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

// How many of the first elements sort behind `last`, which precedes them, so that a selection may skip them. May return
// fewer than there are.
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

constexpr size_t kMoreEntries = 64; // held by a selection beyond twice the size of its result

template <typename T>
bool is_nan(T x) {
  return x != x;
}

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
uint64_t key_of(double x) {
  if (is_nan(x)) {
    return UINT64_MAX;
  }
  constexpr uint64_t kSign = uint64_t{1} << 63;
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  bits = bits == kSign ? 0 : bits; // -0 is 0
  return bits ^ (static_cast<uint64_t>(static_cast<int64_t>(bits) >> 63) | kSign);
}
uint64_t key_of(int64_t x) {
  return static_cast<uint64_t>(x) ^ (static_cast<uint64_t>(1) << 63);
}
template <typename T>
uint32_t key_of(T x) {
  return static_cast<uint32_t>(static_cast<int32_t>(x)) ^ 0x80000000u;
}

// An element to sort, compared by its key, then by its index.
struct Entry32 {
  using Key = uint32_t;
  uint64_t value;

  Entry32() = default;
  Entry32(Key key, uint32_t index) : value(uint64_t{key} << 32 | index) {}
  Key key() const {
    return static_cast<Key>(value >> 32);
  }
  uint32_t index() const {
    return static_cast<uint32_t>(value);
  }
  bool operator<(const Entry32& other) const {
    return value < other.value;
  }
};
struct Entry64 {
  using Key = uint64_t;
  Key value;
  uint32_t position;

  Entry64() = default;
  Entry64(Key key, uint32_t index) : value(key), position(index) {}
  Key key() const {
    return value;
  }
  uint32_t index() const {
    return position;
  }
  bool operator<(const Entry64& other) const {
    return value < other.value || (value == other.value && position < other.position);
  }
};

} // namespace

size_t Sort::reshape(const SortParameters& parameters, size_t num_threads) {
  skip_ = ETX_DISPATCH(count_behind);
  descending_ = parameters.descending;
  dtype_ = parameters.dtype;
  rows_ = AxisRows(parameters.shape, parameters.axis);
  count_ = parameters.count == 0 ? rows_.size : parameters.count;
  selects_ = 4 * count_ + kMoreEntries < rows_.size;
  // What is sorted takes turns with a second array; a selection happens in one.
  entries_ = selects_ ? 2 * count_ + kMoreEntries : 2 * rows_.size;
  return num_threads * entries_ * (element_size(dtype_) == sizeof(Entry64::Key) ? sizeof(Entry64) : sizeof(Entry32));
}

void Sort::run(const KernelArguments& arguments) {
  with_type(dtype_, [&](auto zero) {
    using T = decltype(zero);
    using Entry = std::conditional_t<sizeof(T) == sizeof(Entry64::Key), Entry64, Entry32>;
    const T* const x = arguments.input<T>(0);
    int64_t* const y = arguments.output<int64_t>(0);
    parallel_for_with_thread(arguments.pool, rows_.count(), [&](size_t thread, size_t row) {
      Entry* const entries = static_cast<Entry*>(arguments.scratch) + thread * entries_;
      const T* const from = x + rows_.offset(row);
      const Entry* const sorted = selects_ ? select(from, entries) : sort(from, entries);
      int64_t* const to = y + row / rows_.inner * count_ * rows_.inner + row % rows_.inner;
      for (size_t i = 0; i < count_; ++i) {
        to[i * rows_.inner] = sorted[i].index();
      }
    });
  });
}

template <typename Entry, typename T>
Entry Sort::entry(const T* x, size_t index) const {
  const auto key = key_of(x[index * rows_.inner]);
  return {descending_ ? ~key : key, static_cast<uint32_t>(index)};
}

// By one digit after the other, from the lowest on; std::stable_sort would allocate.
template <typename T, typename Entry>
const Entry* Sort::sort(const T* x, Entry* from) const {
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
    uint32_t* const starts = counts[digit];
    if (starts[from[0].key() >> shift & 0xff] == size) {
      continue; // the same everywhere
    }
    uint32_t total = 0;
    for (size_t i = 0; i < 1 << kBits; ++i) {
      total += std::exchange(starts[i], total);
    }
    for (size_t i = 0; i < size; ++i) {
      to[starts[from[i].key() >> shift & 0xff]++] = from[i];
    }
    std::swap(from, to);
  }
  return from;
}

// Collects candidates: elements that sort before the last of the best `count_` so far. When they become too many, all
// but the best `count_` are dropped.
template <typename T, typename Entry>
const Entry* Sort::select(const T* x, Entry* entries) const {
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
        i += skip_(x + i, size - i, x[last.index()], descending_);
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

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
