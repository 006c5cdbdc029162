// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/backend.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include <unistd.h>

#include <gmock/gmock.h>
#include <hwy/base.h>
#include <runtime/xnnpack/parts.h>

#include "delegate.h"
#include "sample_graphs.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using executorch::runtime::CompileSpec;
using schema::BinaryKind;
using schema::DimOp;
using schema::UnaryKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class BackendTest : public ::testing::Test {
 protected:
  BackendTest() {
    weights_.add("w", some_numbers(12));
  }

  Method load(const GraphDef& def, const std::vector<BackendOption>& options = {}) {
    Method method(backend_, def.build(), &weights_, options);
    EXPECT_EQ(method.error, Error::Ok) << backend_.last_error();
    return method;
  }

  EtXnnpackBackend backend_;
  DataMap weights_;
};

// y = -x, z = y + c for x [batch, 3], batch up to 4; an integer that nothing depends on.
GraphDef two_outputs() {
  GraphDef g;
  const int64_t batch = g.ranged(DimOp::InputDim, 0, 0, 0, 4, 2);
  const uint32_t x = g.input({batch, 3});
  g.inputs.push_back({kNone, {}});
  const uint32_t c = g.constant({3}, {10, 20, 30});
  const uint32_t y = g.node(unary(UnaryKind::Neg), {x}, {batch, 3});
  const uint32_t z = g.node(binary(BinaryKind::Add), {y, c}, {batch, 3});
  g.output(y);
  g.output(z);
  return g;
}

struct TwoOutputsCall {
  explicit TwoOutputsCall(int32_t batch) : x({batch, 3}), y({4, 3}), z({4, 3}) {
    for (int32_t i = 0; i < 3 * batch; ++i) {
      x.data<float>()[i] = static_cast<float>(i);
    }
  }
  std::vector<EValue*> arguments() {
    return {x.value(), &integer, y.value(), z.value()};
  }
  void check() {
    ASSERT_EQ(y.sizes(), x.sizes());
    ASSERT_EQ(z.sizes(), x.sizes());
    for (size_t i = 0; i < x.numbers().size(); ++i) {
      EXPECT_EQ(y.numbers()[i], -static_cast<float>(i));
      EXPECT_EQ(z.numbers()[i], -static_cast<float>(i) + static_cast<float>(10 + 10 * (i % 3)));
    }
    EXPECT_TRUE(x.intact() && y.intact() && z.intact());
  }

  TensorArgument x, y, z;
  EValue integer = EValue(int64_t{1});
};

TEST_F(BackendTest, IsRegistered) { // Robustness: R9
  EXPECT_EQ(et_xnnpack_register(), 0u);
  EXPECT_EQ(et_xnnpack_register(), 0u);
  auto* found = executorch::runtime::get_backend_class(kBackendName);
  ASSERT_NE(found, nullptr);
  EXPECT_TRUE(found->is_available());
  EXPECT_EQ(executorch::runtime::register_backend({kBackendName, &backend_}), Error::InvalidArgument);
  EXPECT_EQ(executorch::runtime::get_backend_class(kBackendName), found);
}

TEST_F(BackendTest, Computes) {
  Method method = load(two_outputs());
  for (const int32_t batch : {2, 4, 1, 0, 3, 3}) {
    TwoOutputsCall call(batch);
    ASSERT_EQ(method.execute(call.arguments()), Error::Ok) << backend_.last_error();
    call.check();
  }
}

