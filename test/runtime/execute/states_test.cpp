// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/execute/states.h>

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <runtime/execute/executable.h>

#include "data_map.h"
#include "plan_of.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using schema::BinaryKind;
using schema::UnaryKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Loaded {
 public:
  explicit Loaded(const GraphDef& def, std::shared_ptr<States> states = nullptr, const DataMap* data = nullptr) {
    EXPECT_EQ(xnn_initialize(nullptr), xnn_status_success);
    const std::vector<uint8_t> bytes = def.build();
    StatusOr<Blob> blob = open_blob(span(bytes));
    EXPECT_TRUE(blob.ok()) << blob.status().message();
    Executable::Settings settings;
    settings.states = std::move(states);
    StatusOr<std::unique_ptr<Executable>> created = Executable::create(std::move(*blob), data, settings);
    status = created.status();
    if (created.ok()) {
      executable = std::move(*created);
    }
  }

  // One call with Float32 or Int64 inputs; the outputs.
  std::vector<std::vector<float>> operator()(const std::vector<std::vector<float>>& inputs) {
    const Blob& blob = executable->blob();
    std::vector<ArgumentSize> sizes;
    std::vector<std::vector<int64_t>> integers(inputs.size());
    std::vector<const void*> data;
    for (size_t i = 0; i < inputs.size(); ++i) {
      sizes.push_back({Shape{inputs[i].size()}, 0});
      const uint32_t id = blob.graph().inputs()->Get(static_cast<uint32_t>(i))->value();
      integers[i].assign(inputs[i].begin(), inputs[i].end());
      const bool is_float = to_dtype(blob.value(id).dtype()) == DType::Float32;
      data.push_back(is_float ? static_cast<const void*>(inputs[i].data()) : integers[i].data());
    }
    status = executable->reshape({sizes.data(), sizes.size()}, nullptr);
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<std::vector<float>> outputs;
    std::vector<void*> output_data;
    for (size_t i = 0; i < blob.num_outputs(); ++i) {
      outputs.emplace_back(executable->output_type(i).shape.numel());
    }
    for (auto& output : outputs) {
      output_data.push_back(output.data());
    }
    status = executable->run({data.data(), data.size()}, {output_data.data(), output_data.size()});
    return outputs;
  }

  std::unique_ptr<Executable> executable;
  Status status;
};

// cache[position] = x; out cache, then table[other].
GraphDef cache_graph() {
  GraphDef g;
  const uint32_t x = g.input({1});
  const uint32_t position = g.input({1}, DType::Int64);
  const uint32_t other = g.input({1}, DType::Int64);
  const uint32_t cache = g.state("cache", {3}, {1, 2, 3});
  const uint32_t table = g.constant({2}, {10, 20});
  g.states[0].update = g.node(index_put(0), {cache, x, position}, {3});
  g.output(g.node(unary(UnaryKind::Neg), {g.states[0].update}, {3}));
  g.output(g.node(index(0), {table, other}, {1}));
  return g;
}

TEST(StatesTest, KeepTheirContentFromCallToCall) {
  Loaded model(cache_graph());
  EXPECT_THAT(model({{7}, {1}, {0}}), ElementsAre(ElementsAre(-1, -7, -3), ElementsAre(10)));
  EXPECT_THAT(model({{8}, {2}, {1}}), ElementsAre(ElementsAre(-1, -7, -8), ElementsAre(20)));
  Loaded other(cache_graph());
  EXPECT_THAT(other({{9}, {0}, {1}})[0], ElementsAre(-9, -2, -3));
}

TEST(StatesTest, AreAsBeforeWhenACallFails) {
  Loaded model(cache_graph());
  model({{7}, {1}, {0}});
  model({{8}, {3}, {0}}); // the write itself fails
  EXPECT_EQ(model.status.code(), Error::InvalidArgument);
  model({{8}, {0}, {2}}); // a step after it
  EXPECT_EQ(model.status.code(), Error::InvalidArgument);
  EXPECT_THAT(model.status.message(), HasSubstr("Index"));
  EXPECT_THAT(model({{9}, {2}, {0}})[0], ElementsAre(-1, -7, -9));
}

