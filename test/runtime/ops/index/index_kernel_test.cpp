// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/ops/index/index_kernel.h>

#include <algorithm>
#include <cstring>

#include "ops/node_kernel_test.h"
#include "sizes_of.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::UpdateKind;

constexpr DType kDTypes[] = {DType::Float32, DType::Int32, DType::Int64, DType::Bool, DType::Float64};

Tensor int64s(const Shape& shape, const std::vector<int64_t>& values) {
  Tensor tensor(DType::Int64, shape);
  std::copy(values.begin(), values.end(), tensor.data<int64_t>());
  return tensor;
}

Tensor int32s(const Shape& shape, const std::vector<int32_t>& values) {
  Tensor tensor(DType::Int32, shape);
  std::copy(values.begin(), values.end(), tensor.data<int32_t>());
  return tensor;
}

KernelCase index_put(
    Tensor x,
    Tensor values,
    std::vector<Tensor> indices,
    uint8_t axis,
    UpdateKind kind = UpdateKind::Assign,
    bool wrap = true) {
  KernelCase result{
      make_index_put,
      schema::Attributes::IndexPut,
      [=](auto& builder) { return schema::CreateIndexPut(builder, axis, kind, wrap).Union(); },
      {x, values},
      x.type};
  result.inputs.insert(result.inputs.end(), indices.begin(), indices.end());
  return result;
}

KernelCase scatter(Tensor x, Tensor values, Tensor index, uint8_t axis, UpdateKind kind = UpdateKind::Assign) {
  return {
      make_scatter,
      schema::Attributes::Scatter,
      [=](auto& builder) { return schema::CreateScatter(builder, axis, kind).Union(); },
      {x, values, index},
      x.type};
}

KernelCase slice_scatter(Tensor x, Tensor values, std::vector<int64_t> start, std::vector<uint32_t> step) {
  return {
      make_slice_scatter,
      schema::Attributes::SliceScatter,
      [starts = sizes_of(start), step](auto& builder) {
        return schema::CreateSliceScatterDirect(builder, &starts, &step).Union();
      },
      {x, values},
      x.type};
}

// Runs a case on memory that is both input 0 and the output.
struct InPlace {
  explicit InPlace(const KernelCase& kernel_case) : y(*kernel_case.inputs[0]) {
    const Attributes attributes = kernel_case.attributes(builder);
    builder.Finish(schema::CreateNode(builder, kernel_case.type, attributes));
    for (const auto& input : kernel_case.inputs) {
      types.push_back(&input->type);
      inputs.push_back(input->bytes.data());
    }
    inputs[0] = outputs[0] = y.bytes.data();
    constant.reset(new bool[types.size()]());
    const NodeContext node(
        *flatbuffers::GetRoot<schema::Node>(builder.GetBufferPointer()),
        {types.data(), types.size()},
        {constant.get(), types.size()},
        {&kernel_case.output, 1},
        sizes);
    kernel = kernel_case.make(node);
    StatusOr<size_t> scratch_size = kernel->reshape(node, 1);
    EXPECT_TRUE(scratch_size.ok());
    scratch.resize(*scratch_size / 8 + 1);
    saved.resize(kernel->undo_bytes() / 8 + 9);
    std::fill(saved.end() - 1, saved.end(), uint64_t{0xABCD});
  }

  KernelArguments arguments() {
    return {{inputs.data(), inputs.size()}, {outputs, 1}, scratch.data(), nullptr, &status, saved.data()};
  }

  flatbuffers::FlatBufferBuilder builder;
  Sizes sizes;
  std::vector<const TensorType*> types;
  std::unique_ptr<bool[]> constant;
  NodeTensor y;
  std::vector<const void*> inputs;
  void* outputs[1];
  std::vector<uint64_t> scratch, saved;
  std::unique_ptr<Kernel> kernel;
  Status status;
};

// Also in place, and back.
void check(const KernelCase& kernel_case, const Tensor& expected) {
  check_kernel(kernel_case, expected);
  InPlace in_place(kernel_case);
  in_place.kernel->run(in_place.arguments());
  ASSERT_TRUE(in_place.status.ok()) << in_place.status.message();
  EXPECT_EQ(in_place.y.bytes, expected.bytes);
  in_place.kernel->undo(in_place.arguments());
  EXPECT_EQ(in_place.y.bytes, kernel_case.inputs[0]->bytes);
  EXPECT_EQ(in_place.saved.back(), uint64_t{0xABCD});
}

