#include "scheduler/safety/collection_breaker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time.h"
#include "tests/start.h"
#include "tests/temporary_directory.h"

namespace plimsoll::scheduler {
namespace {

using plimsoll::testing::kStartNs;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Attempt attempt(const std::string& platform, bool has_failed, int64_t told_ns) {
  return {.event_set = "cycles",
          .daemon_version = "1",
          .platform = platform,
          .told_ns = told_ns,
          .has_failed = has_failed};
}

// Twenty machines of "good" that answer, and ten of "bad", of which so many fail.
std::vector<Attempt> attempts(int failures, int64_t told_ns) {
  std::vector<Attempt> attempts;
  for (int i = 0; i < 20; ++i) {
    attempts.push_back(attempt("good", false, told_ns));
  }
  for (int i = 0; i < 10; ++i) {
    attempts.push_back(attempt("bad", i < failures, told_ns));
  }
  return attempts;
}

class CollectionBreakerTest : public ::testing::Test {
 protected:
  std::unique_ptr<CollectionBreaker> open() {
    return *CollectionBreaker::open(
        *store::DrawStore::open(folder_ / "draws.db", sqlite::OpenMode::kReadWrite),
        {.limits = {.share = 0.2, .min_failures = 3}});
  }
  // "platform bad: 1", the steps of what is held back.
  std::vector<std::string> stops() {
    std::vector<std::string> texts;
    for (const store::Stop& stop : breaker_->stops()) {
      texts.push_back(fmt::format("{}: {}", name_of(stop), static_cast<int>(stop.step)));
    }
    return texts;
  }
  void judge(const std::vector<Attempt>& attempts, int64_t now_ns) {
    ASSERT_TRUE(breaker_->judge(attempts, now_ns));
  }
  // Of twenty drawn of each platform, how many may measure.
  std::pair<int, int> allowed() {
    std::vector<Attempt> drawn;
    for (int i = 0; i < 20; ++i) {
      drawn.push_back(attempt("good", false, 0));
      drawn.push_back(attempt("bad", false, 0));
    }
    const auto reasons = breaker_->held_back(drawn);
    std::pair<int, int> allowed;
    for (size_t i = 0; i < drawn.size(); ++i) {
      (drawn[i].platform == "good" ? allowed.first : allowed.second) += reasons[i].empty();
    }
    return allowed;
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::unique_ptr<CollectionBreaker> breaker_ = open();
};

TEST_F(CollectionBreakerTest, TheKillSwitchStopsEverythingUntilSomebodyResumes) {
  EXPECT_FALSE(breaker_->is_everything_stopped());
  EXPECT_EQ(*breaker_->resume("ann", kStartNs), false) << "there is nothing to resume";
  ASSERT_TRUE(breaker_->stop_everything("latency of search", "ann", kStartNs));
  EXPECT_TRUE(breaker_->is_everything_stopped());
  EXPECT_TRUE(breaker_->is_stopped(attempt("good", false, 0)));
  EXPECT_EQ(allowed(), std::pair(0, 0));
  judge({}, kStartNs + 100 * kNsPerHour);
  EXPECT_THAT(stops(), ElementsAre("everything: 0")) << "time does not end it";
  breaker_.reset();
  breaker_ = open();
  EXPECT_THAT(stops(), ElementsAre("everything: 0")) << "nor does a restart";
  EXPECT_EQ(breaker_->stops()[0].reason, "latency of search");
  EXPECT_EQ(*breaker_->resume("ann", kStartNs + 1), true);
  EXPECT_FALSE(breaker_->is_everything_stopped());
  EXPECT_THAT(stops(), IsEmpty());
}

TEST_F(CollectionBreakerTest, WhatFailsIsStoppedAndNothingElse) {
  judge(attempts(1, kStartNs), kStartNs + kNsPerMinute);
  EXPECT_THAT(stops(), IsEmpty());
  judge(attempts(7, kStartNs), kStartNs + kNsPerMinute);
  EXPECT_THAT(stops(), ElementsAre("platform bad: 0"));
  EXPECT_EQ(breaker_->stops()[0].reason, "7 of 10 machines failed (70 %)");
  EXPECT_FALSE(breaker_->is_everything_stopped());
  EXPECT_TRUE(breaker_->is_stopped(attempt("bad", false, 0)));
  EXPECT_FALSE(breaker_->is_stopped(attempt("good", false, 0)));
  EXPECT_EQ(allowed(), std::pair(20, 0));
  judge(attempts(7, kStartNs), kStartNs + 2 * kNsPerMinute);
  EXPECT_THAT(stops(), ElementsAre("platform bad: 0")) << "the same failures do not stop it twice";
}

TEST_F(CollectionBreakerTest, WhatWasStoppedComesBackStepByStep) {
  judge(attempts(7, kStartNs), kStartNs);
  judge(attempts(7, kStartNs), kStartNs + kNsPerHour - 1);
  EXPECT_EQ(allowed(), std::pair(20, 0));
  judge({}, kStartNs + kNsPerHour);
  EXPECT_EQ(allowed(), std::pair(20, 1)) << "one machine of a draw";
  judge({}, kStartNs + kNsPerHour + kNsPerMinute);
  EXPECT_EQ(allowed(), std::pair(20, 1)) << "until it has been tried";
  judge({attempt("bad", false, kStartNs + kNsPerHour + kNsPerMinute)},
        kStartNs + kNsPerHour + 2 * kNsPerMinute);
  EXPECT_EQ(allowed(), std::pair(20, 2)) << "a tenth";
  judge(attempts(0, kStartNs + kNsPerHour + 3 * kNsPerMinute), kStartNs + kNsPerHour + 4 * kNsPerMinute);
  EXPECT_EQ(allowed(), std::pair(20, 20));
  EXPECT_THAT(stops(), IsEmpty());
  // What failed before it was stopped is not counted again, as long as it is remembered.
  judge(attempts(7, kStartNs), kStartNs + kNsPerHour + 5 * kNsPerMinute);
  EXPECT_THAT(stops(), IsEmpty());
}

TEST_F(CollectionBreakerTest, WhatFailsAgainIsLetAloneForLonger) {
  judge(attempts(7, kStartNs), kStartNs);
  judge({}, kStartNs + kNsPerHour);
  judge({attempt("bad", true, kStartNs + kNsPerHour + kNsPerMinute)},
        kStartNs + kNsPerHour + 2 * kNsPerMinute);
  EXPECT_THAT(stops(), ElementsAre("platform bad: 0"));
  EXPECT_THAT(breaker_->stops()[0].reason, HasSubstr("1 of 1 failed when tried again"));
  judge({}, kStartNs + kNsPerHour + 2 * kNsPerMinute + 2 * kNsPerHour - 1);
  EXPECT_EQ(allowed(), std::pair(20, 0));
  judge({}, kStartNs + kNsPerHour + 2 * kNsPerMinute + 2 * kNsPerHour);
  EXPECT_EQ(allowed(), std::pair(20, 1));
}

TEST_F(CollectionBreakerTest, WhoeverResumesEndsStopsForFailuresToo) {
  judge(attempts(7, kStartNs), kStartNs);
  EXPECT_EQ(*breaker_->resume("ann", kStartNs + kNsPerMinute), true);
  EXPECT_EQ(allowed(), std::pair(20, 20));
  judge(attempts(7, kStartNs), kStartNs + 2 * kNsPerMinute);
  EXPECT_THAT(stops(), IsEmpty()) << "of old failures";
  judge(attempts(7, kStartNs + 2 * kNsPerMinute), kStartNs + 3 * kNsPerMinute);
  EXPECT_THAT(stops(), ElementsAre("platform bad: 0")) << "of new ones";
}

TEST_F(CollectionBreakerTest, WhatSpreadsStopsEverything) {
  for (int platform = 0; platform < 4; ++platform) {
    std::vector<Attempt> now = attempts(0, kStartNs + platform);
    for (int i = 0; i < 5; ++i) {
      now.push_back(attempt(fmt::format("p{}", platform), true, kStartNs + platform));
    }
    judge(now, kStartNs + platform);
  }
  EXPECT_THAT(stops(), ElementsAre("platform p0: 0", "platform p1: 0", "platform p2: 0", "everything: 0"));
}

// After the pause that it was stopped for, too.
TEST_F(CollectionBreakerTest, WhatFailedBeforeSomebodyResumedIsNotCountedAgain) {
  judge(attempts(7, kStartNs), kStartNs);
  const int64_t late_ns = kStartNs + kNsPerHour + 30 * kNsPerMinute;
  judge({}, late_ns);
  judge({attempt("bad", true, late_ns + 1)}, late_ns + 2);
  EXPECT_EQ(*breaker_->resume("ann", late_ns + 3 * kNsPerHour), true);
  judge(attempts(7, late_ns + 3 * kNsPerHour - 1), late_ns + 3 * kNsPerHour + kNsPerMinute);
  EXPECT_THAT(stops(), IsEmpty());
}

TEST_F(CollectionBreakerTest, APlatformWithoutANameIsNotEverything) {
  std::vector<Attempt> nameless = attempts(0, kStartNs);
  for (int i = 0; i < 5; ++i) {
    nameless.push_back(attempt("", true, kStartNs));
  }
  judge(nameless, kStartNs);
  EXPECT_THAT(stops(), ElementsAre("platform: 0"));
  EXPECT_TRUE(breaker_->is_stopped(attempt("", false, 0)));
  EXPECT_FALSE(breaker_->is_everything_stopped());
}

TEST_F(CollectionBreakerTest, SurvivesARestart) {
  judge(attempts(7, kStartNs), kStartNs);
  breaker_.reset();
  breaker_ = open();
  EXPECT_THAT(stops(), ElementsAre("platform bad: 0"));
  judge({}, kStartNs + kNsPerHour);
  EXPECT_EQ(allowed(), std::pair(20, 1));
}

}  // namespace
}  // namespace plimsoll::scheduler
