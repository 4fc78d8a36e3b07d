// Libraries that are unloaded and replaced by others at the same address, thousands of times a second: every sample lies in
// the library that was there at its time. Needs the privileges to sample the machine.
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "proto/profile_codec.h"
#include "tests/e2e/program.h"

namespace plimsoll::testing {
namespace {

constexpr size_t kProcesses = 3;

// That many in a library say something. How many more there are depends on how busy the machine is.
constexpr uint64_t kEnoughSamples = 500;

// What library_storm says that it has done.
struct Done {
  uint64_t touched_pages = 0;
  uint64_t loaded = 0;
  uint64_t at_first_address = 0;
};

// Page faults of threads that are named like the library in which they are.
struct Judged {
  uint64_t right = 0;
  uint64_t wrong = 0;       // in the other library
  uint64_t unresolved = 0;  // in no file
  uint64_t not_taken = 0;   // of all programs: lost, or not sampled
};

class LibraryStorm : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
  }

  std::array<Background, kProcesses> storms(const std::string& seconds) const {
    const std::vector<std::string> storm{"library_storm", seconds, program("library_storm_libraries")};
    return {Background(storm), Background(storm), Background(storm)};
  }

  // Each page fault is a sample. Of stacks only the leaf matters. Collects until it is interrupted.
  Background daemon() const {
    Background daemon({"plimsolld", "--once", "100", "--event", "page-faults:1", "--ring-pages", "1024",
                       "--stack-bytes", "8", "--output", folder_ / "profile"});
    wait_until_sampling(daemon);
    return daemon;
  }

  static Done wait(std::array<Background, kProcesses>& storms) {
    Done all;
    for (Background& storm : storms) {
      const Finished finished = storm.wait();
      EXPECT_EQ(finished.status, 0) << finished.err;
      Done done;
      std::istringstream(finished.out) >> done.touched_pages >> done.loaded >> done.at_first_address;
      all.touched_pages += done.touched_pages;
      all.loaded += done.loaded;
      all.at_first_address += done.at_first_address;
    }
    std::printf("%lu pages touched, %lu libraries loaded, %lu where the first lay\n", all.touched_pages,
                all.loaded, all.at_first_address);
    return all;
  }

  wire::RawProfile profile() const {
    const auto content = read_file(folder_ / "profile", 1 << 30);
    EXPECT_TRUE(content.has_value());
    auto profile = wire::decode(as_bytes(*content));
    EXPECT_TRUE(profile.has_value()) << profile.error().text();
    return std::move(*profile);
  }

  // The name of the file that the leaf of a stack lies in, "left.so"; empty: no file.
  static std::string file_at(const wire::RawProfile& profile, uint32_t stack) {
    const auto location = static_cast<int>(profile.stacks().location(static_cast<int>(stack) - 1));
    if (profile.locations().kind(location) != wire::ELF) {
      return {};
    }
    const auto binary = static_cast<int>(profile.locations().owner(location));
    return std::filesystem::path(profile.binaries(binary).path()).filename().string();
  }

  static Judged judge(const wire::RawProfile& profile) {
    Judged judged;
    const wire::Event& event = profile.events(0);
    EXPECT_EQ(static_cast<double>(event.hits() + event.lost() + event.not_sampled()), event.counter_total());
    judged.not_taken = event.lost() + event.not_sampled();
    for (const wire::SampleTable& table : profile.samples()) {
      for (int row = 0; table.event(0) == 0 && row < table.thread_size(); ++row) {
        const std::string& thread = profile.threads(static_cast<int>(table.thread(row))).name();
        const uint32_t stack = table.stack(row);
        if ((thread != "left" && thread != "right") || stack == 0) {
          continue;
        }
        const std::string file = file_at(profile, stack);
        judged.unresolved += file.empty() ? table.hits(row) : 0;
        judged.right += file == thread + ".so" ? table.hits(row) : 0;
        judged.wrong += file == (thread == "left" ? "right.so" : "left.so") ? table.hits(row) : 0;
      }
    }
    std::printf("%lu right, %lu wrong, %lu unresolved, %lu not taken, %lu records of processes lost\n",
                judged.right, judged.wrong, judged.unresolved, judged.not_taken, profile.lost_side_band());
    return judged;
  }

  const TemporaryFolder folder_;
};

TEST_F(LibraryStorm, LeavesNoSampleInALibraryThatWasNotThere) {
  Background daemon_running = daemon();
  auto running = storms("3");
  const Done done = wait(running);
  daemon_running.kill(SIGINT);
  ASSERT_EQ(daemon_running.wait().status, 0) << daemon_running.err();
  EXPECT_GT(done.at_first_address, done.loaded / 2) << "libraries did not replace each other";
  const wire::RawProfile sampled = profile();
  const Judged judged = judge(sampled);
  EXPECT_EQ(judged.wrong, 0);
  EXPECT_GT(judged.right, kEnoughSamples);
  // Each page that was touched is a fault of a library, or not taken, or of the moment before the daemon was there.
  EXPECT_GT(judged.right + judged.unresolved + judged.not_taken, done.touched_pages / 2);
  if (sampled.lost_side_band() == 0) {
    EXPECT_EQ(judged.unresolved, 0);
  }
}

// The daemon stands still until records of mappings are lost: then a place may be unknown, but not wrong.
TEST_F(LibraryStorm, WithRecordsOfMappingsLost) {
  Background daemon_running = daemon();
  wait(*std::make_unique<std::array<Background, kProcesses>>(storms("1")));
  auto running = storms("5");
  daemon_running.kill(SIGSTOP);
  wait(*std::make_unique<std::array<Background, kProcesses>>(storms("2")));
  daemon_running.kill(SIGCONT);
  wait(running);
  daemon_running.kill(SIGINT);
  ASSERT_EQ(daemon_running.wait().status, 0) << daemon_running.err();
  const wire::RawProfile sampled = profile();
  EXPECT_GT(sampled.lost_side_band(), 0);
  const Judged judged = judge(sampled);
  EXPECT_EQ(judged.wrong, 0);
  EXPECT_GT(judged.right, kEnoughSamples);
}

}  // namespace
}  // namespace plimsoll::testing
