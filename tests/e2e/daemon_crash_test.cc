// What a daemon has spooled survives whatever kills the daemon, the server or the disk: it arrives exactly once, or is counted
// as dropped.
//
// PLIMSOLL_TEST_CRASHES   how often to kill each program (100)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "base/hex.h"
#include "base/time.h"
#include "daemon/spool/spool.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/small_disk.h"
#include "tests/places.h"

namespace plimsoll::testing {
namespace {

using spool::Fate;
using ::testing::IsEmpty;

int crashes_wanted() {
  const char* const text = std::getenv("PLIMSOLL_TEST_CRASHES");
  return text == nullptr ? 100 : std::atoi(text);  // NOLINT(cert-err34-c)
}

using Ids = std::set<std::string>;  // in hexadecimal

// Of the profiles whose files are there.
Ids ids_on_disk(const std::string& folder) {
  Ids ids;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (const auto profile = spool::parse_file_name(entry->path().filename().string())) {
      ids.insert(to_hex(profile->id));
    }
  }
  return ids;
}

// Those that the server has. Says so where one is there twice.
Ids ids_archived(const std::string& data_dir) {
  Ids ids;
  for (const wire::RawProfile& profile : archived_in(data_dir)) {
    EXPECT_TRUE(ids.insert(to_hex(profile.profile_id())).second) << "it arrived twice";
  }
  return ids;
}

Ids missing_from(const Ids& there, const Ids& wanted) {
  Ids missing;
  std::ranges::set_difference(wanted, there, std::inserter(missing, missing.end()));
  return missing;
}

// What the next daemon finds: the state of a spool that nobody has open.
spool::SpoolStatus status_of(const std::string& folder) {
  const auto spool = spool::Spool::open({.folder = folder});
  EXPECT_TRUE(spool) << spool.error().text();
  return spool ? (*spool)->status() : spool::SpoolStatus();
}

// What every scenario has: a server that comes and goes, a spool, and what was seen of it.
class DaemonCrash : public ::testing::Test {
 protected:
  void end_server() {
    if (server_runs_) {
      server_.crash();
    }
    server_runs_ = false;
  }
  void start_server() {
    if (!server_runs_) {
      server_.start();
    }
    server_runs_ = true;
  }
  void server_comes_or_goes() { server_runs_ ? end_server() : start_server(); }

  // Returns at a random moment, up to `longest_us` from now.
  bool random_moment(uint64_t longest_us) {
    const int64_t until_ns = monotonic_now_ns() + static_cast<int64_t>(random_() % (longest_us * 1000));
    return eventually([=] { return monotonic_now_ns() >= until_ns; }, std::chrono::microseconds(50));
  }

  bool one_in(uint64_t n) { return random_() % n == 0; }

  // Everything has been sent: what the server has, and what the spool says, is one sum.
  void expect_each_once(const std::string& spool_folder, const Ids& spooled) {
    start_server();
    ASSERT_TRUE(server_.becomes_ready()) << server_.process().err();
    const Finished stopped = server_.stop();
    server_runs_ = false;
    ASSERT_EQ(stopped.status, 0) << stopped.err;
    status_ = status_of(spool_folder);
    archived_ = ids_archived(data_dir_);
    EXPECT_EQ(status_.waiting, 0);
    EXPECT_EQ(status_.spooled, status_.counts.all());
    EXPECT_EQ(status_.counts[Fate::kDelivered], archived_.size());
    EXPECT_EQ(status_.counts[Fate::kRefused], 0);
    EXPECT_EQ(status_.counts[Fate::kDamaged], 0);
    EXPECT_EQ(status_.counts[Fate::kMissing], 0);
    EXPECT_EQ(status_.counts[Fate::kTooOld], 0);
    EXPECT_LE(missing_from(archived_, spooled).size(), status_.counts.dropped());
  }

  const int wanted_ = crashes_wanted();
  std::mt19937_64 random_{20'261'121};
  TemporaryFolder folder_;
  const std::string data_dir_ = folder_ / "data";
  TestServer server_{data_dir_,
                     fmt::format("[collect]\nwindow = \"100ms\"\nrate_hz = 199\n[fleet]\nheartbeat = "
                                 "\"100ms\"\n[symbols]\nroots = [\"{}\"]\n",
                                 built_file())};
  bool server_runs_ = true;
  spool::SpoolStatus status_;  // at the end
  Ids archived_;               // likewise
};

// A program that does nothing but spool and send, and says of each profile when it is on disk.
class PusherCrash : public DaemonCrash {
 protected:
  Background start_pusher(const std::string& folder, uint64_t first) const {
    return Background({"spool_pusher", folder, fmt::format("{}", max_bytes_), server_.fleet_address(),
                       fmt::format("{}", first)});
  }

