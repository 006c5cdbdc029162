// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// The file of packed weights: how models, threads and processes share it. A model loads right in any case.

#include "packed_file_test.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <random>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

namespace executorch::backends::et_xnnpack::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(PackedFileTest, IsWrittenOnceAndSavesPacking) {
  expect_right();
  const std::string first = content();
  EXPECT_THAT(files(), ElementsAre("weights"));
  EXPECT_GT(first.size(), kSize * kSize * sizeof(float));
  expect_cached();
  EXPECT_EQ(content(), first);
}

TEST_F(PackedFileTest, HoldsSeveralModelsAndConverges) { // Robustness: W3
  expect_right("a");
  const size_t one = content().size();
  expect_right("b");
  const std::string both = content();
  EXPECT_GT(both.size(), one);
  EXPECT_LT(both.size(), 2 * one) << "the kernels are the same";
  for (int i = 0; i < 3; ++i) {
    expect_cached("a");
    expect_cached("b");
  }
  EXPECT_EQ(content(), both);
}

TEST_F(PackedFileTest, WorksTogetherWithSharingInTheProcess) {
  PackedWeights shared;
  const auto first = load("a", "", &shared);
  const auto second = load("a", path_, &shared); // packs nothing, but writes
  expect_cached("a");
  const auto third = load("a", path_, &shared);
  EXPECT_EQ(shared.count(), kCount);
  EXPECT_EQ(run(*second), expected_["a"]);
  EXPECT_EQ(run(*third), expected_["a"]);
}

TEST_F(PackedFileTest, IsReadWhileItIsReplacedOrDeleted) { // Robustness: W4
  expect_right("a");
  const auto mapped = load("a", path_);
  expect_right("b");
  EXPECT_EQ(run(*mapped), expected_["a"]);
  unlink(path_.c_str());
  EXPECT_EQ(run(*mapped), expected_["a"]);
  expect_packed_again("");
  expect_cached("a");
}

// Also in a process that is forked while the file is mapped.
TEST_F(PackedFileTest, IsReadByAForkedProcess) { // Robustness: W4
  expect_right("a");
  const auto mapped = load("a", path_);
  EXPECT_EQ(in_process([&] { return run(*mapped) == expected_["a"] ? 0 : 1; }), 0);
  EXPECT_EQ(run(*mapped), expected_["a"]);
}

