// Time off the CPU from switches: scripts, and random schedules against sums over a model's moments.
#include "daemon/waits/wait_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <random>

#include "daemon/waits/slots.h"
#include "tests/unit/daemon/waits/scripted.h"

namespace plimsoll::waits {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using testing::waits_of;

TEST(WaitTimes, LastFromTheSwitchThatLeavesToTheOneThatEnters) {
  EXPECT_THAT(waits_of(R"(begin 0 x1
                          5 0>7
                          20 7>0
                          50 0>7
                          end 60)"),
              ElementsAre("7 5 of 5", "7 30 of 30"));
}

TEST(WaitTimes, AreRunnableSinceTheWakeUpOrThePreemption) {
  EXPECT_THAT(waits_of(R"(begin 0 x1
                          0 start 7
                          2 0>7
                          20 7>8
                          45 wake 7
                          50 8>7
                          70 7=>8
                          75 8>7
                          end 75)"),
              ElementsAre("7 2 of 2 runnable 2", "8 20 of 20", "7 30 of 30 runnable 5", "8 20 of 20",
                          "7 5 of 5 runnable 5", "8 0 of 0"));
}

TEST(WaitTimes, HaveTheStackThatWasSampledAsTheThreadLeft) {
  EXPECT_THAT(waits_of(R"(begin 0 x1
                          0 0>7
                          10 stack 7 3
                          11 7>0
                          20 0>7
                          30 7>0
                          41 0>7
                          end 50)"),
              ElementsAre("7 0 of 0", "7 9 of 9 stack 3", "7 11 of 11"));
}

TEST(WaitTimes, LeaveStacksThatBelongToAnEarlierSwitch) {
  EXPECT_THAT(waits_of(R"(begin 0 x1
                          0 0>7
                          10 stack 7 3
                          2000000 7>0
                          2000001 0>7
                          end 2000001)"),
              ElementsAre("7 0 of 0", "7 1 of 1"))
      << "the switch after the sample was not recorded";
}

TEST(WaitTimes, OfAThreadThatLeavesAfterTheSlotAreNone) {
  EXPECT_THAT(waits_of(R"(begin 0 x1
                          0 0>8
                          49 stack 7 3
                          end 50)"),
              ElementsAre("8 0 of 0"))
      << "it ran until its stack was taken";
}

TEST(WaitTimes, AreCutAtTheEndsOfSlotsAndCountWithTheirWeight) {
  EXPECT_THAT(waits_of(R"(begin 0 x1
                          0 0>7
                          10 stack 7 3
                          10 7>0
                          end 30
                          begin 100 x4
                          110 0>7
                          end 120)"),
              ElementsAre("7 0 of 0", "7 20 of 20 stack 3", "7 40 of 10"))
      << "between slots it may have run and waited for something else";
}

TEST(WaitTimes, OfAThreadWithoutARecordLastForTheWholeSlot) {
  EXPECT_THAT(waits_of(R"(begin 0 x1
                          0 0>7
                          10 7>0
                          end 10
                          begin 100 x2
                          end 150
                          begin 200 x1
                          210 sample 7
                          end 250)"),
              ElementsAre("7 0 of 0", "7 0 of 0", "7 100 of 50"))
      << "in the last slot it ran throughout";
}

TEST(WaitTimes, OfAThreadThatMayComputeOnAQuietCpuAreNone) {
  EXPECT_THAT(waits_of(R"(begin 0 x1
                          0 0>7
                          end 10
                          begin 100 x2
                          end 150
                          begin 200 x1
                          210 0>8
                          220 8>0
                          end 250)"),
              UnorderedElementsAre("7 0 of 0", "8 10 of 10", "8 30 of 30", "7 50 of 50"))
      << "the third slot shows that its CPU has other threads";
}

TEST(WaitTimes, OfThreadsThatHaveEndedAreNone) {
  EXPECT_THAT(waits_of(R"(begin 0 x1
                          0 0>7
                          10 exit 7
                          11 7=>8
                          12 8>7
                          13 7>0
                          end 100
                          begin 100 x1
                          end 200)"),
              UnorderedElementsAre("7 0 of 0", "8 11 of 11", "8 88 of 88", "8 100 of 100"));
}

TEST(WaitTimes, AreForgottenOnceTheirThreadIsGone) {
  WaitTimes times([](const WaitPart& /*part*/) {});
  times.begin_slot(0, 1);
  for (uint32_t tid = 1; tid <= 5000; ++tid) {
    const int64_t time_ns = int64_t{tid} * 10'000'000;
    times.started({tid, tid}, time_ns);
    times.exited(tid, time_ns + 1);
  }
  EXPECT_LE(times.size(), 101) << "those of the last second";
}

TEST(WaitTimes, OutsideOfSlotsAreNone) {
  EXPECT_THAT(waits_of(R"(0 0>7
                          10 7>0
                          20 0>7)"),
              IsEmpty());
}

TEST(WaitTimes, OfTheIdleThreadAndOfThreadsThatAreGoneAreNone) {
  EXPECT_THAT(waits_of(R"(begin 0 x1
                          10 0>0
                          20 4294967295>0
                          end 30)"),
              IsEmpty());
}

TEST(WaitTimes, WhoseEndWasLostCountNothing) {
  EXPECT_THAT(waits_of(R"(begin 0 x1
                          0 0>7
                          10 7>0
                          30 7>0
                          35 0>7
                          end 35)"),
              ElementsAre("7 0 of 0", "7 5 of 5"));
}

TEST(WaitTimes, AreBoundedInMemory) {
  size_t waits = 0;
  WaitTimes times([&](const WaitPart& /*part*/) { ++waits; }, 10);
  times.begin_slot(0, 1);
  for (uint32_t tid = 1; tid <= 100; ++tid) {
    times.apply({.time_ns = tid, .thread = {tid, tid}});
  }
  times.end_slot(200);
  EXPECT_EQ(times.size(), 10);
  EXPECT_EQ(waits, 10);
  EXPECT_EQ(times.left_out(), 90);
}

// Threads on two CPUs that run, wait, are woken and preempted at random. What each did at every moment is known.
class Schedule {
 public:
  static constexpr uint32_t kThreads = 6;

