#include "daemon/spool/spool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/hex.h"
#include "base/time.h"
#include "tests/bursts/burst_recordings.h"
#include "tests/temporary_directory.h"
#include "tests/unit/daemon/spool_fixture.h"

namespace plimsoll::spool {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class SpoolTest : public ::testing::Test {
 protected:
  SpoolOptions options(uint64_t max_blocks = 100) {
    return {.folder = path_,
            .max_bytes = max_blocks * kBlock,
            .max_age_ns = 24 * kNsPerHour,
            .calls = &disk_.calls(),
            .wall_ns = [this] { return wall_ns_; },
            .boottime_ns = [this] { return boottime_ns_; }};
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }

  // The path of a profile's file.
  std::string file_of(char name) const {
    for (const std::string& file : files()) {
      if (file.find(to_hex(id_of(name))) != std::string::npos) {
        return path_ + "/" + file;
      }
    }
    ADD_FAILURE() << name << " is not on disk";
    return {};
  }

  // Both clocks go on together, as long as nobody sets one.
  void pass(int64_t duration_ns) {
    wall_ns_ += duration_ns;
    boottime_ns_ += duration_ns;
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "state/spool";
  TestDisk disk_;
  int64_t wall_ns_ = 1'795'000'000 * kNsPerSecond;
  int64_t boottime_ns_ = kNsPerHour;
};

TEST_F(SpoolTest, HandsOutTheOldestUntilItIsSettled) {
  const auto spool = open_spool(options());
  EXPECT_EQ(oldest_name(*spool), "");
  ASSERT_TRUE(spool->push(id_of('a'), as_bytes(encoded_profile("first")), true));
  ASSERT_TRUE(push(*spool, 'b'));
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto oldest = spool->oldest();
    ASSERT_TRUE(oldest && *oldest);
    EXPECT_EQ((*oldest)->id, id_of('a'));
    EXPECT_EQ((*oldest)->encoded, encoded_profile("first"));
    EXPECT_TRUE((*oldest)->has_kernel_symbols);
  }
  EXPECT_EQ(spool->status().waiting, 2);
  EXPECT_EQ(spool->status().waiting_bytes, 2 * kBlock);
  EXPECT_EQ(deliver_all(*spool), "ab");
  const SpoolStatus status = spool->status();
  EXPECT_EQ(status.waiting_bytes, 0);
  EXPECT_EQ(status.spooled, 2);
  EXPECT_EQ(status.counts[Fate::kDelivered], 2);
  EXPECT_EQ(status.counts.dropped(), 0);
  EXPECT_EQ(files(), (std::vector<std::string>{"counts", "lock"}));
}

TEST_F(SpoolTest, SettlesEachOnce) {
  const auto spool = open_spool(options());
  const auto sequence = push(*spool, 'a');
  ASSERT_TRUE(sequence);
  EXPECT_TRUE(spool->settle(*sequence, Fate::kRefused));
  EXPECT_TRUE(spool->settle(*sequence, Fate::kRefused));
  EXPECT_TRUE(spool->settle(77, Fate::kRefused));
  EXPECT_EQ(spool->status().counts[Fate::kRefused], 1);
  EXPECT_EQ(spool->status().counts.dropped(), 0) << "what the server refuses is counted apart";
}

TEST_F(SpoolTest, KeepsProfilesAndCountsForTheNextRun) {
  {
    const auto spool = open_spool(options());
    ASSERT_TRUE(push(*spool, 'a'));
    ASSERT_TRUE(spool->push(id_of('b'), as_bytes(encoded_profile("b")), true));
    ASSERT_TRUE(push(*spool, 'c'));
    ASSERT_TRUE(spool->settle(1, Fate::kDelivered));
  }
  const auto spool = open_spool(options());
  EXPECT_EQ(spool->status().spooled, 3);
  EXPECT_EQ(spool->status().waiting, 2);
  EXPECT_EQ(spool->status().waiting_bytes, 2 * kBlock);
  EXPECT_EQ(spool->status().counts[Fate::kDelivered], 1);
  EXPECT_EQ(*push(*spool, 'd'), 4) << "no number is used twice";
  EXPECT_TRUE((*spool->oldest())->has_kernel_symbols);
  EXPECT_EQ(deliver_all(*spool), "bcd");
  EXPECT_EQ(spool->status().counts[Fate::kDelivered], 4);
}

TEST_F(SpoolTest, TellsWhetherTheRunningKernelsSymbolsAreWaiting) {
  auto spool = open_spool(options());
  push(*spool, 'a');
  EXPECT_FALSE(spool->holds_kernel_symbols());
  EXPECT_TRUE(spool->push(id_of('b'), as_bytes(encoded_profile("b")), true));
  EXPECT_TRUE(spool->holds_kernel_symbols());
  spool.reset();
  spool = open_spool(options());
  EXPECT_FALSE(spool->holds_kernel_symbols()) << "another kernel may be running by now";
  EXPECT_TRUE(spool->push(id_of('c'), as_bytes(encoded_profile("c")), true));
  EXPECT_EQ(deliver_all(*spool), "abc");
  EXPECT_FALSE(spool->holds_kernel_symbols());
}

TEST_F(SpoolTest, NumbersGoOnWhereEverythingWasSent) {
  {
    const auto spool = open_spool(options());
    ASSERT_TRUE(push(*spool, 'a'));
    EXPECT_EQ(deliver_all(*spool), "a");
  }
  EXPECT_EQ(*push(*open_spool(options()), 'b'), 2);
}

TEST_F(SpoolTest, FilesAreProfilesAsTheyAreSent) {
  const auto spool = open_spool(options());
  ASSERT_TRUE(push(*spool, 'a'));
  EXPECT_EQ(*read_file(file_of('a'), 1000), encoded_profile("a"));
  EXPECT_EQ(file_of('a'), path_ + "/0000000000000001.61616161616161616161616161616161.1795000000.profile");
  struct stat info{};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U) << "profiles are not for everybody";
}

