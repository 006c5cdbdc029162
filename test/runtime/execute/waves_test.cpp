// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Sizes that are found in data while a graph runs.

#include <algorithm>
#include <cstring>

#include <gtest/gtest.h>
#include <xnnpack.h>

#include "delegate.h"
#include "executable_call.h"
#include "graph_def.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BinaryKind;
using schema::DimOp;

// Where x is positive; x there, times w, which XNNPACK computes; and how often each place was positive.
GraphDef positive_rows() {
  GraphDef g;
  const int64_t found = g.ranged(DimOp::FoundSize, 1, 0, 0, 5, 5);
  const uint32_t x = g.input({8});
  const uint32_t zero = g.constant({}, {0});
  const uint32_t mask = g.node(compare(schema::CompareKind::Greater), {x, zero}, {8}, DType::Bool);
  const uint32_t at = g.node(nonzero(found), {mask}, {found, 1}, DType::Int64);
  const uint32_t places = g.node(reshape({found}), {at}, {found}, DType::Int64);
  const uint32_t picked = g.node(index(0), {x, places}, {found});
  const uint32_t column = g.node(reshape({found, 1}), {picked}, {found, 1});
  const uint32_t w = g.constant({2, 1}, {1, -2});
  g.output(g.node(linear(), {column, w}, {found, 2}));
  g.output(places);
  const uint32_t sum = g.node(reduce(schema::ReduceKind::Sum, {0}), {picked}, {});
  g.output(sum);
  return g;
}

GraphCall call_with(const std::vector<float>& x) {
  GraphCall call;
  call.sizes = {{{x.size()}, 0}};
  call.inputs.emplace_back(x.size() * sizeof(float));
  std::memcpy(call.inputs[0].data(), x.data(), call.inputs[0].size());
  return call;
}

template <typename T>
std::vector<T> as(const std::vector<uint8_t>& bytes) {
  std::vector<T> numbers(bytes.size() / sizeof(T));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

class WavesTest : public ::testing::Test {
 protected:
  void load(const GraphDef& g, Executable::Settings settings = {}) {
    ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
    StatusOr<Blob> blob = open_blob(span(g.build()));
    ASSERT_TRUE(blob.ok()) << blob.status().message();
    StatusOr<std::unique_ptr<Executable>> loaded = Executable::create(std::move(*blob), nullptr, std::move(settings));
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    executable_ = std::move(*loaded);
  }

  void expect_found(const std::vector<float>& x) {
    const Results results = run(*executable_, call_with(x));
    ASSERT_TRUE(results.status.ok()) << results.status.message();
    std::vector<float> product;
    std::vector<int64_t> places;
    float sum = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i] > 0) {
        product.insert(product.end(), {x[i], -2 * x[i]});
        places.push_back(static_cast<int64_t>(i));
        sum += x[i];
      }
    }
    EXPECT_EQ(as<float>(results.outputs[0]), product);
    EXPECT_EQ(as<int64_t>(results.outputs[1]), places);
    EXPECT_EQ(as<float>(results.outputs[2]), std::vector<float>{sum});
  }

  std::unique_ptr<Executable> executable_;
};

const std::vector<float> kThree{1, -1, -1, 2, -1, -1, 3, -1}, kOthers{-1, 5, 6, 7, -1, -1, -1, -1};
const std::vector<float> kNone8(8, -1), kOne{-1, -1, -1, -1, -1, -1, -1, 4}, kFive{1, 2, 3, 4, -1, 5, -1, -1};

TEST_F(WavesTest, SizesFollowTheData) {
  load(positive_rows());
  for (const auto& x : {kThree, kOthers, kFive, kNone8, kNone8, kOne, kFive, kThree}) {
    expect_found(x);
  }
}

TEST_F(WavesTest, RefusesMoreThanTheBound) {
  load(positive_rows());
  expect_found(kThree);
  const std::vector<float> six{1, 2, 3, 4, 5, 6, -1, -1};
  const Results results = run(*executable_, call_with(six));
  EXPECT_EQ(results.status.code(), Error::InvalidArgument);
  EXPECT_NE(results.status.message().find("node 1 Nonzero"), std::string::npos) << results.status.message();
  EXPECT_NE(results.status.message().find("is 6, but the model was exported for 0 to 5"), std::string::npos)
      << results.status.message();
  expect_found(kThree);
  expect_found(kFive);
}

