// Definitions of experiments in answers of a server, which may be of another version.
#include "cli/experiment_definition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "query/table/table.h"

namespace plimsoll::cli::experiment_definition_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Result<ChosenExperiment> defined_as(const std::string& json) {
  query::Table table;
  table.columns = {{"experiment", ""}, {"definition", ""}};
  table.rows.push_back({query::Value("pages"), query::Value(json)});
  return experiment_in(table, "pages");
}

TEST(DefinitionsInAnswers, AreReadAsAWhole) {
  const auto chosen = defined_as(
      R"({"control": ["revision=41"], "detect": "2%", "feature": "huge pages", "focus": ["malloc"], "history": "14d",
          "margin": "0.03", "min_instances": "8", "owner": "ann", "power": "90%", "ratio": "exact-ipc",
          "since": "2026-11-24T12:00:00Z", "test": ["revision=42", "job=web"], "until": "2026-11-25T12:00:00Z",
          "where": ["platform=AMD Zen 4"]})");
  ASSERT_TRUE(chosen) << chosen.error().text();
  const config::ExperimentConfig& config = chosen->config;
  EXPECT_EQ(config.name, "pages");
  EXPECT_EQ(config.feature, "huge pages");
  EXPECT_THAT(config.control, ElementsAre("revision=41"));
  EXPECT_THAT(config.test, ElementsAre("revision=42", "job=web"));
  EXPECT_THAT(config.both, ElementsAre("platform=AMD Zen 4"));
  EXPECT_EQ(config.since, "2026-11-24T12:00:00Z");
  EXPECT_EQ(config.until, "2026-11-25T12:00:00Z");
  EXPECT_EQ(config.ratio, "exact-ipc");
  EXPECT_DOUBLE_EQ(config.detect_percent, 2);
  EXPECT_DOUBLE_EQ(config.margin_percent, 3);
  EXPECT_DOUBLE_EQ(config.power_percent, 90);
  EXPECT_EQ(config.min_instances, 8);
  EXPECT_THAT(chosen->frames, ElementsAre(Pair("focus", "malloc")));
  EXPECT_EQ(chosen->history, "14d");
}

TEST(DefinitionsInAnswers, HaveNothingThatIsPassedOver) {
  for (const std::string& parameter :
       {std::string(R"("cohort": "a")"), std::string(R"("margin": "much")"),
        std::string(R"("min_instances": "8 or so")"), std::string(R"("history": "long")"),
        std::string(R"("since": "soon")"), std::string(R"("ratio": "x")"), std::string(R"("where": "x")"),
        std::string(R"("feature": "\u001b[2J")")}) {
    const std::string json =
        fmt::format(R"({{"control": ["revision=41"], "test": ["revision=42"], {}}})", parameter);
    const auto chosen = defined_as(json);
    ASSERT_FALSE(chosen) << json;
    EXPECT_EQ(chosen.error().code, ErrorCode::kInvalid) << json;
  }
  EXPECT_THAT(defined_as(R"({"control": ["a=1"], "cohort": "a"})").error().text(),
              HasSubstr("cannot read cohort=a"));
}

TEST(DefinitionsInAnswers, MayBeMissing) {
  query::Table table;
  EXPECT_EQ(experiment_in(table, "pages").error().code, ErrorCode::kCorrupt);
  table.columns = {{"experiment", ""}};
  table.rows.emplace_back(1, query::Value("pages"));
  EXPECT_EQ(experiment_in(table, "pages").error().code, ErrorCode::kCorrupt);
  table.columns = {{"experiment", ""}, {"definition", ""}};
  table.rows[0].emplace_back(int64_t{1});
  EXPECT_EQ(experiment_in(table, "pages").error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace plimsoll::cli::experiment_definition_test