TEST_F(SpoolTest, DropsTheOldestWhereThereIsNoRoom) {
  const auto spool = open_spool(options(10));
  for (const char name : {'a', 'b', 'c'}) {
    ASSERT_TRUE(push(*spool, name, 3));
  }
  ASSERT_TRUE(push(*spool, 'd', 1));  // 10 blocks: full
  EXPECT_EQ(spool->status().counts.dropped(), 0);
  ASSERT_TRUE(push(*spool, 'e', 4));  // needs the room of two
  EXPECT_EQ(spool->status().counts[Fate::kNoRoom], 2);
  expect_exact_sum(spool->status());
  EXPECT_EQ(deliver_all(*spool), "cde");
}

TEST_F(SpoolTest, KeepsNoMoreThanItMayKnowOf) {
  SpoolOptions three = options();
  three.max_profiles = 3;
  const auto spool = open_spool(three);
  for (const char name : {'a', 'b', 'c', 'd', 'e'}) {
    ASSERT_TRUE(push(*spool, name));
  }
  EXPECT_EQ(spool->status().counts[Fate::kNoRoom], 2);
  EXPECT_EQ(deliver_all(*spool), "cde");
}

TEST_F(SpoolTest, OneThatAloneIsTooLargeLeavesTheOthers) {
  const auto spool = open_spool(options(10));
  ASSERT_TRUE(push(*spool, 'a', 3));
  const auto refused = push(*spool, 'b', 11);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(spool->status().counts[Fate::kNoRoom], 1);
  EXPECT_EQ(*push(*spool, 'c', 7), 3) << "what was dropped has a number, and takes no room";
  EXPECT_EQ(deliver_all(*spool), "ac");
  expect_exact_sum(spool->status());
}

