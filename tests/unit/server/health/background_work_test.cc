#include "server/health/background_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace plimsoll::server::background_work_test {
namespace {

TEST(BackgroundWorkTest, KeepsHowTheNewestPassEnded) {
  int64_t now_ns = 100;
  BackgroundWork work([&now_ns] { return now_ns; });
  EXPECT_TRUE(work.all().empty());

  const Result<int> made = work.run(Work::kRows, "building rows", [&]() -> Result<int> {
    const auto running = work.all();
    EXPECT_EQ(running.at(0).running_since_ns, 100);
    EXPECT_EQ(running.at(0).newest_success_ns, 0);
    now_ns = 150;
    return 7;
  });
  EXPECT_EQ(made, 7);
  ASSERT_EQ(work.all().size(), 1);
  EXPECT_EQ(work.all()[0].name, "rows");
  EXPECT_EQ(work.all()[0].running_since_ns, 0);
  EXPECT_EQ(work.all()[0].newest_success_ns, 150);

  now_ns = 200;
  const Status failed =
      work.run(Work::kRows, "building rows", []() -> Status { return fail(ErrorCode::kIo, "disk full"); });
  EXPECT_FALSE(failed);
  EXPECT_EQ(work.all()[0].newest_success_ns, 150);
  EXPECT_EQ(work.all()[0].errors, 1);
  EXPECT_EQ(work.all()[0].error, "disk full");

  EXPECT_TRUE(work.run(Work::kRows, "building rows", [] { return Status(); }));
  EXPECT_EQ(work.all()[0].error, "");
  EXPECT_EQ(work.all()[0].errors, 1);
  EXPECT_EQ(work.all()[0].newest_success_ns, 200);
}

TEST(BackgroundWorkTest, CountsWhatIsThrown) {
  BackgroundWork work;
  const Status thrown =
      work.run(Work::kDraws, "drawing", []() -> Status { throw std::runtime_error("out of memory"); });
  EXPECT_FALSE(thrown);
  EXPECT_EQ(work.all().at(0).name, "draws");
  EXPECT_EQ(work.all().at(0).error, "drawing: out of memory");
}

}  // namespace
}  // namespace plimsoll::server::background_work_test