// An output stays where it was, but now an input lies there, too, that is read after the output is written.
TEST_F(WavesTest, InputsMoveToOutputs) {
  GraphDef g;
  const int64_t found = g.ranged(DimOp::FoundSize, 1, 0, 0, 4, 4);
  const uint32_t x = g.input({4}), y = g.input({4});
  const uint32_t zero = g.constant({}, {0});
  const uint32_t mask = g.node(compare(schema::CompareKind::Greater), {x, zero}, {4}, DType::Bool);
  const uint32_t at = g.node(nonzero(found), {mask}, {found, 1}, DType::Int64);
  const uint32_t places = g.node(reshape({found}), {at}, {found}, DType::Int64);
  g.output(g.node(index(0), {x, places}, {found}));
  g.output(g.node(index(0), {y, places}, {found}));
  load(g);
  const ArgumentSize four{Shape{4}, 0};
  const ArgumentSize sizes[] = {four, four};
  float first[20] = {1, 2, 3, 4}, second[20] = {5, 6, 7, 8}, a[20] = {}, b[20] = {};
  void* const outputs[] = {a, b};
  const auto call = [&](float* second_input) {
    const void* const inputs[] = {first, second_input};
    ASSERT_TRUE(executable_->reshape({sizes, 2}, nullptr).ok());
    ASSERT_TRUE(executable_->run({inputs, 2}, {outputs, 2}).ok());
    EXPECT_EQ(std::vector<float>(a, a + 4), (std::vector<float>{1, 2, 3, 4}));
    EXPECT_EQ(std::vector<float>(b, b + 4), (std::vector<float>{5, 6, 7, 8}));
  };
  call(second);
  std::copy_n(second, 4, a);
  call(a);
  call(second);
}

// Where a mask of `rows` is positive.
uint32_t found_places(GraphDef& g, int64_t found, int64_t rows) {
  const uint32_t zero = g.constant({}, {0});
  const uint32_t mask = g.node(compare(schema::CompareKind::Greater), {g.input({rows}), zero}, {rows}, DType::Bool);
  const uint32_t at = g.node(nonzero(found), {mask}, {found, 1}, DType::Int64);
  return g.node(reshape({found}), {at}, {found}, DType::Int64);
}

// Calls with operands that are empty are computed by other steps, so the usual ones know an earlier call's sizes.
TEST_F(WavesTest, PreparesAgainAfterACallWithEmptyOperands) {
  GraphDef g;
  const int64_t rows = g.ranged(DimOp::InputDim, 0, 0, 1, 8, 8);
  const int64_t columns = g.ranged(DimOp::InputInt, 2, 0, 0, 4, 4);
  const int64_t found = g.ranged(DimOp::FoundSize, 2, 0, 0, 8, 8);
  const uint32_t x = g.input({rows, 4});
  g.output(g.node(softmax(1), {x}, {rows, 4}));
  const uint32_t picked = g.node(index(0), {x, found_places(g, found, rows)}, {found, 4});
  g.inputs.push_back({}); // the number of columns
  const uint32_t part = g.node(slice(1, 0, columns), {picked}, {found, columns});
  g.output(g.node(batch_matmul(true), {part, part}, {found, found}));
  load(g);
  const auto expect_right = [&](size_t count, size_t depth) {
    SCOPED_TRACE(std::to_string(count) + " " + std::to_string(depth));
    GraphCall call;
    call.sizes = {{{count, 4}, 0}, {{count}, 0}, {{}, static_cast<int64_t>(depth)}};
    const std::vector<float> ones(4 * count, 1);
    call.inputs = {std::vector<uint8_t>(16 * count), std::vector<uint8_t>(4 * count), {}};
    std::memcpy(call.inputs[0].data(), ones.data(), 16 * count);
    std::memcpy(call.inputs[1].data(), ones.data(), 4 * count);
    const Results results = run(*executable_, call);
    ASSERT_TRUE(results.status.ok()) << results.status.message();
    EXPECT_EQ(as<float>(results.outputs[0]), std::vector<float>(4 * count, 0.25f));
    EXPECT_EQ(as<float>(results.outputs[1]), std::vector<float>(count * count, static_cast<float>(depth)));
  };
  for (const auto& [count, depth] : {std::pair(2, 3), {4, 0}, {4, 3}, {2, 0}, {2, 3}, {2, 0}, {3, 0}, {3, 2}, {8, 4}}) {
    expect_right(static_cast<size_t>(count), static_cast<size_t>(depth));
  }
}

