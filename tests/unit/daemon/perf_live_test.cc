// The kernel's own perf events, on all CPUs: needs CAP_PERFMON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/time.h"
#include "daemon/events/cpu_list.h"
#include "daemon/events/event_catalogue.h"
#include "daemon/sampling/open_event.h"
#include "daemon/sampling/sampler.h"

namespace plimsoll::perf {
namespace {

constexpr uint64_t kPages = 20'000;

class LiveSampler : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto opened =
        open_event(sampling_attr(*find_event("cpu-clock"), 1'000'000, 4096, 0), 0, "cpu-clock");
    if (!opened) {
      GTEST_SKIP() << opened.error().text();
    }
  }

  static Sampler sampler_of_every_fault(uint32_t sample_pages) {
    auto sampler = Sampler::open({.events = {{*find_event("page-faults"), 1, false}},
                                  .cpus = *online_cpus(),
                                  .sample_pages = sample_pages});
    EXPECT_TRUE(sampler.has_value()) << sampler.error().text();
    return *std::move(sampler);
  }
};

// Faults once on each of kPages fresh pages, in this thread.
void touch_fresh_pages() {
  const auto page_bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* memory =
      ::mmap(nullptr, kPages * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ::madvise(memory, kPages * page_bytes, MADV_NOHUGEPAGE);
  for (size_t page = 0; page < kPages; ++page) {
    static_cast<volatile char*>(memory)[page * page_bytes] = 1;
  }
  ::munmap(memory, kPages * page_bytes);
}

// What came out of a sampler.
struct Drained {
  uint64_t samples = 0;
  uint64_t bare_samples = 0;  // of these
  uint64_t undecodable = 0;
  std::vector<int64_t> times_ns;
  std::vector<int64_t> times_of_this_thread_ns;

  void add(Bytes bytes) {
    const auto record = decode_record(bytes);
    if (!record) {
      ++undecodable;
      return;
    }
    times_ns.push_back(record->time_ns);
    if (const auto* sample = std::get_if<SampleRecord>(&record->body)) {
      ++samples;
      bare_samples += sample->is_bare ? 1 : 0;
      if (sample->tid == static_cast<uint32_t>(::syscall(SYS_gettid))) {
        times_of_this_thread_ns.push_back(record->time_ns);
      }
    }
  }
};

Drained drain_after_touching(Sampler& sampler) {
  EXPECT_TRUE(sampler.enable().has_value());
  touch_fresh_pages();
  EXPECT_TRUE(sampler.disable().has_value());
  Drained drained;
  sampler.drain_all([&](Bytes record) { drained.add(record); });
  return drained;
}

// Samples and lost ones are what the kernel produced, but for the few faults of processes starting and ending meanwhile
// that it counts without a sample (docs/collecting.md): none of this thread's.
void expect_all_accounted_for(uint64_t samples, const EventCounts& counts) {
  const uint64_t of_others = counts.total - std::min(counts.total, kPages);
  EXPECT_LE(samples + counts.lost, counts.total);
  EXPECT_GE(samples + counts.lost + 4 + of_others / 20, counts.total);
}

TEST_F(LiveSampler, SaysWhyAnEventCannotBeCountedWithAnother) {
  const perf_event_attr attr = sampling_attr(*find_event("page-faults"), 1, 4096, 0);
  const auto leader = open_event(attr, 0, "page-faults");
  ASSERT_TRUE(leader.has_value()) << leader.error().text();
  const auto member = open_event(attr, 0, "page-faults", leader->get());
  ASSERT_TRUE(member.has_value()) << member.error().text();
  const auto refused = open_event(attr, 0, "page-faults", member->get());  // which is no leader
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(refused.error().hint, ::testing::HasSubstr("the event and its group"));
}

TEST_F(LiveSampler, SeesEveryPageFaultAndAccountsForAll) {
  Sampler sampler = sampler_of_every_fault(4096);
  const Drained drained = drain_after_touching(sampler);
  const EventCounts counts = sampler.take_counts()->at(0);
  EXPECT_EQ(counts.lost, 0);
  EXPECT_GE(drained.times_of_this_thread_ns.size(), kPages);
  expect_all_accounted_for(drained.samples, counts);
  EXPECT_EQ(drained.undecodable, 0);
  EXPECT_TRUE(std::ranges::is_sorted(drained.times_ns)) << "records of all CPUs come in the order of time";
}

TEST_F(LiveSampler, AccountsForWhatASmallRingCouldNotHold) {
  Sampler sampler = sampler_of_every_fault(1);
  const Drained drained = drain_after_touching(sampler);
  const EventCounts counts = sampler.take_counts()->at(0);
  EXPECT_GT(counts.lost, 0);
  EXPECT_GE(counts.total, kPages);
  expect_all_accounted_for(drained.samples, counts);
}

// Of 12 faults on a CPU one comes with a stack, and three come without.
Sampler sampler_of_every_third_fault(uint32_t sample_pages) {
  auto sampler = Sampler::open({.events = {{*find_event("page-faults"), 3, false, 0.25}},
                                .cpus = *online_cpus(),
                                .sample_pages = sample_pages,
                                .stack_bytes = 1024});
  EXPECT_TRUE(sampler.has_value()) << sampler.error().text();
  return *std::move(sampler);
}

// Each CPU may have a rest that was too short for a sample; of others' faults see expect_all_accounted_for().
void expect_every(uint64_t period, uint64_t samples, uint64_t total) {
  const uint64_t of_others = total - std::min(total, kPages);
  EXPECT_LE(samples, total / period);
  EXPECT_GE(samples + online_cpus()->size() + 4 + of_others / 20, total / period);
}

TEST_F(LiveSampler, TakesStacksWithAShareOfTheSamplesAndCountsOnce) {
  Sampler sampler = sampler_of_every_third_fault(4096);
  const Drained drained = drain_after_touching(sampler);
  const EventCounts counts = sampler.take_counts()->at(0);
  EXPECT_EQ(drained.undecodable, 0);
  EXPECT_EQ(counts.lost, 0);
  EXPECT_GE(counts.total, kPages);
  EXPECT_LT(counts.total, 2 * kPages) << "those of other programs are few";
  expect_every(12, drained.samples - drained.bare_samples, counts.total);
  expect_every(4, drained.bare_samples, counts.total);
}

TEST_F(LiveSampler, AccountsForStacksAndBareSamplesThatASmallRingCouldNotHold) {
  Sampler sampler = sampler_of_every_third_fault(1);
  const Drained drained = drain_after_touching(sampler);
  const EventCounts counts = sampler.take_counts()->at(0);
  EXPECT_GT(counts.lost, 0);
  expect_every(3, drained.samples + counts.lost, counts.total);
}

TEST_F(LiveSampler, AClocksTicksAreThoseOfSamplesWithAndWithoutStacks) {
  auto sampler = Sampler::open({.events = {{*find_event("cpu-clock"), 1'000'000, false, 0.1}},
                                .cpus = *online_cpus(),
                                .sample_pages = 1024});
  ASSERT_TRUE(sampler.has_value()) << sampler.error().text();
  ASSERT_TRUE(sampler->enable().has_value());
  touch_fresh_pages();
  ASSERT_TRUE(sampler->disable().has_value());
  const EventCounts counts = sampler->take_counts()->at(0);
  // Due every 10 ms and every 1.11 ms; the rest of a period on each CPU is none.
  const double due = static_cast<double>(counts.total) / 1e6;
  const auto rests = static_cast<double>(2 * online_cpus()->size());
  EXPECT_NEAR(static_cast<double>(counts.ticks_due), due, rests + due / 20);
  EXPECT_EQ(counts.time_running_ns, counts.time_enabled_ns);
}

// The kernel restarts the period when a new one is set.
TEST_F(LiveSampler, PeriodsLongerThanTheTimeBetweenRedrawsEndNevertheless) {
  constexpr uint64_t kPeriodNs = 100'000'000;
  auto sampler = Sampler::open({.events = {{*find_event("cpu-clock"), kPeriodNs}}, .cpus = *online_cpus()});
  ASSERT_TRUE(sampler.has_value()) << sampler.error().text();
  ASSERT_TRUE(sampler->enable().has_value());
  const int64_t end_ns = monotonic_now_ns() + 20 * static_cast<int64_t>(kPeriodNs);
  int64_t redraw_at_ns = 0;
  while (monotonic_now_ns() < end_ns) {  // keeps a CPU busy
    if (monotonic_now_ns() >= redraw_at_ns) {
      ASSERT_TRUE(sampler->redraw_periods().has_value());
      redraw_at_ns = monotonic_now_ns() + static_cast<int64_t>(kPeriodNs) / 10;
    }
  }
  ASSERT_TRUE(sampler->disable().has_value());
  Drained drained;
  sampler->drain_all([&](Bytes record) { drained.add(record); });
  EXPECT_GE(drained.samples, 5) << "of about 20";
}

TEST_F(LiveSampler, KeepsTheOrderOfTimeOverManyDrains) {
  Sampler sampler = sampler_of_every_fault(1024);
  ASSERT_TRUE(sampler.enable().has_value());
  Drained drained;
  for (int round = 0; round < 4; ++round) {
    touch_fresh_pages();
    sampler.drain([&](Bytes record) { drained.add(record); });
  }
  ASSERT_TRUE(sampler.disable().has_value());
  sampler.drain_all([&](Bytes record) { drained.add(record); });
  const EventCounts counts = sampler.take_counts()->at(0);
  expect_all_accounted_for(drained.samples, counts);
  // Other CPUs may still be writing what happened before a drain; this thread had written all of its own.
  EXPECT_TRUE(std::ranges::is_sorted(drained.times_of_this_thread_ns));
}

TEST_F(LiveSampler, TellsWhichEventASampleBelongsTo) {
  auto sampler = Sampler::open(
      {.events = {{*find_event("cpu-clock"), 1'000'000}, {*find_event("page-faults"), 1, false}},
       .cpus = *online_cpus(),
       .sample_pages = 4096});
  ASSERT_TRUE(sampler.has_value()) << sampler.error().text();
  ASSERT_TRUE(sampler->enable().has_value());
  touch_fresh_pages();
  ASSERT_TRUE(sampler->disable().has_value());
  std::vector<uint64_t> samples(2);
  sampler->drain_all([&](Bytes bytes) {
    const auto record = decode_record(bytes);
    if (const auto* sample = record ? std::get_if<SampleRecord>(&record->body) : nullptr) {
      ++samples.at(static_cast<size_t>(sampler->event_index(sample->event_id)));
    }
  });
  const auto counts = *sampler->take_counts();
  expect_all_accounted_for(samples[1], counts[1]);
  EXPECT_GT(counts[0].ticks_due, 0) << "a clock";
  EXPECT_EQ(counts[1].ticks_due, 0) << "no clock";
  EXPECT_EQ(sampler->event_index(UINT64_MAX), -1);
}

TEST_F(LiveSampler, RefusesBranchesOfWhatHasNoneWithAReason) {
  const auto opened =
      open_event(branch_sampling_attr(*find_event("cpu-clock"), 1'000'000, 4096), 0, "branch-stacks");
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(opened.error().hint, ::testing::HasSubstr("records no branches"));
}

TEST_F(LiveSampler, RecordsBranchesOfUserMode) {
  const auto cycles = EventCatalogue::of_this_machine().find("cycles");
  if (!cycles) {
    EXPECT_EQ(cycles.error().code, ErrorCode::kUnsupported);
    GTEST_SKIP() << cycles.error().text();
  }
  const auto opened = open_event(branch_sampling_attr(*cycles, 1'000'000, 4096), 0, "branch-stacks");
  if (!opened) {
    EXPECT_EQ(opened.error().code, ErrorCode::kUnsupported);
    GTEST_SKIP() << opened.error().text();
  }
  auto sampler = Sampler::open({.events = {{.type = *cycles, .mean_period = 100'000, .with_branches = true}},
                                .cpus = *online_cpus(),
                                .sample_pages = 4096});
  ASSERT_TRUE(sampler.has_value()) << sampler.error().text();
  ASSERT_TRUE(sampler->enable().has_value());
  touch_fresh_pages();
  ASSERT_TRUE(sampler->disable().has_value());
  uint64_t samples = 0;
  uint64_t branches = 0;
  sampler->drain_all([&](Bytes bytes) {
    const auto record = decode_record(bytes, &sampler->branch_events());
    ASSERT_TRUE(record.has_value()) << record.error().text();
    if (const auto* sample = std::get_if<SampleRecord>(&record->body)) {
      ++samples;
      branches += sample->branches.size();
    }
  });
  expect_all_accounted_for(samples, sampler->take_counts()->at(0));
  EXPECT_GT(branches, 0U);
}

TEST_F(LiveSampler, WaitEndsAtOnceWhenWoken) {
  const Sampler sampler = sampler_of_every_fault(1);
  const UniqueFd wake(::eventfd(1, EFD_CLOEXEC));
  // Were it not woken, it would wait for ever: no event is enabled.
  const auto woken = sampler.wait(INT64_MAX, wake.get());
  ASSERT_TRUE(woken.has_value()) << woken.error().text();
  EXPECT_TRUE(*woken);
}

TEST_F(LiveSampler, WaitEndsAtADeadlineThatHasPassed) {
  const Sampler sampler = sampler_of_every_fault(1);
  const UniqueFd quiet(::eventfd(0, EFD_CLOEXEC));
  EXPECT_FALSE(*sampler.wait(0, quiet.get()));
}

}  // namespace
}  // namespace plimsoll::perf
