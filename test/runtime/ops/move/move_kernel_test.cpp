// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/ops/move/move_kernel.h>
#include <runtime/kernels/simd/reduced_float.h>

#include <algorithm>
#include <cstring>

#include "ops/node_kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr DType kDTypes[] = {
    DType::Float32, DType::Int32, DType::Int64, DType::Bool, DType::Int8, DType::BFloat16, DType::Float64};

void copy_element(const Tensor& from, size_t i, Tensor& to, size_t j) {
  const size_t size = element_size(from.type.dtype);
  std::memcpy(to.bytes.data() + j * size, from.bytes.data() + i * size, size);
}

size_t offset_of(const Shape& shape, const std::vector<size_t>& at) {
  size_t offset = 0;
  for (size_t axis = 0; axis < shape.rank; ++axis) {
    offset = offset * shape[axis] + at[axis];
  }
  return offset;
}

// Calls function(offset, position) for every element of a tensor.
template <typename Function>
void for_each_element(const Shape& shape, const Function& function) {
  Index index(shape);
  std::vector<size_t> at(shape.rank);
  for (size_t i = 0; i < shape.numel(); ++i, index.next()) {
    for (size_t axis = 0; axis < shape.rank; ++axis) {
      at[axis] = index[axis];
    }
    function(i, at);
  }
}

void check_transpose(const Tensor& x, const std::vector<uint8_t>& perm) {
  SCOPED_TRACE(x.type.to_string() + " by " + ::testing::PrintToString(perm));
  Shape shape;
  for (const uint8_t axis : perm) {
    shape.append(x.shape()[axis]);
  }
  Tensor y(x.type.dtype, shape);
  for_each_element(shape, [&](size_t i, const std::vector<size_t>& at) {
    std::vector<size_t> from(at.size());
    for (size_t axis = 0; axis < perm.size(); ++axis) {
      from[perm[axis]] = at[axis];
    }
    copy_element(x, offset_of(x.shape(), from), y, i);
  });
  check_kernel(
      {make_transpose,
       schema::Attributes::Transpose,
       [=](auto& builder) { return schema::CreateTransposeDirect(builder, &perm).Union(); },
       {x},
       y.type},
      y);
}

TEST(TransposeKernel, Matrices) {
  for (const DType dtype : kDTypes) {
    for (const size_t rows : {1, 2, 3, 4, 5, 8, 16, 17, 49, 130}) {
      for (const size_t columns : {1, 2, 3, 4, 7, 15, 16, 33, 64, 100}) {
        check_transpose(iota(dtype, {rows, columns}), {1, 0});
      }
    }
  }
}

TEST(TransposeKernel, EveryPermutation) {
  for (const DType dtype : kDTypes) {
    std::vector<uint8_t> perm{0, 1, 2, 3};
    do {
      check_transpose(iota(dtype, {3, 5, 2, 18}), perm);
      check_transpose(iota(dtype, {2, 17, 3, 4}), perm);
    } while (std::next_permutation(perm.begin(), perm.end()));
  }
}

TEST(TransposeKernel, Rank8) {
  check_transpose(iota(DType::Float32, {2, 3, 1, 2, 3, 2, 2, 5}), {7, 1, 5, 0, 2, 6, 4, 3});
  check_transpose(iota(DType::Bool, {2, 3, 1, 2, 3, 2, 2, 5}), {1, 0, 3, 2, 5, 4, 7, 6});
}

TEST(TransposeKernel, Large) {
  check_transpose(iota(DType::Float32, {1, 57, 31, 67}), {0, 2, 3, 1});
  check_transpose(iota(DType::Float32, {1, 200, 210, 3}), {0, 3, 1, 2});
  check_transpose(iota(DType::Float32, {1, 3, 200, 210}), {0, 2, 3, 1});
  check_transpose(iota(DType::Float32, {1, 128, 12, 32}), {0, 2, 1, 3});
  check_transpose(iota(DType::Int64, {300, 301}), {1, 0});
}

