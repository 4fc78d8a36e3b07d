#include "query/operations/collection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/start.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using plimsoll::testing::kStartNs;

using ::testing::ElementsAre;

const std::vector<store::Stop>& stops() {
  static const std::vector<store::Stop> stops{
      {.reason = "latency", .by_hand = true, .since_ns = kStartNs},
      {.scope = store::StopScope::kPlatform,
       .value = "zen",
       .reason = "7 of 10 machines failed",
       .step = store::StopStep::kOneMachine,
       .since_ns = kStartNs,
       .next_ns = kStartNs + 60'000'000'000},
      {.scope = store::StopScope::kEventSet, .value = "cycles", .step = store::StopStep::kAll},
  };
  return stops;
}

TEST(Collection, ShowsWhatIsHeldBack) {
  EXPECT_EQ(csv(collection(stops())),
            "stopped,which,measured,by,since,next,reason\n"
            "everything,,nothing,hand,2027-01-15T08:00:00Z,,latency\n"
            "platform,zen,one machine,failures,2027-01-15T08:00:00Z,2027-01-15T08:01:00Z,7 of 10 machines "
            "failed\n");
  EXPECT_THAT(collection({}).notes, ElementsAre("collection is running: nothing is stopped"));
  EXPECT_THAT(
      stop_notes(stops()),
      ElementsAre(
          "ALARM: collection of everything is stopped since 2027-01-15T08:00:00Z: latency",
          "ALARM: collection of platform zen is limited to one machine since 2027-01-15T08:00:00Z: 7 of 10 "
          "machines failed"));
}

}  // namespace
}  // namespace plimsoll::query
