#include "daemon/jit/perf_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <numeric>
#include <random>

#include "base/unique_fd.h"
#include "capture/identity/safe_open.h"
#include "tests/unit/capture/identity/fake_proc.h"

namespace plimsoll::identity {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> names(std::string_view text, const std::vector<uint64_t>& addresses) {
  const auto found = look_up_perf_map(text, addresses);
  return {found.names.begin(), found.names.end()};
}

TEST(PerfMap, AnEntryHoldsItsBytesAndNoOthers) {
  EXPECT_THAT(names("1000 10 work\n", {0xfff, 0x1000, 0x100f, 0x1010}), ElementsAre("", "work", "work", ""));
}

TEST(PerfMap, NamesMayHoldSpacesAndNumbersAPrefix) {
  EXPECT_THAT(names("0x1000 0x10 LazyCompile:*f /app/main.js:12\n", {0x1000}),
              ElementsAre("LazyCompile:*f /app/main.js:12"));
}

TEST(PerfMap, TheLastEntryHoldsWhereTheyOverlap) {
  const std::string text =
      "1000 100 first\n"
      "1040 20 inner\n"
      "1080 100 second\n";
  EXPECT_THAT(names(text, {0x1000, 0x1040, 0x1060, 0x1080, 0x1100, 0x117f, 0x1180}),
              ElementsAre("first", "inner", "first", "second", "second", "second", ""));
}

TEST(PerfMap, LinesThatAreNoEntriesAreLeftOutAndCounted) {
  const std::string text =
      "\n"
      "1000\n"
      "1000 10\n"
      "1000 10 \n"
      "g 10 f\n"
      "1000 0 nothing\n"
      "ffffffffffffffff 2 over_the_end\n"
      "10000000000000000 1 too_long\n"
      "1000 10 good\n";
  const std::vector<uint64_t> addresses{0x1000};
  const auto found = look_up_perf_map(text, addresses);
  EXPECT_THAT(found.names, ElementsAre("good"));
  EXPECT_EQ(found.malformed, 8);
}

TEST(PerfMap, ALineStillBeingWrittenDoesNotCount) {
  EXPECT_THAT(names("1000 10 good\n1000 10 goo", {0x1000}), ElementsAre("good"));
  EXPECT_THAT(names("1000 10 only", {0x1000}), ElementsAre(""));
}

TEST(PerfMap, TheHighestAddressCanHaveAName) {
  EXPECT_THAT(names("ffffffffffffff00 100 top\n", {UINT64_MAX}), ElementsAre("top"));
}

TEST(PerfMap, NothingAskedIsNothingFound) {
  EXPECT_THAT(names("1000 10 f\n", {}), IsEmpty());
  EXPECT_THAT(names("", {1, 2}), ElementsAre("", ""));
}

TEST(PerfMap, AgreesWithTheLastEntryThatHoldsEachAddress) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    std::string text;
    std::vector<std::string> last(100);
    for (int line = 0; line < 30; ++line) {
      const uint64_t start = random() % 100;
      const uint64_t size = 1 + random() % 20;
      const std::string name = "f" + std::to_string(line);
      text += fmt::format("{:x} {:x} {}\n", start, size, name);
      for (uint64_t address = start; address < std::min<uint64_t>(100, start + size); ++address) {
        last[address] = name;
      }
    }
    std::vector<uint64_t> addresses;
    std::vector<std::string> expected;
    for (uint64_t address = 0; address < 100; ++address) {
      if (random() % 2 == 0) {
        addresses.push_back(address);
        expected.push_back(last[address]);
      }
    }
    EXPECT_EQ(names(text, addresses), expected) << "seed " << seed;
  }
}