// The new state is a view of an input, and an output lies where that is.
TEST(StatesTest, TakeAnInputThatAnOutputIsWrittenOver) {
  GraphDef g;
  const uint32_t x = g.input({2, 2});
  const uint32_t state = g.state("last", {4}, {0, 0, 0, 0});
  g.states[0].update = g.node(reshape({4}), {x}, {4});
  g.output(g.node(unary(UnaryKind::Neg), {x}, {2, 2}));
  g.output(g.node(unary(UnaryKind::Neg), {state}, {4}));
  const Loaded model(g);
  std::vector<float> memory{1, 2, 3, 4}, last(4);
  memory.resize(64);
  const ArgumentSize size{Shape{2, 2}, 0};
  ASSERT_TRUE(model.executable->reshape({&size, 1}, nullptr).ok());
  const void* const inputs[] = {memory.data()};
  void* const outputs[] = {memory.data(), last.data()};
  ASSERT_TRUE(model.executable->run({inputs, 1}, {outputs, 2}).ok());
  ASSERT_TRUE(model.executable->run({inputs, 1}, {outputs, 2}).ok());
  EXPECT_THAT(last, ElementsAre(-1, -2, -3, -4));
}

TEST(StatesTest, AreSharedInAGroup) {
  const auto states = std::make_shared<States>();
  Loaded first(cache_graph(), states);
  first({{7}, {1}, {0}});
  Loaded second(cache_graph(), states);
  EXPECT_THAT(second({{8}, {2}, {0}})[0], ElementsAre(-1, -7, -8));
  EXPECT_THAT(first({{9}, {0}, {0}})[0], ElementsAre(-9, -7, -8));
}

TEST(StatesTest, RefusesToShareDifferentStates) {
  const auto states = std::make_shared<States>();
  Loaded first(cache_graph(), states);
  GraphDef g = cache_graph();
  g.states[0].initial->data->back() ^= 1;
  Loaded other_content(g, states);
  EXPECT_EQ(other_content.status.code(), Error::InvalidArgument);
  EXPECT_THAT(other_content.status.message(), HasSubstr("state cache"));
  g = GraphDef();
  const uint32_t cache = g.state("cache", {1, 3}, {1, 2, 3});
  g.states[0].update = g.node(unary(UnaryKind::Neg), {cache}, {1, 3});
  EXPECT_EQ(Loaded(g, states).status.code(), Error::InvalidArgument);
}

TEST(StatesTest, ReadTheirInitialContentFromNamedData) {
  GraphDef g = cache_graph();
  g.states[0].initial = ConstantDef{"rows", std::nullopt};
  DataMap data;
  EXPECT_EQ(Loaded(g, nullptr, &data).status.code(), Error::InvalidProgram);
  data.add("rows", std::vector<float>{4, 5});
  EXPECT_EQ(Loaded(g, nullptr, &data).status.code(), Error::InvalidProgram);
  data.add("rows", std::vector<float>{4, 5, 6});
  Loaded model(g, nullptr, &data);
  EXPECT_EQ(data.in_use(), 0);
  EXPECT_THAT(model({{7}, {1}, {0}})[0], ElementsAre(-4, -7, -6));
}

TEST(StatesTest, MayBeginWithZeros) {
  GraphDef g = cache_graph();
  g.states[0].initial = ConstantDef{"rows", std::nullopt};
  DataMap data;
  for (const std::vector<float>& rows : {std::vector<float>{0, 0, 0}, {0, -0.0f, 0}, {0, 0, 1e-40f}}) {
    data.add("rows", rows);
    Loaded model(g, nullptr, &data);
    EXPECT_EQ(data.in_use(), 0);
    const std::vector<float> negative = model({{7}, {0}, {0}})[0];
    EXPECT_THAT(negative, ElementsAre(-7, -rows[1], -rows[2]));
    EXPECT_NE(std::signbit(negative[1]), std::signbit(rows[1]));
    EXPECT_THAT(model({{8}, {2}, {0}})[0], ElementsAre(-7, -rows[1], -8));
  }
}

