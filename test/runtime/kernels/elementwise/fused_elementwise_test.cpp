// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/kernels/elementwise/fused_elementwise.h>

#include <algorithm>
#include <cmath>

#include <runtime/kernels/common/parallel.h>
#include <runtime/kernels/elementwise/binary.h>
#include <runtime/kernels/elementwise/logic.h>
#include <runtime/kernels/elementwise/unary.h>

#include "guarded_buffer.h"
#include "row_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using Value = FusedElementwise::Value;

// Lengths of parts, one after the other and then again.
using PartSizes = std::vector<size_t>;

// Runs a pass in parts of these sizes, which threads of the pool take in any order, each from memory of its own. The pass
// finds nothing at the input that is streamed.
void run_in_parts(
    const FusedElementwise& pass,
    const KernelArguments& arguments,
    size_t count,
    size_t element,
    size_t streamed,
    const PartSizes& sizes) {
  std::vector<size_t> ends{0};
  for (size_t i = 0; ends.back() < count; ++i) {
    ends.push_back(std::min(count, ends.back() + sizes[i % sizes.size()]));
  }
  std::vector<const void*> inputs(arguments.inputs.begin(), arguments.inputs.end());
  const char* const elements = static_cast<const char*>(inputs[streamed]);
  inputs[streamed] = nullptr;
  KernelArguments rest = arguments;
  rest.inputs = {inputs.data(), inputs.size()};
  pass.begin_parts(rest);
  parallel_for_with_thread(arguments.pool, ends.size() - 1, [&](size_t thread, size_t i) {
    const size_t part = ends.size() - 2 - i, bytes = (ends[part + 1] - ends[part]) * element;
    GuardedBuffer copy(bytes, true);
    std::memcpy(copy.data(), elements + ends[part] * element, bytes);
    pass.run_part(rest, thread, ends[part], ends[part + 1] - ends[part], streamed, copy.data());
    EXPECT_EQ(std::memcmp(copy.data(), elements + ends[part] * element, bytes), 0) << "wrote to what it takes";
  });
  pass.end_parts(rest);
}

// where(a > 0, sqrt(a), b) + b, and sqrt(a), which is read outside, too; with `parts` it takes a in these.
PlainCase sum_of_roots(
    const Tensor& a, const Tensor& b, const Tensor& zero, const Shape& y, const PartSizes& parts = {}) {
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
          const size_t bytes = pass->reshape({shapes, 3}, y, num_threads);
          return parts.empty() ? bytes : pass->parts_bytes(num_threads);
        },
        [=](const KernelArguments& arguments) {
          return parts.empty() ? pass->run(arguments) : run_in_parts(*pass, arguments, y.numel(), 4, 0, parts);
        });
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

const PartSizes kParts[] = {{1, 7, 513, 3}, {1023, 1025, 2}, {5000, 1}, {511, 30}, {100000}};

// On each instruction set and with each number of threads the parts have the bits of the whole.
void check_parts(const std::function<PlainCase(const PartSizes&)>& make, size_t outputs, const std::string& what) {
  for (const PartSizes& parts : kParts) {
    SCOPED_TRACE(what + " in parts of " + std::to_string(parts.front()));
    for (size_t k = 0; k < outputs; ++k) {
      PlainCase whole = make({}), cut = make(parts);
      whole.checked = cut.checked = k;
      for_each_isa([&] {
        const Tensor expected = run_kernel(whole);
        for (const size_t threads : {0, 3}) {
          ASSERT_EQ(run_kernel(cut, threads).bytes, expected.bytes) << isa_name() << ", threads " << threads;
        }
      });
    }
  }
}

TEST(FusedElementwise, PartsHaveTheBitsOfTheWhole) {
  const Shape shapes[][2] = {
      {{7}, {1}},
      {{}, {}},
      {{1025}, {1025}},
      {{300, 5}, {5}},
      {{300, 5}, {300, 1}},
      {{300, 5}, {300, 5}},
      {{9, 700}, {700}},
      {{9, 700}, {9, 1}},
      {{2, 3, 1500}, {3, 1}},
      {{40, 3, 2, 3}, {3, 1, 3}},
      {{3, 0}, {1}},
  };
  for (const auto& [whole, other] : shapes) {
    const Tensor a = random_floats(whole), b = random_floats(other), zero = floats({}, {0});
    check_parts(
        [&, y = whole](const PartSizes& parts) { return sum_of_roots(a, b, zero, y, parts); },
        2,
        whole.to_string() + " and " + other.to_string());
  }
}

// One row alone, whose streamed input is not the first one.
TEST(FusedElementwise, PartsOfOneNode) {
  const Shape shapes[][2] = {{{2000, 3}, {3}}, {{2000, 3}, {2000, 1}}, {{40, 511}, {511}}, {{3, 9000}, {1}}};
  for (const auto& [whole, other] : shapes) {
    const Tensor a = random_floats(other), b = random_floats(whole);
    const Shape y = whole;
    const auto make = [&](const PartSizes& parts) {
      const auto make_pass = [=] {
        std::vector<FusedElementwise::Node> nodes;
        nodes.push_back({binary_row({BinaryFunction::Sub}), {0, 1}, {2, 4}});
        const Value inputs[] = {{0, 4}, {1, 4}};
        const uint32_t output = 2;
        const auto pass = std::make_shared<FusedElementwise>(
            std::move(nodes), Span<const Value>(inputs, 2), Span<const uint32_t>(&output, 1));
        return std::make_unique<TestedFunctions>(
            [=](size_t num_threads) -> StatusOr<size_t> {
              const Shape all[] = {a.shape(), b.shape()};
              const size_t bytes = pass->reshape({all, 2}, y, num_threads);
              return parts.empty() ? bytes : pass->parts_bytes(num_threads);
            },
            [=](const KernelArguments& arguments) {
              return parts.empty() ? pass->run(arguments) : run_in_parts(*pass, arguments, y.numel(), 4, 1, parts);
            });
      };
      return PlainCase{make_pass, {a, b}, {{DType::Float32, y}}};
    };
    check_parts(make, 1, whole.to_string() + " and " + other.to_string());
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
  std::vector<uint8_t> scratch(pass.parts_bytes(1));
  const auto run_parts = [&] {
    Status status;
    const KernelArguments arguments{{from, 2}, {to, 1}, scratch.data(), nullptr, &status};
    run_in_parts(pass, arguments, a.numel(), 4, 0, {1023, 1});
    return status;
  };
  EXPECT_TRUE(run_parts().ok());
  b.data<int32_t>()[3] = 0;
  EXPECT_EQ(run_parts().message(), "an integer is divided by zero");
  b.data<int32_t>()[3] = 1;
  EXPECT_TRUE(run_parts().ok());
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