// A result whose sizes arguments give, made of what is found: whatever reads it is prepared when that is known.
class KnownSizesTest : public WavesTest {
 protected:
  static constexpr size_t kMost = 64;

  KnownSizesTest() {
    rows_ = g_.ranged(DimOp::InputInt, 2, 0, 0, kMost, 4);
    found_ = g_.ranged(DimOp::FoundSize, 1, 0, 0, kMost, 4);
  }

  // The first input, by the rows that are found.
  uint32_t picked(std::vector<int64_t> row, DType dtype) {
    std::vector<int64_t> all = row;
    all.insert(all.begin(), kMost);
    row.insert(row.begin(), found_);
    const uint32_t x = g_.input(all, dtype);
    const uint32_t places = found_places(g_, found_, kMost);
    g_.inputs.push_back({}); // the number of rows
    return g_.node(index(0), {x, places}, row, dtype);
  }

  // The results of calls that find so many rows of `row`, each of this shape.
  void expect_rows(const Shape& shape, const std::vector<uint8_t>& row, const std::vector<float>& result) {
    for (const size_t count : {size_t{1}, kMost, size_t{1}, size_t{5}, kMost}) {
      SCOPED_TRACE(count);
      GraphCall call;
      call.sizes = {{shape, 0}, {{kMost}, 0}, {{}, static_cast<int64_t>(count)}};
      call.inputs.resize(3);
      for (size_t i = 0; i < kMost; ++i) {
        call.inputs[0].insert(call.inputs[0].end(), row.begin(), row.end());
      }
      std::vector<float> mask(kMost);
      std::fill_n(mask.begin(), count, 1.0f);
      call.inputs[1].resize(4 * kMost);
      std::memcpy(call.inputs[1].data(), mask.data(), 4 * kMost);
      const Results results = run(*executable_, call);
      ASSERT_TRUE(results.status.ok()) << results.status.message();
      std::vector<float> expected;
      for (size_t i = 0; i < count; ++i) {
        expected.insert(expected.end(), result.begin(), result.end());
      }
      EXPECT_EQ(as<float>(results.outputs[0]), expected);
    }
  }

  template <typename T>
  static std::vector<uint8_t> bytes_of(const std::vector<T>& numbers) {
    std::vector<uint8_t> bytes(numbers.size() * sizeof(T));
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    return bytes;
  }

  GraphDef g_;
  int64_t rows_, found_;
};

TEST_F(KnownSizesTest, ConvolutionInBFloat16) {
  const uint32_t wide = g_.node(cast(DType::Float32), {picked({4, 4, 16}, DType::BFloat16)}, {rows_, 4, 4, 16});
  const uint32_t w = g_.constant({16, 3, 3, 16}, std::vector<float>(16 * 9 * 16, 1));
  g_.output(g_.node(conv2d({1, 1}, {1, 1, 1, 1}), {wide, w}, {rows_, 4, 4, 16}));
  Executable::Settings settings;
  settings.force_bf16 = true;
  load(g_, std::move(settings));
  std::vector<float> result;
  for (size_t pixel = 0; pixel < 16; ++pixel) {
    const size_t y = pixel / 4, x = pixel % 4;
    const int taps = (y % 3 == 0 ? 2 : 3) * (x % 3 == 0 ? 2 : 3);
    result.insert(result.end(), 16, static_cast<float>(16 * taps));
  }
  expect_rows({kMost, 4, 4, 16}, bytes_of(std::vector<uint16_t>(256, 0x3F80)), result);
}

