#include "daemon/limits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/result.h"
#include "daemon/sampling/event_config.h"

namespace plimsoll {
namespace {

struct LimitsCase {
  const char* what;
  std::vector<std::string> asked;
  uint32_t rate_hz;
  int64_t duration_ns;
  LocalLimits limits;
  const char* answer;  // "RATE Hz for DURATION ns: EVENTS"
};

std::string text_of(const wire::Assignment& assignment) {
  std::string text = fmt::format("{} Hz for {} ns:", assignment.rate_hz(), assignment.duration_ns());
  for (const wire::EventRequest& event : assignment.events()) {
    text += " " + event.name();
  }
  return text;
}

class WithinLimits : public ::testing::TestWithParam<LimitsCase> {};

TEST_P(WithinLimits, IsWhatTheMachineAllows) {
  wire::Assignment assignment;
  assignment.set_rate_hz(GetParam().rate_hz);
  assignment.set_duration_ns(GetParam().duration_ns);
  for (const std::string& name : GetParam().asked) {
    assignment.add_events()->set_name(name);
  }
  EXPECT_EQ(text_of(within_limits(assignment, GetParam().limits)), GetParam().answer) << GetParam().what;
}

const LocalLimits kLimits{.max_rate_hz = 200, .max_window_ns = 5000};

INSTANTIATE_TEST_SUITE_P(
    Assignments, WithinLimits,
    ::testing::Values(
        LimitsCase{"all within", {"cycles"}, 99, 4000, kLimits, "99 Hz for 4000 ns: cycles"},
        LimitsCase{"as much as allowed", {"cycles"}, 200, 5000, kLimits, "200 Hz for 5000 ns: cycles"},
        LimitsCase{"too high a rate", {"cycles"}, 201, 4000, kLimits, "200 Hz for 4000 ns: cycles"},
        LimitsCase{"too long a window", {"cycles"}, 99, 5001, kLimits, "99 Hz for 5000 ns: cycles"},
        LimitsCase{"the default rate is said", {"cycles"}, 0, 4000, kLimits, "99 Hz for 4000 ns: cycles"},
        LimitsCase{"the default rate is limited too",
                   {"cycles"},
                   0,
                   4000,
                   {.max_rate_hz = 50, .max_window_ns = 5000},
                   "50 Hz for 4000 ns: cycles"},
        LimitsCase{"no window at all", {"cycles"}, 99, 4000, {}, "99 Hz for 0 ns: cycles"},
        LimitsCase{"no event named", {}, 99, 4000, kLimits, "99 Hz for 4000 ns:"}),
    [](const auto& test) {
      std::string name = test.param.what;
      std::ranges::replace_if(name, [](char c) { return c == ' ' || c == ','; }, '_');
      return name;
    });

TEST(Limits, HoldForPeriodsAsForRates) {
  wire::Assignment assignment;
  assignment.set_duration_ns(4000);
  assignment.add_events()->set_name("cpu-clock");
  assignment.mutable_events(0)->set_period(1);
  EXPECT_EQ(within_limits(assignment, kLimits).events(0).period(), 5'000'000);  // ns, for 200 Hz
}

struct StackCase {
  const char* what;
  uint32_t rate_hz, stack_rate_hz, stack_bytes;  // asked for
  uint64_t period;                               // 0: by the rate
  const char* answer;                            // "STACKS of RATE Hz, BYTES"; 0 where it was left as it was
};

TEST(Limits, HoldForStacks) {
  const LocalLimits limits{
      .max_rate_hz = 1000, .max_stack_rate_hz = 100, .max_stack_bytes = 16384, .max_window_ns = 5000};
  for (const StackCase& c : {
           StackCase{"within", 500, 100, 16384, 0, "100 of 500 Hz, 16384"},
           StackCase{"too many", 500, 101, 16384, 0, "100 of 500 Hz, 16384"},
           StackCase{"too long", 500, 50, 16385, 0, "50 of 500 Hz, 16384"},
           StackCase{"with all of too many samples", 500, 0, 0, 0, "100 of 500 Hz, 0"},
           StackCase{"with all of few samples", 99, 0, 0, 0, "0 of 99 Hz, 0"},
           StackCase{"more than samples", 99, 5000, 0, 0, "5000 of 99 Hz, 0"},
           StackCase{"with a part of too many samples", 5000, 500, 0, 0, "100 of 1000 Hz, 0"},
           StackCase{"with all of an event of its own period", 50, 0, 0, 1, "5 of 50 Hz, 0"},
           StackCase{"with few of an event of its own period", 50, 5, 0, 1, "5 of 50 Hz, 0"},
           StackCase{"never none", 5, 0, 0, 1, "1 of 5 Hz, 0"},
       }) {
    wire::Assignment assignment;
    assignment.set_rate_hz(c.rate_hz);
    assignment.set_stack_rate_hz(c.stack_rate_hz);
    assignment.set_stack_bytes(c.stack_bytes);
    assignment.set_duration_ns(4000);
    assignment.add_events()->set_name("cpu-clock");
    assignment.mutable_events(0)->set_period(c.period);
    const auto limited = within_limits(assignment, limits);
    EXPECT_EQ(
        fmt::format("{} of {} Hz, {}", limited.stack_rate_hz(), limited.rate_hz(), limited.stack_bytes()),
        c.answer)
        << c.what;
  }
}

// On a busy CPU, where the event's nominal frequency holds. As the collector has it, an event of period 1 has a stack with
// each sample.
double stacks_a_second(const wire::Assignment& limited) {
  const perf::EventType type = *perf::find_event(limited.events(0).name());
  const uint64_t own = limited.events(0).period();
  const auto period = static_cast<double>(own != 0 ? own : perf::mean_period(type, limited.rate_hz()));
  const bool has_bare = limited.stack_rate_hz() != 0 && limited.stack_rate_hz() < limited.rate_hz();
  const double share =
      has_bare && period > 1 ? static_cast<double>(limited.stack_rate_hz()) / limited.rate_hz() : 1;
  return type.nominal_per_second / period * share;
}

TEST(Limits, HoldForStacksASecondWhateverTheRateAndThePeriod) {
  std::mt19937_64 random(1);
  const auto up_to = [&](uint32_t most) { return static_cast<uint32_t>(random() % (most + 1)); };
  for (int i = 0; i < 10'000; ++i) {
    const LocalLimits limits{.max_rate_hz = 1 + up_to(20'000), .max_stack_rate_hz = 1 + up_to(200)};
    wire::Assignment assignment;
    assignment.set_rate_hz(random() % 2 == 0 ? 1 + up_to(10) : 1 + up_to(20'000));
    assignment.set_stack_rate_hz(up_to(100));
    assignment.add_events()->set_name(random() % 2 == 0 ? "cpu-clock" : "page-faults");
    assignment.mutable_events(0)->set_period(1 + (random() % 2 == 0 ? up_to(10) : up_to(10'000'000)));
    const auto limited = within_limits(assignment, limits);
    // Periods are whole numbers, the nearest.
    EXPECT_LE(stacks_a_second(limited), limits.max_stack_rate_hz * 1.01) << assignment.ShortDebugString();
  }
}

TEST(Limits, LengthenAPeriodThatBringsMoreStacksThanTheRateSays) {
  wire::Assignment assignment;
  assignment.set_rate_hz(1);
  assignment.add_events()->set_name("cpu-clock");
  assignment.mutable_events(0)->set_period(1'000'000);
  const LocalLimits limits{.max_rate_hz = 1000, .max_stack_rate_hz = 100};
  EXPECT_EQ(within_limits(assignment, limits).events(0).period(), 10'000'000);  // ns, for 100 Hz
}

TEST(Limits, LeaveAStackOutOfSomeWhereEveryOccurrenceWouldHaveOne) {
  wire::Assignment assignment;
  assignment.set_rate_hz(20'000);
  assignment.add_events()->set_name("page-faults");  // 10,000 a second
  const LocalLimits limits{.max_rate_hz = 20'000, .max_stack_rate_hz = 100};
  EXPECT_EQ(within_limits(assignment, limits).events(0).period(), 2);
}

TEST(Limits, HoldForTheDefaultSizeOfStacks) {
  const wire::Assignment assignment;
  EXPECT_EQ(within_limits(assignment, {.max_stack_bytes = 8192}).stack_bytes(), 8192);
}

std::string refusal(const wire::Assignment& assignment) {
  return accept(assignment, kLimits).refusal;
}

TEST(Limits, RefuseWhatCannotBeTimed) {
  wire::Assignment assignment;
  assignment.set_start_ns(5);
  assignment.set_duration_ns(7);
  EXPECT_EQ(refusal(assignment), "");
  assignment.set_start_ns(0);
  EXPECT_EQ(refusal(assignment), "it has no start");
  assignment.set_start_ns(INT64_MAX - 3);
  EXPECT_EQ(refusal(assignment), "it has no start") << "its end could not be told";
  assignment.set_continuous(true);
  EXPECT_EQ(refusal(assignment), "");
  assignment.set_duration_ns(0);
  EXPECT_EQ(refusal(assignment), "it has no duration");
  assignment.set_duration_ns(7);
  EXPECT_EQ(accept(assignment, {.max_window_ns = 0}).refusal, "limits.max_window permits no window at all");
}

TEST(Limits, LeaveTheRestAsItWas) {
  wire::Assignment assignment;
  assignment.set_id("a7");
  assignment.set_continuous(true);
  assignment.set_start_ns(123);
  assignment.set_rate_hz(99);
  assignment.set_duration_ns(4000);
  assignment.set_stack_bytes(8192);
  assignment.set_stack_rate_hz(10);
  assignment.mutable_draw()->set_id("nightly");
  assignment.add_events()->set_name("cycles");
  assignment.mutable_events(0)->set_period(30'000'000);
  EXPECT_EQ(within_limits(assignment, kLimits).SerializeAsString(), assignment.SerializeAsString());
}

}  // namespace
}  // namespace plimsoll
