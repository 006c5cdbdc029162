// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/index/index.h>

#include <algorithm>
#include <cstring>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr DType kDTypes[] = {DType::Float32, DType::Int64, DType::BFloat16, DType::Bool};

Tensor indices(DType dtype, const Shape& shape, const std::function<int64_t(size_t)>& value) {
  Tensor x(dtype, shape);
  for (size_t i = 0; i < x.numel(); ++i) {
    if (dtype == DType::Int32) {
      x.data<int32_t>()[i] = static_cast<int32_t>(value(i));
    } else {
      x.data<int64_t>()[i] = value(i);
    }
  }
  return x;
}

int64_t at(const Tensor& indices, size_t i) {
  return indices.type.dtype == DType::Int32 ? indices.data<int32_t>()[i] : indices.data<int64_t>()[i];
}

IndexTensor type_of(const Tensor& indices) {
  return {indices.shape(), indices.type.dtype};
}

PlainCase index_case(const Tensor& x, size_t axis, const Tensor& positions, const TensorSpec& y) {
  const IndexedCopyParameters parameters{
      x.shape(), {type_of(positions)}, axis, /*wrap=*/true, element_size(x.type.dtype)};
  return {plain_kernel<IndexedCopy>(parameters), {x, positions}, {y}};
}

PlainCase gather_case(const Tensor& x, size_t axis, const Tensor& positions) {
  const GatherParameters parameters{x.shape(), type_of(positions), axis, element_size(x.type.dtype)};
  return {plain_kernel<Gather>(parameters), {x, positions}, {Tensor(x.type.dtype, positions.shape()).type}};
}

void check_index(const Tensor& x, uint8_t axis, const Tensor& positions) {
  SCOPED_TRACE(x.type.to_string() + " on axis " + std::to_string(axis) + " by " + positions.type.to_string());
  Shape shape = x.shape();
  shape[axis] = positions.numel();
  Tensor y(x.type.dtype, shape);
  const size_t size = x.shape()[axis], block = x.shape().numel(axis + 1, x.shape().rank) * element_size(x.type.dtype);
  for (size_t i = 0; i < x.shape().numel(0, axis); ++i) {
    for (size_t k = 0; k < positions.numel(); ++k) {
      const int64_t index = at(positions, k);
      const size_t from = static_cast<size_t>(index < 0 ? index + static_cast<int64_t>(size) : index);
      std::memcpy(
          y.bytes.data() + (i * positions.numel() + k) * block, x.bytes.data() + (i * size + from) * block, block);
    }
  }
  check_kernel(index_case(x, axis, positions, y.type), y);
}

TEST(IndexKernel, TakesBlocks) {
  for (const DType dtype : kDTypes) {
    for (const DType index_dtype : {DType::Int32, DType::Int64}) {
      for (const size_t size : {size_t{1}, size_t{5}, size_t{37}, size_t{259}}) {
        const auto end = static_cast<int64_t>(size);
        const auto mixed = [=](size_t i) { return static_cast<int64_t>(i * 7919 % (2 * size)) - end; };
        const Tensor some = indices(index_dtype, {67}, mixed), none = indices(index_dtype, {0}, mixed);
        const Tensor reverse =
            indices(index_dtype, {size}, [=](size_t i) { return end - 1 - static_cast<int64_t>(i); });
        const Tensor negative = indices(index_dtype, {size}, [](size_t i) { return -1 - static_cast<int64_t>(i); });
        for (const Tensor* positions : {&some, &none, &reverse, &negative}) {
          check_index(iota(dtype, {size}), 0, *positions);
          check_index(iota(dtype, {3, size}), 1, *positions);
          check_index(iota(dtype, {size, 3}), 0, *positions);
          check_index(iota(dtype, {2, size, 67}), 1, *positions);
        }
      }
    }
  }
  const Tensor some = indices(DType::Int64, {9}, [](size_t i) { return static_cast<int64_t>(i * 5 % 11); });
  check_index(iota(DType::Float32, {11, 1031}), 0, some);
  check_index(iota(DType::Float32, {40, 11, 300}), 1, some);
}