// Writes in place only where nobody reads the old content later; the plan tells.
struct Roots {
  explicit Roots(const GraphDef& def) : plan(plan_of(def)) {}
  uint32_t operator[](uint32_t id) const {
    return plan.root[id];
  }
  Plan plan;
};

AttributesDef write(int64_t start) {
  return slice_scatter({start}, {1});
}

TEST(InPlaceTest, WritesToAStateAfterThoseThatReadIt) {
  GraphDef g;
  const uint32_t x = g.input({1});
  const uint32_t cache = g.state("cache", {3}, {1, 2, 3});
  const uint32_t written = g.states[0].update = g.node(write(1), {cache, x}, {3});
  g.output(g.node(unary(UnaryKind::Neg), {cache}, {3})); // behind it in the blob
  EXPECT_EQ(Roots(g)[written], cache);
  Loaded model(g);
  EXPECT_THAT(model({{7}})[0], ElementsAre(-1, -2, -3));
  EXPECT_THAT(model({{8}})[0], ElementsAre(-1, -7, -3));
}

TEST(InPlaceTest, CopiesWhereTheOldContentIsReadLater) {
  GraphDef g;
  const uint32_t x = g.input({1});
  const uint32_t cache = g.state("cache", {3}, {1, 2, 3});
  const uint32_t written = g.states[0].update = g.node(write(1), {cache, x}, {3});
  g.output(g.node(binary(BinaryKind::Sub), {written, cache}, {3}));
  EXPECT_EQ(Roots(g)[written], written);
  Loaded model(g);
  EXPECT_THAT(model({{7}})[0], ElementsAre(0, 5, 0));
  EXPECT_THAT(model({{8}})[0], ElementsAre(0, 1, 0));
}

TEST(InPlaceTest, CopiesInputsConstantsAndOutputs) {
  GraphDef g;
  const uint32_t x = g.input({1});
  const uint32_t y = g.input({3});
  const uint32_t c = g.constant({3}, {1, 2, 3});
  const uint32_t a = g.node(write(0), {y, x}, {3});
  const uint32_t b = g.node(write(1), {c, x}, {3});
  const uint32_t d = g.node(write(2), {a, x}, {3});
  const uint32_t view = g.node(reshape({3}), {b}, {3});
  const uint32_t e = g.node(write(2), {b, x}, {3});
  g.output(d);
  g.output(view);
  g.output(e);
  const Roots roots(g);
  EXPECT_EQ(roots[a], a);
  EXPECT_EQ(roots[b], b);
  EXPECT_EQ(roots[d], a);
  EXPECT_EQ(roots[e], e);
  Loaded model(g);
  EXPECT_THAT(model({{9}, {4, 5, 6}}), ElementsAre(ElementsAre(9, 5, 9), ElementsAre(1, 9, 3), ElementsAre(1, 9, 9)));
}

TEST(InPlaceTest, KeepsTheMemoryOfStatesApart) {
  GraphDef g;
  const uint32_t x = g.input({1});
  const uint32_t a = g.state("a", {3}, {1, 2, 3});
  const uint32_t b = g.state("b", {3}, {4, 5, 6});
  g.states[0].update = g.node(write(0), {b, x}, {3});
  g.states[1].update = g.node(reshape({3}), {a}, {3});
  g.output(g.node(unary(UnaryKind::Neg), {a}, {3}));
  Loaded model(g);
  EXPECT_THAT(model({{7}})[0], ElementsAre(-1, -2, -3));
  EXPECT_THAT(model({{8}})[0], ElementsAre(-7, -5, -6));
  EXPECT_THAT(model({{9}})[0], ElementsAre(-8, -2, -3));
}

