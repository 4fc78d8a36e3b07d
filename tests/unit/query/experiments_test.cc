#include "query/operations/experiments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/time.h"
#include "query/operations/collection.h"
#include "store/draws/draw_store.h"
#include "store/ingest.h"
#include "tests/start.h"
#include "tests/temporary_directory.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query::experiments_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using plimsoll::testing::kStartNs;

store::ExperimentDefinition pages() {
  return {.name = "pages",
          .feature = "huge pages",
          .owner = "ann",
          .parameters = {{"control", "revision=41"},
                         {"control", "job=web"},
                         {"margin", "2%"},
                         {"since", format_time(kStartNs)},
                         {"test", "revision=42"}},
          .defined_ns = kStartNs - kNsPerHour,
          .changed_ns = kStartNs - kNsPerMinute};
}

class ExperimentsViewTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(store::Ingest::open(folder_ / "data")); }
  void keep(const store::ExperimentDefinition& definition) {
    auto draws = store::DrawStore::open(folder_ / "data/draws.db", sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(draws);
    ASSERT_TRUE(draws->keep_experiment(definition));
  }
  Result<Table> ask(const Parameters& parameters, int64_t now_ns = kStartNs + kNsPerHour) {
    const auto request = parse_experiments(parameters, now_ns);
    if (!request) {
      return propagate(request);
    }
    const auto known = load_experiments(*request, *store::open_fleet(folder_ / "data"));
    return known ? Result<Table>(experiments(*request, *known)) : propagate(known);
  }

  plimsoll::testing::TemporaryDirectory folder_;
};

TEST_F(ExperimentsViewTest, ListsWhatIsDefined) {
  EXPECT_THAT(ask({})->notes, ElementsAre("no experiments are defined: plimsoll experiment define NAME"));
  keep(pages());
  EXPECT_EQ(csv(ask({})),
            "experiment,state,feature,owner,control,test,where,since,until,defined,changed,definition\n"
            "pages,running,huge pages,ann,revision=41 and job=web,revision=42,,2027-01-15T08:00:00Z,,"
            "2027-01-15T07:00:00Z,2027-01-15T07:59:00Z,"
            "\"{\"\"control\"\":[\"\"revision=41\"\",\"\"job=web\"\"],\"\"feature\"\":\"\"huge pages\"\","
            "\"\"margin\"\":\"\"2%\"\",\"\"owner\"\":\"\"ann\"\",\"\"since\"\":\"\"2027-01-15T08:00:00Z\"\","
            "\"\"test\"\":[\"\"revision=42\"\"]}\"\n");
}

TEST_F(ExperimentsViewTest, OneIsFoundByItsName) {
  keep(pages());
  store::ExperimentDefinition other = pages();
  other.name = "zlib";
  keep(other);
  EXPECT_EQ(ask({})->rows.size(), 2);
  const auto one = ask({{"name", "zlib"}});
  ASSERT_TRUE(one) << one.error().text();
  ASSERT_EQ(one->rows.size(), 1);
  EXPECT_EQ(one->rows[0][0], Value("zlib"));
  const auto none = ask({{"name", "page"}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(none.error().text(), HasSubstr("did you mean pages?"));
  EXPECT_THAT(ask({{"name", "zlib\x1b[2J"}}).error().text(), Not(HasSubstr("\x1b")));
  EXPECT_FALSE(ask({{"nmae", "zlib"}}));
}

TEST(ExperimentStates, FollowFromTheTimesOfTheDefinition) {
  store::ExperimentDefinition definition = pages();
  EXPECT_EQ(name_of(state_of(definition, kStartNs - 1)), "planned");
  EXPECT_EQ(name_of(state_of(definition, kStartNs)), "running");
  definition.parameters.emplace_back("until", format_time(kStartNs + kNsPerHour));
  EXPECT_EQ(name_of(state_of(definition, kStartNs + kNsPerHour - 1)), "running");
  EXPECT_EQ(name_of(state_of(definition, kStartNs + kNsPerHour)), "ended");
  definition.parameters = {{"control", "a=1"}};
  EXPECT_EQ(name_of(state_of(definition, kStartNs)), "planned");
}

TEST(ExperimentJson, ComesBackAsItWas) {
  const store::ExperimentDefinition definition = pages();
  const auto back = definition_from_json("pages", definition_json(definition));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->name, "pages");
  EXPECT_EQ(back->feature, definition.feature);
  EXPECT_EQ(back->owner, definition.owner);
  EXPECT_EQ(back->parameters, definition.parameters);
}

TEST(ExperimentJson, TakesNumbersAndLeavesOutWhatIsEmpty) {
  const auto read = definition_from_json(
      "x", R"({"test": "b=2", "min_instances": 4, "control": ["a=1", ""], "until": "", "margin": 0.01,
               "where": [], "since": null, "ratio": ["ipc"]})");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->parameters, (Parameters{{"control", "a=1"},
                                          {"margin", "0.01"},
                                          {"min_instances", "4"},
                                          {"ratio", "ipc"},
                                          {"test", "b=2"}}));
}

TEST(ExperimentJson, IsAnObjectOfTexts) {
  for (const char* json :
       {"", "null", "[]", "\"a\"", "{", "{\"a\": \"\xff\"}", "{\"control\": {}}", "{\"control\": [[\"a\"]]}",
        "{\"control\": true}", "{\"since\": [\"1h\", \"2h\"]}", "{\"feature\": {}}", "{\"owner\": [1, 2]}"}) {
    const auto read = definition_from_json("x", json);
    ASSERT_FALSE(read) << json;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalid) << json;
  }
  const std::string deep(30'000, '[');
  EXPECT_FALSE(definition_from_json("x", fmt::format("{{\"control\": {}", deep)));
  EXPECT_FALSE(
      definition_from_json("x", fmt::format("{{\"control\": {}{}}}", deep, std::string(deep.size(), ']'))));
}

}  // namespace
}  // namespace plimsoll::query::experiments_test
