// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Programs with operands in Float16, such as model.half(), whose products XNNPACK computes in Float16.

#include <cstring>
#include <random>

#include <runtime/kernels/simd/reduced_float.h>

#include "executable_call.h"
#include "graph_def.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BinaryKind;
using schema::DimOp;
using schema::UnaryKind;

constexpr int64_t kWidth = 11;

// Operators on [rows, kWidth] that make a difference of operands no larger.
struct HalfGraph : GraphDef {
  explicit HalfGraph(std::mt19937& source) : random(source), rows(ranged(DimOp::InputDim, 0, 0, 1, 9, 9)) {
    for (size_t i = 0; i < 2; ++i) {
      halves.push_back(input({rows, kWidth}, DType::Float16));
    }
  }

  uint32_t pick(const std::vector<uint32_t>& from) {
    return from[random() % from.size()];
  }
  uint32_t widen(uint32_t x) {
    return node(cast(DType::Float32), {x}, {rows, kWidth});
  }
  uint32_t narrow(uint32_t x) {
    return node(cast(DType::Float16), {x}, {rows, kWidth}, DType::Float16);
  }
  uint32_t product(uint32_t x) {
    std::vector<float> weight(kWidth * kWidth);
    for (float& w : weight) {
      w = (static_cast<float>(random() % 201) - 100) / (100 * static_cast<float>(kWidth));
    }
    return node(linear(), {x, constant({kWidth, kWidth}, weight)}, {rows, kWidth});
  }

  // A value of Float32, mostly one that was Float16.
  uint32_t wide() {
    return !floats.empty() && random() % 4 == 0 ? pick(floats) : widen(pick(halves));
  }
  void add() {
    const uint32_t x = wide();
    uint32_t y = 0;
    switch (random() % 6) {
      case 0:
        y = node(unary(UnaryKind::Tanh), {x}, {rows, kWidth});
        break;
      case 1:
        y = node(unary(UnaryKind::Neg), {x}, {rows, kWidth});
        break;
      case 2:
        y = node(binary(BinaryKind::Maximum), {x, wide()}, {rows, kWidth});
        break;
      case 3:
        y = node(softmax(1), {x}, {rows, kWidth});
        break;
      default:
        y = product(x);
    }
    if (random() % 5 == 0) {
      floats.push_back(y);
    }
    if (random() % 5 > 0) {
      halves.push_back(narrow(y));
      if (random() % 4 == 0) { // which later nodes may read
        output(halves.back());
      }
    }
    if (random() % 8 == 0) {
      output(y);
    }
  }

  std::mt19937& random;
  int64_t rows;
  std::vector<uint32_t> halves, floats;
};

std::unique_ptr<Executable> load(const GraphDef& g, bool force_fp16) {
  const std::vector<uint8_t> bytes = g.build();
  Executable::Settings settings;
  settings.force_fp16 = force_fp16;
  return load_executable(bytes, settings);
}

std::vector<float> floats_of(const std::vector<uint8_t>& bytes, DType type) {
  std::vector<float> result(bytes.size() / element_size(type));
  if (type == DType::Float16) {
    widen(type, bytes.data(), result.data(), result.size());
  } else {
    std::memcpy(result.data(), bytes.data(), bytes.size());
  }
  return result;
}

// Numbers between -1 and 1.
void fill(GraphCall& call, std::mt19937& random) {
  for (std::vector<uint8_t>& bytes : call.inputs) {
    std::vector<float> x(bytes.size() / sizeof(uint16_t));
    for (float& value : x) {
      value = (static_cast<float>(random() % 2001) - 1000) / 1000;
    }
    narrow(DType::Float16, x.data(), bytes.data(), x.size());
  }
}

TEST(Float16StepsTest, ComputeRandomPrograms) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  const pthreadpool_t pool = pthreadpool_create(3);
  std::mt19937 random(5);
  size_t in_float16 = 0;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    HalfGraph g(random);
    const size_t count = 2 + random() % 12;
    for (size_t i = 0; i < count; ++i) {
      g.add();
    }
    g.output(g.narrow(g.product(g.widen(g.halves.back()))));
    const std::unique_ptr<Executable> plain = load(g, false), forced = load(g, true);
    in_float16 += forced->why_not_float16().empty() ? 1 : 0;
    for (const bool at_end : {true, false}) {
      GraphCall call = make_call(plain->blob(), at_end ? nullptr : &random);
      fill(call, random);
      const Results expected = run(*plain, call), actual = run(*forced, call, at_end ? nullptr : pool, at_end);
      ASSERT_TRUE(expected.status.ok()) << expected.status.message();
      ASSERT_TRUE(actual.status.ok()) << actual.status.message();
      for (size_t o = 0; o < expected.outputs.size(); ++o) {
        const DType type = plain->output_type(o).dtype;
        const std::vector<float> x = floats_of(actual.outputs[o], type), y = floats_of(expected.outputs[o], type);
        ASSERT_EQ(x.size(), y.size());
        for (size_t i = 0; i < x.size(); ++i) {
          ASSERT_NEAR(x[i], y[i], 0.01) << "output " << o << ", number " << i;
        }
      }
    }
  }
  EXPECT_EQ(in_float16 > 40, Cpu::get().float16) << in_float16;
  pthreadpool_destroy(pool);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