TEST(TransposeKernel, Empty) {
  check_transpose(iota(DType::Float32, {0, 5}), {1, 0});
  check_transpose(iota(DType::Float32, {}), {});
}

TEST(CopyKernel, Sizes) {
  for (const DType dtype : kDTypes) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{7, 3}, Shape{300, 501}}) {
      const Tensor x = iota(dtype, shape);
      check_kernel(
          {make_copy,
           schema::Attributes::Unary,
           [](auto& builder) { return schema::CreateUnary(builder, schema::UnaryKind::Copy).Union(); },
           {x},
           x.type},
          x);
    }
  }
}

void check_expand(const Tensor& x, const Shape& shape) {
  SCOPED_TRACE(x.type.to_string() + " to " + shape.to_string());
  Tensor y(x.type.dtype, shape);
  Index at(shape);
  for (size_t i = 0; i < y.numel(); ++i, at.next()) {
    copy_element(x, at.in(x.shape()), y, i);
  }
  check_kernel(
      {make_expand,
       schema::Attributes::Expand,
       [](auto& builder) { return schema::CreateExpand(builder).Union(); },
       {x},
       y.type},
      y);
}

TEST(ExpandKernel, Shapes) {
  for (const DType dtype : kDTypes) {
    check_expand(iota(dtype, {}), {3, 70});
    check_expand(iota(dtype, {1}), {1000});
    check_expand(iota(dtype, {5}), {4, 5});
    check_expand(iota(dtype, {4, 1}), {4, 77});
    check_expand(iota(dtype, {4, 1, 3}), {2, 4, 6, 3});
    check_expand(iota(dtype, {1, 4, 1, 3, 1}), {2, 4, 5, 3, 9});
    check_expand(iota(dtype, {1, 2}), {0, 2});
    check_expand(iota(dtype, {2, 1, 200}), {2, 300, 200});
    check_expand(iota(dtype, {1, 2, 1, 2, 1, 2, 1, 2}), {3, 2, 3, 2, 3, 2, 3, 2});
  }
}

void check_slice(const Tensor& x, uint8_t axis, size_t start, size_t size, uint32_t step) {
  SCOPED_TRACE(x.type.to_string() + " axis " + std::to_string(axis) + " step " + std::to_string(step));
  Shape shape = x.shape();
  shape[axis] = size;
  Tensor y(x.type.dtype, shape);
  for_each_element(shape, [&](size_t i, std::vector<size_t> at) {
    at[axis] = start + at[axis] * step;
    copy_element(x, offset_of(x.shape(), at), y, i);
  });
  check_kernel(
      {make_slice,
       schema::Attributes::Slice,
       [=](auto& builder) {
         const schema::Size from(static_cast<int64_t>(start)), count(static_cast<int64_t>(size));
         return schema::CreateSlice(builder, axis, &from, &count, step).Union();
       },
       {x},
       y.type},
      y);
}

TEST(SliceKernel, AxesAndSteps) {
  for (const DType dtype : kDTypes) {
    const Tensor x = iota(dtype, {6, 5, 40});
    check_slice(x, 0, 1, 4, 1);
    check_slice(x, 0, 1, 2, 3);
    check_slice(x, 1, 2, 3, 1);
    check_slice(x, 1, 0, 3, 2);
    check_slice(x, 2, 3, 30, 1);
    check_slice(x, 2, 3, 9, 4);
    check_slice(x, 2, 0, 40, 1);
    check_slice(x, 2, 39, 1, 1);
    check_slice(x, 1, 5, 0, 1);
    check_slice(iota(dtype, {200, 300}), 1, 7, 290, 1);
  }
}

