#include "server/background/background_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <stdexcept>

#include "server/background/background_work.h"
#include "tests/eventually.h"
#include "tests/unit/server/background/held_passes.h"

namespace plimsoll::server {
namespace {

using plimsoll::testing::eventually;
using plimsoll::testing::kStartNs;
using std::chrono::hours;
using std::chrono::seconds;
using ::testing::ElementsAre;

WorkKind kind() {
  return {.name = "rows",
          .what = "building rows",
          .retry = seconds(20),
          .tolerance = seconds(0),
          .hint = "free disk space"};
}

WorkKind finishing_kind() {
  WorkKind made = kind();
  made.finishes = true;
  return made;
}

NextPass after(std::chrono::nanoseconds time) {
  return {.after = time};
}

class BackgroundTaskTest : public ::testing::Test {
 protected:
  void start(const WorkKind& kind) {
    task_ = std::make_unique<BackgroundTask>(kind, passes_.pass(), clock_.clocks());
  }
  // The next pass, from its start to its end; unless another one follows at once.
  void run_pass(Result<NextPass> end = NextPass()) {
    const bool is_last = !end || end->after != std::chrono::nanoseconds(0);
    passes_.wait_for_start();
    passes_.end(std::move(end));
    EXPECT_TRUE(!is_last || eventually([&] { return task_->health().running_since_ns == 0; }));
  }
  // Returns while the first pass runs. Each pass ends once the task is to stop.
  void start_pass_until_stop(const WorkKind& kind, const Result<NextPass>& end) {
    std::promise<void> began;
    task_ = std::make_unique<BackgroundTask>(
        kind,
        [&, end](const std::stop_token& stop) -> Result<NextPass> {
          std::promise<void> stopped;
          const std::stop_callback on_stop(stop, [&] { stopped.set_value(); });
          if (++passes_until_stop_ == 1) {
            began.set_value();
          }
          stopped.get_future().wait();
          return end;
        },
        clock_.clocks());
    began.get_future().wait();
  }
  void advance(std::chrono::nanoseconds by) { clock_.advance(by, *task_); }
  // Sets the clock ahead, which is not yet the time of the next pass.
  void advance_too_little(std::chrono::nanoseconds by) {
    constexpr int64_t kEnough = 10;  // a task that finds a pass due looks less often until it has begun
    const size_t passes = passes_.began_s().size();
    advance(by);
    const int64_t looks = clock_.looks() + kEnough;
    EXPECT_TRUE(eventually([&] {
      task_->check_clock();
      return clock_.looks() >= looks || passes_.began_s().size() > passes;
    }));
    EXPECT_EQ(passes_.began_s().size(), passes) << "too early";
  }