// The server may have it, although its answer was lost: it would be counted as dropped, and arrive.
TEST_F(SpoolTest, OneThatMayHaveBeenSentIsNotDroppedForRoom) {
  {
    const auto spool = open_spool(options(3));
    for (const char name : {'a', 'b', 'c'}) {
      ASSERT_TRUE(push(*spool, name));
    }
    EXPECT_EQ(oldest_name(*spool), "a");
    ASSERT_TRUE(push(*spool, 'd'));
  }
  const auto spool = open_spool(options(3));
  ASSERT_TRUE(push(*spool, 'e'));  // nor after a restart, which does not know whether it was sent
  EXPECT_EQ(spool->status().counts[Fate::kNoRoom], 2);
  EXPECT_FALSE(push(*spool, 'f', 3)) << "there is room for it without a, which stays";
  EXPECT_EQ(deliver_all(*spool), "ade");
  expect_exact_sum(spool->status());
}

TEST_F(SpoolTest, AppliesALowerLimitAtTheNextStart) {
  {
    const auto spool = open_spool(options(10));
    for (const char name : {'a', 'b', 'c', 'd', 'e'}) {
      ASSERT_TRUE(push(*spool, name));
    }
  }
  const auto spool = open_spool(options(3));
  EXPECT_EQ(spool->status().counts[Fate::kNoRoom], 2);
  EXPECT_EQ(deliver_all(*spool), "ade");
}

TEST_F(SpoolTest, DropsWhatIsTooOld) {
  const auto spool = open_spool(options());
  ASSERT_TRUE(push(*spool, 'a'));
  pass(23 * kNsPerHour);
  ASSERT_TRUE(push(*spool, 'b'));
  EXPECT_EQ(oldest_name(*spool), "a");
  pass(2 * kNsPerHour);
  EXPECT_EQ(oldest_name(*spool), "b");
  EXPECT_EQ(spool->status().counts[Fate::kTooOld], 1);
  pass(25 * kNsPerHour);
  EXPECT_EQ(oldest_name(*spool), "");
  EXPECT_EQ(spool->status().counts[Fate::kTooOld], 2);
  expect_exact_sum(spool->status());
}

TEST_F(SpoolTest, GrowsOldWhileNoDaemonRuns) {
  ASSERT_TRUE(push(*open_spool(options()), 'a'));
  pass(25 * kNsPerHour);
  const auto spool = open_spool(options());
  EXPECT_EQ(spool->status().counts[Fate::kTooOld], 1);
  EXPECT_EQ(deliver_all(*spool), "");
}

TEST_F(SpoolTest, AClockThatIsSetMakesNothingOlder) {
  const auto spool = open_spool(options());
  wall_ns_ = 0;  // a machine without a battery for its clock
  ASSERT_TRUE(push(*spool, 'a'));
  wall_ns_ = 1'795'000'000 * kNsPerSecond;
  EXPECT_EQ(oldest_name(*spool), "a");
  pass(25 * kNsPerHour);
  EXPECT_EQ(oldest_name(*spool), "") << "it ages all the same";
}

TEST_F(SpoolTest, OneFromTheFutureIsNew) {
  ASSERT_TRUE(push(*open_spool(options()), 'a'));
  wall_ns_ -= 1000 * kNsPerHour;
  const auto spool = open_spool(options());
  EXPECT_EQ(oldest_name(*spool), "a");
  pass(25 * kNsPerHour);
  EXPECT_EQ(oldest_name(*spool), "");
}

TEST_F(SpoolTest, DropsADamagedFileAndSendsTheNext) {
  const auto spool = open_spool(options());
  for (const char name : {'a', 'b', 'c'}) {
    ASSERT_TRUE(push(*spool, name));
  }
  std::fstream(file_of('a'), std::ios::in | std::ios::out).seekp(40).put('!');
  std::filesystem::resize_file(file_of('b'), 35);
  EXPECT_EQ(deliver_all(*spool), "c");
  EXPECT_EQ(spool->status().counts[Fate::kDamaged], 2);
  EXPECT_EQ(files(), (std::vector<std::string>{"counts", "lock"}));
}

