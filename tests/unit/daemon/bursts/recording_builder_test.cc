#include "daemon/bursts/recording_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bursts/burst_recordings.h"
#include "traces/bursts/recording/burst_file.h"

namespace plimsoll::bursts {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RecordingBuilderTest : public ::testing::Test {
 protected:
  static traces::BurstRecording head() {
    traces::BurstRecording head;
    head.machine = "m1";
    head.draw = "fleet-1";
    head.config_bits = 0x7f00;
    head.cpus = 1;
    head.notes = {"as it is"};
    return head;
  }
  static traces::Burst burst(int64_t period, size_t events = 10) {
    return plimsoll::testing::burst_recording("m1", period, events).bursts.front();
  }
  static std::vector<traces::BurstThread> threads() {
    return plimsoll::testing::burst_recording("m1").threads;
  }
  static constexpr traces::ClockState kGood{.is_synchronized = true, .max_error_ns = 1000};

  RecordingBuilder builder_{head(), 25};
};

TEST_F(RecordingBuilderTest, PutsBurstsTogetherUntilThereAreEnoughEvents) {
  builder_.add(burst(1), kGood);
  builder_.add(burst(2), kGood);
  EXPECT_FALSE(builder_.is_full());
  builder_.add(burst(3), kGood);
  EXPECT_TRUE(builder_.is_full());
  const BuiltRecording built = builder_.build(threads(), UINT64_MAX);
  EXPECT_EQ(built.bursts, 3);
  EXPECT_EQ(built.events, 30);
  EXPECT_EQ(built.left_out, 0);
  const auto recording = traces::decode_bursts(as_bytes(built.encoded));
  ASSERT_TRUE(recording) << recording.error().text();
  EXPECT_EQ(recording->draw, "fleet-1");
  EXPECT_EQ(recording->bursts, (std::vector<traces::Burst>{burst(1), burst(2), burst(3)}));
  EXPECT_THAT(recording->notes, ElementsAre("as it is"));
  EXPECT_TRUE(builder_.is_empty());
  EXPECT_EQ(builder_.build(threads(), UINT64_MAX).bursts, 0);
}

TEST_F(RecordingBuilderTest, EventsOfApplicationsCountByTheirMemory) {
  builder_.add(burst(1), kGood);
  const auto told = [](size_t count) {
    ApplicationEvents events;
    events.events.resize(count);
    return events;
  };
  builder_.add(told(2));
  EXPECT_EQ(builder_.events(), 10 + 2 * kEventsPerApplicationEvent);
  EXPECT_FALSE(builder_.is_full());
  builder_.add(told(1));
  EXPECT_TRUE(builder_.is_full());
}

TEST_F(RecordingBuilderTest, HasTheWorstClockOfItsBursts) {
  builder_.add(burst(1), kGood);
  builder_.add(burst(2), {.is_synchronized = true, .max_error_ns = 50'000'000});
  builder_.add(burst(3), kGood);
  const auto recording = traces::decode_bursts(as_bytes(builder_.build(threads(), UINT64_MAX).encoded));
  ASSERT_TRUE(recording);
  EXPECT_EQ(recording->clock.max_error_ns, 50'000'000);
  EXPECT_THAT(recording->notes, ElementsAre("as it is", HasSubstr("right within 50 ms")));
  // The next one is judged by its own.
  builder_.add(burst(4), {});
  builder_.add(burst(5), kGood);
  const auto next = traces::decode_bursts(as_bytes(builder_.build(threads(), UINT64_MAX).encoded));
  ASSERT_TRUE(next);
  EXPECT_FALSE(next->clock.is_synchronized);
  EXPECT_THAT(next->notes, ElementsAre("as it is", HasSubstr("not synchronized")));
}

TEST_F(RecordingBuilderTest, LeavesOutTheNewestThatDoNotFit) {
  for (int64_t period = 1; period <= 8; ++period) {
    builder_.add(burst(period, 5), kGood);
  }
  RecordingBuilder small(head(), 25);
  for (int64_t period = 1; period <= 2; ++period) {
    small.add(burst(period, 5), kGood);
  }
  const size_t of_two = small.build(threads(), UINT64_MAX).encoded.size();
  const BuiltRecording built = builder_.build(threads(), of_two);
  EXPECT_EQ(built.bursts, 2);
  EXPECT_EQ(built.left_out, 6);
  EXPECT_LE(built.encoded.size(), of_two);
  EXPECT_EQ(traces::decode_bursts(as_bytes(built.encoded))->bursts.front(), burst(1, 5));
  builder_.add(burst(1), kGood);
  const BuiltRecording none = builder_.build(threads(), 10);
  EXPECT_EQ(none.encoded, "");
  EXPECT_EQ(none.left_out, 1);
}

}  // namespace
}  // namespace plimsoll::bursts
