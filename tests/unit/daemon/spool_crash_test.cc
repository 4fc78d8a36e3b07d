// The spool is killed at each call that changes the disk, and each of these calls fails once: no profile is lost, doubled or
// counted wrongly.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <set>

#include "tests/temporary_directory.h"
#include "tests/unit/daemon/spool_fixture.h"

namespace plimsoll::spool {
namespace {

constexpr uint64_t kRoomBlocks = 6;

std::string numbered_id(uint64_t number) {
  std::string id = fmt::format("{:016}", number);
  return id;
}

SpoolOptions options_for(const std::string& folder, const FileCalls& calls, int64_t now_s = 1'795'000'000) {
  return {.folder = folder,
          .max_bytes = kRoomBlocks * kBlock,
          .max_age_ns = 50 * kNsPerSecond,
          .calls = &calls,
          .wall_ns = [now_s] { return now_s * kNsPerSecond; },
          .boottime_ns = [now_s] { return now_s * kNsPerSecond; }};
}

// What is known of a spool between two operations, by nothing but what its calls have returned.
struct Known {
  uint64_t pushes = 0;  // attempts, each of which has a number
  uint64_t settled = 0;
  uint64_t failed_settles =
      0;  // which a restart may find done: what the disk says of an fsync is not always true
  std::set<std::string> on_disk;  // push() returned, and neither settled nor dropped
};

// Random operations; what each may change is known before it begins.
class Operations {
 public:
  Operations(const std::string& folder, const FileCalls& calls, uint64_t seed)
      : folder_(folder), calls_(calls), random_(seed), spool_(open_spool(options_for(folder_, calls_))) {}

  void step() {
    switch (random_() % 8) {
      case 0:
      case 1:
      case 2:
      case 3:
        push();
        break;
      case 4:
      case 5:
        settle(Fate::kDelivered);
        break;
      case 6:
        settle(Fate::kRefused);
        break;
      default:
        restart();
    }
  }

  const Known& known() const { return known_; }
  const std::string& being_pushed() const { return being_pushed_; }
  bool is_settling() const { return is_settling_; }
  Spool& spool() { return *spool_; }

 private:
  void push() {
    being_pushed_ = numbered_id(++known_.pushes);
    const std::string encoded = encoded_profile(being_pushed_, 1 + random_() % 3);
    if (spool_->push(being_pushed_, as_bytes(encoded), random_() % 2 == 0)) {
      known_.on_disk.insert(being_pushed_);
    }
    being_pushed_.clear();
  }

  void settle(Fate fate) {
    const auto oldest = spool_->oldest();
    if (!oldest || !*oldest) {
      return;
    }
    is_settling_ = true;
    if (spool_->settle((*oldest)->sequence, fate)) {
      known_.on_disk.erase((*oldest)->id);
      ++known_.settled;
    } else {
      ++known_.failed_settles;
    }
    is_settling_ = false;
  }

  void restart() {
    spool_.reset();
    auto opened = Spool::open(options_for(folder_, calls_, now_s_ += 10));
    // Where the disk failed a daemon does not start. It is started again.
    spool_ = opened ? std::move(*opened) : open_spool(options_for(folder_, calls_, now_s_));
  }