// Expects a failure that changes nothing.
void check_fails(const KernelCase& kernel_case) {
  InPlace in_place(kernel_case);
  in_place.kernel->run(in_place.arguments());
  EXPECT_EQ(in_place.status.code(), Error::InvalidArgument);
  EXPECT_EQ(in_place.y.bytes, kernel_case.inputs[0]->bytes);
}

// What `iota` gives, for another first element.
Tensor shifted(DType dtype, const Shape& shape, size_t first) {
  Tensor all = iota(dtype, {first + shape.numel()});
  Tensor tensor(dtype, shape);
  std::copy(all.bytes.end() - static_cast<std::ptrdiff_t>(tensor.bytes.size()), all.bytes.end(), tensor.bytes.begin());
  return tensor;
}

void copy_elements(const Tensor& from, size_t i, Tensor& to, size_t j, size_t count) {
  const size_t size = element_size(from.type.dtype);
  std::memcpy(to.bytes.data() + j * size, from.bytes.data() + i * size, count * size);
}

TEST(IndexPutKernel, WritesBlocks) {
  for (const DType dtype : kDTypes) {
    for (const size_t block : {size_t{1}, size_t{3}, size_t{500}}) {
      const Tensor x = iota(dtype, {2, 4, block});
      const Tensor values = shifted(dtype, {2, 3, block}, 100);
      Tensor expected = x;
      for (size_t part = 0; part < 2; ++part) {
        copy_elements(values, part * 3 * block, expected, (part * 4 + 2) * block, block);
        copy_elements(values, (part * 3 + 2) * block, expected, (part * 4 + 3) * block, block);
        copy_elements(values, (part * 3 + 1) * block, expected, part * 4 * block, block);
      }
      check(index_put(x, values, {int64s({3}, {2, -4, 3})}, 1), expected);
      check(index_put(x, values, {int32s({3}, {2, 0, -1})}, 1), expected);
    }
  }
}

TEST(IndexPutKernel, WritesLargeBlocksInPieces) {
  const size_t block = 70000;
  const Tensor x = random_floats({3, block});
  const Tensor values = random_floats({2, block});
  Tensor expected = x;
  copy_elements(values, block, expected, block, block); // the last value stays
  check(index_put(x, values, {int64s({2}, {1, 1})}, 0), expected);
  expected = x;
  for (size_t i = 0; i < block; ++i) {
    expected.data<float>()[block + i] += values.data<float>()[i];
    expected.data<float>()[block + i] += values.data<float>()[block + i];
  }
  check(index_put(x, values, {int64s({2}, {1, 1})}, 0, UpdateKind::Add), expected);
}

TEST(IndexPutKernel, BroadcastsIndices) {
  const Tensor x = iota(DType::Int64, {4, 5});
  const Tensor values = shifted(DType::Int64, {2, 3}, 50);
  Tensor expected = x;
  const size_t rows[] = {3, 1}, columns[] = {0, 4, 2};
  for (size_t i = 0; i < 6; ++i) {
    copy_elements(values, i, expected, rows[i / 3] * 5 + columns[i % 3], 1);
  }
  check(index_put(x, values, {int64s({2, 1}, {3, 1}), int32s({3}, {0, 4, 2})}, 0), expected);
}

TEST(IndexPutKernel, AddsInEveryType) {
  check(
      index_put(floats({3}, {1, 2, 3}), floats({4}, {1, 1, 1, 5}), {int64s({4}, {1, 1, 1, 0})}, 0, UpdateKind::Add),
      floats({3}, {6, 5, 3}));
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  check(
      index_put(int32s({2}, {kMax, 2}), int32s({2}, {1, 3}), {int64s({2}, {0, 1})}, 0, UpdateKind::Add),
      int32s({2}, {std::numeric_limits<int32_t>::min(), 5}));
  check(
      index_put(int64s({2}, {7, 2}), int64s({2}, {int64_t{1} << 40, 3}), {int64s({2}, {0, 0})}, 0, UpdateKind::Add),
      int64s({2}, {(int64_t{1} << 40) + 10, 2}));
  Tensor x(DType::Bool, {3}), values(DType::Bool, {3}), expected(DType::Bool, {3});
  x.bytes = {1, 0, 0};
  values.bytes = {1, 1, 0};
  expected.bytes = {1, 1, 0};
  check(index_put(x, values, {int64s({3}, {0, 1, 2})}, 0, UpdateKind::Add), expected);
}

TEST(IndexPutKernel, TakesNoIndices) {
  const Tensor x = iota(DType::Float32, {3, 2});
  check(index_put(x, Tensor(DType::Float32, {0, 2}), {int64s({0}, {})}, 0), x);
}

