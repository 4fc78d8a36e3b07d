#include "daemon/bursts/burst_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time.h"

namespace plimsoll::bursts {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

BurstLimits limits() {
  return {.is_permitted = true,
          .events = {"page-faults"},
          .max_share = 0.02,
          .max_burst_ns = kNsPerSecond,
          .max_duration_ns = kNsPerHour,
          .max_bytes = 1000,
          .max_overhead = 0.01,
          .max_memory_bytes = 1 << 20};
}

wire::Assignment assignment(uint64_t config_bits = 0x7f00) {
  wire::Assignment assignment;
  assignment.set_id("fleet-1");
  assignment.set_start_ns(5);
  assignment.set_duration_ns(10 * kNsPerSecond);
  assignment.mutable_bursts()->set_config_bits(config_bits);
  assignment.mutable_bursts()->set_duration_ns(5 * kNsPerMinute);
  return assignment;
}

std::string refusal(const wire::Assignment& asked, const BurstLimits& of_machine = limits()) {
  return accept_bursts(asked, of_machine).wanted.refusal;
}

TEST(BurstLimits, AreTakenWhereTheServerSaysNothing) {
  const AcceptedBursts accepted = accept_bursts(assignment(), limits());
  EXPECT_EQ(accepted.wanted.refusal, "");
  EXPECT_EQ(accepted.note, "");
  EXPECT_EQ(accepted.wanted.assignment.duration_ns(), 5 * kNsPerMinute) << "of the bursts";
  EXPECT_EQ(accepted.wanted.assignment.bursts().max_bytes(), 1000);
  EXPECT_DOUBLE_EQ(accepted.wanted.assignment.bursts().max_overhead(), 0.01);
}

TEST(BurstLimits, HoldWhateverTheServerAsksFor) {
  wire::Assignment asked = assignment();
  asked.mutable_bursts()->set_duration_ns(2 * kNsPerHour);
  asked.mutable_bursts()->set_max_bytes(2000);
  asked.mutable_bursts()->set_max_overhead(0.5);
  asked.mutable_bursts()->add_events("system-calls");
  asked.mutable_bursts()->add_events("page-faults");
  asked.mutable_bursts()->add_events("weather");
  const AcceptedBursts accepted = accept_bursts(asked, limits());
  const wire::BurstRequest& bursts = accepted.wanted.assignment.bursts();
  EXPECT_EQ(bursts.duration_ns(), kNsPerHour);
  EXPECT_EQ(bursts.max_bytes(), 1000);
  EXPECT_DOUBLE_EQ(bursts.max_overhead(), 0.01);
  EXPECT_THAT(bursts.events(), ElementsAre("page-faults"));
  EXPECT_EQ(
      accepted.note,
      "without system-calls and weather, which bursts.events does not permit; for 1h, bursts.max_duration");
  asked.mutable_bursts()->set_max_bytes(500);
  asked.mutable_bursts()->set_max_overhead(0.001);
  EXPECT_EQ(accept_bursts(asked, limits()).wanted.assignment.bursts().max_bytes(), 500);
  EXPECT_DOUBLE_EQ(accept_bursts(asked, limits()).wanted.assignment.bursts().max_overhead(), 0.001);
}

TEST(BurstLimits, RefuseBurstsThatTheyForbid) {
  EXPECT_EQ(refusal(assignment()), "");
  BurstLimits forbidden = limits();
  forbidden.is_permitted = false;
  EXPECT_THAT(refusal(assignment(), forbidden), HasSubstr("bursts.permit"));
  EXPECT_THAT(refusal(assignment(0x1f00)), HasSubstr("3.12 % of the time, over bursts.max_share_percent"));
  EXPECT_THAT(refusal(assignment(0x7f << 10)), HasSubstr("last 1024ms, over bursts.max_burst"));
  EXPECT_NE(refusal(assignment(5)), "") << "no burst-config";
  wire::Assignment without_time = assignment();
  without_time.clear_start_ns();
  EXPECT_THAT(refusal(without_time), HasSubstr("no start"));
  without_time = assignment();
  without_time.mutable_bursts()->set_duration_ns(0);
  EXPECT_THAT(refusal(without_time), HasSubstr("no duration"));
}

}  // namespace
}  // namespace plimsoll::bursts