  const std::string folder_;
  const FileCalls& calls_;
  std::mt19937_64 random_;
  int64_t now_s_ = 1'795'000'000;
  std::unique_ptr<Spool> spool_;
  Known known_;
  std::string being_pushed_;
  bool is_settling_ = false;
};

// Opens a folder as the next daemon would, and compares it with what is known.
void check_after_crash(const std::string& folder, const Operations& operations) {
  FileCalls calls = FileCalls::system();
  calls.fsync = [](int) { return 0; };
  const Known& known = operations.known();
  SpoolStatus first;
  {
    const auto spool = open_spool(options_for(folder, calls));
    ASSERT_TRUE(spool);
    first = spool->status();
  }
  const auto spool = open_spool(options_for(folder, calls));
  const SpoolStatus status = spool->status();
  EXPECT_EQ(status.counts, first.counts) << "opening it again must change nothing";
  expect_exact_sum(status);
  EXPECT_EQ(status.counts[Fate::kMissing], 0);
  const uint64_t in_doubt = operations.being_pushed().empty() ? 0 : 1;
  EXPECT_GE(status.spooled + in_doubt, known.pushes);
  EXPECT_LE(status.spooled, known.pushes);
  const uint64_t settled = status.counts[Fate::kDelivered] + status.counts[Fate::kRefused];
  EXPECT_GE(settled, known.settled);
  EXPECT_LE(settled, known.settled + (operations.is_settling() ? 1 : 0));

  std::set<std::string> found;
  for (auto oldest = spool->oldest(); oldest && *oldest; oldest = spool->oldest()) {
    const std::string& id = (*oldest)->id;
    EXPECT_TRUE(found.insert(id).second) << id << " is there twice";
    EXPECT_EQ((*oldest)->sequence, std::stoull(id)) << "in the order of the pushes";
    EXPECT_TRUE(known.on_disk.contains(id) || id == operations.being_pushed()) << id << " has come back";
    ASSERT_TRUE(spool->settle((*oldest)->sequence, Fate::kDelivered));
  }
  EXPECT_EQ(spool->status().counts[Fate::kDamaged], 0);
}

class SpoolCrash : public ::testing::TestWithParam<uint64_t> {};

TEST_P(SpoolCrash, AtEachCallLeavesEveryProfileOnDiskOrCounted) {
  const plimsoll::testing::TemporaryDirectory folder;
  const std::string path = folder / "spool";
  const std::string as_left = folder / "as_left";
  TestDisk disk;
  int kills = 0;
  Operations* running = nullptr;
  disk.may_be_killed = [&] {
    if (running == nullptr) {
      return;
    }
    std::filesystem::remove_all(as_left);
    std::filesystem::copy(path, as_left);
    ++kills;
    check_after_crash(as_left, *running);
  };
  Operations operations(path, disk.calls(), GetParam());
  running = &operations;
  for (int i = 0; i < 40 && !::testing::Test::HasFailure(); ++i) {
    operations.step();
    SCOPED_TRACE(fmt::format("after operation {}", i));
  }
  EXPECT_GT(kills, 100);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SpoolCrash, ::testing::Range<uint64_t>(1, 4));

struct Failure {
  const char* name;
  int error_number;
};

class SpoolFault : public ::testing::TestWithParam<Failure> {};

// Runs the same operations again and again; the first call fails in the first run, the second one in the second, ...
TEST_P(SpoolFault, AtEachCallLosesNothingUncounted) {
  const plimsoll::testing::TemporaryDirectory folder;
  TestDisk disk;
  int failing = 0;
  bool has_failed = true;
  for (; has_failed && !::testing::Test::HasFailure(); ++failing) {
    SCOPED_TRACE(fmt::format("call {} fails", failing));
    const std::string path = folder / fmt::format("spool{}", failing);
    disk.fails = [](TestDisk::Call) { return 0; };
    Operations operations(path, disk.calls(), 77);
    int calls = 0;
    has_failed = false;
    disk.fails = [&](TestDisk::Call) {
      has_failed |= calls == failing;
      return calls++ == failing ? GetParam().error_number : 0;
    };
    for (int i = 0; i < 25; ++i) {
      operations.step();
      expect_exact_sum(operations.spool().status());
    }
    const SpoolStatus status = operations.spool().status();
    const Known& known = operations.known();
    EXPECT_EQ(status.spooled, known.pushes);
    EXPECT_EQ(status.counts[Fate::kDamaged], 0);
    const uint64_t settled = status.counts[Fate::kDelivered] + status.counts[Fate::kRefused];
    EXPECT_GE(settled, known.settled);
    EXPECT_LE(settled, known.settled + known.failed_settles);
    disk.fails = [](TestDisk::Call) { return 0; };
    for (auto oldest = operations.spool().oldest(); oldest && *oldest; oldest = operations.spool().oldest()) {
      EXPECT_TRUE(known.on_disk.contains((*oldest)->id)) << (*oldest)->id;
      ASSERT_TRUE(operations.spool().settle((*oldest)->sequence, Fate::kDelivered));
    }
    std::filesystem::remove_all(path);
  }
  EXPECT_GT(failing, 50);
}

INSTANTIATE_TEST_SUITE_P(Errors, SpoolFault,
                         ::testing::Values(Failure{"DiskFull", ENOSPC}, Failure{"QuotaReached", EDQUOT},
                                           Failure{"DiskFailing", EIO}, Failure{"ReadOnly", EROFS}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace plimsoll::spool