// Every line covers every address: what would be quadratic must not be.
TEST(PerfMap, ManyEntriesOverManyAddressesAreNoBurden) {
  std::string text;
  for (int line = 0; line < 200'000; ++line) {
    text += "0 ffffffffffffffff f\n";
  }
  std::vector<uint64_t> addresses(200'000);
  for (size_t i = 0; i < addresses.size(); ++i) {
    addresses[i] = i;
  }
  EXPECT_EQ(names(text, addresses).back(), "f");
}

class ReadPerfMap : public ::testing::Test {
 protected:
  ReadPerfMap() { status(7, ::getuid()); }

  // Process 40 here is process `pid` in its own namespace.
  void status(uint32_t pid, uint32_t uid) const {
    proc_.file("40/status",
               fmt::format("Name:\tjit\nUid:\t0\t0\t0\t{}\nNSpid:\t40\t{}\nThreads:\t1\n", uid, pid));
  }
  // At addresses 0 and 1.
  Result<std::vector<std::string>> names_at_0_and_1() const {
    const auto map = PerfMap::open(proc_fs_, 40);
    const auto names = map ? map->names_at(std::array<uint64_t, 2>{0, 1}) : propagate(map);
    return names ? Result<std::vector<std::string>>(names->names) : propagate(names);
  }
  ErrorCode refusal(uint32_t pid = 40) const { return PerfMap::open(proc_fs_, pid).error().code; }
  std::string path(const std::string& name) const { return proc_.root() + "/40/root/tmp/" + name; }

  FakeProc proc_;
  ProcFs proc_fs_{proc_.root()};
};

TEST_F(ReadPerfMap, StandsUnderThePidOfItsOwnNamespace) {
  proc_.file("40/root/tmp/perf-40.map", "1 1 other\n");
  proc_.file("40/root/tmp/perf-7.map", "1 1 f\n");
  EXPECT_THAT(names_at_0_and_1().value(), ElementsAre("", "f"));
}

TEST_F(ReadPerfMap, NoneIsNotFound) {
  proc_.file("40/root/tmp/perf-8.map", "1 1 f\n");
  EXPECT_EQ(refusal(), ErrorCode::kNotFound);
  EXPECT_EQ(refusal(41), ErrorCode::kNotFound);
}

TEST_F(ReadPerfMap, LinksAreRefused) {
  proc_.file("40/root/tmp/elsewhere", "1 1 f\n");
  std::filesystem::create_symlink("elsewhere", path("perf-7.map"));
  EXPECT_EQ(refusal(), ErrorCode::kDenied);
}

TEST_F(ReadPerfMap, LinksOnTheWayStayWithinTheProcessesRoot) {
  proc_.file("40/root/var/tmp/perf-7.map", "1 1 inside\n");
  std::filesystem::create_symlink("/var/tmp", proc_.root() + "/40/root/tmp");
  EXPECT_THAT(names_at_0_and_1().value(), ElementsAre("", "inside"));
}

TEST_F(ReadPerfMap, OthersFilesAreRefused) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "only root can make a file of another user";
  }
  proc_.file("40/root/tmp/perf-7.map", "1 1 f\n");
  status(7, 1000);
  EXPECT_TRUE(PerfMap::open(proc_fs_, 40)) << "root's file";
  ASSERT_EQ(::chown(path("perf-7.map").c_str(), 1001, 1001), 0);
  EXPECT_EQ(refusal(), ErrorCode::kDenied);
  ASSERT_EQ(::chown(path("perf-7.map").c_str(), 1000, 1000), 0);
  EXPECT_TRUE(PerfMap::open(proc_fs_, 40));
}

TEST_F(ReadPerfMap, PipesAndFoldersAreRefusedWithoutWaiting) {
  std::filesystem::create_directories(path(""));
  ASSERT_EQ(::mkfifo(path("perf-7.map").c_str(), 0600), 0);
  EXPECT_EQ(refusal(), ErrorCode::kDenied);
  std::filesystem::remove(path("perf-7.map"));
  std::filesystem::create_directory(path("perf-7.map"));
  EXPECT_EQ(refusal(), ErrorCode::kDenied);
}

