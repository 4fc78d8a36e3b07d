#include "http/worker_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