  explicit Schedule(uint64_t seed) : random_(seed) {}

  // One step, at a moment of its own; what it records goes to `times`, where they are told of it.
  void step(WaitTimes& times, bool is_recorded) {
    ++now_ns_;
    const uint32_t cpu = below(2);
    const uint32_t tid = 1 + below(kThreads);
    if (below(3) == 0) {
      wake(tid, times, is_recorded);
    } else {
      switch_on(cpu, times, is_recorded);
    }
    for (uint32_t thread = 1; thread <= kThreads; ++thread) {
      const bool is_on = cpus_[0] == thread || cpus_[1] == thread;
      off_ns[thread] += is_on ? 0 : 1;
      recorded_off_ns[thread] += is_on || !is_recorded ? 0 : 1;
      runnable_ns[thread] += is_on || is_blocked_[thread] ? 0 : 1;
    }
  }
  // As samples of all CPUs do.
  void sample(WaitTimes& times) const {
    for (uint32_t cpu = 0; cpu < cpus_.size(); ++cpu) {
      times.seen_running(cpu, {cpus_[cpu], cpus_[cpu]}, now_ns_);
    }
  }
  int64_t now_ns() const { return now_ns_; }

  // Until now, in moments.
  std::map<uint32_t, int64_t> off_ns;
  std::map<uint32_t, int64_t> recorded_off_ns;
  std::map<uint32_t, int64_t> runnable_ns;

 private:
  uint32_t below(uint32_t limit) { return std::uniform_int_distribution<uint32_t>(0, limit - 1)(random_); }
  void wake(uint32_t tid, WaitTimes& times, bool is_recorded) {
    if (is_blocked_[tid] && is_recorded) {
      times.apply({.time_ns = now_ns_, .event = ThreadEvent::kWake, .other = {0, tid}});
    }
    is_blocked_[tid] = false;
  }
  void switch_on(uint32_t cpu, WaitTimes& times, bool is_recorded) {
    const uint32_t left = cpus_[cpu];
    uint32_t next = below(kThreads + 1);
    if (next == cpus_[1 - cpu] || is_blocked_[next]) {
      next = 0;
    }
    if (next == left) {
      return;
    }
    const bool is_preempted = below(2) == 0;
    is_blocked_[left] = left != 0 && !is_preempted;
    cpus_[cpu] = next;
    if (is_recorded) {
      times.apply({.time_ns = now_ns_,
                   .is_preempted = is_preempted,
                   .cpu = cpu,
                   .thread = {left, left},
                   .other = {next, next}});
    }
  }

