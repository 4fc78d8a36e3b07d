// When old epochs are dropped, of rows that are not in the data directory.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stop_token>
#include <string>

#include "base/stop_scope.h"
#include "server/passes.h"

namespace plimsoll::testing {
namespace {

// Has one epoch to drop. It asks a server, as check_stop() permits.
class DroppableRows : public store::RowStore {
 public:
  std::string address() const override { return "clickhouse://db/p"; }
  store::Sink& sink() override { std::abort(); }
  std::unique_ptr<store::Symbols> symbols() override { return nullptr; }
  Status for_each_profile(int64_t /*first*/, int64_t /*last*/, const UseProfiles& /*use*/) override {
    std::abort();
  }
  Result<store::DroppedRows> drop_old(const store::RowStoreLimits& limits) override {
    if (const Status goes_on = check_stop(); !goes_on) {
      return propagate(goes_on);
    }
    return is_failing ? Result<store::DroppedRows>(fail(ErrorCode::kUnavailable, "no answer"))
                      : store::DroppedRows{.epochs = limits.max_bytes < 100 ? 1U : 0U, .bytes = 10};
  }

  bool is_failing = false;
};

class EpochsPassTest : public ::testing::Test {
 protected:
  Result<server::NextPass> run(uint64_t max_bytes, const std::stop_token& stop = {}) {
    auto pass = server::epochs_pass(rows_, {.max_bytes = max_bytes}, [this] { ++told_; });
    return pass(stop);
  }

  DroppableRows rows_;
  int told_ = 0;  // that something was dropped
};

TEST_F(EpochsPassTest, TellsWhereSomethingWasDropped) {
  EXPECT_TRUE(run(100));
  EXPECT_EQ(told_, 0);
  const auto next = run(99);
  ASSERT_TRUE(next) << next.error().text();
  EXPECT_EQ(told_, 1);
  EXPECT_TRUE(next->after.has_value()) << "rows grow old without a wake";
}

TEST_F(EpochsPassTest, FailsWhereTheServerDoesNotAnswer) {
  rows_.is_failing = true;
  const auto failed = run(99);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
}

// A request to a silent server takes a minute, and is repeated.
TEST_F(EpochsPassTest, EndsWithTheServer) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(run(99, stop.get_token())) << "it is no failure";
  EXPECT_EQ(told_, 0);
}

}  // namespace
}  // namespace plimsoll::testing