void check_concat(const std::vector<Tensor>& inputs, uint8_t axis) {
  Shape shape = inputs[0].shape();
  shape[axis] = 0;
  for (const Tensor& x : inputs) {
    shape[axis] += x.shape()[axis];
  }
  Tensor y(inputs[0].type.dtype, shape);
  size_t begin = 0;
  for (const Tensor& x : inputs) {
    for_each_element(x.shape(), [&](size_t i, std::vector<size_t> at) {
      at[axis] += begin;
      copy_element(x, i, y, offset_of(shape, at));
    });
    begin += x.shape()[axis];
  }
  for (const MakeKernel& make : {MakeKernel(make_concat), MakeKernel(make_concat_rows)}) {
    check_kernel(
        {make,
         schema::Attributes::Concat,
         [=](auto& builder) { return schema::CreateConcat(builder, axis).Union(); },
         {inputs.begin(), inputs.end()},
         y.type},
        y);
  }
}

TEST(ConcatKernel, Axes) {
  for (const DType dtype : kDTypes) {
    check_concat({iota(dtype, {2, 3, 5}), iota(dtype, {4, 3, 5}), iota(dtype, {0, 3, 5})}, 0);
    check_concat({iota(dtype, {2, 3, 5}), iota(dtype, {2, 1, 5}), iota(dtype, {2, 40, 5})}, 1);
    check_concat({iota(dtype, {2, 3, 5}), iota(dtype, {2, 3, 1}), iota(dtype, {2, 3, 33})}, 2);
    check_concat({iota(dtype, {7})}, 0);
    check_concat({iota(dtype, {20, 90, 7}), iota(dtype, {20, 90, 16})}, 2);
  }
}

// Of each number of bytes up to more than a vector, and of many.
TEST(ConcatKernel, Rows) {
  for (size_t columns = 1; columns < 140; columns += columns < 70 ? 1 : 13) {
    check_concat({iota(DType::Bool, {5, columns}), iota(DType::Bool, {5, 3})}, 1);
  }
  check_concat({iota(DType::Float32, {300, 300}), iota(DType::Float32, {300, 1}), iota(DType::Float32, {300, 24})}, 1);
  check_concat({iota(DType::Float32, {9000, 2}), iota(DType::Float32, {9000, 8})}, 1); // on several threads
  check_concat({iota(DType::Float32, {7, 0}), iota(DType::Float32, {7, 0})}, 1);
}

void check_pad(const Tensor& x, const std::vector<uint32_t>& before, const std::vector<uint32_t>& after, float value) {
  Shape shape = x.shape();
  for (size_t axis = 0; axis < shape.rank; ++axis) {
    shape[axis] += before[axis] + after[axis];
  }
  Tensor y(x.type.dtype, shape);
  for (size_t i = 0; i < y.numel(); ++i) {
    switch (x.type.dtype) {
      case DType::Float32:
        y.data<float>()[i] = value;
        break;
      case DType::Float64:
        y.data<double>()[i] = static_cast<double>(value);
        break;
      case DType::Int32:
        y.data<int32_t>()[i] = static_cast<int32_t>(value);
        break;
      case DType::Int64:
        y.data<int64_t>()[i] = static_cast<int64_t>(value);
        break;
      case DType::Bool:
        y.data<uint8_t>()[i] = value != 0;
        break;
      case DType::Int8:
        y.data<int8_t>()[i] = static_cast<int8_t>(value);
        break;
      case DType::UInt8:
        y.data<uint8_t>()[i] = static_cast<uint8_t>(value);
        break;
      case DType::Float16:
      case DType::BFloat16:
        narrow(x.type.dtype, &value, y.data<uint16_t>() + i, 1);
        break;
    }
  }
  for_each_element(x.shape(), [&](size_t i, std::vector<size_t> at) {
    for (size_t axis = 0; axis < shape.rank; ++axis) {
      at[axis] += before[axis];
    }
    copy_element(x, i, y, offset_of(shape, at));
  });
  check_kernel(
      {make_constant_pad,
       schema::Attributes::Pad,
       [=](auto& builder) { return schema::CreatePadDirect(builder, &before, &after, value).Union(); },
       {x},
       y.type},
      y);
}

