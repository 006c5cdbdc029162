// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/move/box_copies.h>

#include <algorithm>
#include <cstring>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

constexpr DType kDTypes[] = {DType::Bool, DType::Float16, DType::Float32, DType::Int64};

// Calls function(i, index) for every element of a tensor of this shape, with its row-major offset.
template <typename Function>
void for_each_element(const Shape& shape, const Function& function) {
  Index index(shape);
  for (size_t i = 0; i < shape.numel(); ++i, index.next()) {
    std::array<size_t, kMaxRank> at{};
    for (size_t axis = 0; axis < shape.rank; ++axis) {
      at[axis] = index[axis];
    }
    function(i, at);
  }
}

size_t offset_of(const Shape& shape, const std::array<size_t, kMaxRank>& at) {
  size_t offset = 0;
  for (size_t axis = 0; axis < shape.rank; ++axis) {
    offset = offset * shape[axis] + at[axis];
  }
  return offset;
}

void copy_element(const Tensor& from, size_t i, Tensor& to, size_t j) {
  const size_t size = element_size(from.type.dtype);
  std::memcpy(to.bytes.data() + j * size, from.bytes.data() + i * size, size);
}

void check(const BoxCopiesParameters& parameters, const std::vector<std::optional<Tensor>>& inputs, const Tensor& y) {
  check_kernel(PlainCase{plain_kernel<BoxCopies>(parameters), inputs, {y.type}}, y);
}

TEST(BoxCopies, Copied) {
  for (const DType dtype : kDTypes) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{7, 3}, Shape{301, 501}}) {
      const Tensor x = iota(dtype, shape);
      check(copied(shape, element_size(dtype)), {x}, x);
    }
  }
}

void check_transposed(DType dtype, const Shape& shape, const std::vector<size_t>& perm) {
  Shape transposed_shape;
  for (const size_t axis : perm) {
    transposed_shape.append(shape[axis]);
  }
  const Tensor x = iota(dtype, shape);
  Tensor y(dtype, transposed_shape);
  for_each_element(transposed_shape, [&](size_t i, const std::array<size_t, kMaxRank>& at) {
    std::array<size_t, kMaxRank> from{};
    for (size_t axis = 0; axis < perm.size(); ++axis) {
      from[perm[axis]] = at[axis];
    }
    copy_element(x, offset_of(shape, from), y, i);
  });
  check(transposed(shape, {perm.data(), perm.size()}, element_size(dtype)), {x}, y);
}

TEST(BoxCopies, Transposed) {
  for (const DType dtype : kDTypes) {
    for (const Shape& shape : {Shape{3, 5, 2, 18}, Shape{2, 17, 3, 4}, Shape{1, 57, 31, 3}}) {
      std::vector<size_t> perm{0, 1, 2, 3};
      do {
        check_transposed(dtype, shape, perm);
      } while (std::next_permutation(perm.begin(), perm.end()));
    }
  }
}

// Of pixel_shuffle and pixel_unshuffle in channels_last: pieces of two axes are small.
TEST(BoxCopies, PixelsShuffled) {
  for (const DType dtype : kDTypes) {
    for (const size_t channels : {1u, 3u, 16u, 70u}) {
      for (const size_t factor : {2u, 3u, 5u}) {
        check_transposed(
            dtype, {3, 401, channels, factor, factor}, {0, 3, 1, 4, 2}); // of rows that are longer than a piece
        check_transposed(dtype, {5, factor, 7, factor, channels}, {0, 2, 4, 1, 3});
      }
    }
    check_transposed(dtype, {4, 3, 6000}, {1, 0, 2});
    check_transposed(dtype, {4, 6000, 3}, {1, 2, 0});
    check_transposed(dtype, {2, 3, 2, 3, 2, 3, 2, 9}, {7, 0, 6, 1, 5, 2, 4, 3});
  }
}

