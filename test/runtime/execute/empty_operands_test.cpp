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

// They are computed with in float32, long after the program's data may be gone.
TEST(EmptyOperandsTest, WhatIsRoundedToFloat16IsKept) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  GraphDef g;
  const int64_t rows = g.ranged(DimOp::InputDim, 0, 0, 0, 8, 4);
  const int64_t all = g.expr(DimOp::Add, -1 - rows, -1 - g.expr(DimOp::Const, 20));
  const uint32_t both = g.node(concat(0), {g.input({rows, 16}), g.named({20, 16}, "rows")}, {all, 16});
  g.output(g.node(linear(), {both, g.named({4, 16}, "w")}, {all, 4}));
  const std::vector<uint8_t> bytes = g.build();
  const auto load = [&](bool force_fp16) {
    DataMap data; // goes when the program is loaded
    data.add("rows", some_numbers(20 * 16));
    data.add("w", some_numbers(4 * 16, 2));
    StatusOr<Blob> blob = open_blob(span(bytes));
    EXPECT_TRUE(blob.ok()) << blob.status().message();
    Executable::Settings settings;
    settings.force_fp16 = force_fp16;
    StatusOr<std::unique_ptr<Executable>> loaded = Executable::create(std::move(*blob), &data, settings);
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    return std::move(*loaded);
  };
  const auto call = [](Executable& executable, size_t count) {
    const std::vector<float> x = some_numbers(count * 16, 3);
    GraphCall arguments;
    arguments.sizes = {{{count, 16}, 0}};
    arguments.inputs.emplace_back(x.size() * sizeof(float));
    std::memcpy(arguments.inputs[0].data(), x.data(), arguments.inputs[0].size());
    const Results results = run(executable, arguments);
    EXPECT_TRUE(results.status.ok()) << results.status.message();
    std::vector<float> y(results.outputs[0].size() / sizeof(float));
    std::memcpy(y.data(), results.outputs[0].data(), results.outputs[0].size());
    return y;
  };
  const std::unique_ptr<Executable> exact = load(false), half = load(true);
  for (const size_t count : {size_t{4}, size_t{0}, size_t{8}}) {
    SCOPED_TRACE(count);
    const std::vector<float> expected = call(*exact, count), y = call(*half, count);
    ASSERT_EQ(y.size(), expected.size());
    for (size_t i = 0; i < y.size(); ++i) {
      EXPECT_NEAR(y[i], expected[i], 0.02f);
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
