// Records and samples joined, and CPU time by latency.
#include "daemon/waits/wait_accounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace plimsoll::waits {
namespace {

ThreadRecord switch_at(int64_t time_ns, uint32_t cpu, ThreadId left, ThreadId next) {
  return {.time_ns = time_ns, .cpu = cpu, .thread = left, .other = next};
}

// A process that works alone for a part of the time, and on all of its CPUs for the rest.
constexpr uint32_t kPid = 50;
constexpr ThreadId kIdle{0, 0};

class WaitAccountsTest : public ::testing::Test {
 protected:
  WaitAccountsTest() {
    accounts_.begin_window([](ThreadId thread, int64_t /*time_ns*/) { return thread.tid; });
  }
  void add(const std::vector<ThreadRecord>& records) { accounts_.add(records); }

  WaitAccounts accounts_;
};

TEST_F(WaitAccountsTest, TakeRecordsAndSamplesInTheOrderOfTime) {
  accounts_.begin_slot(0, 1);
  add({switch_at(10, 0, kIdle, {7, 7}), switch_at(20, 0, {7, 7}, kIdle), switch_at(60, 0, kIdle, {7, 7}),
       switch_at(70, 0, {7, 7}, kIdle)});
  accounts_.advance(20);
  accounts_.switch_sampled({7, 7}, 20, {.thread = 7, .stack = 1});
  accounts_.end_slot(100);
  accounts_.advance(INT64_MAX);
  EXPECT_EQ(accounts_.off_cpu().total_ns(), 10 + 40 + 30);
  EXPECT_EQ(accounts_.recorded_ns(), 100);
  EXPECT_EQ(accounts_.off_cpu().waits(), 3);
}

TEST_F(WaitAccountsTest, TakeRecordsOfAnotherCpuThatWereReadLater) {
  accounts_.begin_slot(0, 1);
  add({switch_at(10, 0, kIdle, {7, 7}), switch_at(30, 0, {7, 7}, kIdle)});
  add({switch_at(20, 1, kIdle, {8, 8}), switch_at(50, 1, kIdle, {7, 7})});
  accounts_.end_slot(60);
  accounts_.advance(INT64_MAX);
  EXPECT_EQ(accounts_.off_cpu().total_ns(), 10 + 20 + 20);
}

TEST_F(WaitAccountsTest, CutWaitsWhereRecordsWereLost) {
  accounts_.begin_slot(0, 1);
  add({switch_at(0, 0, kIdle, {7, 7}),
       switch_at(10, 0, {7, 7}, kIdle),
       {.time_ns = 20, .event = ThreadEvent::kLost, .lost = 5},
       switch_at(45, 0, kIdle, {7, 7})});
  accounts_.end_slot(60);
  accounts_.advance(INT64_MAX);
  EXPECT_EQ(accounts_.lost(), 5);
  EXPECT_EQ(accounts_.off_cpu().total_ns(), 10 + 25);
  EXPECT_EQ(accounts_.off_cpu().waits(), 2);
}

TEST_F(WaitAccountsTest, ForgetThreadsWhereTheyMayHaveEnded) {
  accounts_.begin_slot(0, 1);
  add({switch_at(0, 0, kIdle, {7, 7}), switch_at(10, 0, {7, 7}, kIdle)});
  accounts_.advance(20);
  accounts_.forget_threads();
  accounts_.end_slot(60);
  accounts_.advance(INT64_MAX);
  EXPECT_EQ(accounts_.off_cpu().total_ns(), 0) << "nothing after the last record of it";
}

TEST_F(WaitAccountsTest, SayOfEachWindowHowManyRecordsWereLeftOut) {
  accounts_.begin_slot(0, 1);
  for (uint32_t tid = 1; tid <= WaitTimes::kMaxThreads + 3; ++tid) {
    accounts_.thread_started({tid, tid}, 10);
  }
  EXPECT_EQ(accounts_.left_out(), 3);
  accounts_.begin_window([](ThreadId thread, int64_t /*time_ns*/) { return thread.tid; });
  EXPECT_EQ(accounts_.left_out(), 0);
}

// Of 10 units of time alone and 10 units on four CPUs, latency is 20 units, half of it alone; CPU time is 50.
TEST_F(WaitAccountsTest, DivideSamplesByTheThreadsThatRun) {
  accounts_.begin_slot(0, 1);
  std::vector<ThreadRecord> records{switch_at(0, 0, kIdle, {kPid, kPid})};
  for (uint32_t cpu = 1; cpu < 4; ++cpu) {
    records.push_back(switch_at(10, cpu, kIdle, {kPid, kPid + cpu}));
    records.push_back(switch_at(20, cpu, {kPid, kPid + cpu}, kIdle));
  }
  std::ranges::sort(records, {}, &ThreadRecord::time_ns);
  add(records);
  const auto sample = [&](uint32_t cpu, int64_t time_ns) {
    accounts_.advance(time_ns);
    accounts_.running_sampled(cpu, {kPid, kPid + cpu}, time_ns, {.thread = cpu, .stack = 1}, true);
  };
  for (int64_t time_ns = 1; time_ns <= 10; ++time_ns) {
    sample(0, time_ns);
  }
  for (int64_t time_ns = 11; time_ns <= 20; ++time_ns) {
    for (uint32_t cpu = 0; cpu < 4; ++cpu) {
      sample(cpu, time_ns);
    }
  }
  EXPECT_EQ(accounts_.latency_samples(), 50);
  EXPECT_EQ(accounts_.latency().total_ns(), 20 * WaitAccounts::kWholeSample);
}

TEST_F(WaitAccountsTest, CountSamplesOfSlotsByTheirWeightAndOthersNot) {
  accounts_.begin_slot(100, 5);
  accounts_.end_slot(200);
  for (const int64_t time_ns : {50, 150, 250}) {
    accounts_.advance(time_ns);
    accounts_.running_sampled(0, {7, 7}, time_ns, {.thread = 7, .stack = 1}, true);
  }
  EXPECT_EQ(accounts_.latency_samples(), 5);
  EXPECT_EQ(accounts_.recorded_ns(), 500);
  EXPECT_EQ(accounts_.latency().total_ns(), 5 * WaitAccounts::kWholeSample);
}

// Against a count over all CPUs.
TEST(RunningThreads, AreThoseOfTheProcessOnAllCpus) {
  std::mt19937_64 random(5);
  constexpr uint32_t kCpus = 16;
  RunningThreads running;
  std::vector<uint32_t> pids(kCpus);
  for (int step = 0; step < 20'000; ++step) {
    const auto cpu = static_cast<uint32_t>(random() % kCpus);
    const auto pid = static_cast<uint32_t>(random() % 4);
    running.apply(switch_at(step, cpu, {pids[cpu], 1}, {pid, pid == 0 ? 0 : 100 + cpu}));
    pids[cpu] = pid;
    const auto wanted = static_cast<uint32_t>(1 + random() % 3);
    ASSERT_EQ(running.of_process(wanted), std::max<int64_t>(1, std::ranges::count(pids, wanted)));
  }
  running.begin_slot();
  EXPECT_EQ(running.of_process(1), 1);
}

}  // namespace
}  // namespace plimsoll::waits