TEST_F(KnownSizesTest, ViewInFloat16) {
  const uint32_t rows = g_.node(reshape({rows_, 16}), {picked({16}, DType::Float32)}, {rows_, 16});
  const uint32_t w = g_.constant({16, 16}, std::vector<float>(256, 1));
  g_.output(g_.node(linear(), {rows, w}, {rows_, 16}));
  Executable::Settings settings;
  settings.force_fp16 = true;
  load(g_, std::move(settings));
  expect_rows({kMost, 16}, bytes_of(std::vector<float>(16, 1)), std::vector<float>(16, 16));
}

TEST_F(KnownSizesTest, LinearWithWeightsOfBFloat16) {
  const uint32_t wide = g_.node(cast(DType::Float32), {picked({64}, DType::BFloat16)}, {rows_, 64});
  const uint32_t w = g_.constant({64, 64}, {});
  std::vector<uint16_t> weight(64 * 64);
  for (size_t i = 0; i < 64; ++i) {
    weight[64 * i] = 0x3F80; // 1
    weight[64 * i + 1] = 0x4000; // 2
  }
  g_.values[w].constant->data = bytes_of(weight);
  g_.values[w].constant->storage = schema::Storage::BFloat16;
  g_.output(g_.node(linear(), {wide, w}, {rows_, 64}));
  load(g_);
  std::vector<uint16_t> row(64);
  row[0] = 0x3F80;
  expect_rows({kMost, 64}, bytes_of(row), std::vector<float>(64, 1));
}

// A number that is computed of what is found.
TEST_F(KnownSizesTest, SumInAPass) {
  const uint32_t sum = g_.node(reduce(schema::ReduceKind::Sum, {0, 1}), {picked({4}, DType::Float32)}, {});
  const uint32_t twice = g_.node(binary(BinaryKind::Add), {sum, sum}, {});
  g_.output(g_.node(binary(BinaryKind::Mul), {twice, g_.constant({3}, {1, 2, 3})}, {3}));
  load(g_);
  for (const size_t count : {size_t{0}, kMost, size_t{3}}) {
    GraphCall call;
    call.sizes = {{{kMost, 4}, 0}, {{kMost}, 0}, {{}, 0}};
    std::vector<float> mask(kMost);
    std::fill_n(mask.begin(), count, 1.0f);
    call.inputs = {bytes_of(std::vector<float>(4 * kMost, 1)), bytes_of(mask), {}};
    const Results results = run(*executable_, call);
    ASSERT_TRUE(results.status.ok()) << results.status.message();
    const float twice_all = static_cast<float>(8 * count);
    EXPECT_EQ(as<float>(results.outputs[0]), (std::vector<float>{twice_all, 2 * twice_all, 3 * twice_all}));
  }
}

// As with sizes of arguments: after the call that needs less. The next one like it allocates nothing.
TEST_F(WavesTest, ShrinksIfAsked) {
  constexpr int64_t kRows = 256, kColumns = 64;
  GraphDef g;
  const int64_t found = g.ranged(DimOp::FoundSize, 1, 0, 0, kRows, kRows);
  const uint32_t x = g.input({kRows, kColumns});
  const uint32_t places = found_places(g, found, kRows);
  const uint32_t picked = g.node(index(0), {x, places}, {found, kColumns});
  const uint32_t w = g.constant({kColumns, kColumns}, some_numbers(kColumns * kColumns));
  const uint32_t product = g.node(linear(), {picked, w}, {found, kColumns});
  g.output(g.node(reduce(schema::ReduceKind::Sum, {0, 1}), {product}, {}));
  const auto sum = [&](size_t count) {
    GraphCall call;
    call.sizes = {{{kRows, kColumns}, 0}, {{kRows}, 0}};
    call.inputs.resize(2);
    std::vector<float> mask(kRows);
    std::fill_n(mask.begin(), count, 1.0f);
    const std::vector<float> numbers = some_numbers(kRows * kColumns, 2);
    for (const auto& [input, of] : {std::pair(0, &numbers), {1, &mask}}) {
      call.inputs[input].resize(of->size() * sizeof(float));
      std::memcpy(call.inputs[input].data(), of->data(), call.inputs[input].size());
    }
    const Results results = run(*executable_, call);
    EXPECT_TRUE(results.status.ok()) << results.status.message();
    return as<float>(results.outputs[0]).at(0);
  };
  load(g);
  const float of_all = sum(kRows), of_eight = sum(8);
  const size_t kept = executable_->workspace().bytes();
  EXPECT_GT(kept, kRows * kColumns * sizeof(float));
  Executable::Settings settings;
  settings.shrink_memory = true;
  load(g, std::move(settings));
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(sum(kRows), of_all);
    EXPECT_EQ(executable_->workspace().bytes(), kept);
    for (int call = 0; call < 2; ++call) {
      EXPECT_EQ(sum(8), of_eight);
      EXPECT_LT(executable_->workspace().bytes(), kept / 4);
    }
    EXPECT_GT(executable_->workspace().bytes(), 8 * kColumns * sizeof(float));
  }
}

