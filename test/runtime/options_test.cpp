// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/options.h>

#include <limits>

#include <gmock/gmock.h>

#include "delegate.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using ::testing::HasSubstr;

// What set_options answers; `options` as it leaves them.
Status set(std::vector<BackendOption> given, Options* options) {
  return set_options({given.data(), given.size()}, options);
}

void expect_refusal(const std::vector<BackendOption>& given, const std::string& reason) {
  Options options;
  options.num_threads = 1;
  const Status status = set(given, &options);
  EXPECT_EQ(status.code(), Error::InvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr(reason));
  EXPECT_EQ(options.num_threads, 1);
  EXPECT_EQ(options.state_group, 0);
}

std::array<char, executorch::runtime::kMaxOptionValueLength> endless(char fill) {
  std::array<char, executorch::runtime::kMaxOptionValueLength> text;
  text.fill(fill);
  return text;
}

TEST(OptionsTest, AreSetAndRead) {
  Options options;
  ASSERT_TRUE(set({option("num_threads", 1), option("state_group", 7)}, &options).ok());
  BackendOption asked[] = {option("state_group", false), option("num_threads", 0)};
  ASSERT_TRUE(get_options(options, {asked, 2}).ok());
  EXPECT_EQ(std::get<int>(asked[0].value), 7);
  EXPECT_EQ(std::get<int>(asked[1].value), 1);
  EXPECT_TRUE(set({}, &options).ok());
  EXPECT_EQ(options.state_group, 7);
}

TEST(OptionsTest, RefusesUnknownNames) {
  expect_refusal({option("num_thread", 1)}, "there is no option 'num_thread'; did you mean 'num_threads'?");
  expect_refusal({option("", 1)}, "there is no option ''");
  expect_refusal({option("state_group", 3), option("NUM_THREADS", 1)}, "NUM_THREADS");
  BackendOption asked[] = {option("num_threads", 5), option("numthreads", 5)};
  EXPECT_EQ(get_options({}, {asked, 2}).code(), Error::InvalidArgument);
  EXPECT_EQ(std::get<int>(asked[0].value), 5) << "unchanged";
}

TEST(OptionsTest, RefusesNamesWithoutAnEnd) {
  BackendOption one;
  std::memset(one.key, 'k', sizeof(one.key));
  one.value = 1;
  expect_refusal({one}, "there is no option 'kkkk");
  std::memcpy(one.key, "num_threads", sizeof("num_threads") - 1);
  expect_refusal({one}, "there is no option 'num_threadskkk");
}

TEST(OptionsTest, RefusesOtherTypes) {
  expect_refusal({option("num_threads", true)}, "option 'num_threads' takes an integer");
  expect_refusal({option("num_threads", endless('1'))}, "option 'num_threads' takes an integer");
  expect_refusal({option("num_threads", endless('\0'))}, "option 'num_threads' takes an integer");
}

TEST(OptionsTest, RefusesWhatIsOutOfRange) {
  constexpr int kLeast = std::numeric_limits<int>::min();
  constexpr int kMost = std::numeric_limits<int>::max();
  for (const int value : {-1, kLeast, kMost}) {
    expect_refusal({option("state_group", 5), option("num_threads", value)}, "option 'num_threads' takes");
  }
  expect_refusal({option("state_group", -1)}, "option 'state_group' takes 0 to");
  Options options;
  EXPECT_TRUE(set({option("state_group", kMost)}, &options).ok());
}

TEST(OptionsTest, RefusesDuplicates) {
  expect_refusal({option("num_threads", 0), option("num_threads", 0)}, "option 'num_threads' is given twice");
}

// Through the interface of ExecuTorch.
class BackendOptionsTest : public ::testing::Test {
 protected:
  Error set(BackendOption one) {
    return backend_.set_option(context_, Span<BackendOption>(&one, 1));
  }
  int get(const std::string& name) {
    BackendOption one = option(name, -5);
    Span<BackendOption> asked(&one, 1);
    EXPECT_EQ(backend_.get_option(context_, asked), Error::Ok);
    return std::get<int>(one.value);
  }

  EtXnnpackBackend backend_;
  BackendOptionContext context_;
};

TEST_F(BackendOptionsTest, AreThoseOfTheBackend) {
  EXPECT_EQ(get("num_threads"), 0);
  EXPECT_EQ(set(option("num_threads", 1)), Error::Ok);
  EXPECT_EQ(get("num_threads"), 1);
  EXPECT_EQ(set(option("num_threads", 2)), Error::InvalidArgument);
  EXPECT_THAT(backend_.last_error(), HasSubstr("'num_threads' takes 0 to 1, not 2"));
  EXPECT_EQ(get("num_threads"), 1);
  BackendOption one = option("threads", 0);
  Span<BackendOption> asked(&one, 1);
  EXPECT_EQ(backend_.get_option(context_, asked), Error::InvalidArgument);
}

GraphDef counter() {
  GraphDef g;
  const uint32_t one = g.constant({1}, {1});
  const uint32_t count = g.state("count", {1}, {0});
  g.states[0].update = g.node(binary(schema::BinaryKind::Add), {count, one}, {1});
  g.output(g.node(reshape({1}), {count}, {1}));
  return g;
}

float next(Method& method) {
  TensorArgument count({1});
  EXPECT_EQ(method.execute({count.value()}), Error::Ok);
  return count.numbers()[0];
}

// Those given at load count for this method, those of the backend for all that are loaded later.
TEST_F(BackendOptionsTest, CountWhenAMethodIsLoaded) {
  const std::vector<uint8_t> blob = counter().build();
  Method alone(backend_, blob);
  ASSERT_EQ(set(option("state_group", 31)), Error::Ok);
  Method first(backend_, blob);
  Method second(backend_, blob);
  Method other(backend_, blob, nullptr, {option("state_group", 32)});
  Method none(backend_, blob, nullptr, {option("state_group", 0)});
  EXPECT_EQ(next(first), 0);
  EXPECT_EQ(next(second), 1);
  EXPECT_EQ(next(first), 2);
  for (Method* method : {&alone, &other, &none}) {
    EXPECT_EQ(next(*method), 0);
    EXPECT_EQ(next(*method), 1);
  }
  EXPECT_EQ(get("state_group"), 31);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
