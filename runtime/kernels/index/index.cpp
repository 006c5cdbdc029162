// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "index.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "runtime/kernels/simd/isa.h"
#include "runtime/kernels/common/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/index/index.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace executorch::backends::et_xnnpack {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// y[i] = x[positions[i]]
template <typename Unit>
void copy_units(const size_t* positions, size_t count, const char* x, char* y, size_t) {
  const Unit* const from = reinterpret_cast<const Unit*>(x);
  Unit* const to = reinterpret_cast<Unit*>(y);
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const Unit a = from[positions[i]], b = from[positions[i + 1]], c = from[positions[i + 2]],
               d = from[positions[i + 3]];
    to[i] = a;
    to[i + 1] = b;
    to[i + 2] = c;
    to[i + 3] = d;
  }
  for (; i < count; ++i) {
    to[i] = from[positions[i]];
  }
}

// For positions that descend by one.
template <typename Unit>
void reverse_units(const size_t* positions, size_t count, const char* x, char* y, size_t) {
  const hn::ScalableTag<Unit> tag;
  const size_t lanes = hn::Lanes(tag);
  const Unit* const from = reinterpret_cast<const Unit*>(x) + positions[count - 1];
  Unit* const to = reinterpret_cast<Unit*>(y);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::Reverse(tag, hn::LoadU(tag, from + count - i - lanes)), tag, to + i);
  }
  for (; i < count; ++i) {
    to[i] = from[count - 1 - i];
  }
}

// For blocks of at least one vector.
void copy_runs(const size_t* positions, size_t count, const char* x, char* y, size_t block) {
  const hn::ScalableTag<uint8_t> bytes;
  const size_t step = hn::Lanes(bytes);
  const size_t last = block - step;
  uint8_t* to = reinterpret_cast<uint8_t*>(y);
  for (size_t i = 0; i < count; ++i, to += block) {
    const uint8_t* const from = reinterpret_cast<const uint8_t*>(x) + positions[i] * block;
    size_t at = 0;
    for (; at + 4 * step <= block; at += 4 * step) {
      const auto a = hn::LoadU(bytes, from + at), b = hn::LoadU(bytes, from + at + step);
      const auto c = hn::LoadU(bytes, from + at + 2 * step), d = hn::LoadU(bytes, from + at + 3 * step);
      hn::StoreU(a, bytes, to + at);
      hn::StoreU(b, bytes, to + at + step);
      hn::StoreU(c, bytes, to + at + 2 * step);
      hn::StoreU(d, bytes, to + at + 3 * step);
    }
    for (; at < last; at += step) {
      hn::StoreU(hn::LoadU(bytes, from + at), bytes, to + at);
    }
    hn::StoreU(hn::LoadU(bytes, from + last), bytes, to + last);
  }
}

void copy_blocks(const size_t* positions, size_t count, const char* x, char* y, size_t block) {
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(y + i * block, x + positions[i] * block, block);
  }
}

using CopyBlocks = void (*)(const size_t* positions, size_t count, const char* x, char* y, size_t block);

// A function for blocks that are `aligned` to their size if that is 8 at most.
CopyBlocks choose_copy_blocks(size_t block, bool aligned, bool reverses) {
  if (aligned) {
    switch (block) {
      case 1:
        return reverses ? reverse_units<uint8_t> : copy_units<uint8_t>;
      case 2:
        return reverses ? reverse_units<uint16_t> : copy_units<uint16_t>;
      case 4:
        return reverses ? reverse_units<uint32_t> : copy_units<uint32_t>;
      case 8:
        return reverses ? reverse_units<uint64_t> : copy_units<uint64_t>;
    }
  }
  return block >= hn::Lanes(hn::ScalableTag<uint8_t>()) && block <= 4096 ? copy_runs : copy_blocks;
}

} // namespace HWY_NAMESPACE
} // namespace executorch::backends::et_xnnpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace executorch::backends::et_xnnpack {