  TestClock clock_;
  HeldPasses passes_{clock_};
  int passes_until_stop_ = 0;
  std::unique_ptr<BackgroundTask> task_;
};

TEST_F(BackgroundTaskTest, RunsAtTheStartAndWhenWoken) {
  start(kind());
  run_pass();
  advance(hours(1));
  task_->wake();
  run_pass();
  task_->stop();
  EXPECT_THAT(passes_.began_s(), ElementsAre(0, 3600));
}

TEST_F(BackgroundTaskTest, WakesDuringAPassAreOneMore) {
  start(finishing_kind());  // stop() would find a pass too many
  passes_.wait_for_start();
  task_->wake();
  task_->wake();
  passes_.end();
  run_pass();
  task_->stop();
  EXPECT_THAT(passes_.is_stopping(), ElementsAre(false, false));
}

TEST_F(BackgroundTaskTest, RunsWhenThePassBeforeWantedIt) {
  start(kind());
  run_pass(after(seconds(10)));
  advance_too_little(seconds(9));
  advance(seconds(1));
  run_pass(after(seconds(0)));
  run_pass();
  EXPECT_THAT(passes_.began_s(), ElementsAre(0, 10, 10));
}

TEST_F(BackgroundTaskTest, AFailedPassIsTriedAgain) {
  start(kind());
  run_pass(disk_full());
  advance_too_little(seconds(19));
  advance(seconds(1));
  run_pass(disk_full());
  advance(seconds(5));
  task_->wake();
  run_pass();
  EXPECT_THAT(passes_.began_s(), ElementsAre(0, 20, 25));
}

TEST_F(BackgroundTaskTest, GathersAfterAWake) {
  WorkKind gathers = kind();
  gathers.gather = seconds(3);
  start(gathers);
  // The thread may begin to gather later than the clock goes on.
  const auto begins = [&](size_t passes) {
    return eventually([&] {
      advance(seconds(1));
      return passes_.began_s().size() == passes;
    });
  };
  EXPECT_TRUE(begins(1));
  run_pass();
  const int64_t woken_s = clock_.passed_s();
  task_->wake();
  task_->wake();
  EXPECT_TRUE(begins(2));
  run_pass(after(seconds(0)));
  run_pass();  // at once, as the clock stands still: it was not woken
  const std::vector<int64_t> began_s = passes_.began_s();
  EXPECT_GE(began_s[0], 3);
  EXPECT_GE(began_s[1], woken_s + 3);
}

TEST_F(BackgroundTaskTest, LongPassesHaveLongPauses) {
  WorkKind seldom = kind();
  seldom.min_pause_factor = 50;
  start(seldom);
  passes_.wait_for_start();
  clock_.advance(seconds(2));
  passes_.end(after(seconds(10)));
  EXPECT_TRUE(eventually([&] { return task_->health().newest_success_ns != 0; }));
  advance_too_little(seconds(99));
  advance(seconds(1));
  passes_.wait_for_start();
  clock_.advance(seconds(1));
  passes_.end(disk_full());
  EXPECT_TRUE(eventually([&] { return task_->health().errors == 1; }));
  advance_too_little(seconds(49));
  advance(seconds(1));
  run_pass();
  EXPECT_THAT(passes_.began_s(), ElementsAre(0, 102, 153));
}

TEST_F(BackgroundTaskTest, StopsWhileItWaits) {
  start(kind());
  run_pass(after(hours(1)));
  task_->stop();
  task_->wake();
  task_->stop();
  EXPECT_THAT(passes_.began_s(), ElementsAre(0));
}

TEST_F(BackgroundTaskTest, StopsWhileItGathers) {
  WorkKind gathers = kind();
  gathers.gather = hours(1);
  start(gathers);
  task_->stop();
  EXPECT_THAT(passes_.began_s(), ElementsAre());
}

TEST_F(BackgroundTaskTest, ARunningPassLearnsThatItIsToStop) {
  start_pass_until_stop(kind(), NextPass{.after = seconds(0)});
  task_->stop();
  EXPECT_NE(task_->health().newest_success_ns, 0);
}

TEST_F(BackgroundTaskTest, FinishesWhatIsPending) {
  WorkKind gathers = finishing_kind();
  gathers.gather = hours(1);
  start(gathers);
  for (const auto& end : {after(seconds(0)), after(seconds(0)), after(hours(1))}) {
    passes_.end(end);
  }
  task_->stop();
  EXPECT_THAT(passes_.is_stopping(), ElementsAre(true, true, true));
}

TEST_F(BackgroundTaskTest, DoesNothingMoreWhereNothingIsPending) {
  start(finishing_kind());
  run_pass(after(hours(1)));
  task_->stop();
  EXPECT_THAT(passes_.is_stopping(), ElementsAre(false));
}

TEST_F(BackgroundTaskTest, TriesOnceMoreWhatFailedAndThenGivesUp) {
  start(finishing_kind());
  run_pass(disk_full());
  passes_.end(disk_full());
  task_->stop();
  EXPECT_THAT(passes_.is_stopping(), ElementsAre(false, true));
}

TEST_F(BackgroundTaskTest, GivesUpWhereTheRunningPassFails) {
  start_pass_until_stop(finishing_kind(), disk_full());
  task_->wake();
  task_->stop();
  EXPECT_EQ(passes_until_stop_, 1);
  EXPECT_TRUE(task_->health().is_failing());
}

TEST_F(BackgroundTaskTest, WhatAPassOwnsEndsWithTheTask) {
  auto owned = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = owned;
  task_ = std::make_unique<BackgroundTask>(
      kind(), [owned = std::move(owned)](const std::stop_token&) -> Result<NextPass> { return NextPass(); },
      clock_.clocks());
  task_->wait_for_first_pass();
  EXPECT_FALSE(watched.expired());
  task_->stop();
  EXPECT_TRUE(watched.expired());
}

TEST_F(BackgroundTaskTest, ExceptionsAreErrors) {
  int passes = 0;
  task_ = std::make_unique<BackgroundTask>(
      kind(),
      [&passes](const std::stop_token&) -> Result<NextPass> {
        return ++passes == 1 ? throw std::runtime_error("out of memory") : NextPass();
      },
      clock_.clocks());
  task_->wait_for_first_pass();
  EXPECT_EQ(task_->health().last_error, "building rows: out of memory");
  EXPECT_TRUE(task_->health().is_failing());
  task_->wake();
  EXPECT_TRUE(eventually([&] { return !task_->health().is_failing(); }));
}

TEST_F(BackgroundTaskTest, SaysHowItIsDoing) {
  start(kind());
  passes_.wait_for_start();
  EXPECT_EQ(task_->health().name, "rows");
  EXPECT_EQ(task_->health().hint, "free disk space");
  EXPECT_EQ(task_->health().running_since_ns, kStartNs);
  EXPECT_EQ(task_->health().newest_success_ns, 0);
  clock_.advance(seconds(5));
  passes_.end(after(seconds(0)));

  passes_.wait_for_start();
  EXPECT_EQ(task_->health().newest_success_ns, kStartNs + 5 * kNsPerSecond);
  passes_.end(disk_full());
  EXPECT_TRUE(eventually([&] { return task_->health().errors == 1; }));
  advance(seconds(20));
  run_pass(disk_full());
  query::BackgroundWorkHealth failing = task_->health();
  EXPECT_EQ(failing.running_since_ns, 0);
  EXPECT_EQ(failing.newest_success_ns, kStartNs + 5 * kNsPerSecond);
  EXPECT_EQ(failing.failing_since_ns, kStartNs + 5 * kNsPerSecond);
  EXPECT_EQ(failing.last_error_ns, kStartNs + 25 * kNsPerSecond);
  EXPECT_EQ(failing.last_error, "building rows: disk full");
  EXPECT_EQ(failing.failures_in_row, 2);
  EXPECT_EQ(failing.errors, 2);

  advance(seconds(20));
  run_pass();
  const query::BackgroundWorkHealth well = task_->health();
  EXPECT_FALSE(well.is_failing());
  EXPECT_EQ(well.failures_in_row, 0);
  EXPECT_EQ(well.errors, 2);
  EXPECT_EQ(well.last_error, "building rows: disk full");
  EXPECT_EQ(well.last_error_ns, kStartNs + 25 * kNsPerSecond);
  EXPECT_EQ(well.newest_success_ns, kStartNs + 45 * kNsPerSecond);
}

TEST_F(BackgroundTaskTest, APassThatWasNotDueIsNoSuccess) {
  start(kind());
  run_pass(disk_full());
  advance(seconds(20));
  run_pass(NextPass{.after = seconds(5), .was_due = false});
  EXPECT_TRUE(task_->health().is_failing());
  EXPECT_EQ(task_->health().failures_in_row, 1);
  EXPECT_EQ(task_->health().newest_success_ns, 0);
  advance(seconds(5));
  run_pass();
  EXPECT_FALSE(task_->health().is_failing());
  EXPECT_THAT(passes_.began_s(), ElementsAre(0, 20, 25));
}

TEST(BackgroundWorkTest, StopsTheNewestFirstWhileItMayWakeOthers) {
  WorkKind names = finishing_kind();
  names.name = "symbols";
  names.gather = hours(1);
  WorkKind rows = finishing_kind();
  rows.gather = hours(1);
  std::vector<std::string> done;
  BackgroundWork work;
  work.wake(names);  // there is none yet
  work.start(names, [&](const std::stop_token&) -> Result<NextPass> {
    done.emplace_back("symbols");
    return NextPass();
  });
  work.start(rows, [&](const std::stop_token&) -> Result<NextPass> {
    done.emplace_back("rows");
    work.wake(names);
    work.wake(rows);
    return done.size() < 3 ? Result<NextPass>(NextPass()) : disk_full();
  });
  EXPECT_EQ(work.all().size(), 2);
  work.stop();
  EXPECT_THAT(done, ElementsAre("rows", "rows", "rows", "symbols"));
  const auto all = work.all();
  EXPECT_EQ(all.at(0).name, "symbols");
  EXPECT_FALSE(all.at(0).is_failing());
  EXPECT_TRUE(all.at(1).is_failing());
}

}  // namespace
}  // namespace plimsoll::server
