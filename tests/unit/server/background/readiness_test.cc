#include "server/background/readiness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time.h"
#include "server/background/work_kinds.h"
#include "tests/start.h"

namespace plimsoll::server {
namespace {

using plimsoll::testing::kStartNs;
using ::testing::AllOf;
using ::testing::HasSubstr;

query::BackgroundWorkHealth work(const WorkKind& kind) {
  return {.name = std::string(kind.name),
          .newest_success_ns = kStartNs - kNsPerHour,
          .tolerance_ns = kind.tolerance.count(),
          .max_pass_ns = kind.max_pass.count(),
          .hint = std::string(kind.hint)};
}

// Its passes have failed from the start until so long after it.
query::BackgroundWorkHealth failing(const WorkKind& kind, int64_t for_ns, const std::string& error) {
  query::BackgroundWorkHealth made = work(kind);
  made.failing_since_ns = kStartNs;
  made.failures_in_row = 1 + for_ns / kNsPerMinute;
  made.last_error_ns = kStartNs + for_ns;
  made.last_error = error;
  return made;
}

std::string text(const std::vector<query::BackgroundWorkHealth>& works, int64_t now_ns) {
  const Status ready = readiness(works, now_ns);
  return ready ? "ready" : ready.error().message + " | " + ready.error().hint;
}

TEST(Readiness, IsThereWithoutFailures) {
  query::BackgroundWorkHealth recovered = failing(kRows, 0, "disk full");
  recovered.failing_since_ns = 0;
  EXPECT_EQ(text({}, kStartNs), "ready");
  EXPECT_EQ(text({recovered, work(kCompaction)}, kStartNs + kNsPerHour), "ready");
}

TEST(Readiness, EndsAtOnceWithoutRowsOrNames) {
  EXPECT_EQ(
      text({failing(kRows, 0, "building rows: disk full")}, kStartNs),
      "not ready: background work rows has been failing since 2027-01-15T08:00:00Z (1 passes in a row, the "
      "newest at 2027-01-15T08:00:00Z): building rows: disk full | rows: accepted profiles are kept, and "
      "missing in answers; free disk space, and check the files of the data directory");
  EXPECT_THAT(text({failing(kSymbols, 0, "disk full")}, kStartNs),
              HasSubstr("work symbols has been failing"));
  EXPECT_EQ(readiness({failing(kRows, 0, "disk full")}, kStartNs).error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(text({failing(kRows, -kNsPerHour, "clock was set back")}, kStartNs), HasSubstr("rows"));
}

TEST(Readiness, ToleratesEachOtherKindForAWhile) {
  for (const WorkKind& kind : {kCompaction, kTraceDiagnosis, kDraws, kInventory, kHealth, kAudit}) {
    const int64_t tolerance_ns = kind.tolerance.count();
    EXPECT_GE(tolerance_ns, kNsPerMinute) << kind.name;
    EXPECT_LE(tolerance_ns, kNsPerHour) << kind.name;
    EXPECT_EQ(text({failing(kind, tolerance_ns - 1, "disk full")}, kStartNs + kNsPerHour), "ready")
        << kind.name;
    EXPECT_THAT(text({failing(kind, tolerance_ns, "disk full")}, kStartNs + kNsPerHour),
                HasSubstr(std::string(kind.name)));
  }
}

TEST(Readiness, EndsWithAPassThatIsStuck) {
  query::BackgroundWorkHealth merging = work(kCompaction);
  merging.running_since_ns = kStartNs;
  EXPECT_EQ(text({merging}, kStartNs + kNsPerHour), "ready");
  EXPECT_EQ(text({merging}, kStartNs + kNsPerHour + 1),
            "not ready: background work compaction is stuck: one pass has been running since "
            "2027-01-15T08:00:00Z, longer than 1h | compaction: restart the server, which repeats the pass");
}

TEST(Readiness, NamesAllThatIsWrong) {
  query::BackgroundWorkHealth drawing = work(kDraws);
  drawing.running_since_ns = kStartNs;
  EXPECT_THAT(text({failing(kRows, 0, "disk full"), drawing}, kStartNs + 2 * kNsPerHour),
              AllOf(HasSubstr("disk full; background work draws is stuck"), HasSubstr("; draws: restart")));
}

}  // namespace
}  // namespace plimsoll::server