using Numbers = std::vector<float>;

// What a graph of the operators below means, computed node by node.
struct Reference {
  const GraphDef& g;
  std::vector<Numbers> states;

  std::vector<Numbers> operator()(const std::vector<Numbers>& inputs, const std::vector<int64_t>& starts) {
    std::vector<Numbers> values(g.values.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      values[g.inputs[i].value] = inputs[i];
    }
    for (size_t i = 0; i < states.size(); ++i) {
      values[g.states[i].value] = states[i];
    }
    for (size_t i = 0; i < g.nodes.size(); ++i) {
      const NodeDef& node = g.nodes[i];
      Numbers y = values[node.inputs[0]];
      if (node.attributes.type == schema::Attributes::SliceScatter) {
        const Numbers& part = values[node.inputs[1]];
        std::copy(part.begin(), part.end(), y.begin() + starts[i]);
      } else if (node.attributes.type == schema::Attributes::Slice) {
        y = {y[static_cast<size_t>(starts[i])]};
      } else if (node.attributes.type == schema::Attributes::Binary) {
        for (size_t k = 0; k < y.size(); ++k) {
          y[k] -= values[node.inputs[1]][k];
        }
      }
      values[node.outputs[0]] = y;
    }
    std::vector<Numbers> results;
    for (const ArgumentDef& output : g.outputs) {
      results.push_back(values[output.value]);
    }
    for (size_t i = 0; i < states.size(); ++i) {
      states[i] = values[g.states[i].update];
    }
    return results;
  }
};

TEST(InPlaceTest, EqualsCopyingInRandomGraphs) {
  std::mt19937 random(5);
  const auto below = [&](size_t n) { return static_cast<uint32_t>(random() % n); };
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    GraphDef g;
    std::vector<int64_t> starts;
    std::vector<uint32_t> ones{g.input({1})}, fours{g.input({4})};
    const size_t states = 1 + below(3);
    std::vector<Numbers> initial;
    for (size_t i = 0; i < states; ++i) {
      initial.push_back(some_numbers(4, static_cast<uint32_t>(i)));
      fours.push_back(g.state("s" + std::to_string(i), {4}, initial.back()));
    }
    const auto four = [&] { return fours[random() % 3 == 0 ? fours.size() - 1 : below(fours.size())]; };
    for (size_t i = 2 + below(12); i > 0; --i) {
      starts.push_back(below(4));
      switch (below(5)) {
        case 0:
          ones.push_back(g.node(slice(0, starts.back(), 1), {four()}, {1}));
          break;
        case 1:
          fours.push_back(g.node(binary(BinaryKind::Sub), {four(), four()}, {4}));
          break;
        case 2:
          fours.push_back(g.node(reshape({4}), {four()}, {4}));
          break;
        default:
          fours.push_back(g.node(write(starts.back()), {four(), ones[below(ones.size())]}, {4}));
      }
    }
    // Updates and outputs: different values that nodes make.
    std::vector<uint32_t> made;
    for (const NodeDef& node : g.nodes) {
      if (g.values[node.outputs[0]].dims[0] == 4) {
        made.push_back(node.outputs[0]);
      }
    }
    while (made.size() < states + 1) {
      starts.push_back(0);
      made.push_back(g.node(reshape({4}), {four()}, {4}));
    }
    std::shuffle(made.begin(), made.end(), random);
    for (size_t i = 0; i < states; ++i) {
      g.states[i].update = made[i];
    }
    for (size_t i = states; i < made.size(); i += 1 + below(2)) {
      g.output(made[i]);
    }
    Loaded model(g);
    ASSERT_TRUE(model.status.ok()) << model.status.message();
    Reference reference{g, initial};
    for (uint32_t call = 0; call < 4; ++call) {
      const std::vector<Numbers> inputs{some_numbers(1, call), some_numbers(4, call + 10)};
      ASSERT_EQ(model(inputs), reference(inputs, starts)) << "call " << call;
    }
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
