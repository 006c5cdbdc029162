// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Calls in which some operands have no elements, of programs whose operands usually have some.

#include <cstring>

#include <gtest/gtest.h>
#include <xnnpack.h>

#include "data_map.h"
#include "executable_call.h"
#include "graph_def.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::DimOp;

// x [0 to 8, columns] before 20 rows of the program.
uint32_t rows_behind_input(GraphDef& g, int64_t columns, int64_t* all) {
  const int64_t rows = g.ranged(DimOp::InputDim, 0, 0, 0, 8, 4);
  *all = g.expr(DimOp::Add, -1 - rows, -1 - g.expr(DimOp::Const, 20));
  return g.node(concat(0), {g.input({rows, columns}), g.named({20, columns}, "rows")}, {*all, columns});
}

std::unique_ptr<Executable> load(const GraphDef& g, const DataMap& data, bool force_fp16 = false) {
  const std::vector<uint8_t> bytes = g.build();
  Executable::Settings settings;
  settings.force_fp16 = force_fp16;
  return load_executable(bytes, settings, &data);
}

std::vector<float> call(Executable& executable, size_t count) {
  const std::vector<float> x = some_numbers(count * 16, 3);
  GraphCall arguments;
  arguments.sizes = {{{count, 16}, 0}};
  arguments.inputs.emplace_back(x.size() * sizeof(float));
  std::memcpy(arguments.inputs[0].data(), x.data(), arguments.inputs[0].size());
  const Results results = run(executable, arguments);
  EXPECT_TRUE(results.status.ok()) << results.status.message();
  if (!results.status.ok()) {
    return {};
  }
  std::vector<float> y(results.outputs[0].size() / sizeof(float));
  std::memcpy(y.data(), results.outputs[0].data(), results.outputs[0].size());
  return y;
}

// They are computed with in float32, long after the program's data may be gone.
TEST(EmptyOperandsTest, WhatIsRoundedToFloat16IsKept) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  GraphDef g;
  int64_t all = 0;
  const uint32_t both = rows_behind_input(g, 16, &all);
  g.output(g.node(linear(), {both, g.named({4, 16}, "w")}, {all, 4}));
  std::unique_ptr<Executable> exact, half;
  {
    DataMap data; // goes when the program is loaded
    data.add("rows", some_numbers(20 * 16));
    data.add("w", some_numbers(4 * 16, 2));
    exact = load(g, data);
    half = load(g, data, /*force_fp16=*/true);
  }
  for (const size_t count : {size_t{4}, size_t{0}, size_t{8}}) {
    SCOPED_TRACE(count);
    const std::vector<float> expected = call(*exact, count), y = call(*half, count);
    ASSERT_EQ(y.size(), expected.size());
    for (size_t i = 0; i < y.size(); ++i) {
      EXPECT_NEAR(y[i], expected[i], 0.02f);
    }
  }
}

// XNNPACK reads some constants for each operator, packed or not.
TEST(EmptyOperandsTest, WhatIsLoadedAgainIsKept) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  GraphDef product;
  int64_t all = 0;
  uint32_t both = rows_behind_input(product, 16, &all);
  both = product.node(reshape({1, all, 16}), {both}, {1, all, 16});
  product.output(product.node(batch_matmul(), {both, product.named({1, 16, 4}, "w")}, {1, all, 4}));
  GraphDef rounded;
  both = rows_behind_input(rounded, 16, &all);
  const uint32_t weight = rounded.named({4, 16}, "integers", DType::Int8), scale = rounded.named({4, 1}, "scale");
  rounded.output(rounded.node(quantized_linear(8, /*dynamic_quantization=*/true), {both, weight, scale}, {all, 4}));
  for (const GraphDef* g : {&product, &rounded}) {
    std::unique_ptr<Executable> executable;
    {
      DataMap data;
      data.add("rows", some_numbers(20 * 16));
      data.add("w", some_numbers(4 * 16, 2));
      data.add("integers", some_numbers(4 * 16 / 4, 2)); // any bytes
      data.add("scale", std::vector<float>{0.5f, 0.25f, 1, 2});
      executable = load(*g, data);
    }
    const std::vector<float> whole = call(*executable, 4);
    for (const size_t count : {size_t{0}, size_t{8}, size_t{0}}) {
      SCOPED_TRACE(count);
      const std::vector<float> y = call(*executable, count);
      ASSERT_EQ(y.size(), (count + 20) * 4);
      EXPECT_TRUE(std::equal(y.end() - 20 * 4, y.end(), whole.end() - 20 * 4)) << "the rows of the program";
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
