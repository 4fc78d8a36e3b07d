#include "http/worker_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"

namespace plimsoll::http {
namespace {

using ::testing::ElementsAre;

TEST(WorkerThreads, BeginInTheOrderInWhichJobsCame) {
  std::vector<int> done;
  {
    WorkerThreads workers({.threads = 1});
    for (int i = 0; i < 5; ++i) {
      workers.add({[&done, i] { done.push_back(i); }});
    }
  }
  EXPECT_THAT(done, ElementsAre(0, 1, 2, 3, 4));
}

TEST(WorkerThreads, GiveWayToOthersByTheirNiceness) {
  const int nice_of_process = ::getpriority(PRIO_PROCESS, 0);
  int nice_of_job = 0;
  int nice_of_its_thread = 0;
  const auto own_nice = [] { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::gettid())); };
  {
    WorkerThreads workers({.threads = 1, .nice = 3});
    workers.add({[&] {
      nice_of_job = own_nice();
      std::thread([&] { nice_of_its_thread = own_nice(); }).join();
    }});
  }
  EXPECT_EQ(nice_of_job, nice_of_process + 3);
  EXPECT_EQ(nice_of_its_thread, nice_of_process + 3);
  EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), nice_of_process);
}

TEST(WorkerThreads, NoCallerWaitsBehindHundredsOfJobsOfAnother) {
  std::latch may_begin(1);
  std::vector<std::string> done;
  const auto job = [&](const std::string& caller) {
    return [&, caller] {
      may_begin.wait();
      done.push_back(caller);
    };
  };
  {
    WorkerThreads workers({.threads = 1});
    for (int i = 0; i < 100; ++i) {
      workers.add({job("many"), "many"});
    }
    workers.add({job("one"), "one"});
    workers.add({job("other"), "other"});
    may_begin.count_down();
  }
  ASSERT_EQ(done.size(), 102);
  const std::vector<std::string> first(done.begin(), done.begin() + 4);
  EXPECT_THAT(first, ElementsAre("many", "one", "other", "many"));
}

TEST(WorkerThreads, CallersWithARunningJobComeAfterOthers) {
  std::latch are_added(1);
  std::latch may_end(1);
  std::vector<std::string> done;  // by the one thread that is free
  const auto job = [&](const std::string& caller) { return [&, caller] { done.push_back(caller); }; };
  {
    WorkerThreads workers({.threads = 2});
    workers.add({[&] { may_end.wait(); }, "busy"});
    workers.add({[&] { are_added.wait(); }, "idle"});
    for (int i = 0; i < 3; ++i) {
      workers.add({job("busy"), "busy"});
    }
    for (int i = 0; i < 2; ++i) {
      workers.add({job("idle"), "idle"});
    }
    workers.add({[&] { may_end.count_down(); }, "busy"});
    are_added.count_down();
  }
  EXPECT_THAT(done, ElementsAre("idle", "idle", "busy", "busy", "busy"));
}

TEST(WorkerThreads, OneIsFreeForOthersHoweverManyJobsACallerHas) {
  std::latch have_begun(2);
  std::latch may_end(1);
  std::atomic<int> of_greedy = 0;
  std::promise<int> seen;
  {
    WorkerThreads workers({.threads = 3, .max_running_of_caller = 2});
    for (int i = 0; i < 20; ++i) {
      workers.add({[&] {
                     if (++of_greedy <= 2) {
                       have_begun.count_down();
                     }
                     may_end.wait();
                   },
                   "greedy"});
    }
    have_begun.wait();
    workers.add({[&] { seen.set_value(of_greedy); }, "other"});
    EXPECT_EQ(seen.get_future().get(), 2) << "begun before the job of the other";
    EXPECT_EQ(workers.waiting(), 18);
    may_end.count_down();
  }
  EXPECT_EQ(of_greedy, 20);
}

TEST(WorkerThreads, AbandonedJobsThatWaitAreRunByWhoAsks) {
  std::latch has_begun(1);
  std::latch may_end(1);
  std::vector<int> done;
  bool is_abandoned = false;
  {
    WorkerThreads workers({.threads = 1});
    workers.add({[&] {
      has_begun.count_down();
      may_end.wait();
    }});
    has_begun.wait();
    for (int i = 0; i < 4; ++i) {
      const bool may_be = i % 2 == 0;
      workers.add({[&done, i] { done.push_back(i); }, "caller",
                   may_be ? std::function<bool()>([&] { return is_abandoned; }) : nullptr});
    }
    workers.run_abandoned();
    EXPECT_THAT(done, ElementsAre());
    is_abandoned = true;
    workers.run_abandoned();
    EXPECT_THAT(done, ElementsAre(0, 2));
    EXPECT_EQ(workers.waiting(), 2);
    may_end.count_down();
  }
  EXPECT_THAT(done, ElementsAre(0, 2, 1, 3));
}

TEST(WorkerThreads, KnowTheirPace) {
  int64_t work_ns = 0;
  int64_t pace_ns = 0;
  {
    WorkerThreads workers({.threads = 1});
    EXPECT_EQ(workers.pace_ns(), 0);
    workers.add({[&] {
      const int64_t start_ns = monotonic_now_ns();
      while (work_ns < kNsPerSecond / 1000) {
        work_ns = monotonic_now_ns() - start_ns;
      }
    }});
    workers.add({[&] { pace_ns = workers.pace_ns(); }});
  }
  EXPECT_GE(pace_ns, work_ns);
}

}  // namespace
}  // namespace plimsoll::http
