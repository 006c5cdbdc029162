// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/index/scatter.h>

#include <algorithm>
#include <cstring>

#include "kernels/common/kernel_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

Tensor int64s(const Shape& shape, const std::function<int64_t(size_t)>& value) {
  Tensor x(DType::Int64, shape);
  for (size_t i = 0; i < x.numel(); ++i) {
    x.data<int64_t>()[i] = value(i);
  }
  return x;
}

float updated(UpdateFunction function, float old, float value) {
  switch (function) {
    case UpdateFunction::Assign:
      return value;
    case UpdateFunction::Add:
      return old + value;
    case UpdateFunction::Multiply:
      return old * value;
    case UpdateFunction::Minimum:
      return std::min(old, value);
    case UpdateFunction::Maximum:
      break;
  }
  return std::max(old, value);
}

constexpr UpdateFunction kFunctions[] = {
    UpdateFunction::Assign,
    UpdateFunction::Add,
    UpdateFunction::Multiply,
    UpdateFunction::Minimum,
    UpdateFunction::Maximum};

// Some indices come more than once: the last assignment stays, all others count in turn.
TEST(IndexPutKernel, UpdatesBlocks) {
  for (const UpdateFunction function : kFunctions) {
    for (const size_t block : {1, 3, 37, 1031}) {
      const Tensor x = random_floats({2, 11, block}), values = random_floats({2, 19, block});
      const Tensor index = int64s({19}, [](size_t i) { return static_cast<int64_t>(i * 5 % 22) - 11; });
      Tensor y = x;
      for (size_t outer = 0; outer < 2; ++outer) {
        for (size_t i = 0; i < 19; ++i) {
          const auto at = static_cast<size_t>((index.data<int64_t>()[i] + 11) % 11);
          for (size_t k = 0; k < block; ++k) {
            float& element = y.data<float>()[(outer * 11 + at) * block + k];
            element = updated(function, element, values.data<float>()[(outer * 19 + i) * block + k]);
          }
        }
      }
      IndexPutParameters parameters;
      parameters.function = function;
      parameters.x = x.shape();
      parameters.indices = {{index.shape(), DType::Int64}};
      parameters.axis = 1;
      check_kernel(PlainCase{plain_kernel<IndexPut>(parameters), {x, values, index}, {x.type}}, y);
    }
  }
}

TEST(ScatterKernel, UpdatesElements) {
  for (const UpdateFunction function : kFunctions) {
    const Tensor x = random_floats({5, 7, 3}), values = random_floats({4, 13, 3});
    const Tensor index = int64s({4, 13, 3}, [](size_t i) { return static_cast<int64_t>(i * 7919 % 7); });
    Tensor y = x;
    Index at(index.shape());
    for (size_t i = 0; i < index.numel(); ++i, at.next()) {
      const auto position = static_cast<size_t>(index.data<int64_t>()[i]);
      float& element = y.data<float>()[(at[0] * 7 + position) * 3 + at[2]];
      element = updated(function, element, values.data<float>()[i]);
    }
    ScatterParameters parameters;
    parameters.function = function;
    parameters.x = x.shape();
    parameters.index = {index.shape(), DType::Int64};
    parameters.axis = 1;
    check_kernel(PlainCase{plain_kernel<Scatter>(parameters), {x, values, index}, {x.type}}, y);
  }
}

// Any byte but 0 is true, and results are 0 and 1.
TEST(ScatterKernel, UpdatesBooleans) {
  Tensor x(DType::Bool, {4}), values = x, y = x;
  x.bytes = {0, 0, 2, 128};
  values.bytes = {0, 121, 0, 4};
  for (const UpdateFunction function : kFunctions) {
    switch (function) {
      case UpdateFunction::Assign:
        y.bytes = values.bytes;
        break;
      case UpdateFunction::Add:
      case UpdateFunction::Maximum:
        y.bytes = {0, 1, 1, 1};
        break;
      case UpdateFunction::Multiply:
      case UpdateFunction::Minimum:
        y.bytes = {0, 0, 0, 1};
        break;
    }
    const Tensor index = int64s({4}, [](size_t i) { return static_cast<int64_t>(i); });
    ScatterParameters parameters;
    parameters.function = function;
    parameters.dtype = DType::Bool;
    parameters.x = x.shape();
    parameters.index = {index.shape(), DType::Int64};
    check_kernel(PlainCase{plain_kernel<Scatter>(parameters), {x, values, index}, {x.type}}, y);
  }
}

