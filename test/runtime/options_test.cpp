// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include <runtime/options.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <thread>

#include <gmock/gmock.h>

#include "delegate.h"
#include "runtime/weights/packed_weights.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

using executorch::runtime::OptionValue;
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

OptionValue text(const std::string& content) {
  std::array<char, executorch::runtime::kMaxOptionValueLength> value{};
  std::copy(content.begin(), content.end(), value.begin());
  return value;
}

TEST(OptionsTest, HaveTypes) {
  Options options;
  ASSERT_TRUE(set({option("weight_cache", false),
                   option("force_fp16", true),
                   option("winograd_tile", 2),
                   option("packed_cache_path", text("/a/b")),
                   option("workspace_sharing", text("model"))},
                  &options)
                  .ok());
  EXPECT_FALSE(options.weight_cache);
  EXPECT_TRUE(options.force_fp16);
  EXPECT_EQ(options.winograd_tile, 2);
  EXPECT_EQ(options.packed_cache_path, "/a/b");
  EXPECT_EQ(options.workspace_sharing, WorkspaceSharing::Model);
  BackendOption asked[] = {option("weight_cache", 0), option("packed_cache_path", 0), option("workspace_sharing", 0)};
  ASSERT_TRUE(get_options(options, {asked, 3}).ok());
  EXPECT_EQ(asked[0].value, OptionValue(false));
  EXPECT_EQ(asked[1].value, text("/a/b"));
  EXPECT_EQ(asked[2].value, text("model"));
  expect_refusal({option("weight_cache", 1)}, "option 'weight_cache' takes true or false");
  expect_refusal({option("winograd_tile", 6)}, "option 'winograd_tile' takes 0 to 4, not 6");
  expect_refusal({option("force_fp16", 1)}, "option 'force_fp16' takes true or false");
  expect_refusal({option("force_f16", true)}, "there is no option 'force_f16'; did you mean 'force_fp16'?");
  expect_refusal({option("packed_cache_path", true)}, "option 'packed_cache_path' takes a text");
  expect_refusal({option("packed_cache_path", endless('p'))}, "option 'packed_cache_path' takes up to 254 bytes");
  expect_refusal({option("packed_cache_path", text(std::string(255, 'p')))}, "takes up to 254 bytes");
  expect_refusal({option("workspace_sharing", text("all"))}, "takes 'none', 'model' or 'global', not 'all'");
}

Status set_from(std::vector<std::pair<std::string, std::string>> specs, Options* options) {
  std::vector<executorch::runtime::CompileSpec> given;
  for (auto& [key, value] : specs) {
    given.push_back({key.c_str(), {value.data(), value.size()}});
  }
  return set_options(executorch::runtime::ArrayRef(given.data(), given.size()), options);
}

TEST(OptionsTest, HaveATextForm) {
  Options options;
  ASSERT_TRUE(
      set_from({{"num_threads", "1"}, {"weight_cache", "false"}, {"workspace_sharing", "global"}}, &options).ok());
  EXPECT_EQ(options.num_threads, 1);
  EXPECT_FALSE(options.weight_cache);
  EXPECT_EQ(options.workspace_sharing, WorkspaceSharing::Global);
  for (const char* wrong : {"", " ", "x", "1x", "true", "99999999999", "2"}) {
    const Status status = set_from({{"num_threads", wrong}}, &options);
    EXPECT_EQ(status.code(), Error::InvalidArgument) << wrong;
  }
  EXPECT_THAT(set_from({{"weight_cache", "1"}}, &options).message(), HasSubstr("takes true or false"));
  EXPECT_THAT(set_from({{"weight_cach", "true"}}, &options).message(), HasSubstr("did you mean 'weight_cache'?"));
  EXPECT_THAT(set_from({{"num_threads", "1"}, {"num_threads", "1"}}, &options).message(), HasSubstr("given twice"));
  const executorch::runtime::CompileSpec nameless{nullptr, {nullptr, 0}};
  EXPECT_FALSE(set_options(executorch::runtime::ArrayRef(&nameless, 1), &options).ok());
}

