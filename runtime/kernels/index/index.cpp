// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "index.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "runtime/ops/op.h"
#include "index_places.h"
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

// y[i] = x[places[i]]
template <typename Unit>
void copy_units(const size_t* places, size_t count, const char* x, char* y, size_t) {
  const Unit* const from = reinterpret_cast<const Unit*>(x);
  Unit* const to = reinterpret_cast<Unit*>(y);
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const Unit a = from[places[i]], b = from[places[i + 1]], c = from[places[i + 2]], d = from[places[i + 3]];
    to[i] = a;
    to[i + 1] = b;
    to[i + 2] = c;
    to[i + 3] = d;
  }
  for (; i < count; ++i) {
    to[i] = from[places[i]];
  }
}

// For places that descend by one.
template <typename Unit>
void reverse_units(const size_t* places, size_t count, const char* x, char* y, size_t) {
  const hn::ScalableTag<Unit> tag;
  const size_t lanes = hn::Lanes(tag);
  const Unit* const from = reinterpret_cast<const Unit*>(x) + places[count - 1];
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
void copy_runs(const size_t* places, size_t count, const char* x, char* y, size_t block) {
  const hn::ScalableTag<uint8_t> bytes;
  const size_t step = hn::Lanes(bytes);
  const size_t last = block - step;
  uint8_t* to = reinterpret_cast<uint8_t*>(y);
  for (size_t i = 0; i < count; ++i, to += block) {
    const uint8_t* const from = reinterpret_cast<const uint8_t*>(x) + places[i] * block;
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

void copy_blocks(const size_t* places, size_t count, const char* x, char* y, size_t block) {
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(y + i * block, x + places[i] * block, block);
  }
}

using CopyBlocks = void (*)(const size_t* places, size_t count, const char* x, char* y, size_t block);

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

class Index final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::Index>();
    const Shape& x = node.input(0).shape;
    const size_t axis = attributes.axis();
    const size_t last = axis + node.num_inputs() - 1;
    places_.reshape(node, 1, axis, attributes.wrap());
    outer_ = x.numel(0, axis);
    indexed_ = x.numel(axis, last);
    const size_t element = element_size(node.output().dtype);
    block_bytes_ = x.numel(last, x.rank) * element;
    const bool aligned = block_bytes_ == element;
    copy_ = ETX_DISPATCH(choose_copy_blocks)(block_bytes_, aligned, false);
    reverse_ = ETX_DISPATCH(choose_copy_blocks)(block_bytes_, aligned, true);
    return places_.count() * sizeof(size_t);
  }

  void run(const KernelArguments& arguments) override {
    size_t* const blocks = static_cast<size_t*>(arguments.scratch);
    *arguments.status = places_.find(arguments, blocks);
    if (!arguments.status->ok()) {
      return;
    }
    const size_t count = places_.count();
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

 private:
  static bool descend(const size_t* places, size_t count) {
    for (size_t i = 1; i < count; ++i) {
      if (places[i] + 1 != places[i - 1]) {
        return false;
      }
    }
    return true;
  }

  IndexPlaces places_;
  size_t outer_ = 0, indexed_ = 0; // elements before, blocks on the indexed axes
  size_t block_bytes_ = 0;
  decltype(ETX_DISPATCH(choose_copy_blocks)(0, false, false)) copy_ = nullptr, reverse_ = nullptr;
};

class Gather final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    places_.reshape(node, 1, node.attributes<schema::Gather>().axis());
    element_size_ = element_size(node.output().dtype);
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    *arguments.status = places_.check(arguments);
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

 private:
  template <typename Unit>
  void run_as(const KernelArguments& arguments) const {
    const size_t row_size = places_.row_size();
    parallel_for(arguments.pool, places_.count(), kGrain / sizeof(Unit), [&](size_t begin, size_t end) {
      while (begin < end) {
        const size_t row = begin / row_size, first = begin % row_size;
        const size_t size = std::min(end - begin, row_size - first);
        const size_t base = places_.base(row) + first * places_.step();
        const char* const x = arguments.input<char>(0) + base * sizeof(Unit);
        char* const y = arguments.output<char>(0) + begin * sizeof(Unit);
        if (places_.dtype() == DType::Int32) {
          gather_row<Unit>(arguments.input<int32_t>(1) + begin, size, x, places_.step(), places_.stride(), y);
        } else {
          gather_row<Unit>(arguments.input<int64_t>(1) + begin, size, x, places_.step(), places_.stride(), y);
        }
        begin += size;
      }
    });
  }

  AxisPlaces places_;
  size_t element_size_ = 0;
};

