#include "http/worker_threads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <memory>

namespace plimsoll::http {
namespace {

using testing::ElementsAre;

TEST(WorkerThreads, BeginInTheOrderInWhichJobsCame) {
  std::vector<int> done;
  {
    WorkerThreads workers(1, 10);
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(workers.add([&done, i] { done.push_back(i); }));
    }
  }
  EXPECT_THAT(done, ElementsAre(0, 1, 2, 3, 4));
}

TEST(WorkerThreads, CountThoseThatWaitAndThoseThatRun) {
  std::latch entered(1);
  std::latch release(1);
  WorkerThreads workers(1, 2);
  EXPECT_TRUE(workers.add([&] {
    entered.count_down();
    release.wait();
  }));
  entered.wait();
  EXPECT_TRUE(workers.has_room());
  EXPECT_TRUE(workers.add([] {}));
  EXPECT_FALSE(workers.has_room());
  EXPECT_FALSE(workers.add([] { FAIL() << "it was refused"; }));
  release.count_down();
}

}  // namespace
}  // namespace plimsoll::http
