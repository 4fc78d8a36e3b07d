// Which profiles of a block become one hour.
#include "store/rollup/hours.h"

#include <gtest/gtest.h>

#include <limits>

namespace plimsoll::store::hours_test {
namespace {

constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;

AppendOnlyList<EventEntry> one_event() {
  AppendOnlyList<EventEntry> events{1};
  events.push_back({"cycles", wire::COUNT, wire::DELTA});
  return events;
}

OriginRow profile(int64_t sequence, const EventRecord& event) {
  OriginRow row{{.id = std::to_string(sequence), .sequence = sequence, .events = {event}}};
  row.entry.machine = 1;
  row.entry.from_ns = kHourNs + sequence;
  row.entry.to_ns = kHourNs + sequence + 1'000'000'000;
  return row;
}

// How many hours two profiles become.
size_t hours_of(const EventRecord& a, const EventRecord& b) {
  const Hours hours({{}, profile(1, a), profile(2, b)}, one_event());
  return hours.origins().size() - 1;
}

TEST(Hours, ProfilesOfAMachineInAnHourAreOne) {
  const EventRecord event{.event = 1, .scale = 2, .hits = 10, .samples = 10};
  const Hours hours({{}, profile(1, event), profile(2, event)}, one_event());
  ASSERT_EQ(hours.origins().size(), 2);
  EXPECT_EQ(hours.origins()[1].events[0].hits, 20);
  EXPECT_EQ(hours.origins()[1].events[0].observed_ns, 2'000'000'000);
}

TEST(Hours, SumsThatWouldNotBeExactStayApart) {
  const EventRecord few{.event = 1, .scale = 1, .hits = 1, .samples = 1};
  EventRecord many = few;
  many.hits = uint64_t{1} << 53;
  EXPECT_EQ(hours_of(few, few), 1);
  EXPECT_EQ(hours_of(many, few), 2) << "hits of the same scale";
  EventRecord long_time = few;
  long_time.time_enabled_ns = long_time.time_running_ns = std::numeric_limits<int64_t>::max();
  EventRecord short_time = few;
  short_time.time_enabled_ns = short_time.time_running_ns = 1;
  EXPECT_EQ(hours_of(long_time, short_time), 2);
  EventRecord lost = few;
  lost.lost = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(hours_of(lost, lost), 2);
}

}  // namespace
}  // namespace plimsoll::store::hours_test
