// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "index.h"

#include <cinttypes>
#include <cstring>
#include <vector>

#include "../ops/op.h"
#include "strided_copy.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kGrain = 65536; // bytes

// Element `i` of an index tensor.
int64_t read(const void* indices, DType dtype, size_t i) {
  return dtype == DType::Int32 ? static_cast<const int32_t*>(indices)[i] : static_cast<const int64_t*>(indices)[i];
}

// Where `index` is on an axis of `size`; false if nowhere.
bool locate(int64_t index, size_t size, size_t* place) {
  const int64_t from_start = index < 0 ? index + static_cast<int64_t>(size) : index;
  *place = static_cast<size_t>(from_start);
  return from_start >= 0 && *place < size;
}

Status out_of_range(int64_t index, size_t size) {
  return failure(
      Error::InvalidArgument, "index %" PRId64 " is out of range on an axis of %zu", index, size);
}

class Index final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    const Shape& x = node.input(0).shape;
    const Shape& y = node.output().shape;
    const size_t axis = node.attributes<schema::Index>().axis();
    const size_t last = axis + node.num_inputs() - 1;
    places_ = {};
    for (size_t i = axis; i + x.rank < y.rank + last; ++i) {
      places_.append(y[i]);
    }
    operands_.clear();
    for (size_t k = 1; k < node.num_inputs(); ++k) {
      Operand operand{node.input(k).dtype, x[axis + k - 1], x.numel(axis + k, last), {}};
      const Shape& shape = node.input(k).shape;
      const Strides dense = dense_strides(shape);
      for (size_t i = 0; i < shape.rank; ++i) {
        operand.strides[places_.rank - shape.rank + i] = shape[i] == 1 ? 0 : dense[i];
      }
      operands_.push_back(operand);
    }
    outer_ = x.numel(0, axis);
    indexed_ = x.numel(axis, last);
    block_bytes_ = x.numel(last, x.rank) * element_size(node.output().dtype);
    return places_.numel() * sizeof(size_t);
  }

  void run(const KernelArguments& arguments) override {
    size_t* const blocks = static_cast<size_t*>(arguments.scratch);
    const size_t count = places_.numel();
    for (size_t i = 0; i < count; ++i) {
      if (!find_block(arguments, i, &blocks[i])) {
        return;
      }
    }
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
  struct Operand {
    DType dtype;
    size_t size; // of the axis it indexes
    size_t stride; // of that axis, in blocks
    Strides strides; // over places_
  };

  bool find_block(const KernelArguments& arguments, size_t i, size_t* block) const {
    *block = 0;
    for (size_t k = 0; k < operands_.size(); ++k) {
      const Operand& operand = operands_[k];
      size_t rest = i, offset = 0;
      for (size_t axis = places_.rank; axis-- > 0; rest /= places_[axis]) {
        offset += rest % places_[axis] * operand.strides[axis];
      }
      const int64_t index = read(arguments.inputs[k + 1], operand.dtype, offset);
      size_t place = 0;
      if (!locate(index, operand.size, &place)) {
        *arguments.status = out_of_range(index, operand.size);
        return false;
      }
      *block += place * operand.stride;
    }
    return true;
  }

  Shape places_; // that the indices broadcast to
  std::vector<Operand> operands_;
  size_t outer_ = 0, indexed_ = 0; // elements before, blocks on the indexed axes
  size_t block_bytes_ = 0;
};

class Gather final : public Kernel {
 public:
  StatusOr<size_t> reshape(const NodeContext& node, size_t) override {
    axis_ = node.attributes<schema::Gather>().axis();
    x_ = node.input(0).shape;
    y_ = node.output().shape;
    index_dtype_ = node.input(1).dtype;
    element_size_ = element_size(node.output().dtype);
    strides_ = dense_strides(x_);
    return size_t{0};
  }

  void run(const KernelArguments& arguments) override {
    const char* const x = arguments.input<char>(0);
    char* const y = arguments.output<char>(0);
    for (size_t i = 0; i < y_.numel(); ++i) {
      size_t rest = i, offset = 0;
      for (size_t axis = y_.rank; axis-- > 0; rest /= y_[axis]) {
        offset += axis == axis_ ? 0 : rest % y_[axis] * strides_[axis];
      }
      const int64_t index = read(arguments.inputs[1], index_dtype_, i);
      size_t place = 0;
      if (!locate(index, x_[axis_], &place)) {
        *arguments.status = out_of_range(index, x_[axis_]);
        return;
      }
      offset += place * strides_[axis_];
      std::memcpy(y + i * element_size_, x + offset * element_size_, element_size_);
    }
  }

 private:
  size_t axis_ = 0;
  Shape x_, y_;
  DType index_dtype_ = DType::Int64;
  size_t element_size_ = 0;
  Strides strides_{};
};

} // namespace

std::unique_ptr<Kernel> make_index(const NodeContext&) {
  return std::make_unique<Index>();
}
std::unique_ptr<Kernel> make_gather(const NodeContext&) {
  return std::make_unique<Gather>();
}

} // namespace executorch::backends::et_xnnpack