TEST_F(SpoolTest, CountsFilesThatSomebodyRemoved) {
  {
    const auto spool = open_spool(options());
    for (const char name : {'a', 'b', 'c', 'd'}) {
      ASSERT_TRUE(push(*spool, name));
    }
    std::filesystem::remove(file_of('a'));
    EXPECT_EQ(oldest_name(*spool), "b");
    EXPECT_EQ(spool->status().counts[Fate::kMissing], 1);
  }
  std::filesystem::remove(file_of('c'));
  const auto spool = open_spool(options());
  EXPECT_EQ(spool->status().counts[Fate::kMissing], 2);
  EXPECT_EQ(deliver_all(*spool), "bd");
  expect_exact_sum(spool->status());
}

TEST_F(SpoolTest, FilesThatSomebodyPutBackAreSentAndCounted) {
  std::string path;
  {
    const auto spool = open_spool(options());
    ASSERT_TRUE(push(*spool, 'a'));
    path = file_of('a');
    std::filesystem::copy(path, folder_ / "copy");
    EXPECT_EQ(deliver_all(*spool), "a");
    ASSERT_TRUE(push(*spool, 'b'));
    EXPECT_EQ(deliver_all(*spool), "b");  // the record of the removal of a is gone
  }
  std::filesystem::copy(folder_ / "copy", path);
  const auto spool = open_spool(options());
  EXPECT_EQ(deliver_all(*spool), "a");
  EXPECT_EQ(spool->status().spooled, 3);
  expect_exact_sum(spool->status());
}

TEST_F(SpoolTest, CleansUpAfterACrashAndLeavesAloneWhatIsNotItsOwn) {
  ASSERT_TRUE(push(*open_spool(options()), 'a'));
  std::ofstream(file_of('a') + ".77.tmp") << "half a pro";
  std::ofstream(path_ + "/notes.txt") << "mine";
  std::ofstream(path_ + "/1.61616161616161616161616161616161.1795000000.profile") << "no name that we give";
  std::filesystem::create_directory(path_ +
                                    "/0000000000000009.61616161616161616161616161616161.1795000000.profile");
  const auto spool = open_spool(options());
  EXPECT_EQ(deliver_all(*spool), "a");
  EXPECT_EQ(files(),
            (std::vector<std::string>{"0000000000000009.61616161616161616161616161616161.1795000000.profile",
                                      "1.61616161616161616161616161616161.1795000000.profile", "counts",
                                      "lock", "notes.txt"}));
}

TEST_F(SpoolTest, MakesRoomOnAFullDisk) {
  const auto spool = open_spool(options());
  for (const char name : {'a', 'b', 'c'}) {
    ASSERT_TRUE(push(*spool, name));
  }
  // Two blocks are free once two profiles are gone.
  disk_.fails = [this](TestDisk::Call call) {
    return call == TestDisk::Call::kWrite && files().size() > 4 ? ENOSPC : 0;
  };
  ASSERT_TRUE(push(*spool, 'd'));
  EXPECT_EQ(spool->status().counts[Fate::kDiskFailed], 2);
  EXPECT_EQ(deliver_all(*spool), "cd");
  expect_exact_sum(spool->status());
}

TEST_F(SpoolTest, GivesUpOneProfileWhereTheDiskStaysFull) {
  const auto spool = open_spool(options());
  for (const char name : {'a', 'b', 'c', 'd'}) {
    ASSERT_TRUE(push(*spool, name));
  }
  disk_.fails = [](TestDisk::Call call) { return call == TestDisk::Call::kWrite ? ENOSPC : 0; };
  EXPECT_FALSE(push(*spool, 'e'));
  const SpoolStatus status = spool->status();
  EXPECT_EQ(status.counts[Fate::kDiskFailed], 3) << "two for its sake, and itself";
  EXPECT_THAT(status.problem, AllOf(HasSubstr("spool: "), HasSubstr("No space left on device")));
  expect_exact_sum(status);

  disk_.fails = [](TestDisk::Call) { return 0; };
  EXPECT_EQ(*push(*spool, 'f'), 6);
  EXPECT_EQ(spool->status().problem, "");
  EXPECT_EQ(deliver_all(*spool), "cdf");
}

