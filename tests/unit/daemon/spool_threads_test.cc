#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "tests/temporary_directory.h"
#include "tests/unit/daemon/spool_fixture.h"

namespace plimsoll::spool {
namespace {

struct Bound {
  const char* name;
  uint64_t blocks;
  bool drops;  // certainly
};

class SpoolThreads : public ::testing::TestWithParam<Bound> {};

TEST_P(SpoolThreads, EachProfileIsDeliveredOnceOrCountedAsDropped) {
  constexpr int kProducers = 4;
  constexpr int kPerProducer = 100;
  const plimsoll::testing::TemporaryDirectory folder;
  const TestDisk disk;
  const auto spool = open_spool(
      {.folder = folder / "spool", .max_bytes = GetParam().blocks * kBlock, .calls = &disk.calls()});
  std::atomic<int> running = kProducers;
  std::vector<std::jthread> producers;
  for (int producer = 0; producer < kProducers; ++producer) {
    producers.emplace_back([&, producer] {
      for (int i = 0; i < kPerProducer; ++i) {
        const std::string id = fmt::format("{:08}{:08}", producer, i);
        EXPECT_TRUE(spool->push(id, as_bytes(encoded_profile(id, 1 + static_cast<uint64_t>(i) % 2)), false));
      }
      --running;
    });
  }
  std::set<std::string> delivered;
  std::vector<int> newest(kProducers, -1);
  for (bool is_last = false; !is_last;) {
    is_last = running == 0;  // read before draining, so that the last round misses nothing
    for (auto oldest = spool->oldest(); oldest && *oldest; oldest = spool->oldest()) {
      const std::string id = (*oldest)->id;
      EXPECT_EQ((*oldest)->encoded.substr(32, 16), id);
      ASSERT_TRUE(spool->settle((*oldest)->sequence, Fate::kDelivered));
      EXPECT_TRUE(delivered.insert(id).second) << id << " came twice";
      int& newest_of_producer = newest[static_cast<size_t>(std::stoi(id.substr(0, 8)))];
      EXPECT_GT(std::stoi(id.substr(8)), newest_of_producer) << "out of order";
      newest_of_producer = std::stoi(id.substr(8));
    }
  }
  const SpoolStatus status = spool->status();
  EXPECT_EQ(status.waiting, 0);
  EXPECT_EQ(status.counts[Fate::kDelivered], delivered.size());
  EXPECT_EQ(delivered.size() + status.counts[Fate::kNoRoom], kProducers * kPerProducer);
  EXPECT_EQ(status.counts[Fate::kNoRoom] > 0, GetParam().drops);
}

INSTANTIATE_TEST_SUITE_P(Bounds, SpoolThreads,
                         ::testing::Values(Bound{"RoomForAll", 1000, false}, Bound{"RoomForThree", 4, true}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace plimsoll::spool
