#include "query/wsmeter/asked/defined_experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace plimsoll::query::defined_experiment_test {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kNowNs = int64_t{1'800'000'000} * kNsPerSecond;

using Texts = std::vector<std::pair<std::string, std::string>>;

store::ExperimentDefinition defined(const Texts& further = {}) {
  store::ExperimentDefinition definition{.name = "pages", .feature = "huge pages"};
  definition.parameters = {{"control", "revision=41"}, {"test", "revision=42"}};
  definition.parameters.insert(definition.parameters.end(), further.begin(), further.end());
  return definition;
}

std::string begun() {
  return format_time(kNowNs - kNsPerHour);
}

TEST(ADefinition, HasParametersThatItsViewsTake) {
  EXPECT_TRUE(check_definition(defined(), kNowNs));
  const Status all = check_definition(defined({{"detect", "1%"},
                                               {"focus", "malloc"},
                                               {"history", "14d"},
                                               {"margin", "2%"},
                                               {"min_instances", "8"},
                                               {"power", "90%"},
                                               {"ratio", "ipc"},
                                               {"since", begun()},
                                               {"until", format_time(kNowNs + kNsPerHour)},
                                               {"where", "platform=AMD Zen 4"}}),
                                      kNowNs);
  EXPECT_TRUE(all) << all.error().text();
}

TEST(ADefinition, IsRefusedWithTheParameterThatIsWrong) {
  const auto field_of = [](const store::ExperimentDefinition& definition) {
    const Status refused = check_definition(definition, kNowNs);
    return refused ? std::string("none is wrong") : refused.error().field;
  };
  EXPECT_EQ(field_of(defined({{"colour", "red"}})), "colour");
  EXPECT_EQ(field_of(defined({{"since", "1h"}})), "since");
  EXPECT_EQ(field_of(defined({{"since", "now"}})), "since");
  EXPECT_EQ(field_of(defined({{"since", "soon"}})), "since");
  EXPECT_EQ(field_of(defined({{"until", "1h"}})), "until");
  EXPECT_EQ(field_of(defined({{"margin", "0"}})), "margin");
  EXPECT_EQ(field_of(defined({{"history", "x"}})), "history");
  EXPECT_NE(field_of(defined({{"ratio", "cpi"}})), "none is wrong");
  store::ExperimentDefinition same = defined();
  same.parameters[1].second = "revision=41";
  EXPECT_EQ(field_of(same), "test");
  store::ExperimentDefinition lonely = defined();
  lonely.parameters.pop_back();
  EXPECT_EQ(field_of(lonely), "test");
  store::ExperimentDefinition unnamed = defined();
  unnamed.name = "a/b";
  EXPECT_EQ(field_of(unnamed), "name");
}

TEST(AChange, IsFreeUntilTheExperimentHasBegun) {
  EXPECT_TRUE(check_change(defined(), defined({{"since", begun()}, {"margin", "5%"}}), kNowNs));
  EXPECT_TRUE(check_change(defined({{"since", format_time(kNowNs + 1)}}), defined(), kNowNs));
}

TEST(AChange, OfARunningExperimentIsOfItsEndAndWordsOnly) {
  const store::ExperimentDefinition before = defined({{"since", begun()}});
  store::ExperimentDefinition after =
      defined({{"since", begun()}, {"until", format_time(kNowNs + kNsPerHour)}});
  after.feature = "larger pages";
  after.owner = "bob";
  EXPECT_TRUE(check_change(before, after, kNowNs));
  for (const auto& [name, value] :
       Texts{{"control", "job=web"}, {"focus", "malloc"}, {"margin", "5%"}, {"test", "job=web"}}) {
    const Status refused = check_change(before, defined({{"since", begun()}, {name, value}}), kNowNs);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_EQ(refused.error().field, name);
    EXPECT_THAT(refused.error().text(), HasSubstr("withdraw this one first"));
  }
  EXPECT_EQ(check_change(before, defined(), kNowNs).error().field, "since");
}

TEST(AChange, CanLetAnExperimentRunOnThatHasEnded) {
  const store::ExperimentDefinition ended =
      defined({{"since", begun()}, {"until", format_time(kNowNs - kNsPerMinute)}});
  EXPECT_TRUE(check_change(ended, defined({{"since", begun()}}), kNowNs));
  const Status refused = check_change(ended, defined({{"since", begun()}, {"ratio", "exact-ipc"}}), kNowNs);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("has ended: its ratio cannot change"));
}

}  // namespace
}  // namespace plimsoll::query::defined_experiment_test