class EmbeddingBag final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::EmbeddingBag>();
    kind_ = attributes.kind();
    padding_ = attributes.padding_idx();
    rows_ = node.input(0).shape[0];
    columns_ = node.input(0).shape[1];
    indices_ = node.input(1).shape[0];
    offsets_ = node.input(2).shape[0];
    bags_ = node.output().shape[0];
    index_dtype_ = node.input(1).dtype;
    offset_dtype_ = node.input(2).dtype;
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    *arguments.status = check(arguments);
    if (!arguments.status->ok()) {
      return;
    }
    const size_t grain = kGrain / sizeof(float) / (columns_ * (indices_ / (bags_ + 1) + 1) + 1) + 1;
    parallel_for(arguments.pool, bags_, grain, [&](size_t begin, size_t end) {
      for (size_t bag = begin; bag < end; ++bag) {
        reduce(arguments, bag);
      }
    });
  }

 private:
  int64_t offset(const KernelArguments& arguments, size_t bag) const {
    return bag < offsets_ ? read_index(arguments.inputs[2], offset_dtype_, bag) : static_cast<int64_t>(indices_);
  }

  Status check(const KernelArguments& arguments) const {
    int64_t before = 0;
    for (size_t bag = 0; bag < offsets_; ++bag) {
      const int64_t begin = offset(arguments, bag);
      ETX_CHECK(
          begin >= before && begin <= static_cast<int64_t>(indices_) && (bag > 0 || begin == 0),
          InvalidArgument,
          "offset %zu is %" PRId64 "; offsets begin with 0 and ascend to the number of indices, %zu, at most",
          bag,
          begin,
          indices_);
      before = begin;
    }
    for (size_t i = 0; i < indices_; ++i) {
      const int64_t index = read_index(arguments.inputs[1], index_dtype_, i);
      if (index < 0 || index >= static_cast<int64_t>(rows_)) {
        return out_of_range(index, rows_);
      }
    }
    return {};
  }

  void reduce(const KernelArguments& arguments, size_t bag) const {
    const float* const table = arguments.input<float>(0);
    const float* const weights = arguments.input<float>(3);
    float* const y = arguments.output<float>(0) + bag * columns_;
    size_t count = 0;
    const size_t end = static_cast<size_t>(offset(arguments, bag + 1));
    for (size_t i = static_cast<size_t>(offset(arguments, bag)); i < end; ++i) {
      const int64_t index = read_index(arguments.inputs[1], index_dtype_, i);
      if (index == padding_) {
        continue;
      }
      const float* const row = table + static_cast<size_t>(index) * columns_;
      if (kind_ == schema::BagKind::Max) {
        for (size_t k = 0; k < columns_; ++k) {
          y[k] = count > 0 && !(row[k] > y[k]) ? y[k] : row[k];
        }
      } else {
        const float weight = weights == nullptr ? 1 : weights[i];
        for (size_t k = 0; k < columns_; ++k) {
          y[k] = (count > 0 ? y[k] : 0) + weight * row[k];
        }
      }
      ++count;
    }
    if (count == 0) {
      std::fill_n(y, columns_, 0.0f);
    } else if (kind_ == schema::BagKind::Mean) {
      const size_t size = count + (bag + 1 == bags_ ? indices_ - end : 0);
      for (size_t k = 0; k < columns_; ++k) {
        y[k] /= static_cast<float>(size);
      }
    }
  }

  schema::BagKind kind_ = schema::BagKind::Sum;
  int64_t padding_ = -1;
  size_t rows_ = 0, columns_ = 0, indices_ = 0, offsets_ = 0, bags_ = 0;
  DType index_dtype_ = DType::Int64, offset_dtype_ = DType::Int64;
};

} // namespace

std::unique_ptr<Kernel> make_index(const NodeContext&) {
  return std::make_unique<Index>();
}
std::unique_ptr<Kernel> make_gather(const NodeContext&) {
  return std::make_unique<Gather>();
}
std::unique_ptr<Kernel> make_embedding_bag(const NodeContext&) {
  return std::make_unique<EmbeddingBag>();
}

} // namespace executorch::backends::et_xnnpack
#endif // HWY_ONCE
