// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "index.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "../ops/op.h"
#include "index_places.h"

namespace executorch::backends::et_xnnpack {
namespace {

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
    block_bytes_ = x.numel(last, x.rank) * element_size(node.output().dtype);
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
    parallel_for(arguments.pool, outer_ * count, kGrain / (block_bytes_ + 1) + 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const size_t from = i / count * indexed_ + blocks[i % count];
        std::memcpy(y + i * block_bytes_, x + from * block_bytes_, block_bytes_);
      }
    });
  }

 private:
  IndexPlaces places_;
  size_t outer_ = 0, indexed_ = 0; // elements before, blocks on the indexed axes
  size_t block_bytes_ = 0;
};

class Gather final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    places_.reshape(node, 1, node.attributes<schema::Gather>().axis());
    element_size_ = element_size(node.output().dtype);
    return places_.count() * sizeof(size_t);
  }

  void run(const KernelArguments& arguments) override {
    size_t* const offsets = static_cast<size_t*>(arguments.scratch);
    *arguments.status = places_.find(arguments, offsets);
    if (!arguments.status->ok()) {
      return;
    }
    const char* const x = arguments.input<char>(0);
    char* const y = arguments.output<char>(0);
    parallel_for(arguments.pool, places_.count(), kGrain / element_size_, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        std::memcpy(y + i * element_size_, x + offsets[i] * element_size_, element_size_);
      }
    });
  }

 private:
  AxisPlaces places_;
  size_t element_size_ = 0;
};

class EmbeddingBag final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const auto& attributes = node.attributes<schema::EmbeddingBag>();
    kind_ = attributes.kind();
    padding_ = attributes.padding();
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