  // Lets a pusher work for a while, kills it, and notes what it has said.
  void push_and_kill(const std::string& folder, bool may_be_starting) {
    Background pusher = start_pusher(folder, next_number_);
    next_number_ += 1'000'000;
    if (may_be_starting) {
      EXPECT_TRUE(random_moment(5'000));  // while it starts
    } else {
      const auto lines = static_cast<std::ptrdiff_t>(1 + random_() % 20);
      EXPECT_TRUE(eventually([&] { return std::ranges::count(pusher.out(), '\n') >= lines; },
                             std::chrono::microseconds(200)))
          << pusher.err();
      EXPECT_TRUE(random_moment(3'000));
    }
    pusher.kill(SIGKILL);
    const Finished killed = pusher.wait();
    ASSERT_EQ(killed.status, 128 + SIGKILL) << "it had ended by itself: " << killed.err;
    note_lines(killed.out);
  }

  void note_lines(const std::string& text) {
    std::istringstream lines(text);
    std::string line;
    while (std::getline(lines, line)) {
      std::istringstream words(line);
      std::string what;
      std::string id;
      uint64_t sequence = 0;
      words >> what >> sequence >> id;
      if (what == "spooled") {
        EXPECT_TRUE(spooled_.insert(id).second);
        EXPECT_GT(sequence, newest_sequence_) << "a number was given away twice";
        newest_sequence_ = sequence;
      } else {
        ASSERT_EQ(what, "dropped");
        ++said_dropped_;
      }
    }
  }

  void drain(const std::string& folder) {
    start_server();
    ASSERT_TRUE(server_.becomes_ready()) << server_.process().err();
    Background pusher = start_pusher(folder, 0);
    const Finished drained = pusher.wait();
    ASSERT_EQ(drained.status, 0) << drained.err;
  }

  // At each kill there may be one profile that has a number, and of which nothing was said yet.
  void expect_every_number_said(int kills) const {
    EXPECT_GE(status_.spooled, spooled_.size() + said_dropped_);
    EXPECT_LE(status_.spooled, spooled_.size() + said_dropped_ + static_cast<uint64_t>(kills));
    EXPECT_GE(status_.counts.dropped(), said_dropped_);
  }

  uint64_t max_bytes_ = uint64_t{1} << 30;
  uint64_t next_number_ = 1;
  uint64_t newest_sequence_ = 0;
  Ids spooled_;  // as it was said
  uint64_t said_dropped_ = 0;
};

TEST_F(PusherCrash, WhatIsSpooledArrivesOnce) {
  const std::string folder = folder_ / "spool";
  for (int crash = 0; crash < wanted_ && !HasFailure(); ++crash) {
    if (one_in(3)) {
      server_comes_or_goes();
    }
    push_and_kill(folder, one_in(4));
  }
  drain(folder);
  expect_each_once(folder, spooled_);
  expect_every_number_said(wanted_);
  EXPECT_EQ(status_.counts.dropped(), 0);
  EXPECT_THAT(missing_from(archived_, spooled_), IsEmpty());
  RecordProperty("profiles", std::to_string(archived_.size()));
}

TEST_F(PusherCrash, WhatAFullDiskTakesAwayIsCounted) {
  const SmallDisk disk(uint64_t{512} << 10);
  if (!disk.missing().empty()) {
    GTEST_SKIP() << disk.missing();
  }
  max_bytes_ = uint64_t{256} << 10;
  const std::string folder = disk.path() + "/spool";
  push_and_kill(folder, false);  // the first start needs room for the counts
  bool is_full = false;
  for (int crash = 1; crash < wanted_ && !HasFailure(); ++crash) {
    if (one_in(5)) {
      server_comes_or_goes();
    }
    if (one_in(3)) {
      is_full ? disk.clear() : disk.fill();
      is_full = !is_full;
    }
    push_and_kill(folder, one_in(4));
  }
  disk.clear();
  drain(folder);
  expect_each_once(folder, spooled_);
  expect_every_number_said(wanted_);
  EXPECT_GT(status_.counts[Fate::kNoRoom], 0) << "the limit was never reached";
  EXPECT_GT(status_.counts[Fate::kDiskFailed], 0) << "the disk was never full";
  EXPECT_GT(archived_.size(), 0);
  RecordProperty("profiles", std::to_string(archived_.size()));
}

// plimsolld itself, sampling this machine.
class MachineDaemonCrash : public DaemonCrash {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
  }

  Background start_daemon(const std::string& state) const {
    return Background(
        {"plimsolld", "--server", server_.fleet_address(), "--machine-id", "m1", "--state-dir", state});
  }

  // Lets a daemon work until something new is spooled, or for a moment only, and kills it.
  void collect_and_kill(const std::string& state, bool may_be_starting) {
    const std::string folder = state + "/spool";
    const Ids before = ids_on_disk(folder);
    Background daemon = start_daemon(state);
    if (server_runs_ && !may_be_starting) {
      const auto has_spooled = [&] {
        const Ids now = ids_on_disk(folder);
        seen_.insert(now.begin(), now.end());
        return !missing_from(before, now).empty();
      };
      EXPECT_TRUE(eventually(has_spooled, std::chrono::microseconds(500))) << daemon.err();
      if (one_in(3)) {
        server_comes_or_goes();
      }
    }
    EXPECT_TRUE(random_moment(20'000));
    daemon.kill(SIGKILL);
    const Finished killed = daemon.wait();
    ASSERT_EQ(killed.status, 128 + SIGKILL) << "it had ended by itself: " << killed.err;
    const Ids left = ids_on_disk(folder);
    seen_.insert(left.begin(), left.end());
  }

  // A last daemon sends what is there, and ends as an administrator ends it.
  void drain(const std::string& state) {
    start_server();
    ASSERT_TRUE(server_.becomes_ready()) << server_.process().err();
    const Ids waiting = ids_on_disk(state + "/spool");
    Background daemon = start_daemon(state);
    // Before it has registered, a signal may find it still starting.
    EXPECT_TRUE(eventually([&] {
      const Ids now = ids_on_disk(state + "/spool");
      return missing_from(now, waiting).size() == waiting.size() &&
             daemon.err().find("registered as machine") != std::string::npos;
    })) << daemon.err();
    daemon.kill(SIGTERM);
    const Finished ended = daemon.wait();
    ASSERT_EQ(ended.status, 0) << ended.err;
  }

  Ids seen_;  // profiles that were on disk at some time
};

TEST_F(MachineDaemonCrash, WhatIsSpooledArrivesOnce) {
  const std::string state = folder_ / "state";
  for (int crash = 0; crash < wanted_ && !HasFailure(); ++crash) {
    if (one_in(4)) {
      server_comes_or_goes();
    }
    collect_and_kill(state, one_in(4));
  }
  drain(state);
  expect_each_once(state + "/spool", seen_);
  EXPECT_EQ(status_.counts.dropped(), 0);
  EXPECT_GE(archived_.size(), seen_.size());
  EXPECT_THAT(missing_from(archived_, seen_), IsEmpty());
  EXPECT_GT(seen_.size(), static_cast<size_t>(wanted_) / 4);
}

TEST_F(MachineDaemonCrash, GoesOnWhileTheDiskIsFull) {
  const SmallDisk disk(uint64_t{2} << 20);
  if (!disk.missing().empty()) {
    GTEST_SKIP() << disk.missing();
  }
  const std::string state = disk.path() + "/state";
  collect_and_kill(state, false);  // the first start needs room for the counts
  disk.fill();
  start_server();
  {
    Background daemon = start_daemon(state);
    const auto is_refused = [&] {
      disk.fill();  // what the daemon has sent makes room
      return daemon.err().find("No space left on device") != std::string::npos;
    };
    EXPECT_TRUE(eventually(is_refused)) << daemon.err();
    disk.clear();
    EXPECT_TRUE(eventually([&] { return daemon.err().find("the spool works again") != std::string::npos; }))
        << daemon.err();
    daemon.kill(SIGKILL);
    EXPECT_EQ(daemon.wait().status, 128 + SIGKILL);
  }
  drain(state);
  expect_each_once(state + "/spool", {});
  EXPECT_GT(status_.counts[Fate::kDiskFailed], 0);
}

}  // namespace
}  // namespace plimsoll::testing
