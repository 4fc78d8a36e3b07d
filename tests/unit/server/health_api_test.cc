#include "server/health_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "query/operations/status.h"
#include "scheduler/safety/collection_breaker.h"
#include "server/background/readiness.h"
#include "server/background/work_kinds.h"
#include "server/passes.h"
#include "tests/eventually.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"
#include "tests/unit/server/background/held_passes.h"

namespace plimsoll::server {
namespace {

using plimsoll::testing::eventually;
using plimsoll::testing::kStartNs;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A server of simulated time, without its network.
class HealthApi : public ::testing::Test {
 protected:
  HealthApi() {
    store::DrawStore store =
        *store::DrawStore::open(ingest_->directory().draws_path(), sqlite::OpenMode::kReadWrite);
    breaker_ = *scheduler::CollectionBreaker::open(std::move(store), {});
    service_ = std::make_unique<scheduler::FleetService>(*ingest_, scheduler::FleetOptions(), *breaker_,
                                                         nullptr, [] {});
    health_ = std::make_unique<HealthCollector>(
        ingest_->directory().path(), *service_, work_, [] { return std::vector<ListenerHealth>(); },
        [] { return std::vector<query::SymbolizerWorkerHealth>(); });
    routes_ = health_routes(*health_, [this] { return readiness(work_.all(), now_ns()); });
  }

  // So many segments of a profile each.
  void add_segments(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      const auto profile = plimsoll::testing::make_profile({.seed = ++seed_, .stacks = "main 1\n"});
      ASSERT_TRUE(ingest_->accept(as_bytes(wire::encode(profile)), {}));
      ASSERT_TRUE(ingest_->build_pending());
    }
  }
  int64_t now_ns() { return clock_.clocks().wall_now_ns(); }
  // "200 ready\n".
  std::string get(const std::string& path) {
    const auto route = std::ranges::find(routes_, path, &http::Route::path);
    const http::Response response = route->handle(http::Request());
    return fmt::format("{} {}", response.status, response.body);
  }
  // So many times a minute passes, and the task tries again.
  void fail_for(int passes, BackgroundTask& task) {
    for (int i = 0; i < passes && !HasFailure(); ++i) {
      const int64_t failures = task.health().failures_in_row;
      clock_.advance(minutes(1), task);
      ASSERT_TRUE(eventually([&] { return task.health().failures_in_row == failures + 1; }));
    }
  }

  plimsoll::testing::TemporaryDirectory folder_;
  std::unique_ptr<store::Ingest> ingest_ = *store::Ingest::open(folder_ / "data");
  std::unique_ptr<scheduler::CollectionBreaker> breaker_;
  std::unique_ptr<scheduler::FleetService> service_;
  TestClock clock_;
  BackgroundWork work_{clock_.clocks()};
  std::unique_ptr<HealthCollector> health_;
  std::vector<http::Route> routes_;
  uint64_t seed_ = 0;
};

// A folder is where the merged segment would be.
TEST_F(HealthApi, AServerThatCannotMergeIsNotReadyAfterAWhile) {
  add_segments(2);
  const std::string in_the_way = folder_ / "data/blocks/000001/segments/000000000002.1.rows";
  std::filesystem::create_directory(in_the_way);
  BackgroundTask& compaction = work_.start(kCompaction, *compaction_pass(*ingest_, {.min_inputs = 2}));
  compaction.wait_for_first_pass();
  EXPECT_EQ(get("/readyz"), "200 ready\n");
  fail_for(9, compaction);
  EXPECT_EQ(get("/readyz"), "200 ready\n");
  fail_for(51, compaction);
  EXPECT_THAT(get("/readyz"),
              AllOf(HasSubstr("503 {"),
                    HasSubstr("compaction has been failing since 2027-01-15T08:00:00Z (61 passes "
                              "in a row, the newest at 2027-01-15T09:00:00Z): "),
                    HasSubstr("blocks/000001/segments"), HasSubstr("small segments pile up")));
  EXPECT_THAT(get("/metrics"),
              AllOf(HasSubstr("plimsoll_background_work_failing{work=\"compaction\"} 1\n"),
                    HasSubstr("plimsoll_background_work_errors_total{work=\"compaction\"} 61\n"),
                    HasSubstr("plimsoll_background_work_last_error_age_seconds{work=\"compaction\"} "),
                    Not(HasSubstr(folder_.path()))));

  std::filesystem::remove(in_the_way);
  clock_.advance(minutes(1), compaction);
  EXPECT_TRUE(eventually([&] { return get("/readyz") == "200 ready\n"; }));
}

TEST_F(HealthApi, AServerWithoutRowsIsNotReady) {
  HeldPasses rows(clock_);
  BackgroundTask& task = work_.start(kRows, rows.pass());
  // The thread may begin to gather later than the clock goes on.
  const auto becomes = [&](const std::string& start) {
    return eventually([&] {
      clock_.advance(seconds(1), task);
      return get("/readyz").starts_with(start);
    });
  };
  EXPECT_EQ(get("/readyz"), "200 ready\n");
  rows.end(disk_full());
  ASSERT_TRUE(becomes("503 "));
  EXPECT_THAT(get("/readyz"), AllOf(HasSubstr("work rows has been failing"), HasSubstr("disk full")));
  rows.end();
  EXPECT_TRUE(becomes("200 ready\n"));
}

TEST_F(HealthApi, AServerWithAPassThatIsStuckIsNotReady) {
  HeldPasses draws(clock_);
  work_.start(kDraws, draws.pass());
  draws.wait_for_start();
  clock_.advance(minutes(60));
  EXPECT_EQ(get("/readyz"), "200 ready\n");
  clock_.advance(seconds(1));
  EXPECT_THAT(get("/readyz"), AllOf(HasSubstr("503 {"), HasSubstr("work draws is stuck")));
  draws.end(NextPass{.after = minutes(1)});
  EXPECT_TRUE(eventually([&] { return get("/readyz") == "200 ready\n"; }));
}

}  // namespace
}  // namespace plimsoll::server
