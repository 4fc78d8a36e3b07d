// When blocks of request traces are dropped.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <stop_token>
#include <utility>

#include "server/passes.h"

namespace plimsoll::testing {
namespace {

// Counts what it is asked to drop.
class CountingSpanSink : public store::SpanSink {
 public:
  Result<store::SpansKept> add_all(std::span<const store::SpanBatch> /*batches*/) override {
    return store::SpansKept();
  }
  Status settle() override { return {}; }
  Result<uint64_t> drop_old(int64_t /*before_ns*/, uint64_t /*max_bytes*/) override {
    return is_failing ? Result<uint64_t>(fail(ErrorCode::kUnavailable, "the disk is full"))
                      : Result<uint64_t>(due);
  }
  Result<bool> drop_oldest() override {
    ++oldest_dropped;
    return true;
  }
  Result<store::SpanFilesMerged> merge_once(const std::stop_token& /*stop*/) override {
    ++merges;
    return small_files < 8 ? store::SpanFilesMerged()
                           : store::SpanFilesMerged{.merged = std::exchange(small_files, 0), .made = 1};
  }

  uint64_t due = 0;
  bool is_failing = false;
  int oldest_dropped = 0;
  uint64_t small_files = 0;
  int merges = 0;
};

class SpansPassTest : public ::testing::Test {
 protected:
  Result<server::NextPass> run() {
    store::RetentionLimits limits;
    limits.min_free_bytes = 1000;
    auto pass = server::spans_pass(sink_, limits, [this] { return Result<int64_t>(free_bytes_); });
    return pass(std::stop_token());
  }

  CountingSpanSink sink_;
  int64_t free_bytes_ = 1100;
};

TEST_F(SpansPassTest, DropsTheOldestBlockOfADiskThatIsNearlyFull) {
  EXPECT_TRUE(run());
  EXPECT_EQ(sink_.oldest_dropped, 0);
  // A tenth over the minimum, as for profiles.
  free_bytes_ = 1099;
  EXPECT_TRUE(run());
  EXPECT_EQ(sink_.oldest_dropped, 1);
}

TEST_F(SpansPassTest, MergesSmallFilesOneAfterTheOther) {
  sink_.small_files = 8;
  const auto merged = run();
  ASSERT_TRUE(merged) << merged.error().text();
  EXPECT_EQ(merged->after, std::chrono::nanoseconds(0)) << "there may be more";
  const auto idle = run();
  ASSERT_TRUE(idle) << idle.error().text();
  EXPECT_GT(idle->after, std::chrono::nanoseconds(0));
}

TEST_F(SpansPassTest, MergesNothingWhileTheDiskIsNearlyFull) {
  sink_.small_files = 8;
  free_bytes_ = 1099;
  EXPECT_TRUE(run());
  EXPECT_EQ(sink_.merges, 0);
}

TEST_F(SpansPassTest, WaitsForTheRoomOfWhatWasDueAnyway) {
  free_bytes_ = 0;
  sink_.due = 2;
  EXPECT_TRUE(run());
  EXPECT_EQ(sink_.oldest_dropped, 0);
}

TEST_F(SpansPassTest, AFailureIsSaidAndTheDiskFreedAllTheSame) {
  free_bytes_ = 0;
  sink_.is_failing = true;
  EXPECT_FALSE(run());
  EXPECT_EQ(sink_.oldest_dropped, 1);
}

}  // namespace
}  // namespace plimsoll::testing