TEST(IndexPutKernel, FailsForIndicesOutOfRange) {
  const Tensor x = iota(DType::Float32, {3, 2});
  const Tensor values = random_floats({2, 2});
  for (const int64_t index : {int64_t{3}, int64_t{-4}, std::numeric_limits<int64_t>::min()}) {
    check_fails(index_put(x, values, {int64s({2}, {0, index})}, 0));
  }
  check_fails(index_put(x, values, {int64s({2}, {0, -1})}, 0, UpdateKind::Assign, /*wrap=*/false));
}

TEST(ScatterKernel, UpdatesElementsOneAfterTheOther) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor values = floats({2, 2}, {10, 20, kNaN, -2});
  const Tensor index = int64s({2, 2}, {2, 2, 0, 1});
  check(scatter(x, values, index, 1), floats({2, 3}, {1, 2, 20, kNaN, -2, 6}));
  check(scatter(x, values, index, 1, UpdateKind::Add), floats({2, 3}, {1, 2, 33, kNaN, 3, 6}));
  check(scatter(x, values, index, 1, UpdateKind::Multiply), floats({2, 3}, {1, 2, 600, kNaN, -10, 6}));
  check(scatter(x, values, index, 1, UpdateKind::Minimum), floats({2, 3}, {1, 2, 3, kNaN, -2, 6}));
  check(scatter(x, values, index, 1, UpdateKind::Maximum), floats({2, 3}, {1, 2, 20, kNaN, 5, 6}));
  check(scatter(x, floats({1, 2}, {7, 8}), int32s({1, 2}, {1, 0}), 0), floats({2, 3}, {1, 8, 3, 7, 5, 6}));
}

// Rows along an axis of 5, with many values for one place.
template <typename T>
void check_kinds(DType dtype, std::initializer_list<UpdateKind> kinds) {
  Tensor x(dtype, {40, 5, 3}), values(dtype, {37, 9, 2}), index(DType::Int64, {37, 9, 2});
  for (size_t i = 0; i < x.numel(); ++i) {
    x.data<T>()[i] = static_cast<T>(i % 7);
  }
  for (size_t i = 0; i < values.numel(); ++i) {
    values.data<T>()[i] = static_cast<T>(i * i % 5);
    index.data<int64_t>()[i] = static_cast<int64_t>(i * 2654435761u / 7 % 5);
  }
  if (dtype == DType::Bool) {
    std::transform(x.bytes.begin(), x.bytes.end(), x.bytes.begin(), [](uint8_t v) { return v % 2; });
    std::transform(values.bytes.begin(), values.bytes.end(), values.bytes.begin(), [](uint8_t v) { return v % 2; });
  }
  for (const UpdateKind kind : kinds) {
    SCOPED_TRACE(x.type.to_string() + ", " + schema::EnumNameUpdateKind(kind));
    Tensor expected = x;
    Index at(values.shape());
    for (size_t i = 0; i < values.numel(); ++i, at.next()) {
      T& to = expected.data<T>()[(at[0] * 5 + static_cast<size_t>(index.data<int64_t>()[i])) * 3 + at[2]];
      const T value = values.data<T>()[i];
      switch (kind) {
        case UpdateKind::Assign:
          to = value;
          break;
        case UpdateKind::Add:
          to = dtype == DType::Bool ? static_cast<T>(to != 0 || value != 0) : static_cast<T>(to + value);
          break;
        case UpdateKind::Multiply: // of a wide unsigned type, as it may wrap
          if constexpr (std::is_floating_point_v<T>) {
            to *= value;
          } else {
            to = static_cast<T>(static_cast<uint64_t>(to) * static_cast<uint64_t>(value));
          }
          break;
        case UpdateKind::Minimum:
          to = std::min(to, value);
          break;
        case UpdateKind::Maximum:
          to = std::max(to, value);
          break;
      }
    }
    check(scatter(x, values, index, 1, kind), expected);
  }
}

TEST(ScatterKernel, EveryTypeAndKind) {
  const auto all = {
      UpdateKind::Assign, UpdateKind::Add, UpdateKind::Multiply, UpdateKind::Minimum, UpdateKind::Maximum};
  check_kinds<float>(DType::Float32, all);
  check_kinds<double>(DType::Float64, all);
  check_kinds<int32_t>(DType::Int32, all);
  check_kinds<int64_t>(DType::Int64, all);
  check_kinds<int8_t>(DType::Int8, all);
  check_kinds<uint8_t>(DType::UInt8, all);
  check_kinds<uint8_t>(DType::Bool, all);
  check_kinds<uint16_t>(DType::Float16, {UpdateKind::Assign});
  check_kinds<uint16_t>(DType::BFloat16, {UpdateKind::Assign});
}