HWY_EXPORT(choose_copy_blocks);

namespace {

// y[i] = x[i * step + indices[i] * stride]
template <typename Unit, typename T>
void gather_row(const T* indices, size_t count, const char* x, size_t step, size_t stride, char* y) {
  const Unit* const from = reinterpret_cast<const Unit*>(x);
  Unit* const to = reinterpret_cast<Unit*>(y);
  if (step == 0 && stride == 1) {
    for (size_t i = 0; i < count; ++i) {
      to[i] = from[static_cast<size_t>(indices[i])];
    }
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    to[i] = from[i * step + static_cast<size_t>(indices[i]) * stride];
  }
}

constexpr size_t kGrain = 65536; // bytes

bool descend(const size_t* positions, size_t count) {
  for (size_t i = 1; i < count; ++i) {
    if (positions[i] + 1 != positions[i - 1]) {
      return false;
    }
  }
  return true;
}

} // namespace

size_t IndexedCopy::reshape(const IndexedCopyParameters& parameters, size_t) {
  const Shape& x = parameters.x;
  const size_t axis = parameters.axis, last = axis + parameters.indices.size();
  positions_.reshape(x, parameters.indices, 1, axis, parameters.wrap);
  outer_ = x.numel(0, axis);
  indexed_ = x.numel(axis, last);
  block_bytes_ = x.numel(last, x.rank) * parameters.element_size;
  const bool aligned = block_bytes_ == parameters.element_size;
  copy_ = ETX_DISPATCH(choose_copy_blocks)(block_bytes_, aligned, false);
  reverse_ = ETX_DISPATCH(choose_copy_blocks)(block_bytes_, aligned, true);
  return positions_.count() * sizeof(size_t);
}

void IndexedCopy::run(const KernelArguments& arguments) const {
  size_t* const blocks = static_cast<size_t*>(arguments.scratch);
  *arguments.status = positions_.find(arguments, blocks);
  if (!arguments.status->ok()) {
    return;
  }
  const size_t count = positions_.count();
  const char* const x = arguments.input<char>(0);
  char* const y = arguments.output<char>(0);
  const auto copy = descend(blocks, count) ? reverse_ : copy_;
  parallel_for(arguments.pool, outer_ * count, kGrain / (block_bytes_ + 1) + 1, [&](size_t begin, size_t end) {
    while (begin < end) {
      const size_t outer = begin / count, first = begin % count;
      const size_t size = std::min(end - begin, count - first);
      copy(blocks + first, size, x + outer * indexed_ * block_bytes_, y + begin * block_bytes_, block_bytes_);
      begin += size;
    }
  });
}

size_t Gather::reshape(const GatherParameters& parameters, size_t) {
  positions_.reshape(parameters.x, parameters.index, 1, parameters.axis);
  element_size_ = parameters.element_size;
  return 0;
}

void Gather::run(const KernelArguments& arguments) const {
  *arguments.status = positions_.check(arguments);
  if (!arguments.status->ok()) {
    return;
  }
  switch (element_size_) {
    case 1:
      return run_as<uint8_t>(arguments);
    case 2:
      return run_as<uint16_t>(arguments);
    case 4:
      return run_as<uint32_t>(arguments);
    default:
      return run_as<uint64_t>(arguments);
  }
}

template <typename Unit>
void Gather::run_as(const KernelArguments& arguments) const {
  const size_t row_size = positions_.row_size();
  parallel_for(arguments.pool, positions_.count(), kGrain / sizeof(Unit), [&](size_t begin, size_t end) {
    while (begin < end) {
      const size_t row = begin / row_size, first = begin % row_size;
      const size_t size = std::min(end - begin, row_size - first);
      const size_t base = positions_.base(row) + first * positions_.step();
      const char* const x = arguments.input<char>(0) + base * sizeof(Unit);
      char* const y = arguments.output<char>(0) + begin * sizeof(Unit);
      if (positions_.dtype() == DType::Int32) {
        gather_row<Unit>(arguments.input<int32_t>(1) + begin, size, x, positions_.step(), positions_.stride(), y);
      } else {
        gather_row<Unit>(arguments.input<int64_t>(1) + begin, size, x, positions_.step(), positions_.stride(), y);
      }
      begin += size;
    }
  });
}