// Of channel_shuffle in channels_last, and of complex numbers: up to a vector or less at a time.
TEST(BoxCopies, Interleaved) {
  for (const DType dtype : {DType::UInt8, DType::Float16, DType::Float32}) {
    for (const size_t channels : {1u, 3u, 4u, 5u, 8u, 15u, 16u, 17u, 29u, 58u, 63u, 64u, 65u, 120u}) {
      for (const size_t groups : {2u, 3u, 4u}) {
        check_transposed(dtype, {9, groups, channels}, {0, 2, 1});
        check_transposed(dtype, {9, channels, groups}, {0, 2, 1});
      }
    }
  }
}

TEST(BoxCopies, Expanded) {
  const Shape shapes[][2] = {{{}, {3, 70}}, {{1}, {1001}}, {{4, 1, 3}, {2, 4, 6, 3}}, {{2, 1, 200}, {2, 301, 200}}};
  for (const DType dtype : kDTypes) {
    for (const auto& [from, to] : shapes) {
      const Tensor x = iota(dtype, from);
      Tensor y(dtype, to);
      Index at(to);
      for (size_t i = 0; i < y.numel(); ++i, at.next()) {
        copy_element(x, at.in(from), y, i);
      }
      check(expanded(from, to, element_size(dtype)), {x}, y);
    }
  }
}

TEST(BoxCopies, Sliced) {
  for (const DType dtype : kDTypes) {
    const Tensor x = iota(dtype, {6, 5, 41});
    for (const auto& [axis, start, size, step] :
         {std::array<size_t, 4>{0, 1, 2, 3}, {1, 2, 3, 1}, {2, 3, 9, 4}, {2, 40, 1, 1}, {1, 5, 0, 1}}) {
      Shape shape = x.shape();
      shape[axis] = size;
      Tensor y(dtype, shape);
      for_each_element(shape, [&, along = axis, first = start, by = step](size_t i, std::array<size_t, kMaxRank> at) {
        at[along] = first + at[along] * by;
        copy_element(x, offset_of(x.shape(), at), y, i);
      });
      check(sliced(x.shape(), shape, axis, start, step, element_size(dtype)), {x}, y);
    }
  }
}

TEST(BoxCopies, Concatenated) {
  for (const DType dtype : kDTypes) {
    const Shape inputs[] = {{3, 1, 5}, {3, 0, 5}, {3, 40, 5}, {3, 7, 5}};
    Tensor y(dtype, {3, 48, 5});
    std::vector<std::optional<Tensor>> tensors;
    size_t begin = 0;
    for (const Shape& shape : inputs) {
      const Tensor x = iota(dtype, shape);
      for_each_element(shape, [&](size_t i, std::array<size_t, kMaxRank> at) {
        at[1] += begin;
        copy_element(x, i, y, offset_of(y.shape(), at));
      });
      begin += shape[1];
      tensors.emplace_back(x);
    }
    check(concatenated({inputs, 4}, y.shape(), 1, element_size(dtype)), tensors, y);
  }
}

TEST(BoxCopies, Padded) {
  const std::array<char, 8> fill{1, 2, 3, 4, 5, 6, 7, 8};
  for (const DType dtype : kDTypes) {
    const size_t size = element_size(dtype);
    const Tensor x = iota(dtype, {2, 5, 33});
    const size_t before[] = {1, 0, 3};
    Tensor y(dtype, {3, 7, 37});
    for (size_t i = 0; i < y.numel(); ++i) {
      std::memcpy(y.bytes.data() + i * size, fill.data(), size);
    }
    for_each_element(x.shape(), [&](size_t i, std::array<size_t, kMaxRank> at) {
      for (size_t axis = 0; axis < 3; ++axis) {
        at[axis] += before[axis];
      }
      copy_element(x, i, y, offset_of(y.shape(), at));
    });
    check(padded(x.shape(), y.shape(), {before, 3}, size, fill), {x}, y);
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