// A size that is known before has to be the one that is found.
TEST_F(WavesTest, RefusesAnotherSizeThanTheOneItKnows) {
  GraphDef g;
  const uint32_t mask = g.input({4}, DType::Bool);
  g.output(g.node(nonzero(2), {mask}, {2, 1}, DType::Int64));
  load(g);
  GraphCall call;
  call.sizes = {{{4}, 0}};
  call.inputs = {{1, 0, 0, 1}};
  Results results = run(*executable_, call);
  ASSERT_TRUE(results.status.ok()) << results.status.message();
  EXPECT_EQ(as<int64_t>(results.outputs[0]), (std::vector<int64_t>{0, 3}));
  call.inputs = {{1, 1, 0, 1}};
  results = run(*executable_, call);
  EXPECT_EQ(results.status.code(), Error::InvalidArgument);
  EXPECT_NE(results.status.message().find("it finds 3 elements"), std::string::npos) << results.status.message();
}

// What a step has done to a state is undone if a size that is found later is refused.
TEST_F(WavesTest, UndoesStatesWhereTooMuchIsFound) {
  GraphDef g;
  const int64_t found = g.ranged(DimOp::FoundSize, 0, 0, 0, 2, 2);
  const uint32_t mask = g.input({4}, DType::Bool);
  const uint32_t index_of = g.input({1}, DType::Int64);
  const uint32_t state = g.state("counts", {4}, {0, 0, 0, 0});
  const uint32_t one = g.constant({1}, {1});
  g.output(g.node(nonzero(found), {mask}, {found, 1}, DType::Int64));
  const uint32_t put = g.node(index_put(0, schema::UpdateKind::Add), {state, one, index_of}, {4});
  g.states.back().update = put;
  g.output(g.node(unary(schema::UnaryKind::Neg), {put}, {4}));
  load(g);
  GraphCall call;
  call.sizes = {{{4}, 0}, {{1}, 0}};
  call.inputs = {{1, 0, 0, 1}, std::vector<uint8_t>(8)};
  for (int count = 1; count < 4; ++count) {
    call.inputs[0] = {1, 1, 1, 1};
    EXPECT_EQ(run(*executable_, call).status.code(), Error::InvalidArgument);
    call.inputs[0] = {1, 0, 0, 1};
    const Results results = run(*executable_, call);
    ASSERT_TRUE(results.status.ok()) << results.status.message();
    EXPECT_EQ(as<float>(results.outputs[1])[0], static_cast<float>(-count));
  }
}

TEST_F(WavesTest, ResizesOutputsOfExecuTorch) {
  EtXnnpackBackend backend;
  const std::vector<uint8_t> bytes = positive_rows().build();
  Method method(backend, bytes);
  ASSERT_EQ(method.error, Error::Ok);
  StatusOr<Blob> blob = open_blob(span(bytes));
  ASSERT_TRUE(blob.ok());
  Call call(*blob);
  for (const auto& x : {kThree, kNone8, kFive, kOthers}) {
    std::copy(x.begin(), x.end(), call.tensors[0]->data<float>());
    ASSERT_EQ(method.execute(call.values), Error::Ok) << backend.last_error();
    const auto positive = std::count_if(x.begin(), x.end(), [](float number) { return number > 0; });
    EXPECT_EQ(call.values[1]->toTensor().sizes()[0], positive);
    EXPECT_EQ(call.values[2]->toTensor().sizes()[0], positive);
    for (const auto& tensor : call.tensors) {
      EXPECT_TRUE(tensor->intact());
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