TEST(OptionsTest, SomeAreNotForProgramsToChoose) {
  for (const auto& [name, value] : {std::pair("packed_cache_path", "p"), std::pair("state_group", "1")}) {
    Options options;
    const Status status = set_from({{"num_threads", "1"}, {name, value}}, &options);
    EXPECT_EQ(status.code(), Error::InvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("a program cannot ask for option '" + std::string(name) + "': set it for"));
    EXPECT_EQ(options.num_threads, 0);
  }
}

TEST(OptionsTest, RefusesZeroBytes) {
  Options options;
  const Status status = set_from({{"workspace_sharing", std::string("model\0b", 7)}}, &options);
  EXPECT_EQ(status.code(), Error::InvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("'workspace_sharing' takes no text with a zero byte"));
  EXPECT_FALSE(set_from({{"num_threads", std::string("1\0", 2)}}, &options).ok());
}

TEST(OptionsTest, EscapesWhatItDoesNotKnow) {
  Options options;
  EXPECT_THAT(set_from({{"num_\xffhreads", "1"}}, &options).message(), HasSubstr("no option 'num_\\xffhreads'"));
  EXPECT_THAT(
      set_from({{"workspace_sharing", "\xfe"}}, &options).message(),
      HasSubstr("takes 'none', 'model' or 'global', not '\\xfe'"));
  expect_refusal({option("\xffnum", 1)}, "there is no option '\\xffnum'");
}

TEST(OptionsTest, RefusesUnknownNames) { // Robustness: O1
  expect_refusal({option("num_thread", 1)}, "there is no option 'num_thread'; did you mean 'num_threads'?");
  expect_refusal({option("", 1)}, "there is no option ''");
  expect_refusal(
      {option("state_group", 3), option("NUM_THREADS", 1)}, "no option 'NUM_THREADS'; did you mean 'num_threads'?");
  BackendOption asked[] = {option("num_threads", 5), option("numthreads", 5)};
  EXPECT_EQ(get_options({}, {asked, 2}).code(), Error::InvalidArgument);
  EXPECT_EQ(std::get<int>(asked[0].value), 5) << "unchanged";
}

TEST(OptionsTest, RefusesNamesWithoutAnEnd) { // Robustness: O4
  BackendOption one;
  std::memset(one.key, 'k', sizeof(one.key));
  one.value = 1;
  expect_refusal({one}, "there is no option 'kkkk");
  std::memcpy(one.key, "num_threads", sizeof("num_threads") - 1);
  expect_refusal({one}, "there is no option 'num_threadskkk");
}

TEST(OptionsTest, RefusesOtherTypes) { // Robustness: O2
  expect_refusal({option("num_threads", true)}, "option 'num_threads' takes an integer");
  expect_refusal({option("num_threads", endless('1'))}, "option 'num_threads' takes an integer");
  expect_refusal({option("num_threads", endless('\0'))}, "option 'num_threads' takes an integer");
}

TEST(OptionsTest, RefusesWhatIsOutOfRange) { // Robustness: O3
  constexpr int kLeast = std::numeric_limits<int>::min();
  constexpr int kMost = std::numeric_limits<int>::max();
  for (const int value : {-1, kLeast, kMost}) {
    expect_refusal({option("state_group", 5), option("num_threads", value)}, "option 'num_threads' takes");
  }
  expect_refusal({option("state_group", -1)}, "option 'state_group' takes 0 to");
  for (const char* beyond : {"2147483648", "-2147483649", "1180591620717411303424"}) {
    const std::string reason = "option 'num_threads' takes 0 to 1, not " + std::string(beyond);
    BackendOption one = option("num_threads", 0);
    one.value = text(beyond);
    expect_refusal({one}, reason);
    Options unchanged;
    EXPECT_THAT(set_from({{"num_threads", beyond}}, &unchanged).message(), HasSubstr(reason));
    EXPECT_FALSE(set_from({{"winograd_tile", beyond}}, &unchanged).ok());
  }
  Options options;
  EXPECT_TRUE(set({option("state_group", kMost)}, &options).ok());
}

