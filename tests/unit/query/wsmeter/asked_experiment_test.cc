#include "query/wsmeter/asked/asked_experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time.h"
#include "query/wsmeter/asked/experiment_answers.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int64_t kAskedStartNs = 1'700'000'000'000'000'000;
constexpr int64_t kAskedMinuteNs = 60'000'000'000;

// Six machines without and six with a feature by which web is a tenth faster, a quarter of an hour after six others had it not yet.
class AskedExperimentTest : public ::testing::Test {
 protected:
  AskedExperimentTest() {
    for (int i = 0; i < 12; ++i) {
      const bool has_it = i >= 6;
      const int noise = i % 3 - 1;
      add(i, 0, "off", 1000 + 20 * noise);
      add(i, 15, has_it ? "on" : "off", (has_it ? 1100 : 1000) + 20 * noise);
    }
  }

  void add(int machine, int minute, const std::string& feature, int instructions) {
    fleet_.add(
        make_profile({.seed = ++seed_,
                      .machine = fmt::format("m{}", machine),
                      .from_ns = kAskedStartNs + minute * kAskedMinuteNs,
                      .length_ns = kAskedMinuteNs,
                      .events = {{.name = "cycles"}, {.name = "instructions"}},
                      .job = "web",
                      .labels = "feature:" + feature,
                      .stacks = fmt::format("main 1000\nevent=instructions main {}\n", instructions)}));
  }

  template <typename Make>
  Result<Table> ask(const Result<AskedExperiment>& asked, Make make) const {
    return asked ? make(*asked, **Snapshot::load(fleet_.path(), asked->times()), LiveFleet())
                 : propagate(asked);
  }

  static Parameters arms(Parameters further = {}) {
    Parameters parameters{{"control", "label:feature=off"},
                          {"test", "label:feature=on"},
                          {"since", format_time(kAskedStartNs + 10 * kAskedMinuteNs)}};
    parameters.insert(parameters.end(), further.begin(), further.end());
    return parameters;
  }

  static constexpr int64_t kNowNs = kAskedStartNs + 30 * kAskedMinuteNs;
  Fleet fleet_;
  uint64_t seed_ = 0;
};

TEST_F(AskedExperimentTest, IsPlannedByWhatTheControlDidBefore) {
  const auto plan = ask(parse_experiment_plan({{"control", "label:feature=off"},
                                               {"since", format_time(kAskedStartNs + 10 * kAskedMinuteNs)},
                                               {"margin", "5%"}},
                                              kNowNs),
                        asked_experiment_plan);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_THAT(to_csv(*plan), HasSubstr("web,1,12,")) << "twelve instances were without it then";
  EXPECT_THAT(plan->notes, Contains(StartsWith("no CPU quotas reported")));
  EXPECT_EQ(plan->columns[column_of(*plan, "cost")].unit, "load");
}

TEST_F(AskedExperimentTest, NarrowerMarginsCostMore) {
  const Parameters goal{{"control", "label:feature=off"}, {"margin", "1.5%"}};
  const auto curve = ask(parse_experiment_plan(goal, kNowNs), asked_experiment_curve);
  const auto plan = ask(parse_experiment_plan(goal, kNowNs), asked_experiment_plan);
  ASSERT_TRUE(curve && plan) << (curve ? plan : curve).error().text();
  ASSERT_GT(curve->rows.size(), 3);
  bool has_plan = false;
  for (size_t i = 0; i < curve->rows.size(); ++i) {
    const auto& row = curve->rows[i];
    has_plan = has_plan || row[2] == plan->rows[0][3];
    if (i > 0) {
      EXPECT_LT(std::get<double>(row[0]), std::get<double>(curve->rows[i - 1][0]));
      EXPECT_LT(std::get<double>(row[1]), std::get<double>(curve->rows[i - 1][1]));
      EXPECT_GT(std::get<int64_t>(row[2]), std::get<int64_t>(curve->rows[i - 1][2]));
      EXPECT_GT(std::get<double>(row[3]), std::get<double>(curve->rows[i - 1][3]));
    }
  }
  EXPECT_TRUE(has_plan);
}

