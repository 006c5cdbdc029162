// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/elementwise/fused_elementwise.h>

#include <runtime/kernels/elementwise/binary.h>
#include <runtime/kernels/elementwise/logic.h>
#include <runtime/kernels/elementwise/unary.h>

#include "row_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using Value = FusedElementwise::Value;

// where(a > 0, sqrt(a), b) + b, and sqrt(a), which is read outside, too.
PlainCase sum_of_roots(const Tensor& a, const Tensor& b, const Tensor& zero, const Shape& y) {
  enum : uint32_t { kA, kB, kZero, kPositive, kRoot, kChosen, kSum };
  const auto make = [=] {
    std::vector<FusedElementwise::Node> nodes;
    nodes.push_back({compare_row(Comparison::Greater, DType::Float32), {kA, kZero}, {kPositive, 1}});
    nodes.push_back({unary_row({"Sqrt"}), {kA}, {kRoot, 4}});
    nodes.push_back({where_row(4), {kPositive, kRoot, kB}, {kChosen, 4}});
    nodes.push_back({binary_row({BinaryFunction::Add}), {kChosen, kB}, {kSum, 4}});
    const Value inputs[] = {{kA, 4}, {kB, 4}, {kZero, 4}};
    const uint32_t outputs[] = {kSum, kRoot};
    const auto pass = std::make_shared<FusedElementwise>(
        std::move(nodes), Span<const Value>(inputs, 3), Span<const uint32_t>(outputs, 2));
    return std::make_unique<TestedFunctions>(
        [=](size_t num_threads) -> StatusOr<size_t> {
          const Shape shapes[] = {a.shape(), b.shape(), zero.shape()};
          return pass->reshape({shapes, 3}, y, num_threads);
        },
        [=](const KernelArguments& arguments) { pass->run(arguments); });
  };
  return {make, {a, b, zero}, {{DType::Float32, y}, {DType::Float32, y}}};
}

TEST(FusedElementwise, SeveralNodesOfSeveralTypes) {
  const Shape shapes[][2] = {
      {{7}, {1}},
      {{}, {}},
      {{1025}, {1025}},
      {{300, 5}, {5}},
      {{300, 5}, {300, 1}},
      {{2, 3, 5000}, {3, 1}},
      {{40, 3, 2, 3}, {3, 1, 3}},
      {{3, 0}, {1}},
  };
  for (const auto& [whole, other] : shapes) {
    SCOPED_TRACE(whole.to_string() + " and " + other.to_string());
    const Tensor a = random_floats(whole), b = random_floats(other), zero = floats({}, {0});
    Tensor sum(DType::Float32, whole), root(DType::Float32, whole);
    Index at(whole);
    for (size_t i = 0; i < sum.numel(); ++i, at.next()) {
      const float x = a.data<float>()[i], y = b.data<float>()[at.in(other)];
      root.data<float>()[i] = std::sqrt(x);
      sum.data<float>()[i] = (x > 0 ? std::sqrt(x) : y) + y;
    }
    PlainCase kernel_case = sum_of_roots(a, b, zero, whole);
    check_kernel(kernel_case, sum);
    kernel_case.checked = 1;
    check_kernel(kernel_case, root);
  }
}

// More than one operand is put together from short rows, and more than one block of them.
TEST(FusedElementwise, OneNodeOfShortRows) {
  for (const size_t size : {1, 2, 3, 31, 32, 33}) {
    const Tensor c(DType::Bool, {1, size}), a = iota(DType::Int64, {2000, 1}), b = iota(DType::Int64, {2000, size});
    check_row([] { return where_row(8); }, {c, a, b}, b);
  }
}

TEST(FusedElementwise, SaysWhyARowFails) {
  const Tensor a = iota(DType::Int32, {20000});
  Tensor b = repeated({20000}, {1.0f});
  b.type.dtype = DType::Int32; // some bits
  FusedElementwise::Node node{integer_row(BinaryFunction::Fmod, DType::Int32), {0, 1}, {2, 4}};
  std::vector<FusedElementwise::Node> nodes;
  nodes.push_back(std::move(node));
  const Value inputs[] = {{0, 4}, {1, 4}};
  const uint32_t output = 2;
  FusedElementwise pass(std::move(nodes), Span<const Value>(inputs, 2), Span<const uint32_t>(&output, 1));
  const Shape shapes[] = {a.shape(), b.shape()};
  EXPECT_EQ(pass.reshape({shapes, 2}, a.shape(), 1), 0);
  Tensor y(DType::Int32, a.shape());
  const void* from[] = {a.bytes.data(), b.bytes.data()};
  void* to[] = {y.bytes.data()};
  const auto run = [&] {
    Status status;
    pass.run({{from, 2}, {to, 1}, nullptr, nullptr, &status});
    return status;
  };
  EXPECT_TRUE(run().ok());
  b.data<int32_t>()[19999] = 0;
  EXPECT_EQ(run().message(), "an integer is divided by zero");
  b.data<int32_t>()[19999] = 1;
  EXPECT_TRUE(run().ok()) << "one call's failure is not the next one's";
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
