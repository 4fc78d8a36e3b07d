// Bursts of a store, in the order of time.
#include "cli/bursts_machines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "store/ingest.h"
#include "store/store.h"
#include "tests/bursts/burst_recordings.h"
#include "tests/temporary_directory.h"
#include "traces/bursts/recording/burst_file.h"

namespace plimsoll::cli {
namespace {

using plimsoll::testing::burst_recording;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// By the period of 32.768 s at whose end a burst is, and its machines.
using Bursts = std::vector<std::pair<int64_t, std::vector<std::string>>>;

class BurstMachinesTest : public ::testing::Test {
 protected:
  void SetUp() override { sink_ = *store::open_burst_sink(ingest_->directory()); }

  // Two bursts, from that period on.
  void keep(char id, const std::string& machine, int64_t first_period, size_t events = 10) {
    const traces::BurstRecording recording = burst_recording(machine, first_period, events);
    const auto kept = sink_->add(std::string(store::kBurstIdBytes, id), *store::summary_of(recording),
                                 as_bytes(traces::encode_bursts(recording)));
    ASSERT_TRUE(kept) << kept.error().text();
  }

  BurstMachines open(query::Parameters parameters = {}) {
    BurstsInput input;
    input.stored.source.data_dir = path_;
    input.stored.parameters = std::move(parameters);
    auto machines = BurstMachines::open(input, {});
    EXPECT_TRUE(machines) << machines.error().text();
    return std::move(*machines);
  }

  static int64_t period_of(const BurstOfMachines& burst) { return (burst.planned_begin_ms + 256) / 32'768; }

  static Bursts bursts_of(BurstMachines machines) {
    Bursts found;
    const Status visited = machines.for_each_burst([&](const BurstOfMachines& burst) -> Result<bool> {
      std::vector<std::string> names;
      for (const traces::SceneMachine& machine : burst.machines) {
        names.push_back(machine.recording->machine);
      }
      found.emplace_back(period_of(burst), std::move(names));
      return true;
    });
    EXPECT_TRUE(visited) << visited.error().text();
    return found;
  }

  plimsoll::testing::TemporaryDirectory folder_;
  const std::string path_ = folder_ / "data";
  std::unique_ptr<store::Ingest> ingest_ = *store::Ingest::open(path_);
  std::unique_ptr<store::BurstSink> sink_;
};

TEST_F(BurstMachinesTest, ComeInTheOrderOfTimeWithAllMachinesThatRecordedThem) {
  keep('a', "m2", 10);
  keep('b', "m1", 11);
  keep('c', "m2", 12);
  keep('d', "m1", 20);
  EXPECT_THAT(bursts_of(open()), ElementsAre(Pair(10, ElementsAre("m2")), Pair(11, ElementsAre("m1", "m2")),
                                             Pair(12, ElementsAre("m1", "m2")), Pair(13, ElementsAre("m2")),
                                             Pair(20, ElementsAre("m1")), Pair(21, ElementsAre("m1"))));
  EXPECT_THAT(bursts_of(open({{"machine", "m1"}})),
              ElementsAre(Pair(11, ElementsAre("m1")), Pair(12, ElementsAre("m1")),
                          Pair(20, ElementsAre("m1")), Pair(21, ElementsAre("m1"))));
}

// By hand and by assignment at once.
TEST_F(BurstMachinesTest, HaveAMachineOnceThatRecordedTwice) {
  keep('a', "m1", 10, 5);
  keep('b', "m1", 10, 20);
  keep('c', "m2", 10);
  BurstMachines machines = open();
  std::vector<size_t> events;
  ASSERT_TRUE(machines.for_each_burst([&](const BurstOfMachines& burst) -> Result<bool> {
    for (const traces::SceneMachine& machine : burst.machines) {
      events.push_back(machine.burst->events.size());
    }
    return true;
  }));
  EXPECT_THAT(events, ElementsAre(20, 10, 20, 10));
  EXPECT_THAT(machines.notes(), ElementsAre(HasSubstr("2 parts of bursts were left out")));
}

// Not all of a recording that touches the time.
TEST_F(BurstMachinesTest, AreThoseOfTheTimeThatIsAskedFor) {
  keep('a', "m1", 10);
  keep('b', "m1", 12);
  const auto end_of = [](int64_t period) { return format_time(period * 32'768 * kNsPerMs); };
  EXPECT_THAT(bursts_of(open({{"since", end_of(10)}, {"until", end_of(12)}})),
              ElementsAre(Pair(11, ElementsAre("m1")), Pair(12, ElementsAre("m1"))));
}

TEST_F(BurstMachinesTest, HoldARecordingFromItsFirstBurstToItsLast) {
  for (int i = 0; i < 20; ++i) {
    keep(static_cast<char>('a' + i), "m1", 10 + 2 * i);
  }
  BurstMachines machines = open();
  std::vector<std::weak_ptr<const traces::BurstRecording>> seen;
  const Status visited = machines.for_each_burst([&](const BurstOfMachines& burst) -> Result<bool> {
    seen.insert(seen.end(), burst.recordings.begin(), burst.recordings.end());
    size_t held = 0;
    for (const auto& recording : seen) {
      held += recording.expired() ? 0 : 1;
    }
    // Each recording has two bursts, so that it is counted twice at most; the next one may have been read.
    EXPECT_LE(held, 2);
    return true;
  });
  ASSERT_TRUE(visited) << visited.error().text();
  EXPECT_EQ(seen.size(), 40);
}

TEST_F(BurstMachinesTest, EndWhereTheVisitorHasEnough) {
  keep('a', "m1", 10);
  int visits = 0;
  BurstMachines machines = open();
  ASSERT_TRUE(machines.for_each_burst([&](const BurstOfMachines&) -> Result<bool> { return ++visits < 1; }));
  EXPECT_EQ(visits, 1);
}

TEST_F(BurstMachinesTest, SayWhatHasBeenDroppedMeanwhile) {
  keep('a', "m1", 10);
  keep('b', "m2", 10);
  BurstMachines machines = open();
  ASSERT_TRUE(*sink_->drop_oldest());
  int visits = 0;
  ASSERT_TRUE(machines.for_each_burst([&](const BurstOfMachines& burst) -> Result<bool> {
    EXPECT_EQ(burst.machines.size(), 1);
    return ++visits > 0;
  }));
  EXPECT_EQ(visits, 2);
  EXPECT_THAT(machines.notes(), ElementsAre(HasSubstr("of machine m1 has been dropped meanwhile")));
}

TEST_F(BurstMachinesTest, SayThatThereAreNone) {
  BurstMachines machines = open();
  EXPECT_THAT(machines.notes(), ElementsAre(HasSubstr("there are no recordings")));
  EXPECT_THAT(bursts_of(std::move(machines)), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::cli