// Opening a pipe for reading would let its writer go on: what is not a file is not opened at all.
TEST_F(ReadPerfMap, PipesAreNotOpened) {
  std::filesystem::create_directories(path(""));
  ASSERT_EQ(::mkfifo(path("perf-7.map").c_str(), 0600), 0);
  const int watch = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  ASSERT_GE(watch, 0);
  const UniqueFd events(watch);
  ASSERT_GE(::inotify_add_watch(watch, path("perf-7.map").c_str(), IN_OPEN), 0);
  EXPECT_FALSE(PerfMap::open(proc_fs_, 40));
  EXPECT_FALSE(open_regular_file(path("perf-7.map")));
  std::array<char, 1024> event{};
  EXPECT_EQ(::read(watch, event.data(), event.size()), -1) << "it was opened";
}

TEST_F(ReadPerfMap, HugeFilesAreRefused) {
  proc_.file("40/root/tmp/perf-7.map", "");
  std::filesystem::resize_file(path("perf-7.map"), (uint64_t{64} << 20) + 1);
  EXPECT_EQ(refusal(), ErrorCode::kTooLarge);
}

// As if it had been looked up in one piece, wherever its blocks begin.
TEST_F(ReadPerfMap, LongOnesAreReadBlockByBlock) {
  std::string text;
  std::mt19937_64 random(3);
  while (text.size() < (5U << 20)) {
    text += fmt::format("{:x} {:x} {}\n", random() % 1000, 1 + random() % 20,
                        std::string(1 + random() % 3000, 'n'));
    if (text.size() % 50 == 0) {
      text += std::string(random() % (3 << 20), 'x') + "\n";
    }
  }
  text += "0 ffffffff being written";
  std::vector<uint64_t> addresses(1000);
  std::iota(addresses.begin(), addresses.end(), 0);
  const auto expected = look_up_perf_map(text, addresses);
  EXPECT_NE(expected.names[500], "");
  proc_.file("40/root/tmp/perf-7.map", text);
  const auto map = PerfMap::open(proc_fs_, 40);
  ASSERT_TRUE(map) << map.error().text();
  const auto found = map->names_at(addresses);
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(found->names, expected.names);
  EXPECT_EQ(found->malformed, expected.malformed);
}

TEST_F(ReadPerfMap, LinesOfEveryLengthAroundABlocksAreRead) {
  for (const size_t length : {size_t{1}, size_t{100}, (size_t{1} << 20) - 20, (size_t{1} << 20) - 1,
                              size_t{1} << 20, (size_t{1} << 20) + 1, size_t{3} << 20}) {
    proc_.file("40/root/tmp/perf-7.map", "0 1 first\n" + std::string(length, 'x') + "\n1 1 last\n");
    EXPECT_THAT(names_at_0_and_1().value(), ElementsAre("first", "last")) << length;
    proc_.file("40/root/tmp/perf-7.map", "0 1 first\n" + std::string(length, 'x'));
    EXPECT_THAT(names_at_0_and_1().value(), ElementsAre("first", "")) << length;
  }
}

TEST_F(ReadPerfMap, AFileThatBecomesShorterIsSaid) {
  proc_.file("40/root/tmp/perf-7.map", "1 1 f\n");
  const auto map = PerfMap::open(proc_fs_, 40);
  ASSERT_TRUE(map);
  std::filesystem::resize_file(path("perf-7.map"), 3);
  EXPECT_EQ(map->names_at(std::array<uint64_t, 1>{1}).error().code, ErrorCode::kUnavailable);
}

TEST_F(ReadPerfMap, AStatusThatSaysNothingIsAnError) {
  for (const char* text : {"", "Uid:\t0\n", "NSpid:\t40\n", "Uid:\tx\nNSpid:\t40\n", "Uid:\t0\nNSpid:\t\n"}) {
    proc_.file("40/status", text);
    EXPECT_EQ(refusal(), ErrorCode::kCorrupt) << text;
  }
}

}  // namespace
}  // namespace plimsoll::identity