TEST(ScatterKernel, FailsForIndicesOutOfRange) {
  const Tensor x = iota(DType::Int64, {2, 3});
  for (const int64_t index : {3, -1}) {
    check_fails(scatter(x, int64s({1, 2}, {1, 2}), int64s({1, 2}, {0, index}), 1));
  }
}

TEST(SliceScatterKernel, WritesABox) {
  for (const DType dtype : kDTypes) {
    const Tensor x = iota(dtype, {3, 7, 4});
    const Tensor values = shifted(dtype, {2, 3, 2}, 100);
    Tensor expected = x;
    for (size_t i = 0; i < 6; ++i) {
      const size_t row = (1 + i / 3) * 7 + 1 + i % 3 * 2;
      copy_elements(values, i * 2, expected, row * 4 + 2, 2);
    }
    check(slice_scatter(x, values, {1, 1, 2}, {1, 2, 1}), expected);
  }
  check(slice_scatter(floats({}, {1}), floats({}, {2}), {}, {}), floats({}, {2}));
}

TEST(MaskedScatterKernel, TakesValuesInOrder) {
  Tensor mask(DType::Bool, {2, 3});
  mask.bytes = {1, 0, 0, 1, 1, 0};
  KernelCase kernel_case{
      make_masked_scatter,
      schema::Attributes::MaskedScatter,
      [](auto& builder) { return schema::CreateMaskedScatter(builder).Union(); },
      {floats({2, 3}, {1, 2, 3, 4, 5, 6}), mask, floats({4}, {7, 8, 9, 10})},
      {DType::Float32, {2, 3}}};
  check_kernel(kernel_case, floats({2, 3}, {7, 2, 3, 8, 9, 6}));
  kernel_case.inputs[2] = floats({2}, {7, 8});
  InPlace too_few(kernel_case);
  too_few.kernel->run(too_few.arguments());
  EXPECT_EQ(too_few.status.code(), Error::InvalidArgument);
}

KernelCase embedding_bag(schema::BagKind kind, Tensor offsets, size_t bags, int64_t padding = -1, bool last = false) {
  return {
      make_embedding_bag,
      schema::Attributes::EmbeddingBag,
      [=](auto& builder) { return schema::CreateEmbeddingBag(builder, kind, padding, last).Union(); },
      {floats({3, 2}, {1, 2, 3, -4, 5, 6}), int64s({4}, {1, 2, 0, 1}), offsets},
      {DType::Float32, {bags, 2}}};
}

TEST(EmbeddingBagKernel, ReducesBags) {
  using schema::BagKind;
  const Tensor offsets = int64s({3}, {0, 3, 3});
  check_kernel(embedding_bag(BagKind::Sum, offsets, 3), floats({3, 2}, {9, 4, 0, 0, 3, -4}));
  check_kernel(embedding_bag(BagKind::Mean, offsets, 3, 2), floats({3, 2}, {2, -1, 0, 0, 3, -4}));
  check_kernel(embedding_bag(BagKind::Max, offsets, 3), floats({3, 2}, {5, 6, 0, 0, 3, -4}));
  check_kernel(embedding_bag(BagKind::Sum, offsets, 2, 1, true), floats({2, 2}, {6, 8, 0, 0}));
  check_kernel(embedding_bag(BagKind::Mean, int64s({3}, {0, 1, 3}), 2, -1, true), floats({2, 2}, {3, -4, 2, 8.0f / 3}));
  KernelCase weighted = embedding_bag(BagKind::Sum, int32s({2}, {0, 1}), 2);
  weighted.inputs.push_back(floats({4}, {2, 1, -1, 0}));
  check_kernel(weighted, floats({2, 2}, {6, -8, 4, 4}));
}

TEST(EmbeddingBagKernel, FailsForOffsetsAndIndicesOutOfRange) {
  using schema::BagKind;
  for (const auto& offsets : {std::vector<int64_t>{0, 5}, {1, 2}, {0, -1}}) {
    const KernelCase bad = embedding_bag(BagKind::Sum, int64s({2}, offsets), 2);
    InPlace run(bad);
    run.kernel->run(run.arguments());
    EXPECT_EQ(run.status.code(), Error::InvalidArgument);
  }
  KernelCase bad = embedding_bag(BagKind::Sum, int64s({1}, {0}), 1);
  bad.inputs[1] = int64s({4}, {0, 1, 2, 3});
  InPlace run(bad);
  run.kernel->run(run.arguments());
  EXPECT_EQ(run.status.code(), Error::InvalidArgument);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