  std::mt19937_64 random_;
  int64_t now_ns_ = 0;
  std::array<uint32_t, 2> cpus_ = {0, 0};
  std::map<uint32_t, bool> is_blocked_;
};

struct Sums {
  std::map<uint32_t, int64_t> off_ns;
  std::map<uint32_t, int64_t> runnable_ns;
};

WaitTimes summing(Sums& sums) {
  return WaitTimes([&sums](const WaitPart& part) {
    sums.off_ns[part.thread.tid] += static_cast<int64_t>(part.time_ns);
    sums.runnable_ns[part.thread.tid] += static_cast<int64_t>(part.runnable_ns);
  });
}

void start_all(WaitTimes& times) {
  for (uint32_t tid = 1; tid <= Schedule::kThreads; ++tid) {
    times.started({tid, tid}, 0);
  }
}

TEST(WaitTimes, OfRandomSchedulesAreExact) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Sums sums;
    WaitTimes times = summing(sums);
    Schedule schedule(seed);
    times.begin_slot(0, 1);
    start_all(times);
    for (int i = 0; i < 2000; ++i) {
      schedule.step(times, true);
    }
    // A moment belongs to what began at its start: the last one ends a moment later than its records.
    times.end_slot(schedule.now_ns() + 1);
    for (uint32_t tid = 1; tid <= Schedule::kThreads; ++tid) {
      // The model has no moment 0, in which all wait.
      EXPECT_EQ(sums.off_ns[tid], schedule.off_ns[tid] + 1) << "seed " << seed << ", thread " << tid;
      EXPECT_EQ(sums.runnable_ns[tid], schedule.runnable_ns[tid] + 1)
          << "seed " << seed << ", thread " << tid;
    }
  }
}

TEST(WaitTimes, AreExactInEachSlotOfRandomSchedules) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Sums sums;
    WaitTimes times = summing(sums);
    Schedule schedule(seed);
    std::mt19937_64 random(seed);
    start_all(times);
    for (int slot = 0; slot < 40; ++slot) {
      const bool is_recorded = random() % 3 == 0;
      if (is_recorded) {
        times.begin_slot(schedule.now_ns() + 1, 1);
      }
      for (int i = 0; i < 50; ++i) {
        schedule.step(times, is_recorded);
      }
      schedule.sample(times);
      if (is_recorded) {
        times.end_slot(schedule.now_ns() + 1);
      }
    }
    for (uint32_t tid = 1; tid <= Schedule::kThreads; ++tid) {
      EXPECT_EQ(sums.off_ns[tid], schedule.recorded_off_ns[tid]) << "seed " << seed << ", thread " << tid;
      EXPECT_LE(sums.runnable_ns[tid], schedule.runnable_ns[tid]) << "seed " << seed << ", thread " << tid;
    }
  }
}

// One schedule, whose slots are chosen at random again and again: the mean is the truth within four of its standard errors.
TEST(WaitTimes, OfRandomSlotsAreUnbiased) {
  constexpr int kTrials = 400;
  constexpr int64_t kSlotNs = 50;
  constexpr uint32_t kOneIn = 4;
  double sum = 0;
  double squares = 0;
  double truth = 0;
  for (uint64_t trial = 0; trial < kTrials; ++trial) {
    Sums sums;
    WaitTimes times = summing(sums);
    Schedule schedule(7);
    Slots slots(trial, kSlotNs);
    start_all(times);
    for (int i = 0; i < 40; ++i) {
      const Slot slot = slots.next(schedule.now_ns(), kOneIn);
      if (slot.is_recorded) {
        times.begin_slot(schedule.now_ns() + 1, slot.weight);
      }
      for (int64_t step = 0; step < kSlotNs; ++step) {
        schedule.step(times, slot.is_recorded);
      }
      schedule.sample(times);
      if (slot.is_recorded) {
        times.end_slot(schedule.now_ns() + 1);
      }
    }
    const auto estimate = static_cast<double>(sums.off_ns[1]);
    sum += estimate;
    squares += estimate * estimate;
    truth = static_cast<double>(schedule.off_ns[1]);
  }
  const double mean = sum / kTrials;
  const double variance = squares / kTrials - mean * mean;
  EXPECT_GT(variance, 0);
  EXPECT_NEAR(mean, truth, 4 * std::sqrt(variance / kTrials));
}

}  // namespace
}  // namespace plimsoll::waits