// The fixture of each call to Method checks that the blob was freed once and no weight is in use.
TEST_F(BackendTest, GivesBackTheBlobAndTheWeightsHoweverLoadingEnds) { // Robustness: C6 C7 C8 O1 O6 R3
  const std::vector<uint8_t> good = small_graph().build();
  EXPECT_EQ(Method(backend_, good, &weights_).error, Error::Ok);

  std::vector<uint8_t> bad = good;
  bad[4] = 'X';
  EXPECT_EQ(Method(backend_, bad, &weights_).error, Error::InvalidProgram);
  GraphDef newer = small_graph();
  newer.required_features |= uint64_t{1} << 63;
  EXPECT_EQ(Method(backend_, newer.build(), &weights_).error, Error::DelegateInvalidCompatibility);
  newer = small_graph();
  newer.identifier = "ETX2";
  EXPECT_EQ(Method(backend_, newer.build(), &weights_).error, Error::DelegateInvalidCompatibility);
  EXPECT_EQ(Method(backend_, {}, &weights_).error, Error::InvalidProgram);

  EXPECT_EQ(Method(backend_, good).error, Error::InvalidProgram);
  EXPECT_THAT(backend_.last_error(), HasSubstr("named data"));
  DataMap other;
  EXPECT_EQ(Method(backend_, good, &other).error, Error::InvalidProgram);
  other.add("w", some_numbers(11));
  EXPECT_EQ(Method(backend_, good, &other).error, Error::InvalidProgram);

  EXPECT_EQ(Method(backend_, good, &weights_, {option("threads", 1)}).error, Error::InvalidArgument);
  const CompileSpec spec{"quick", {nullptr, 0}};
  EXPECT_EQ(Method(backend_, good, &weights_, {}, {&spec, 1}).error, Error::InvalidArgument);
  EXPECT_THAT(backend_.last_error(), HasSubstr("'quick'"));
  const CompileSpec nameless{nullptr, {nullptr, 0}};
  EXPECT_EQ(Method(backend_, good, &weights_, {}, {&nameless, 1}).error, Error::InvalidArgument);
  const CompileSpec without_value{"winograd_tile", {nullptr, 4}};
  EXPECT_EQ(Method(backend_, good, &weights_, {}, {&without_value, 1}).error, Error::InvalidArgument);
}

TEST_F(BackendTest, RefusesABlobThatIsNotInMemory) {
  BackendInitContext context(nullptr);
  FreeableBuffer absent;
  EXPECT_EQ(backend_.init(context, &absent, {}).error(), Error::InvalidProgram);
  int freed = 0;
  FreeableBuffer elsewhere(
      uint64_t{1} << 40, 64, [](void* count, uint64_t, size_t) { ++*static_cast<int*>(count); }, &freed);
  EXPECT_EQ(backend_.init(context, &elsewhere, {}).error(), Error::NotSupported);
  EXPECT_EQ(freed, 1);
}

