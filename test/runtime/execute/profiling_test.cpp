// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// What an event tracer gets to see.

#include <cmath>

#include <gmock/gmock.h>

#include "delegate.h"
#include "sample_graphs.h"
#include "silent_tracer.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// Keeps what delegates log.
class Tracer final : public SilentTracer {
 public:
  struct Event {
    std::string name, metadata;
    et_timestamp_t start, end;
  };
  std::vector<Event> events;
  std::vector<std::pair<std::string, std::vector<float>>> results; // by name

  using SilentTracer::log_intermediate_output_delegate;
  void log_profiling_delegate(
      const char* name, Id id, et_timestamp_t start, et_timestamp_t end, const void* metadata, size_t size) override {
    EXPECT_EQ(id, executorch::runtime::kUnsetDelegateDebugIntId);
    events.push_back({name, std::string(static_cast<const char*>(metadata), size), start, end});
  }
  Result<bool> log_intermediate_output_delegate(const char* name, Id, const Tensor& tensor) override {
    const auto* const data = tensor.const_data_ptr<float>();
    results.emplace_back(name, std::vector<float>(data, data + tensor.numel()));
    return true;
  }
};

class ProfilingTest : public ::testing::Test {
 protected:
  ProfilingTest() {
    weights_.add("w", some_numbers(12));
  }
  ~ProfilingTest() override {
    if (handle_ != nullptr) {
      backend_.destroy(handle_);
    }
  }

  void load(const GraphDef& def, Tracer* tracer, const std::vector<BackendOption>& options = {}) {
    BlobBuffer processed(def.build());
    BackendInitContext context(nullptr, tracer, "forward", &weights_, {options.data(), options.size()});
    const auto handle = backend_.init(context, processed.buffer(), {});
    ASSERT_TRUE(handle.ok()) << backend_.last_error();
    handle_ = *handle;
  }
  // The names of the events that were logged since `start`, which follow one another.
  static std::vector<std::string> take_events(Tracer* tracer, et_timestamp_t start) {
    const et_timestamp_t end = et_pal_current_ticks();
    std::vector<std::string> names;
    et_timestamp_t last = start;
    for (const Tracer::Event& event : tracer == nullptr ? std::vector<Tracer::Event>() : tracer->events) {
      names.push_back(event.name + (event.metadata.empty() ? "" : " " + event.metadata));
      EXPECT_LE(last, event.start);
      EXPECT_LE(event.start, event.end);
      last = event.end;
    }
    EXPECT_LE(last, end);
    if (tracer != nullptr) {
      tracer->events.clear();
    }
    return names;
  }
  // The names of the events of a call.
  std::vector<std::string> call(Tracer* tracer, const std::vector<EValue*>& arguments) {
    BackendExecutionContext context(tracer);
    std::vector<EValue*> copy = arguments;
    const et_timestamp_t start = et_pal_current_ticks();
    EXPECT_EQ(backend_.execute(context, handle_, {copy.data(), copy.size()}), Error::Ok) << backend_.last_error();
    return take_events(tracer, start);
  }

  EtXnnpackBackend backend_;
  DataMap weights_;
  DelegateHandle* handle_ = nullptr;
};

TEST_F(ProfilingTest, EveryPhaseOfALoadIsAnEvent) {
  Tracer tracer;
  const et_timestamp_t start = et_pal_current_ticks();
  load(small_graph(), &tracer);
  EXPECT_THAT(take_events(&tracer, start), ElementsAre("open", "plan", "pack", "load constants"));
}

TEST_F(ProfilingTest, EveryNodeIsAnEventInEveryCall) {
  Tracer tracer;
  load(small_graph(), &tracer);
  tracer.events.clear();
  for (const int32_t batch : {2, 1, 4, 4}) {
    TensorArgument x({batch, 3}), y({4, 4});
    const std::vector<std::string> names = call(&tracer, {x.value(), y.value()});
    EXPECT_THAT(names, ElementsAre("reshape", "0 Unary", "1 Linear", "2 LayerNorm"));
  }
}