TEST(ScatterKernel, RefusesWhatIsOutOfRange) {
  for (const int64_t bad : {int64_t{-1}, int64_t{7}}) {
    const Tensor x = random_floats({7}), values = random_floats({5});
    const Tensor index = int64s({5}, [&](size_t i) { return i == 3 ? bad : 0; });
    ScatterParameters parameters;
    parameters.x = x.shape();
    parameters.index = {index.shape(), DType::Int64};
    EXPECT_FALSE(try_kernel(PlainCase{plain_kernel<Scatter>(parameters), {x, values, index}, {x.type}}).ok());
  }
}

TEST(SliceScatterKernel, StartsAndSteps) {
  for (const DType dtype : {DType::Bool, DType::BFloat16, DType::Float32, DType::Int64}) {
    const size_t size = element_size(dtype);
    const Tensor values = iota(dtype, {3, 7});
    const Tensor x(dtype, {8, 33});
    SliceScatterParameters parameters{x.shape(), values.shape(), {1, 2}, {3, 4}, size};
    Tensor y = x;
    for (size_t i = 0; i < values.numel(); ++i) {
      const size_t row = 1 + i / 7 * 3, column = 2 + i % 7 * 4;
      std::memcpy(y.bytes.data() + (row * 33 + column) * size, values.bytes.data() + i * size, size);
    }
    check_kernel(PlainCase{plain_kernel<SliceScatter>(parameters), {x, values}, {x.type}}, y);
  }
}

// What is undone is as it was.
TEST(SliceScatterKernel, UndoesInPlace) {
  const Tensor before = random_floats({9, 5}), values = random_floats({2, 5});
  Tensor x = before;
  SliceScatter kernel;
  EXPECT_EQ(kernel.reshape({x.shape(), values.shape(), {3, 0}, {4, 1}, sizeof(float)}, 1), 0);
  std::vector<char> undo(kernel.undo_bytes());
  const void* inputs[] = {x.bytes.data(), values.bytes.data()};
  void* outputs[] = {x.bytes.data()};
  Status status;
  const KernelArguments arguments{{inputs, 2}, {outputs, 1}, nullptr, nullptr, &status, undo.data()};
  kernel.run(arguments);
  EXPECT_EQ(x.data<float>()[7 * 5 + 2], values.data<float>()[5 + 2]);
  EXPECT_EQ(x.data<float>()[4 * 5 + 2], before.data<float>()[4 * 5 + 2]);
  kernel.undo(arguments);
  EXPECT_EQ(x.bytes, before.bytes);
}

TEST(MaskedScatterKernel, TakesValuesInTurn) {
  const Tensor x = random_floats({5, 41}), values = random_floats({100});
  Tensor mask(DType::Bool, x.shape()), y = x;
  size_t taken = 0;
  for (size_t i = 0; i < x.numel(); ++i) {
    mask.bytes[i] = i % 3 == 1 ? static_cast<uint8_t>(1 + i % 255) : 0; // any byte but 0 is true
    if (mask.bytes[i] != 0) {
      y.data<float>()[i] = values.data<float>()[taken++];
    }
  }
  const auto with = [&](size_t available) {
    const MaskedScatterParameters parameters{x.numel(), available, sizeof(float)};
    return PlainCase{plain_kernel<MaskedScatter>(parameters), {x, mask, values}, {x.type}};
  };
  check_kernel(with(100), y);
  check_kernel(with(taken), y);
  EXPECT_FALSE(try_kernel(with(taken - 1)).ok());
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