// A method that a file gave damaged weights computes nothing with them.
TEST_F(BackendTest, PacksAnewWhatAFileGivesDamaged) {
  const std::string path = ::testing::TempDir() + "packed-" + std::to_string(getpid());
  std::array<char, executorch::runtime::kMaxOptionValueLength> text{};
  path.copy(text.data(), text.size() - 1);
  const auto content = [&] {
    std::ifstream stream(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  GraphDef g;
  g.output(g.node(linear(), {g.input({2, 3}), g.named({4, 3}, "w")}, {2, 4}));
  const std::vector<float> numbers = some_numbers(6);
  const auto compute = [&](Method& method) {
    TensorArgument x({2, 3}, numbers), y({2, 4});
    EXPECT_EQ(method.execute({x.value(), y.value()}), Error::Ok) << backend_.last_error();
    return y.numbers();
  };
  for (const bool shared : {false, true}) {
    const std::vector<BackendOption> options = {option("packed_cache_path", text), option("weight_cache", shared)};
    std::vector<float> expected;
    {
      Method method = load(g, options);
      expected = compute(method);
    }
    const std::string whole = content();
    std::string damaged = whole;
    damaged[64] = static_cast<char>(damaged[64] ^ 1);
    std::ofstream(path, std::ios::binary) << damaged;
    weights_.forget();
    Method first = load(g, options);
    Method second = load(g, options);
    EXPECT_EQ(weights_.asked().size(), 0u);
    for (int round = 0; round < 2; ++round) {
      EXPECT_EQ(compute(first), expected);
      EXPECT_EQ(content(), whole);
      EXPECT_EQ(compute(second), expected);
    }
    EXPECT_EQ(weights_.asked().size(), shared ? 1u : 2u);
    EXPECT_EQ(weights_.in_use(), 0);
    unlink(path.c_str());
  }
}

// Runs what should fail between calls that should not.
class BackendArgumentsTest : public BackendTest {
 protected:
  BackendArgumentsTest() : method_(load(two_outputs())) {}

  void expect_failure(
      const std::vector<EValue*>& arguments, const std::string& reason, Error error = Error::InvalidArgument) {
    SCOPED_TRACE(reason);
    TwoOutputsCall before(2);
    ASSERT_EQ(method_.execute(before.arguments()), Error::Ok) << backend_.last_error();
    before.check();
    EXPECT_EQ(method_.execute(arguments), error);
    EXPECT_THAT(backend_.last_error(), HasSubstr(reason));
    for (const int32_t batch : {2, 3}) {
      TwoOutputsCall after(batch);
      ASSERT_EQ(method_.execute(after.arguments()), Error::Ok) << backend_.last_error();
      after.check();
    }
  }
  // With argument `i` replaced.
  void expect_failure(size_t i, EValue* argument, const std::string& reason) {
    TwoOutputsCall call(2);
    std::vector<EValue*> arguments = call.arguments();
    arguments[i] = argument;
    expect_failure(arguments, reason);
  }

  Method method_;
};

TEST_F(BackendArgumentsTest, RefusesAnotherNumber) { // Robustness: G7 R1
  TwoOutputsCall call(2);
  std::vector<EValue*> arguments = call.arguments();
  expect_failure({}, "called with 0 arguments");
  expect_failure({arguments[0], arguments[1], arguments[2]}, "called with 3 arguments");
  arguments.push_back(arguments[3]);
  expect_failure(arguments, "called with 5 arguments, but the delegate has 2 inputs and 2 outputs");
}

TEST_F(BackendArgumentsTest, RefusesWhatIsNotThere) { // Robustness: R1
  for (const auto& [i, reason] :
       {std::pair{0, "input 0 of the delegate: it is not a tensor"},
        {1, "input 1 of the delegate is not an integer"},
        {2, "output 0 of the delegate is absent"},
        {3, "output 1 of the delegate is absent"}}) {
    expect_failure(static_cast<size_t>(i), nullptr, reason);
  }
}

TEST_F(BackendArgumentsTest, RefusesAnotherKind) { // Robustness: R1
  TensorArgument tensor({2, 3});
  int64_t numbers[] = {1, 2};
  EValue* unboxed[] = {nullptr, nullptr};
  executorch::runtime::BoxedEvalueList<int64_t> list(unboxed, numbers, 2);
  executorch::aten::ArrayRef<char> text("text", 4);
  EValue kinds[] = {
      EValue(), EValue(int64_t{1}), EValue(1.0), EValue(true), EValue(&list), EValue(&text), EValue(*tensor.value())};
  for (EValue& kind : kinds) {
    if (!kind.isTensor()) {
      expect_failure(0, &kind, "input 0 of the delegate: it is not a tensor");
      expect_failure(3, &kind, "output 1 of the delegate: it is not a tensor");
    }
    if (!kind.isInt()) {
      expect_failure(1, &kind, "input 1 of the delegate is not an integer");
    }
  }
}

TEST_F(BackendArgumentsTest, RefusesAnotherType) { // Robustness: R1
  for (const ScalarType type :
       {ScalarType::Int, ScalarType::Long, ScalarType::Double, ScalarType::Bool, ScalarType::Half}) {
    TensorArgument tensor({2, 3}, type);
    expect_failure(
        0, tensor.value(), std::string("input 0 of the delegate: it holds ") + executorch::runtime::toString(type));
    expect_failure(
        2, tensor.value(), std::string("output 0 of the delegate: it holds ") + executorch::runtime::toString(type));
  }
}

TEST_F(BackendArgumentsTest, RefusesAnotherRank) { // Robustness: R2
  TensorArgument lower({6}), higher({1, 2, 3}), scalar({});
  for (TensorArgument* tensor : {&lower, &higher, &scalar}) {
    expect_failure(0, tensor->value(), "input 0 of the delegate: it has");
    expect_failure(3, tensor->value(), "output 1 of the delegate: it has");
  }
}

TEST_F(BackendArgumentsTest, RefusesOtherSizes) { // Robustness: R2
  TensorArgument larger({5, 3});
  expect_failure(0, larger.value(), "4");
  for (const int32_t columns : {2, 4, 1, 0}) {
    TensorArgument other({2, columns});
    expect_failure(0, other.value(), "input 0 of the delegate has sizes [2, " + std::to_string(columns) + "]");
  }
}

TEST_F(BackendArgumentsTest, RefusesTensorsWithoutData) {
  std::vector<int32_t> sizes{2, 3}, strides{3, 1};
  std::vector<uint8_t> order{0, 1};
  executorch::aten::TensorImpl impl(
      ScalarType::Float, 2, sizes.data(), nullptr, order.data(), strides.data(), TensorShapeDynamism::DYNAMIC_BOUND);
  EValue value{executorch::aten::Tensor(&impl)};
  expect_failure(0, &value, "input 0 of the delegate: it has no data");
  expect_failure(2, &value, "output 0 of the delegate: it has no data");
}

TEST_F(BackendArgumentsTest, RefusesAnotherOrderOfAxes) { // Robustness: R2
  TensorArgument transposed({2, 3}, ScalarType::Float, {1, 0});
  expect_failure(0, transposed.value(), "input 0 of the delegate: its axes lie in memory in another order");
  expect_failure(3, transposed.value(), "output 1 of the delegate: its axes lie in memory in another order");
}

// Strides alone tell it, too, and what a tensor does not say is taken for contiguous.
TEST_F(BackendArgumentsTest, ReadsStrides) { // Robustness: R2
  std::vector<int32_t> sizes{2, 3};
  std::vector<uint8_t> order{0, 1};
  std::vector<float> data(6, 1.0f);
  const auto call = [&](uint8_t* order_of_axes, std::vector<int32_t> strides) {
    TwoOutputsCall others(2);
    executorch::aten::TensorImpl impl(
        ScalarType::Float, 2, sizes.data(), data.data(), order_of_axes, strides.empty() ? nullptr : strides.data());
    EValue value{executorch::aten::Tensor(&impl)};
    return method_.execute({&value, &others.integer, others.y.value(), others.z.value()});
  };
  const auto expect_refusal = [&](uint8_t* order_of_axes, const std::vector<int32_t>& strides) {
    EXPECT_EQ(call(order_of_axes, strides), Error::InvalidArgument);
    EXPECT_THAT(backend_.last_error(), HasSubstr("input 0 of the delegate: its axes lie in memory in another order"));
  };
  EXPECT_EQ(call(order.data(), {3, 1}), Error::Ok) << backend_.last_error();
  for (const std::vector<int32_t>& strides : {std::vector<int32_t>{1, 2}, {6, 1}, {3, 0}}) {
    expect_refusal(order.data(), strides);
  }
#ifdef NDEBUG // else ExecuTorch's own assertions end the process
  EXPECT_EQ(call(nullptr, {3, 1}), Error::Ok) << backend_.last_error();
  EXPECT_EQ(call(order.data(), {}), Error::Ok) << backend_.last_error();
  EXPECT_EQ(call(nullptr, {}), Error::Ok) << backend_.last_error();
  expect_refusal(nullptr, {1, 2});
#endif
  for (const std::vector<uint8_t>& wrong : {std::vector<uint8_t>{0, 0}, {1, 1}, {0, 9}, {255, 255}}) {
    order = wrong;
    expect_refusal(order.data(), {3, 1});
  }
}

// Nothing is computed when one output does not fit.
TEST_F(BackendArgumentsTest, RefusesOutputsThatAreTooSmallBeforeItComputes) { // Robustness: R2
  for (const TensorShapeDynamism dynamism : {TensorShapeDynamism::STATIC, TensorShapeDynamism::DYNAMIC_BOUND}) {
    TwoOutputsCall call(2);
    TensorArgument small({1, 3}, ScalarType::Float, {}, dynamism);
    std::fill_n(call.y.data<float>(), 12, 99.0f);
    expect_failure(
        {call.x.value(), &call.integer, call.y.value(), small.value()},
        "output 1 of the delegate: its memory is planned for");
    EXPECT_THAT(call.y.numbers(), ::testing::Each(99));
    EXPECT_TRUE(small.intact());
  }
  // One that can only have its own size is good for that size.
  TwoOutputsCall call(2);
  TensorArgument exact({2, 3}, ScalarType::Float, {}, TensorShapeDynamism::STATIC);
  EXPECT_EQ(method_.execute({call.x.value(), &call.integer, call.y.value(), exact.value()}), Error::Ok);
  EXPECT_EQ(exact.numbers()[5], 25);
}

TEST_F(BackendTest, TakesTensorsInTheirOrderOfAxes) {
  GraphDef g;
  const uint32_t x = g.input({1, 2, 3, 2}); // NHWC
  g.inputs[0].dim_order = {0, 2, 3, 1};
  g.output(g.node(unary(UnaryKind::Neg), {x}, {1, 2, 3, 2}));
  g.outputs[0].dim_order = {0, 2, 3, 1};
  Method method = load(g);
  TensorArgument in({1, 2, 2, 3}, ScalarType::Float, {0, 2, 3, 1});
  TensorArgument out({1, 2, 2, 3}, ScalarType::Float, {0, 2, 3, 1});
  std::fill_n(in.data<float>(), 12, 1.0f);
  EXPECT_EQ(method.execute({in.value(), out.value()}), Error::Ok) << backend_.last_error();
  EXPECT_THAT(out.numbers(), ::testing::Each(-1));
  TensorArgument contiguous({1, 2, 2, 3});
  EXPECT_EQ(method.execute({contiguous.value(), out.value()}), Error::InvalidArgument);
  EXPECT_EQ(method.execute({in.value(), contiguous.value()}), Error::InvalidArgument);
}

// An image for a program that was exported contiguous. Where a size is 1, both orders are the same memory.
TEST_F(BackendTest, RefusesAnImageInTheOtherOrderOfAxes) { // Robustness: R2
  GraphDef g;
  const int64_t channels = g.ranged(schema::DimOp::InputDim, 0, 1, 1, 4, 4);
  const int64_t width = g.ranged(schema::DimOp::InputDim, 0, 3, 1, 4, 3);
  g.output(g.node(unary(UnaryKind::Neg), {g.input({2, channels, 2, width})}, {2, channels, 2, width}));
  Method method = load(g);
  const auto call = [&](TensorArgument& in, TensorArgument& out) { return method.execute({in.value(), out.value()}); };
  const std::vector<float> numbers = some_numbers(48);
  TensorArgument result({2, 4, 2, 3}), contiguous({2, 4, 2, 3}, numbers);
  EXPECT_EQ(call(contiguous, result), Error::Ok) << backend_.last_error();
  const std::vector<float> expected = result.numbers();
  for (const std::vector<uint8_t>& order : {std::vector<uint8_t>{0, 2, 3, 1}, {1, 0, 2, 3}, {0, 1, 3, 2}}) {
    TensorArgument other({2, 4, 2, 3}, ScalarType::Float, order);
    EXPECT_EQ(call(other, result), Error::InvalidArgument);
    EXPECT_THAT(backend_.last_error(), HasSubstr("input 0 of the delegate: its axes lie in memory in another order"));
    EXPECT_EQ(call(contiguous, other), Error::InvalidArgument);
    EXPECT_THAT(backend_.last_error(), HasSubstr("output 0 of the delegate: its axes lie in memory in another order"));
    EXPECT_EQ(call(contiguous, result), Error::Ok);
    EXPECT_EQ(result.numbers(), expected);
  }
  std::vector<int32_t> sizes{2, 4, 2, 3}, strides{24, 1, 12, 4}; // of channels_last, under the order of contiguous
  std::vector<uint8_t> order{0, 1, 2, 3};
  executorch::aten::TensorImpl impl(
      ScalarType::Float, 4, sizes.data(), contiguous.data<float>(), order.data(), strides.data());
  EValue value{executorch::aten::Tensor(&impl)};
  EXPECT_EQ(method.execute({&value, result.value()}), Error::InvalidArgument);
  for (const auto& [c, w] : {std::pair{1, 3}, {1, 1}}) {
    TensorArgument one({2, c, 2, w}, ScalarType::Float, {0, 2, 3, 1}), negative({2, c, 2, w});
    std::copy_n(numbers.begin(), one.bytes() / sizeof(float), one.data<float>());
    EXPECT_EQ(call(one, negative), Error::Ok) << backend_.last_error();
    for (size_t i = 0; i < one.numbers().size(); ++i) {
      EXPECT_EQ(negative.numbers()[i], -numbers[i]);
    }
  }
}

// ExecuTorch's memory planner gives an input that is dead the memory of an output.
TEST_F(BackendTest, TakesOutputsThatOverlapInputs) {
  Method method = load(two_outputs());
  TwoOutputsCall call(3);
  TensorArgument z({3, 3});
  ASSERT_EQ(method.execute({call.x.value(), &call.integer, z.value(), call.x.value()}), Error::Ok);
  EXPECT_THAT(z.numbers(), ElementsAre(0, -1, -2, -3, -4, -5, -6, -7, -8));
  EXPECT_THAT(call.x.numbers(), ElementsAre(10, 19, 28, 7, 16, 25, 4, 13, 22));
}

TEST_F(BackendTest, TellsWhatWentWrong) {
  Method(backend_, {1, 2, 3}, nullptr);
  EXPECT_FALSE(backend_.last_error().empty());
  const std::vector<uint8_t> bytes = small_graph().build();
  EXPECT_EQ(backend_.verify(span(bytes)), Error::Ok);
  std::string text;
  EXPECT_EQ(backend_.inspect(span(bytes), {}, &text), Error::Ok);
  EXPECT_THAT(text, HasSubstr("Linear"));
  EXPECT_THAT(text, Not(HasSubstr("to Float16")));
  const BackendOption wish = option("force_fp16", true);
  EXPECT_EQ(backend_.inspect(span(bytes), {&wish, 1}, &text), Error::Ok);
  const bool is_half = Cpu::get().float16 && xnnpack_keeps_nan(Limited::Linear, /*float16=*/true, 4);
  EXPECT_EQ(text.find("to Float16") != std::string::npos, is_half) << text;
  const BackendOption wrong = option("force_fp16", 1);
  EXPECT_EQ(backend_.inspect(span(bytes), {&wrong, 1}, &text), Error::InvalidArgument);
  std::vector<uint8_t> damaged(bytes.begin(), bytes.begin() + 40);
  EXPECT_EQ(backend_.verify(span(damaged)), Error::InvalidProgram);
  EXPECT_EQ(backend_.inspect(span(damaged), {}, &text), Error::InvalidProgram);
}

// The variable is read once, so this needs a process of its own.
TEST_F(BackendTest, RefusesAnInstructionSetThatIsNotThere) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto load_with = [this](const char* isa, Error error) {
    setenv("ET_XNNPACK_ISA", isa, 1);
    const Method method(backend_, small_graph().build(), &weights_);
    const bool told = error == Error::Ok || backend_.last_error().find("ET_XNNPACK_ISA") != std::string::npos;
    std::exit(method.error == error && told ? 0 : 1);
  };
  EXPECT_EXIT(load_with("mmx", Error::InvalidArgument), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(load_with(HWY_ARCH_ARM ? "avx2" : "neon", Error::NotSupported), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(load_with("", Error::Ok), ::testing::ExitedWithCode(0), "");
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