TEST_F(ProfilingTest, NodesThatShareAPassAreOneEvent) {
  GraphDef g;
  const uint32_t x = g.input({2, 3});
  const uint32_t sine = g.node(unary(schema::UnaryKind::Sin), {x}, {2, 3});
  const uint32_t cosine = g.node(unary(schema::UnaryKind::Cos), {x}, {2, 3});
  g.output(g.node(binary(schema::BinaryKind::Mul), {sine, cosine}, {2, 3}));
  Tracer tracer;
  load(g, &tracer);
  tracer.events.clear();
  TensorArgument in({2, 3}), out({2, 3});
  EXPECT_THAT(call(&tracer, {in.value(), out.value()}), ElementsAre("reshape", "0 Unary with 1 Unary, 2 Binary"));
}

// A convolution whose windows are too large for XNNPACK, so that its kernel leads the pass of the other two nodes.
struct LedGraph : GraphDef {
  const std::vector<int64_t> dims{1, 4, 4, 2};
  const uint32_t x = input(dims);
  const uint32_t w = constant({2, 7, 7, 1}, some_numbers(98));
  const uint32_t conv = node(conv2d({1, 1}, {3, 3, 3, 3}, {1, 1}, 2), {x, w}, dims);
  const uint32_t sine = node(unary(schema::UnaryKind::Sin), {x}, dims);
  const uint32_t product = node(binary(schema::BinaryKind::Mul), {conv, sine}, dims);
  LedGraph() {
    output(product);
    for (const uint32_t id : {conv, sine, product}) {
      values[id].result_order = {0, 1, 2, 3};
    }
  }
};

TEST_F(ProfilingTest, AKernelAndThePassThatItLeadsAreOneEvent) {
  const LedGraph g;
  Tracer tracer;
  load(g, &tracer);
  tracer.events.clear();
  TensorArgument in({1, 4, 4, 2}), out({1, 4, 4, 2});
  EXPECT_THAT(call(&tracer, {in.value(), out.value()}), ElementsAre("reshape", "0 Conv2d with 1 Unary, 2 Binary"));
}

// What a kernel gives to its pass is never in memory as a whole.
TEST_F(ProfilingTest, ResultsInsideOfAPassAreShownWithoutPasses) {
  const LedGraph g;
  const auto results_with = [&](const std::vector<BackendOption>& options) {
    Tracer tracer;
    tracer.set_event_tracer_debug_level(executorch::runtime::EventTracerDebugLogLevel::kIntermediateOutputs);
    load(g, &tracer, options);
    tracer.events.clear();
    TensorArgument in({1, 4, 4, 2}, some_numbers(32)), out({1, 4, 4, 2});
    EXPECT_THAT(call(&tracer, {in.value(), out.value()}), ElementsAre("reshape"));
    backend_.destroy(handle_);
    handle_ = nullptr;
    return tracer.results;
  };
  const auto name_of = [](uint32_t value) { return "%" + std::to_string(value); };
  const auto together = results_with({}), alone = results_with({option("fuse_elementwise", false)});
  ASSERT_THAT(together, ElementsAre(Pair(name_of(g.product), _)));
  ASSERT_THAT(alone, ElementsAre(Pair(name_of(g.conv), _), Pair(name_of(g.sine), _), Pair(name_of(g.product), _)));
  EXPECT_EQ(together[0].second, alone[2].second);
  for (size_t i = 0; i < 32; ++i) {
    EXPECT_NEAR(alone[1].second[i], std::sin(some_numbers(32)[i]), 1e-6);
    EXPECT_NEAR(alone[0].second[i] * alone[1].second[i], alone[2].second[i], 1e-6);
  }
}

TEST_F(ProfilingTest, NothingIsLoggedUnlessThereIsATracerAndTheOption) {
  Tracer tracer;
  TensorArgument x({2, 3}), y({4, 4});
  load(small_graph(), nullptr);
  EXPECT_THAT(call(&tracer, {x.value(), y.value()}), IsEmpty());
  backend_.destroy(handle_);
  load(small_graph(), &tracer, {option("profiling", false)});
  EXPECT_THAT(call(&tracer, {x.value(), y.value()}), IsEmpty());
  backend_.destroy(handle_);
  load(small_graph(), &tracer);
  tracer.events.clear();
  EXPECT_THAT(call(nullptr, {x.value(), y.value()}), IsEmpty());
  EXPECT_THAT(tracer.events, IsEmpty());
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