// A link is followed to be read. A new file takes the place of the link, and what that leads to stays as it is.
TEST_F(PackedFileTest, ALinkIsFollowed) { // Robustness: W1 W4
  const std::string target = folder_ + "/target";
  const auto bytes_of = [](const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  const auto link_to_target = [&] {
    unlink(path_.c_str());
    ASSERT_EQ(symlink("target", path_.c_str()), 0);
  };
  expect_right("a");
  ASSERT_EQ(rename(path_.c_str(), target.c_str()), 0);
  link_to_target();
  const std::string whole = bytes_of(target);
  expect_cached("a");
  expect_right("b");
  expect_cached("b");
  EXPECT_EQ(bytes_of(target), whole);

  std::ofstream(target) << "text";
  link_to_target();
  expect_packed_again("another kind of file");
  EXPECT_EQ(bytes_of(target), "text");

  unlink(target.c_str()); // a link to nothing
  expect_right("a");
  expect_cached("a");
  EXPECT_THAT(files(), ElementsAre("weights"));
}

TEST_F(PackedFileTest, AReadOnlyFolderIsNoProblem) { // Robustness: W4
  chmod(folder_.c_str(), 0555);
  const int result = in_process([&] {
    if (geteuid() == 0 && seteuid(65534) != 0) { // root may write anywhere
      return 2;
    }
    const bool is_right = compute("a", path_) == expected_["a"];
    return is_right && problem_.find("Permission denied") != std::string::npos ? 0 : 1;
  });
  EXPECT_EQ(result, 0);
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(PackedFileTest, AReadOnlyFolderWithAFileSavesPacking) {
  expect_right("a");
  chmod(folder_.c_str(), 0555);
  chmod(path_.c_str(), 0444);
  const int result = in_process([&] {
    if (geteuid() == 0 && seteuid(65534) != 0) {
      return 2;
    }
    const bool is_right = compute("a", path_) == expected_["a"] && data_.asked().empty();
    const bool other_is_right = compute("b", path_) == expected_["b"];
    return is_right && other_is_right ? 0 : 1;
  });
  EXPECT_EQ(result, 0);
  expect_cached("a");
}

// Also where a write past the limit would end the process.
TEST_F(PackedFileTest, AFullDiskIsNoProblem) { // Robustness: W4
  expect_right();
  const size_t whole = content().size();
  for (const auto action : {SIG_IGN, SIG_DFL}) {
    for (const size_t limit : {size_t{0}, size_t{10}, size_t{100}, size_t{3000}, size_t{6000}, whole - 1, whole}) {
      SCOPED_TRACE(limit);
      unlink(path_.c_str());
      const int result = in_process([&] {
        signal(SIGXFSZ, action);
        const rlimit limits{limit, limit};
        setrlimit(RLIMIT_FSIZE, &limits);
        const bool is_right = compute("a", path_) == expected_["a"];
        const std::string expected = limit < whole ? "cannot write it: File too large" : "";
        return is_right && problem_ == expected ? 0 : 1;
      });
      EXPECT_EQ(result, 0);
      EXPECT_EQ(files().size(), limit < whole ? 0u : 1u);
    }
  }
}

TEST_F(PackedFileTest, WhoMayReadTheFileMayReadTheNext) {
  const auto mode = [&] {
    struct stat info {};
    EXPECT_EQ(stat(path_.c_str(), &info), 0);
    return info.st_mode & 07777;
  };
  expect_right("a");
  EXPECT_EQ(mode(), 0600u) << "a new one is for its user";
  for (const auto& [old, next] :
       {std::pair(0644u, 0644u), {0640u, 0640u}, {0666u, 0644u}, {0444u, 0644u}, {0700u, 0600u}}) {
    for (const char* content : {"", "ETXPACK\n of another version"}) {
      put(content);
      ASSERT_EQ(chmod(path_.c_str(), old), 0);
      expect_right("a");
      EXPECT_EQ(mode(), next);
      chmod(path_.c_str(), 0600);
    }
  }
  ASSERT_EQ(chmod(path_.c_str(), 0644), 0);
  expect_right("b"); // adds to it
  EXPECT_EQ(mode(), 0644u);
  expect_cached("b");
  if (geteuid() == 0) { // whoever made the file of somebody else does not say who reads ours
    put("");
    ASSERT_EQ(chown(path_.c_str(), 65534, static_cast<gid_t>(-1)), 0);
    expect_right("a");
    EXPECT_EQ(mode(), 0600u);
  }
}

// Killed at any moment: the file is whole or not there, and what was begun is cleaned up.
TEST_F(PackedFileTest, AKilledProcessLeavesNoDamage) { // Robustness: W4
  std::mt19937 random(17);
  int killed = 0;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    if (round % 3 == 0) {
      unlink(path_.c_str());
    }
    const pid_t child = fork();
    if (child == 0) {
      while (true) {
        load("a", path_);
        load("b", path_);
        unlink(path_.c_str());
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500 + random() % 6000));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    killed += WIFSIGNALED(status);
    expect_right("a");
    EXPECT_EQ(problem_, "");
    expect_right("b");
    EXPECT_EQ(problem_, "");
  }
  EXPECT_EQ(killed, 60);
  unlink(path_.c_str());
  expect_right("a");
  EXPECT_THAT(files(), ElementsAre("weights"));
}

TEST_F(PackedFileTest, ProcessesMayWriteAtOnce) { // Robustness: W4
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int round = 0; round < 30; ++round) {
        const std::string weight = (i + round) % 2 == 0 ? "a" : "b";
        if (compute(weight, path_) != expected_[weight] || problem_.find("damaged") != std::string::npos) {
          _exit(1);
        }
        if (round % 7 == i) {
          unlink(path_.c_str());
        }
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  expect_right("a");
  expect_right("b");
  expect_cached("a");
  expect_cached("b");
  EXPECT_THAT(files(), ElementsAre("weights"));
}

TEST_F(PackedFileTest, MethodsThatShareMayBeCalledAtOnce) {
  expect_right();
  for (const bool damaged : {false, true}) {
    if (damaged) {
      damage_all();
    }
    PackedWeights shared;
    std::vector<std::unique_ptr<Executable>> methods(4);
    for (std::unique_ptr<Executable>& method : methods) {
      method = load("a", path_, &shared);
    }
    std::vector<std::thread> threads;
    for (std::unique_ptr<Executable>& method : methods) {
      threads.emplace_back([&] {
        EXPECT_EQ(is_damaged(*method), damaged);
        if (damaged) {
          PackedFile file = PackedFile::damaged(path_);
          method = create("a", &file, &shared);
        }
        EXPECT_EQ(run(*method), expected_.at("a"));
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(shared.count(), kCount);
    expect_cached("a");
  }
}

TEST_F(PackedFileTest, LargeConstantsAreReadByTheFirstCall) {
  const std::vector<float> expected = add_table();
  std::vector<float> turned;
  for (const bool packed : {false, true}) {
    auto executable = load_with_table();
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    EXPECT_EQ(data_.asked(), packed ? std::vector<std::string>() : std::vector<std::string>{"a"});
    data_.forget();
    for (int call = 0; call < 2; ++call) {
      ASSERT_TRUE(run_with_table(**executable, &turned).ok());
      EXPECT_EQ(turned, expected);
      EXPECT_THAT(data_.asked(), ElementsAre("table"));
    }
    EXPECT_EQ(data_.in_use(), 1);
  }
  EXPECT_EQ(data_.in_use(), 0);
}

TEST_F(PackedFileTest, LargeConstantsAreThereOnce) {
  const std::vector<float> expected = add_table();
  PackedWeights shared;
  std::vector<std::unique_ptr<Executable>> methods(4);
  for (std::unique_ptr<Executable>& method : methods) {
    method = std::move(*load_with_table(&shared));
  }
  data_.forget();
  std::vector<std::thread> threads;
  for (std::unique_ptr<Executable>& method : methods) {
    threads.emplace_back([&] {
      std::vector<float> turned;
      EXPECT_TRUE(run_with_table(*method, &turned).ok());
      EXPECT_EQ(turned, expected);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_THAT(data_.asked(), ElementsAre("table"));
}

TEST_F(PackedFileTest, LoadingMissesALargeConstantThatIsNowhere) {
  for (int i = 0; i < 2; ++i) {
    auto executable = load_with_table();
    EXPECT_EQ(executable.status().code(), Error::InvalidProgram);
    EXPECT_THAT(executable.status().message(), HasSubstr("table"));
  }
}

TEST_F(PackedFileTest, TheFirstCallFailsIfALargeConstantIsTooSmall) {
  data_.add("table", some_numbers(5));
  auto executable = load_with_table();
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  std::vector<float> turned;
  for (int i = 0; i < 2; ++i) {
    const Status status = run_with_table(**executable, &turned);
    EXPECT_EQ(status.code(), Error::InvalidProgram);
    EXPECT_THAT(status.message(), HasSubstr("weight table has 20 bytes, but 96000 are needed"));
  }
  const std::vector<float> expected = add_table();
  EXPECT_TRUE(run_with_table(**executable, &turned).ok());
  EXPECT_EQ(turned, expected);
}

TEST_F(PackedFileTest, ThreadsMayWriteAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        PackedFile file(path_, "identity");
        const std::string key = "key " + std::to_string((i + round) % 5);
        auto memory = std::make_shared<Buffer>(std::move(*Buffer::allocate(640)));
        std::fill_n(memory->data(), 640, key.back());
        std::optional<PackedBytes> found = file.find(key);
        if (found) {
          EXPECT_EQ(std::memcmp(found->data, memory->data(), 640), 0);
        } else {
          file.finish({{key, std::make_shared<const PackedBytes>(PackedBytes{memory->data(), 640, false, memory})}});
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

} // namespace
} // namespace executorch::backends::et_xnnpack::testing
