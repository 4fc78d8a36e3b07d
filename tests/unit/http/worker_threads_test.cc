#include "http/worker_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <latch>
#include <mutex>
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
    WorkerThreads workers(1);
    for (int i = 0; i < 5; ++i) {
      workers.add([&done, i] { done.push_back(i); });
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
    WorkerThreads workers(1, 3);
    workers.add([&] {
      nice_of_job = own_nice();
      std::thread([&] { nice_of_its_thread = own_nice(); }).join();
    });
  }
  EXPECT_EQ(nice_of_job, nice_of_process + 3);
  EXPECT_EQ(nice_of_its_thread, nice_of_process + 3);
  EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), nice_of_process);
}

TEST(WorkerThreads, NoCallerWaitsBehindHundredsOfJobsOfAnother) {
  std::latch may_begin(1);
  std::vector<std::string> done;
  std::mutex mutex;
  const auto job = [&](const std::string& caller) {
    return [&, caller] {
      may_begin.wait();
      const std::lock_guard lock(mutex);
      done.push_back(caller);
    };
  };
  {
    WorkerThreads workers(2);
    for (int i = 0; i < 100; ++i) {
      workers.add(job("many"), "many");
    }
    workers.add(job("one"), "one");
    workers.add(job("other"), "other");
    may_begin.count_down();
  }
  ASSERT_EQ(done.size(), 102);
  const auto place = [&](const std::string& caller) {
    return std::ranges::find(done, caller) - done.begin();
  };
  // Two of the many may be under way when they come, and one at a time beside each of them.
  EXPECT_LT(place("one"), 6);
  EXPECT_LT(place("other"), 8);
}

TEST(WorkerThreads, KnowTheirPace) {
  int64_t work_ns = 0;
  int64_t pace_ns = 0;
  {
    WorkerThreads workers(1);
    EXPECT_EQ(workers.pace_ns(), 0);
    workers.add([&] {
      const int64_t start_ns = monotonic_now_ns();
      while (work_ns < kNsPerSecond / 1000) {
        work_ns = monotonic_now_ns() - start_ns;
      }
    });
    workers.add([&] { pace_ns = workers.pace_ns(); });
  }
  EXPECT_GE(pace_ns, work_ns);
}

}  // namespace
}  // namespace plimsoll::http
