// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "index_positions.h"
#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"
#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

// x[..., indices 0, indices 1, ..., ...]: `indices`, which broadcast, index x from `axis` on.
struct IndexedCopyParameters {
  Shape x;
  std::vector<IndexTensor> indices;
  size_t axis = 0;
  bool wrap = true; // negative indices count from the end
  size_t element_size = 1; // bytes
};

// Inputs: x, dense, then the indices. Output: the blocks that they point to, dense. Fails for an index that is
// out of range, and writes nothing then.
class IndexedCopy {
 public:
  size_t reshape(const IndexedCopyParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments) const;

 private:
  using CopyBlocks = void (*)(const size_t* positions, size_t count, const char* x, char* y, size_t block);

  IndexPositions positions_;
  size_t outer_ = 0, indexed_ = 0; // elements before, blocks on the indexed axes
  size_t block_bytes_ = 0;
  CopyBlocks copy_ = nullptr, reverse_ = nullptr;
};

// Of PyTorch's gather: an index of x's rank, at most as large on the other axes.
struct GatherParameters {
  Shape x;
  IndexTensor index;
  size_t axis = 0;
  size_t element_size = 1; // bytes: 1, 2, 4 or 8
};

// Inputs: x and index, dense. Output: of the index's shape. Fails for an index that is out of range or
// negative, and writes nothing then.
class Gather {
 public:
  size_t reshape(const GatherParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments) const;

 private:
  template <typename Unit>
  void run_as(const KernelArguments& arguments) const;

  AxisPositions positions_;
  size_t element_size_ = 0;
};

enum class BagReduction : uint8_t { Sum, Mean, Max };

// Bag i are the rows of a table that indices [offsets[i], offsets[i + 1]) name; the last offset may be missing.
struct EmbeddingBagParameters {
  BagReduction reduction = BagReduction::Sum;
  int64_t padding_index = -1; // which no bag counts
  size_t rows = 0, columns = 0; // of the table
  size_t indices = 0, offsets = 0, bags = 0; // how many
  DType index_dtype = DType::Int64, offset_dtype = DType::Int64; // or Int32
};

// Inputs: table [rows, columns] of Float32, indices, offsets, and for Sum a weight of Float32 for each index or
// nothing. Output: [bags, columns] of Float32, zeros for an empty bag. Fails for indices or offsets that are out of
// range, and writes nothing then.
class EmbeddingBag {
 public:
  size_t reshape(const EmbeddingBagParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments) const;

 private:
  int64_t offset(const KernelArguments& arguments, size_t bag) const;
  Status check(const KernelArguments& arguments) const;
  void reduce(const KernelArguments& arguments, size_t bag) const;

  EmbeddingBagParameters parameters_;
};

} // namespace executorch::backends::et_xnnpack