TEST(OptionsTest, RefusesDuplicates) { // Robustness: O5
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
  const BackendOption good = option("num_threads", 0), wrong = option("num_threads", true);
  EXPECT_EQ(backend_.check_options({&good, 1}), Error::Ok);
  EXPECT_EQ(backend_.check_options({&wrong, 1}), Error::InvalidArgument);
  EXPECT_THAT(backend_.last_error(), HasSubstr("'num_threads' takes an integer"));
  EXPECT_EQ(get("num_threads"), 1) << "a check sets nothing";
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

// A program asks for something, the process counts more, and the load most of all.
TEST_F(BackendOptionsTest, CountMoreTheLaterTheyCome) {
  const std::vector<uint8_t> blob = counter().build();
  const auto load = [&](std::vector<BackendOption> options = {}) { return Method(backend_, blob, nullptr, options); };
  ASSERT_EQ(set(option("state_group", 42)), Error::Ok);
  Method third = load(), fourth = load();
  EXPECT_EQ(next(third), 0);
  EXPECT_EQ(next(fourth), 1);
  const BackendOption of_thread = option("state_group", 43);
  ASSERT_EQ(backend_.set_load_options({&of_thread, 1}), Error::Ok);
  Method fifth = load(), sixth = load(), seventh = load({option("state_group", 44)});
  std::thread([&] {
    Method elsewhere = load();
    EXPECT_EQ(next(elsewhere), 2) << "group 42";
  }).join();
  ASSERT_EQ(backend_.set_load_options({}), Error::Ok);
  EXPECT_EQ(next(fifth), 0);
  EXPECT_EQ(next(sixth), 1);
  EXPECT_EQ(next(seventh), 0);
  const BackendOption wrong = option("state_group", -1);
  EXPECT_EQ(backend_.set_load_options({&wrong, 1}), Error::InvalidArgument);
}

TEST_F(BackendOptionsTest, OfAProgramCountLess) {
  GraphDef g;
  g.output(g.node(linear(), {g.input({1, 3}), g.named({2, 3}, "of a program")}, {1, 2}));
  DataMap weights;
  weights.add("of a program", some_numbers(6));
  std::string value = "false";
  const executorch::runtime::CompileSpec spec{"weight_cache", {value.data(), value.size()}};
  const size_t before = PackedWeights::of_process().count();
  const auto shares = [&](const std::vector<BackendOption>& options) {
    const Method method(backend_, g.build(), &weights, options, {&spec, 1});
    EXPECT_EQ(method.error, Error::Ok);
    return PackedWeights::of_process().count() > before;
  };
  EXPECT_FALSE(shares({}));
  EXPECT_TRUE(shares({option("weight_cache", true)}));
  ASSERT_EQ(set(option("weight_cache", true)), Error::Ok);
  EXPECT_TRUE(shares({}));
}

TEST_F(BackendOptionsTest, OfAProgramThatWouldWriteAFileAreRefused) {
  std::string path = ::testing::TempDir() + "chosen-by-a-program";
  std::remove(path.c_str());
  const executorch::runtime::CompileSpec spec{"packed_cache_path", {path.data(), path.size()}};
  Method method(backend_, counter().build(), nullptr, {}, {&spec, 1});
  EXPECT_EQ(method.error, Error::InvalidArgument);
  EXPECT_THAT(backend_.last_error(), HasSubstr("a program cannot ask for option 'packed_cache_path'"));
  EXPECT_EQ(std::fopen(path.c_str(), "r"), nullptr);
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
