// Events by name, and what the kernel is asked for to have them.
#include "daemon/sampling/event_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <map>
#include <random>

#include "capture/perf/records.h"
#include "daemon/events/cpu_list.h"
#include "daemon/sampling/event_rate.h"
#include "daemon/sampling/turns.h"

namespace plimsoll::perf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CpuList, IsRead) {
  EXPECT_THAT(*parse_cpu_list("0\n"), ElementsAre(0));
  EXPECT_THAT(*parse_cpu_list("0-3,8"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(*parse_cpu_list("1,3-4,65535"), ElementsAre(1, 3, 4, 65535));
}

TEST(CpuList, RefusesOtherText) {
  for (const char* text :
       {"", "\n", "a", "-1", "3-1", "1-", "0-65536", "1 2", "0;1", ",", "1,,2", "9999999999"}) {
    const auto cpus = parse_cpu_list(text);
    ASSERT_FALSE(cpus.has_value()) << text;
    EXPECT_THAT(cpus.error().message, HasSubstr(text));
  }
}

TEST(CpuList, OfThisMachineIsNotEmpty) {
  EXPECT_FALSE(online_cpus()->empty());
}

TEST(EventConfig, EveryKnownEventIsFoundByItsName) {
  for (const EventType& event : known_events()) {
    EXPECT_EQ(find_event(event.name)->codes, event.codes) << event.name;
    EXPECT_GT(event.nominal_per_second, 0) << event.name;
  }
  EXPECT_EQ(find_event("cpu-clock")->unit, EventUnit::kNanoseconds);
  EXPECT_TRUE(find_event("cpu-clock")->is_clock);
  EXPECT_FALSE(find_event("page-faults")->is_clock);
}

TEST(EventNames, AreTheSameInAnyCaseAndInPerfsSpelling) {
  EXPECT_EQ(canonical_name("CPU-Clock"), "cpu-clock");
  EXPECT_EQ(canonical_name("cs"), "context-switches");
  EXPECT_EQ(canonical_name("cache-misses"), "llc-misses");
  EXPECT_EQ(canonical_name("llc-load-misses"), "LLC-load-misses");
  EXPECT_EQ(canonical_name("l1-DCACHE-loads"), "L1-dcache-loads");
  EXPECT_EQ(canonical_name("cpu/event=0x3C/"), "cpu/event=0x3C/") << "a name of another kind";
}

TEST(EventNames, OfCacheEventsAreTheKernelsNumbers) {
  const auto config = [](std::string_view name) { return find_event(name)->codes.front().config; };
  EXPECT_EQ(config("L1-dcache-loads"), PERF_COUNT_HW_CACHE_L1D);
  EXPECT_EQ(config("LLC-store-misses"), PERF_COUNT_HW_CACHE_LL | PERF_COUNT_HW_CACHE_OP_WRITE << 8 |
                                            PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
  EXPECT_EQ(config("iTLB-load-misses"), PERF_COUNT_HW_CACHE_ITLB | PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
  EXPECT_EQ(find_event("node-prefetches")->codes.front().type, PERF_TYPE_HW_CACHE);
}

TEST(EventNames, HavePeriodsBehindTheLastColon) {
  const auto split = [](std::string_view text) {
    const auto parts = split_period(text);
    return parts ? fmt::format("{} every {}", parts->name, parts->period) : parts.error().message;
  };
  EXPECT_EQ(split("cycles"), "cycles every 0");
  EXPECT_EQ(split("page-faults:1"), "page-faults every 1");
  EXPECT_EQ(split("sched:sched_switch"), "sched:sched_switch every 0");
  EXPECT_EQ(split("sched:sched_switch:7"), "sched:sched_switch every 7");
  EXPECT_EQ(split("cpu/event=1,name=a:2/"), "cpu/event=1,name=a:2/ every 0");
  EXPECT_EQ(split("cpu/event=1/:1000"), "cpu/event=1/ every 1000");
  for (const char* text : {"cycles:", "cycles:0", "a:b:c", "cycles:99999999999999999999"}) {
    EXPECT_THAT(split(text), HasSubstr("is not NAME or NAME:PERIOD")) << text;
  }
}

TEST(EventNames, OfASetAreSeparatedByCommasOutsideTerms) {
  EXPECT_THAT(split_names("cycles,cpu/event=1,umask=2/,r1a:5"),
              ElementsAre("cycles", "cpu/event=1,umask=2/", "r1a:5"));
  EXPECT_THAT(split_names(",,"), IsEmpty());
}

TEST(EventNames, TellWhatIsKnownOfAnEventBeforeAMachineIs) {
  EXPECT_FALSE(describe_event("cycles")->has_unknown_rate);
  for (const char* name : {"cpu/event=1/", "r1c2", "sched:sched_switch", "uops-retired", "LLC-loads"}) {
    const auto traits = describe_event(name);
    ASSERT_TRUE(traits.has_value()) << name;
    EXPECT_TRUE(traits->has_unknown_rate) << name;
    EXPECT_GT(traits->nominal_per_second, 0) << name;
  }
  EXPECT_THAT(describe_event("cycles:u").error().hint, HasSubstr("modifiers are not supported"));
  for (const char* name : {"", "weather", ":x", "a:", "a:..", "rxyz", "r11112222333344445"}) {
    EXPECT_FALSE(describe_event(name).has_value()) << name;
  }
}

TEST(Turns, AreTakenInRoundsByEachSetOnce) {
  std::mt19937_64 random(1);
  Turns turns({4, 0, 9});
  std::map<uint32_t, int> first;
  for (int round = 0; round < 300; ++round) {
    std::vector<uint32_t> sets{turns.next(random), turns.next(random), turns.next(random)};
    EXPECT_EQ(turns.current(), sets.back());
    ++first[sets.front()];
    EXPECT_THAT(sets, ::testing::UnorderedElementsAre(0, 4, 9));
  }
  for (const auto& [set, rounds] : first) {
    EXPECT_GT(rounds, 60) << "set " << set << " begins a third of the rounds";
  }
}

TEST(FollowedPeriod, KeepsTheRateWithoutGoingFarAtOnce) {
  EXPECT_EQ(followed_period(1000, 10, 50, 1), 100);
  EXPECT_EQ(followed_period(1e9, 10, 50, 1), 400) << "eight times as long at most";
  EXPECT_EQ(followed_period(1, 10, 800, 1), 100) << "an eighth at least";
  EXPECT_EQ(followed_period(1, 10, 800, 200), 200);
  EXPECT_EQ(followed_period(1, 10, 1, 1), 1);
}

TEST(EventConfig, SuggestsTheNearestNameOrListsAll) {
  const auto misspelt = find_event("cpu-clok");
  EXPECT_EQ(misspelt.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(misspelt.error().hint, "did you mean cpu-clock?");
  EXPECT_THAT(find_event("weather").error().hint, HasSubstr("cycles, instructions"));
}

TEST(EventConfig, MeanPeriodGivesTheRateOnABusyCpu) {
  const EventType clock = *find_event("cpu-clock");
  EXPECT_EQ(mean_period(clock, 1), 1'000'000'000);
  EXPECT_EQ(mean_period(clock, 99), 10'101'010);
  EXPECT_EQ(mean_period(clock, 0), 1'000'000'000) << "at least one a second";
  EXPECT_EQ(mean_period(*find_event("major-faults"), 1'000'000), 1) << "every one at most";
}

TEST(EventConfig, SamplingAsksForStacksAndExactLosses) {
  const perf_event_attr attr = sampling_attr(*find_event("page-faults"), 7, 4096, 16384);
  EXPECT_EQ(attr.type, PERF_TYPE_SOFTWARE);
  EXPECT_EQ(attr.config, PERF_COUNT_SW_PAGE_FAULTS);
  EXPECT_EQ(counting_attr(*find_event("page-faults")).sample_period, 0);
  EXPECT_EQ(attr.sample_period, 7);
  EXPECT_EQ(attr.freq, 0);
  EXPECT_EQ(attr.size, sizeof attr);
  EXPECT_EQ(attr.sample_type, kSampleType);
  EXPECT_EQ(attr.read_format, kReadFormat);
  EXPECT_TRUE(attr.read_format & PERF_FORMAT_LOST);
  EXPECT_EQ(attr.disabled, 1);
  EXPECT_EQ(attr.sample_id_all, 1);
  EXPECT_EQ(attr.use_clockid, 1);
  EXPECT_EQ(attr.clockid, CLOCK_MONOTONIC);
  EXPECT_EQ(attr.watermark, 1);
  EXPECT_EQ(attr.wakeup_watermark, 4096);
  EXPECT_EQ(attr.mmap, 0);
  EXPECT_EQ(attr.sample_stack_user, 16384);
  EXPECT_EQ(std::popcount(attr.sample_regs_user), kUserRegisters);
  EXPECT_EQ(attr.exclude_idle, 0);
  EXPECT_EQ(sampling_attr(*find_event("cpu-clock"), 1, 0, 0).exclude_idle, 1);
}

TEST(EventConfig, BareSamplingAsksForTheSameEventWithoutStacks) {
  const EventType clock = *find_event("cpu-clock");
  perf_event_attr attr = bare_sampling_attr(clock, 7, 4096);
  EXPECT_EQ(attr.sample_type, kBareSampleType);
  EXPECT_EQ(attr.sample_stack_user, 0);
  EXPECT_EQ(attr.sample_regs_user, 0);
  attr.sample_type = kSampleType;
  attr.sample_stack_user = 16384;
  attr.sample_regs_user = kUserRegisterMask;
  const perf_event_attr with_stacks = sampling_attr(clock, 7, 4096, 16384);
  EXPECT_EQ(std::memcmp(&attr, &with_stacks, sizeof attr), 0);
}

TEST(EventConfig, BranchSamplingAsksForTakenBranchesOfUserMode) {
  const EventType clock = *find_event("cpu-clock");
  perf_event_attr attr = branch_sampling_attr(clock, 7, 4096);
  EXPECT_EQ(attr.sample_type, kBareSampleType | PERF_SAMPLE_BRANCH_STACK);
  EXPECT_EQ(attr.branch_sample_type, PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY);
  EXPECT_TRUE(attr.exclude_kernel && attr.exclude_hv);
  attr.sample_type = kBareSampleType;
  attr.branch_sample_type = 0;
  attr.exclude_kernel = attr.exclude_hv = 0;
  const perf_event_attr bare = bare_sampling_attr(clock, 7, 4096);
  EXPECT_EQ(std::memcmp(&attr, &bare, sizeof attr), 0);
}

TEST(EventConfig, SideBandAsksForProcessesButNoSamples) {
  const perf_event_attr attr = side_band_attr(512);
  EXPECT_EQ(attr.config, PERF_COUNT_SW_DUMMY);
  EXPECT_EQ(attr.sample_period, 0);
  EXPECT_EQ(attr.sample_type, kSampleType) << "one layout for the trailers of all records";
  EXPECT_TRUE(attr.mmap && attr.mmap2 && attr.comm && attr.comm_exec && attr.task && attr.cgroup);
  EXPECT_FALSE(attr.build_id) << "Linux would mark the records that other recorders get";
}

}  // namespace
}  // namespace plimsoll::perf
