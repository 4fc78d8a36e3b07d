// What answers say about rows that are rolled up.
#include "store/rollup/roll_up.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "query/registry/roll_up_notes.h"
#include "tests/unit/query/registry/fleet_sources.h"

namespace plimsoll::query::roll_up_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kHourNs = 3600 * kSecondNs;
// A whole hour.
constexpr int64_t kFirstNs = 472'222 * kHourNs;

// Three hours in one block, which is rolled up; a fourth in the open one.
class RollUpNotes : public ::testing::Test {
 protected:
  RollUpNotes() {
    for (int64_t hour = 0; hour < 4; ++hour) {
      fleet_.add({.seed = static_cast<uint64_t>(hour) + 1,
                  .from_ns = kFirstNs + hour * kHourNs + 600 * kSecondNs,
                  .stacks = "main 10\nlabels=tier:gold main 1\n"});
    }
    EXPECT_EQ(store::RollUp(fleet_.ingest(), {}).run_once_before(INT64_MAX)->block, 1);
  }

  std::vector<std::string> notes(const std::string& view, Parameters parameters) {
    FleetSources sources(fleet_.path());
    const auto answer = find_view(view)->answer(
        {.parameters = std::move(parameters), .now_ns = kFirstNs + 4 * kHourNs}, sources);
    EXPECT_TRUE(answer) << answer.error().text();
    return answer ? std::get<Table>(*answer).notes : std::vector<std::string>();
  }

  static std::string at(double hour) {
    return format_time(kFirstNs + static_cast<int64_t>(hour * 3600) * kSecondNs);
  }

  Fleet fleet_{store::BlockLimits{.max_profiles = 3}};
};

TEST_F(RollUpNotes, TellWhereThreadsAndInstancesAreGone) {
  const std::string rows = fmt::format("rows from {} to {} are rolled up: ", at(1.0 / 6),
                                       format_time(kFirstNs + 2 * kHourNs + 601 * kSecondNs));
  EXPECT_THAT(notes("top", {{"by", "function,thread"}}),
              Contains(rows + "their threads, instances and labels are [rolled up]"));
  EXPECT_THAT(notes("top", {{"by", "instance"}}), Contains(HasSubstr("are [rolled up]")));
  EXPECT_THAT(notes("top", {{"where", "thread=io"}}),
              Contains(rows + "no thread, instance or label that is asked for matches them"));
  EXPECT_THAT(notes("top", {{"by", "function"}, {"where", "app=app"}}),
              Not(Contains(HasSubstr("rolled up"))));
  EXPECT_THAT(notes("top", {{"by", "thread"}, {"since", at(3)}}), Not(Contains(HasSubstr("rolled up"))));
}

TEST_F(RollUpNotes, FiltersOfAnExperimentsArmsAreFilters) {
  const auto snapshot = *Snapshot::load(fleet_.path());
  const store::TimeSpans always{{.from_ns = INT64_MIN, .to_ns = INT64_MAX}};
  for (const std::string arm : {"control", "test"}) {
    EXPECT_THAT(roll_up_notes({{arm, "label:tier=gold"}}, always, *snapshot),
                Contains(HasSubstr("no thread, instance or label that is asked for matches them")));
    EXPECT_THAT(roll_up_notes({{arm, "machine=m1"}}, always, *snapshot),
                Not(Contains(HasSubstr("rolled up: "))));
  }
}

TEST_F(RollUpNotes, LabelsOfAllKeysAreGone) {
  for (const std::string key : {"tier", "pod"}) {
    const Result<Table> table = fleet_.top({{"by", "label:" + key}});
    EXPECT_EQ(brief(table),
              key == "tier" ? "- 40 40\n[rolled up] 3 3\ngold 1 1\n" : "- 41 41\n[rolled up] 3 3\n");
  }
  EXPECT_THAT(notes("top", {{"by", "label:tier"}}), Contains(HasSubstr("labels are [rolled up]")));
}

TEST_F(RollUpNotes, AStatementThatNamesTheirColumnsHasOneToo) {
  FleetSources sources(fleet_.path());
  const auto ask = [&](const std::string& sql) {
    const auto answer = find_view("sql")->answer({.parameters = {{"q", sql}}, .now_ns = 0}, sources);
    EXPECT_TRUE(answer) << answer.error().text();
    return std::get<SqlAnswer>(*answer);
  };
  const SqlAnswer labels =
      ask("SELECT DISTINCT labels, json_extract(labels, '$.tier') FROM samples ORDER BY 1");
  EXPECT_THAT(labels.notes, Contains(HasSubstr("labels are [rolled up]")));
  ASSERT_EQ(labels.rows.size(), 2);
  EXPECT_EQ(std::get<std::string>(labels.rows[0][0]), "{\"tier\":\"gold\"}");
  EXPECT_EQ(std::get<std::string>(labels.rows[0][1]), "gold");
  EXPECT_EQ(std::get<std::string>(labels.rows[1][0]), "{}");
  EXPECT_THAT(ask("SELECT sum(value) FROM samples").notes, Not(Contains(HasSubstr("rolled up"))));
}

TEST_F(RollUpNotes, OfALabelThatIsNowhereElseNothingIsSaidForSure) {
  EXPECT_THAT(notes("top", {{"by", "label:pod"}}), Not(Contains(HasSubstr("no sample carries"))));
}

TEST_F(RollUpNotes, TellThatTimesAreHours) {
  const auto hours = HasSubstr("are rolled up to hours");
  EXPECT_THAT(notes("top", {{"since", at(1.5)}}), Contains(hours));
  EXPECT_THAT(notes("top", {{"until", at(1.5)}}), Contains(hours));
  EXPECT_THAT(notes("top", {{"since", at(1)}, {"until", at(2)}}), Not(Contains(hours)));
  EXPECT_THAT(notes("top", {{"since", at(3.5)}}), Not(Contains(hours)));
  EXPECT_THAT(notes("series", {{"bucket", "30m"}}), Contains(hours));
  EXPECT_THAT(notes("series", {{"bucket", "2h"}}), Not(Contains(hours)));
}

}  // namespace
}  // namespace plimsoll::query::roll_up_test