TEST(IndexKernel, Gathers) {
  for (const DType dtype : kDTypes) {
    for (const DType index_dtype : {DType::Int32, DType::Int64}) {
      for (const Shape& shape : {Shape{67}, Shape{5, 37}, Shape{3, 4, 9}, Shape{0, 3}, Shape{3, 0}, Shape{300, 259}}) {
        for (uint8_t axis = 0; axis < shape.rank; ++axis) {
          Shape x_shape = shape;
          x_shape[axis] = 11;
          for (size_t other = 0; other < shape.rank; ++other) {
            x_shape[other] += other == axis ? 0 : 2; // an index may be smaller than what it indexes
          }
          const Tensor x = iota(dtype, x_shape);
          const Tensor positions =
              indices(index_dtype, shape, [](size_t i) { return static_cast<int64_t>(i * 7919 % 11); });
          SCOPED_TRACE(x.type.to_string() + " on axis " + std::to_string(axis) + " by " + positions.type.to_string());
          Tensor y(dtype, shape);
          Index index(shape);
          for (size_t i = 0; i < y.numel(); ++i, index.next()) {
            size_t from = 0;
            for (size_t k = 0; k < shape.rank; ++k) {
              from = from * x_shape[k] + (k == axis ? static_cast<size_t>(at(positions, i)) : index[k]);
            }
            const size_t size = element_size(dtype);
            std::memcpy(y.bytes.data() + i * size, x.bytes.data() + from * size, size);
          }
          check_kernel(gather_case(x, axis, positions), y);
        }
      }
    }
  }
}

// Wherever the one index that is out of range stands, and however far out it is.
TEST(IndexKernel, RefusesWhatIsOutOfRange) {
  constexpr size_t kCount = 67;
  const Tensor x = iota(DType::Float32, {11});
  for_each_isa([&] {
    for (const DType dtype : {DType::Int32, DType::Int64}) {
      const bool wide = dtype == DType::Int64;
      const int64_t least = wide ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int32_t>::min();
      const int64_t most = wide ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int32_t>::max();
      for (const int64_t bad : {int64_t{11}, int64_t{-12}, int64_t{-1}, least, least + 11, most}) {
        for (const size_t bad_one : {size_t{0}, size_t{1}, size_t{33}, kCount - 1}) {
          const Tensor positions = indices(dtype, {kCount}, [&](size_t i) { return i == bad_one ? bad : 3; });
          SCOPED_TRACE(positions.type.to_string() + " with " + std::to_string(bad) + " at " + std::to_string(bad_one));
          EXPECT_FALSE(try_kernel(gather_case(x, 0, positions)).ok());
          EXPECT_EQ(try_kernel(index_case(x, 0, positions, Tensor(DType::Float32, {kCount}).type)).ok(), bad == -1);
        }
      }
    }
  });
}

TEST(EmbeddingBagKernel, ReducesBags) {
  const Tensor table = random_floats({7, 37});
  const Tensor picks = indices(DType::Int32, {6}, [](size_t i) { return static_cast<int64_t>(i * 3 % 7); });
  const Tensor offsets = indices(DType::Int64, {4}, [](size_t i) { return i == 0 ? 0 : i == 3 ? 6 : 2; }); // 2, 0, 4, 0
  for (const BagReduction reduction : {BagReduction::Sum, BagReduction::Mean, BagReduction::Max}) {
    EmbeddingBagParameters parameters;
    parameters.reduction = reduction;
    parameters.padding_index = 5; // index 4 of the third bag
    parameters.rows = 7;
    parameters.columns = 37;
    parameters.indices = 6;
    parameters.offsets = parameters.bags = 4;
    parameters.index_dtype = DType::Int32;
    Tensor y(DType::Float32, {4, 37});
    const auto row = [&](size_t i) { return table.data<float>() + static_cast<size_t>(at(picks, i)) * 37; };
    for (size_t k = 0; k < 37; ++k) {
      const float first[] = {row(0)[k], row(1)[k]}, third[] = {row(2)[k], row(3)[k], row(5)[k]};
      const auto reduced = [&](float a, float b) { return reduction == BagReduction::Max ? std::max(a, b) : a + b; };
      y.data<float>()[k] = reduced(first[0], first[1]) / (reduction == BagReduction::Mean ? 2 : 1);
      y.data<float>()[2 * 37 + k] =
          reduced(reduced(third[0], third[1]), third[2]) / (reduction == BagReduction::Mean ? 3 : 1);
    }
    check_kernel(
        PlainCase{plain_kernel<EmbeddingBag>(parameters), {table, picks, offsets}, {y.type}}, y, {1e-6f, 1e-6f});
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