TEST_F(AskedExperimentTest, HidesItsResultUntilItHasEnded) {
  const Parameters many{{"margin", "5%"}, {"min_instances", "50"}};
  const auto progress = ask(parse_experiment(arms(many), kNowNs), asked_experiment_progress);
  ASSERT_TRUE(progress) << progress.error().text();
  EXPECT_THAT(to_csv(*progress), HasSubstr("web,1,6,6,50"));
  const auto running = ask(parse_experiment(arms(many), kNowNs), asked_experiment_result);
  ASSERT_FALSE(running);
  EXPECT_EQ(running.error().code, ErrorCode::kConflict);
  EXPECT_THAT(running.error().message, HasSubstr("the experiment is running: 6 of 50 instances"));

  Parameters over = many;
  over.emplace_back("until", format_time(kAskedStartNs + 20 * kAskedMinuteNs));
  const auto ended = ask(parse_experiment(arms(over), kNowNs), asked_experiment_result);
  ASSERT_TRUE(ended) << ended.error().text();
  EXPECT_THAT(to_csv(*ended), HasSubstr("(all),1,"));
  EXPECT_NEAR(std::get<double>(ended->rows[0][2]), 0.1, 0.01);
  EXPECT_EQ(std::get<std::string>(ended->rows[0][6]), "better");
  EXPECT_THAT(ended->notes, Contains(HasSubstr("only 12 % of the planned instances were observed")));
}

TEST_F(AskedExperimentTest, HasEndedWhereAllThatIsWantedIsThere) {
  const auto result = ask(parse_experiment(arms({{"margin", "20%"}}), kNowNs), asked_experiment_result);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(std::get<std::string>(result->rows[0][6]), "better");
}

TEST_F(AskedExperimentTest, RefusesWhatIsNoExperiment) {
  const auto refusal = [](const Parameters& parameters) {
    const auto asked = parse_experiment(parameters, kNowNs);
    return asked ? std::string() : asked.error().field;
  };
  EXPECT_EQ(refusal({{"test", "job=a"}}), "control");
  EXPECT_EQ(refusal({{"control", "job=a"}}), "test");
  EXPECT_EQ(refusal({{"control", "job=a"}, {"test", "job=a"}}), "test");
  EXPECT_EQ(refusal(arms({{"margin", "0"}})), "margin");
  EXPECT_EQ(refusal(arms({{"power", "100%"}})), "power");
  EXPECT_EQ(refusal({{"control", "a"}, {"test", "job=a"}}), "control");
}

TEST_F(AskedExperimentTest, RefusesRatiosOfWhichMoreIsWorse) {
  for (const std::string cost : {"cpi", "exact-cpi", "cycles/instructions", "energy-pkg/instructions"}) {
    const auto asked = parse_experiment(arms({{"ratio", cost}}), kNowNs);
    const auto planned = parse_experiment_plan({{"control", "job=a"}, {"ratio", cost}}, kNowNs);
    for (const auto* refused : {&asked, &planned}) {
      ASSERT_FALSE(*refused) << cost;
      EXPECT_EQ(refused->error().code, ErrorCode::kInvalid);
      EXPECT_EQ(refused->error().field, "ratio");
      EXPECT_THAT(refused->error().message, HasSubstr("more is worse"));
    }
  }
  for (const std::string performance : {"ipc", "exact-ipc", "instructions/cycles"}) {
    EXPECT_TRUE(parse_experiment(arms({{"ratio", performance}}), kNowNs)) << performance;
  }
}

TEST_F(AskedExperimentTest, RefusesAnEndThatMovesWithTheClock) {
  for (const std::string moving : {"1s", "-1s", "now", "0s"}) {
    const auto asked = parse_experiment(arms({{"until", moving}}), kNowNs);
    ASSERT_FALSE(asked) << moving;
    EXPECT_EQ(asked.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(asked.error().field, "until");
  }
  EXPECT_TRUE(parse_experiment(arms({{"until", format_time(kNowNs)}}), kNowNs));
}

}  // namespace
}  // namespace plimsoll::query