TEST_F(SpoolTest, ADiskThatFailsOtherwiseCostsOnlyTheNewProfile) {
  const auto spool = open_spool(options());
  ASSERT_TRUE(push(*spool, 'a'));
  disk_.fails = [](TestDisk::Call call) { return call == TestDisk::Call::kRename ? EIO : 0; };
  EXPECT_FALSE(push(*spool, 'b'));
  EXPECT_EQ(spool->status().counts[Fate::kDiskFailed], 1);
  EXPECT_EQ(deliver_all(*spool), "a");
}

TEST_F(SpoolTest, ADaemonAloneHasASpool) {
  const auto first = open_spool(options());
  const auto second = Spool::open(options());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_THAT(second.error().message,
              AllOf(HasSubstr(path_), HasSubstr(fmt::format("process {}", ::getpid()))));
  EXPECT_THAT(second.error().hint, HasSubstr("daemon.state_dir"));
}

TEST_F(SpoolTest, SaysWhatToDoWhereItCannotBe) {
  std::ofstream(folder_ / "file") << "in the way";
  SpoolOptions below_a_file = options();
  below_a_file.folder = folder_ / "file/spool";
  const auto refused = Spool::open(below_a_file);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text(), AllOf(HasSubstr(folder_ / "file"), HasSubstr("daemon.state_dir")));

  disk_.fails = [](TestDisk::Call call) { return call == TestDisk::Call::kPwrite ? EROFS : 0; };
  EXPECT_FALSE(Spool::open(options())) << "found when it starts, not when the first profile is there";
}

TEST_F(SpoolTest, DamagedCountsAreKeptAsideAndCountedAnew) {
  {
    const auto spool = open_spool(options());
    for (const char name : {'a', 'b', 'c'}) {
      ASSERT_TRUE(push(*spool, name));
    }
    ASSERT_TRUE(spool->settle(1, Fate::kDelivered));
  }
  std::filesystem::resize_file(path_ + "/counts", 50);
  wall_ns_ += kNsPerHour;
  const auto spool = open_spool(options());
  EXPECT_TRUE(std::filesystem::exists(path_ + "/counts.damaged"));
  const SpoolStatus status = spool->status();
  EXPECT_EQ(status.counted_since_ns, wall_ns_);
  EXPECT_EQ(status.spooled, 2) << "those that are here";
  EXPECT_EQ(status.counts.all(), 0);
  EXPECT_EQ(deliver_all(*spool), "bc");
  EXPECT_EQ(*push(*spool, 'd'), 4);
}

TEST_F(SpoolTest, OneDamagedRecordOfTheCountsIsNone) {
  for (const std::streamoff slot : {0, 4096}) {
    std::filesystem::remove_all(path_);
    {
      const auto spool = open_spool(options());
      for (const char name : {'a', 'b', 'c'}) {
        ASSERT_TRUE(push(*spool, name));
      }
      EXPECT_EQ(deliver_all(*spool), "abc");
    }
    std::fstream(path_ + "/counts", std::ios::in | std::ios::out).seekp(slot + 70).put('!');
    // The older record knows one removal less, whose file is gone.
    const SpoolStatus status = open_spool(options())->status();
    EXPECT_GE(status.counts[Fate::kDelivered], 2);
    EXPECT_EQ(status.spooled, 3) << "slot at " << slot;
    expect_exact_sum(status);
  }
}

TEST_F(SpoolTest, WakesForEachPushUntilDrained) {
  const auto spool = open_spool(options());
  const auto is_readable = [&] {
    pollfd poll_fd{.fd = spool->wake_fd(), .events = POLLIN, .revents = 0};
    return ::poll(&poll_fd, 1, 0) == 1;
  };
  EXPECT_FALSE(is_readable());
  spool->drain_wakeups();  // must not block
  ASSERT_TRUE(push(*spool, 'a'));
  ASSERT_TRUE(push(*spool, 'b'));
  EXPECT_TRUE(is_readable());
  spool->drain_wakeups();
  EXPECT_FALSE(is_readable()) << "one drain is for all pushes before it";
  ASSERT_TRUE(push(*spool, 'c'));
  EXPECT_TRUE(is_readable());
}