size_t EmbeddingBag::reshape(const EmbeddingBagParameters& parameters, size_t) {
  parameters_ = parameters;
  return 0;
}

void EmbeddingBag::run(const KernelArguments& arguments) const {
  *arguments.status = check(arguments);
  if (!arguments.status->ok()) {
    return;
  }
  const EmbeddingBagParameters& p = parameters_;
  const size_t grain = kGrain / sizeof(float) / (p.columns * (p.indices / (p.bags + 1) + 1) + 1) + 1;
  parallel_for(arguments.pool, p.bags, grain, [&](size_t begin, size_t end) {
    for (size_t bag = begin; bag < end; ++bag) {
      reduce(arguments, bag);
    }
  });
}

int64_t EmbeddingBag::offset(const KernelArguments& arguments, size_t bag) const {
  return bag < parameters_.offsets ? read_index(arguments.inputs[2], parameters_.offset_dtype, bag)
                                   : static_cast<int64_t>(parameters_.indices);
}

Status EmbeddingBag::check(const KernelArguments& arguments) const {
  int64_t before = 0;
  for (size_t bag = 0; bag < parameters_.offsets; ++bag) {
    const int64_t begin = offset(arguments, bag);
    ETX_CHECK(
        begin >= before && begin <= static_cast<int64_t>(parameters_.indices) && (bag > 0 || begin == 0),
        InvalidArgument,
        "offset %zu is %" PRId64 "; offsets begin with 0 and ascend to the number of indices, %zu, at most",
        bag,
        begin,
        parameters_.indices);
    before = begin;
  }
  for (size_t i = 0; i < parameters_.indices; ++i) {
    const int64_t index = read_index(arguments.inputs[1], parameters_.index_dtype, i);
    if (index < 0 || index >= static_cast<int64_t>(parameters_.rows)) {
      return out_of_range(index, parameters_.rows);
    }
  }
  return {};
}

void EmbeddingBag::reduce(const KernelArguments& arguments, size_t bag) const {
  const float* const table = arguments.input<float>(0);
  const float* const weights = arguments.input<float>(3);
  float* const y = arguments.output<float>(0) + bag * parameters_.columns;
  size_t count = 0;
  const size_t end = static_cast<size_t>(offset(arguments, bag + 1));
  for (size_t i = static_cast<size_t>(offset(arguments, bag)); i < end; ++i) {
    const int64_t index = read_index(arguments.inputs[1], parameters_.index_dtype, i);
    if (index == parameters_.padding_index) {
      continue;
    }
    const float* const row = table + static_cast<size_t>(index) * parameters_.columns;
    if (parameters_.reduction == BagReduction::Max) {
      for (size_t k = 0; k < parameters_.columns; ++k) {
        y[k] = count > 0 && !(row[k] > y[k]) ? y[k] : row[k];
      }
    } else {
      const float weight = weights == nullptr ? 1 : weights[i];
      for (size_t k = 0; k < parameters_.columns; ++k) {
        y[k] = (count > 0 ? y[k] : 0) + weight * row[k];
      }
    }
    ++count;
  }
  if (count == 0) {
    std::fill_n(y, parameters_.columns, 0.0f);
  } else if (parameters_.reduction == BagReduction::Mean) {
    const size_t size = count + (bag + 1 == parameters_.bags ? parameters_.indices - end : 0);
    for (size_t k = 0; k < parameters_.columns; ++k) {
      y[k] /= static_cast<float>(size);
    }
  }
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