TEST(PadKernel, Borders) {
  for (const DType dtype : kDTypes) {
    check_pad(iota(dtype, {3}), {2}, {5}, 1);
    check_pad(iota(dtype, {3, 4}), {0, 0}, {0, 0}, 1);
    check_pad(iota(dtype, {1, 5, 6, 3}), {0, 1, 2, 0}, {0, 2, 1, 0}, -3);
    check_pad(iota(dtype, {2, 5, 6, 3}), {1, 0, 2, 4}, {0, 2, 0, 7}, 0);
    check_pad(iota(dtype, {0, 3}), {1, 2}, {1, 0}, 7);
    check_pad(iota(dtype, {1, 112, 112, 16}), {0, 1, 1, 0}, {0, 1, 1, 0}, 0);
  }
  check_pad(iota(DType::Float32, {4}), {1}, {1}, kInfinity);
}

// Where a border of this mode takes its element `i` from, counted from the first element of the input.
size_t source_of(schema::PadMode mode, int64_t i, size_t size) {
  const auto n = static_cast<int64_t>(size);
  switch (mode) {
    case schema::PadMode::Reflect:
      i = i < 0 ? -i : i;
      return static_cast<size_t>(i >= n ? 2 * (n - 1) - i : i);
    case schema::PadMode::Circular:
      return static_cast<size_t>((i + n) % n);
    default:
      return static_cast<size_t>(std::clamp<int64_t>(i, 0, n - 1));
  }
}

void check_copies(const Tensor& x, const std::vector<uint32_t>& before, const std::vector<uint32_t>& after) {
  for (const auto mode : {schema::PadMode::Reflect, schema::PadMode::Replicate, schema::PadMode::Circular}) {
    SCOPED_TRACE(x.type.to_string() + ", " + schema::EnumNamePadMode(mode));
    Shape shape = x.shape();
    for (size_t axis = 0; axis < shape.rank; ++axis) {
      shape[axis] += before[axis] + after[axis];
    }
    Tensor y(x.type.dtype, shape);
    for_each_element(shape, [&](size_t i, std::vector<size_t> at) {
      for (size_t axis = 0; axis < shape.rank; ++axis) {
        at[axis] = source_of(mode, static_cast<int64_t>(at[axis]) - before[axis], x.shape()[axis]);
      }
      copy_element(x, offset_of(x.shape(), at), y, i);
    });
    check_kernel(
        {make_edge_pad,
         schema::Attributes::Pad,
         [=](auto& builder) { return schema::CreatePadDirect(builder, &before, &after, 0, mode).Union(); },
         {x},
         y.type},
        y);
  }
}

TEST(PadKernel, BordersOfCopies) {
  for (const DType dtype : kDTypes) {
    check_copies(iota(dtype, {6}), {2}, {5});
    check_copies(iota(dtype, {1}), {0}, {0});
    check_copies(iota(dtype, {2, 3}), {0, 0}, {0, 0});
    check_copies(iota(dtype, {1, 5, 6, 3}), {0, 1, 2, 0}, {0, 2, 1, 0});
    check_copies(iota(dtype, {2, 5, 6, 3}), {1, 0, 2, 2}, {0, 2, 0, 1});
    check_copies(iota(dtype, {3, 4, 2, 5, 7}), {2, 0, 1, 0, 3}, {0, 3, 0, 0, 6});
    check_copies(iota(dtype, {4, 3, 300}), {3, 1, 0}, {1, 2, 0});
    for (const size_t size : {4, 7, 8, 9, 31, 32, 33, 64, 255, 256, 257, 1024, 1030}) {
      check_copies(iota(dtype, {2, 3, size}), {0, 1, 3}, {0, 2, 1});
    }
  }
  check_copies(iota(DType::Float32, {8, 60, 60}), {0, 3, 3}, {0, 3, 3});
  check_copies(iota(DType::Float32, {0, 3}), {0, 1}, {0, 2});
  check_copies(iota(DType::Float32, {3, 0}), {1, 0}, {2, 0});
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