TEST_F(SpoolTest, RecordingsOfBurstsHaveAFolderOfTheirOwn) {
  const auto profiles = open_spool(options());
  ASSERT_TRUE(push(*profiles, 'a'));
  SpoolOptions of_recordings = options();
  of_recordings.folder = path_ + "-bursts";
  of_recordings.kind = &kind_of_recordings();
  const std::string recording = traces::encode_bursts(plimsoll::testing::burst_recording("m1"));
  {
    const auto recordings = open_spool(of_recordings);
    ASSERT_TRUE(recordings->push(id_of('b'), as_bytes(recording), false));
    EXPECT_EQ(recordings->status().waiting, 1);
    EXPECT_EQ(profiles->status().waiting, 1);
  }
  const auto again = open_spool(of_recordings);
  const auto oldest = again->oldest();
  ASSERT_TRUE(oldest && *oldest);
  EXPECT_EQ((*oldest)->encoded, recording);
  ASSERT_TRUE(again->settle((*oldest)->sequence, Fate::kDelivered));
  // A profile is no recording, and the other way round.
  ASSERT_TRUE(again->push(id_of('c'), as_bytes(encoded_profile("c")), false));
  EXPECT_EQ(oldest_name(*again), "");
  EXPECT_EQ(again->status().counts[Fate::kDamaged], 1);
  const auto large = again->push(id_of('d'), as_bytes(std::string(200 * kBlock, 'x')), false);
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().text(),
              HasSubstr("recording of bursts is dropped: larger than bursts.max_spool_bytes"));
  expect_exact_sum(again->status());
}

TEST(SpooledProfileName, OfRecordingsHasAnotherSuffix) {
  const std::string name = "0000000000000042.61616161616161616161616161616161.7.bursts";
  EXPECT_FALSE(parse_file_name(name));
  const auto read = parse_file_name(name, kind_of_recordings().suffix);
  ASSERT_TRUE(read);
  EXPECT_EQ(file_name_of(*read, kind_of_recordings().suffix), name);
}

TEST(SpooledProfileName, IsReadAsItIsWritten) {
  const SpooledProfile profile{.sequence = 12'345'678'901'234'567'890U,
                               .id = std::string("\x00\x01"
                                                 "23456789abcdef",
                                                 16),
                               .spooled_s = 1'795'000'000,
                               .has_kernel_symbols = true};
  const std::string name = file_name_of(profile);
  EXPECT_EQ(name, "12345678901234567890.00013233343536373839616263646566.1795000000.k.profile");
  const auto read = parse_file_name(name);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->sequence, profile.sequence);
  EXPECT_EQ(read->id, profile.id);
  EXPECT_EQ(read->spooled_s, profile.spooled_s);
  EXPECT_TRUE(read->has_kernel_symbols);
}

TEST(SpooledProfileName, HasOneSpelling) {
  const std::string good = "0000000000000042.61616161616161616161616161616161.7.profile";
  ASSERT_TRUE(parse_file_name(good));
  for (const char* bad :
       {"", "profile", "0000000000000042", "counts", "lock", "42.61616161616161616161616161616161.7.profile",
        "0000000000000000.61616161616161616161616161616161.7.profile",
        "-000000000000042.61616161616161616161616161616161.7.profile",
        "0000000000000042.6161616161616161616161616161616.7.profile",
        "0000000000000042.616161616161616161616161616161.7.profile",
        "0000000000000042.6161616161616161616161616161616G.7.profile",
        "0000000000000042.6161616161616161616161616161616A.7.profile",
        "0000000000000042.61616161616161616161616161616161.07.profile",
        "0000000000000042.61616161616161616161616161616161..profile",
        "0000000000000042.61616161616161616161616161616161.7.x.profile",
        "0000000000000042.61616161616161616161616161616161.7.k.profile.9.tmp",
        "99999999999999999999.61616161616161616161616161616161.7.profile"}) {
    EXPECT_FALSE(parse_file_name(bad)) << bad;
  }
}

}  // namespace
}  // namespace plimsoll::spool
