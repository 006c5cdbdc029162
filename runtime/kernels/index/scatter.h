// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "index_positions.h"
#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"
#include "runtime/kernels/common/arguments.h"
#include "runtime/kernels/move/strided_copy.h"

namespace executorch::backends::et_xnnpack {

// These write to parts of a dense tensor: output 0 is input 0 with values at some positions. All but MaskedScatter
// may work in place, and undo that. What fails has written nothing.

// What becomes of an element and a value. Sums and products of integers wrap; NaN stays NaN.
enum class UpdateFunction : uint8_t { Assign, Add, Multiply, Minimum, Maximum };

// Blocks of output 0, at positions that are known when it runs, updated by the blocks of
// input 1: a column of `count` positions for each of `outer` parts of the output.
class BlockUpdate {
 public:
  virtual ~BlockUpdate() = default;

  void run(const KernelArguments& arguments) const;
  size_t undo_bytes() const;
  void undo(const KernelArguments& arguments) const;

 protected:
  // Gives `count` positions, in blocks.
  virtual Status find(const KernelArguments& arguments, size_t* positions) const = 0;

  // Elements of the result, of a part and of a block. Returns the bytes of scratch memory needed.
  size_t set(UpdateFunction function, DType dtype, size_t outer, size_t part, size_t count, size_t block);

 private:
  template <typename Function>
  void for_each_block(const size_t* positions, const Function& function) const;
  char* saved_blocks(const KernelArguments& arguments) const;
  void update(const KernelArguments& arguments, const size_t* positions) const;
  void update_part(
      const KernelArguments& arguments, const size_t* positions, size_t part, size_t first, size_t bytes) const;

  // Of `count` neighbouring elements, and of those at `count` positions.
  void (*update_row_)(char* y, const char* values, size_t count) = nullptr;
  void (*update_each_)(char* y, const size_t* positions, const char* values, size_t count) = nullptr;
  bool assigns_ = true;
  size_t outer_ = 0, part_bytes_ = 0, count_ = 0, block_bytes_ = 0, element_size_ = 1;
};

struct IndexPutParameters {
  UpdateFunction function = UpdateFunction::Assign; // 16-bit floats are assigned only
  DType dtype = DType::Float32;
  Shape x;
  std::vector<IndexTensor> indices; // which broadcast, of x's axes from `axis` on
  size_t axis = 0;
  bool wrap = true; // negative indices count from the end
};

// Inputs: x, values of the shape that the indices pick from x, the indices.
class IndexPut final : public BlockUpdate {
 public:
  size_t reshape(const IndexPutParameters& parameters, size_t num_threads);

 private:
  Status find(const KernelArguments& arguments, size_t* positions) const override;

  IndexPositions positions_;
};

struct ScatterParameters {
  UpdateFunction function = UpdateFunction::Assign; // 16-bit floats are assigned only
  DType dtype = DType::Float32;
  Shape x;
  IndexTensor index; // of x's rank, at most as large on the other axes
  size_t axis = 0;
};

// Inputs: x, values of the index's shape, the index.
class Scatter final : public BlockUpdate {
 public:
  size_t reshape(const ScatterParameters& parameters, size_t num_threads);

 private:
  Status find(const KernelArguments& arguments, size_t* positions) const override;

  AxisPositions positions_;
};

// Element i of the values goes to start + i * step on each axis, inside x.
struct SliceScatterParameters {
  Shape x, values;
  std::array<size_t, kMaxRank> start{}, step{};
  size_t element_size = 1; // bytes: 1, 2, 4 or 8
};

// Inputs: x and values.
class SliceScatter {
 public:
  size_t reshape(const SliceScatterParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments) const;
  size_t undo_bytes() const;
  void undo(const KernelArguments& arguments) const;

 private:
  std::optional<StridedCopy> write_, save_;
  size_t bytes_ = 0, saved_bytes_ = 0;
};

struct MaskedScatterParameters {
  size_t count = 0, available = 0; // elements of x, and of the values
  size_t element_size = 1; // bytes
};

// Inputs: x, a mask of Bool of its shape, values, which come one after the other where the mask holds. Fails if
// there are too few.
class MaskedScatter {
 public:
  size_t reshape(const MaskedScatterParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments) const;

 private:
  MaskedScatterParameters parameters_;
};

} // namespace executorch::backends::et_xnnpack
