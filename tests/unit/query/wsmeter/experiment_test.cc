#include "query/wsmeter/experiment/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sstream>

#include "query/wsmeter/experiment/report.h"

namespace plimsoll::query {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kHourNs = int64_t{3600} * 1'000'000'000;

// A line for each observation: job instance machine performance load.
Observations observations_of(const std::string& lines) {
  Observations observations;
  std::istringstream rows(lines);
  std::string job;
  std::string instance;
  std::string machine;
  double performance = 0;
  double load = 0;
  while (rows >> job >> instance >> machine >> performance >> load) {
    observations.seen.push_back({.job = job,
                                 .machine = machine,
                                 .platform = {},
                                 .instance = instance,
                                 .performance = performance,
                                 .load = load});
  }
  observations.coverage.to_ns = kHourNs;
  return observations;
}

Arm arm(const std::string& lines) {
  return arm_of(observations_of(lines));
}

const std::vector<JobQuota> kQuotas{{.job = "web", .quota = 80}, {.job = "db", .quota = 20}};

const std::string kControl =
    "web w1 m1 0.9 10\nweb w2 m2 1.1 10\nweb w3 m3 0.9 10\nweb w4 m4 1.1 10\n"
    "db d1 m1 2 10\ndb d2 m2 2 10\n";
// web gains a tenth, db nothing.
const std::string kTest =
    "web x1 n1 0.99 10\nweb x2 n2 1.21 10\nweb x3 n3 0.99 10\nweb x4 n4 1.21 10\n"
    "db y1 n1 2 10\ndb y2 n2 2 10\n";

TEST(ExperimentArm, PutsAnInstanceThatChangedItsPlatformTogetherByItsLoad) {
  const Arm one = arm("web w1 m1 1 30\nweb w1 m1 2 10\nweb w1 m2 5 1\n");
  ASSERT_EQ(one.instances.at("web").size(), 2);
  EXPECT_DOUBLE_EQ(one.instances.at("web")[0].performance, 1.25);
  EXPECT_THAT(one.loads.at("web"), ElementsAre(40, 1));
  EXPECT_EQ(instances_of(one), 2);
}

TEST(ExperimentPlan, AllowsForTheControlsBeingASample) {
  // Deviation 0.1 of 100 instances: 0.1^2 x 100 / 99 / 100 is known; N more leave 1.96 sqrt(0.0101 / N + 0.000101) <= 0.03.
  std::string lines;
  for (int i = 0; i < 100; ++i) {
    lines += fmt::format("web w{} m{} {} 1\n", i, i, i % 2 == 0 ? 0.9 : 1.1);
  }
  const std::vector<JobQuota> quotas{{.job = "web", .quota = 50}};
  const auto table = experiment_plan(arm(lines), quotas, {.margin = 0.03});
  ASSERT_TRUE(table) << table.error().text();
  const auto observe = static_cast<double>(std::get<int64_t>(table->rows[0][3]));
  const double variance = 0.01 * 100 / 99;
  EXPECT_LE(1.96 * std::sqrt(variance / observe + variance / 100), 0.03);
  EXPECT_GT(2.1 * std::sqrt(variance / (observe - 2) + variance / 100), 0.03);
  EXPECT_DOUBLE_EQ(std::get<double>(table->rows[0][4]), observe * 0.5) << "50 CPUs for 100 instances";
  EXPECT_THAT(table->notes[0], HasSubstr("so that the metric has a margin of 3 %"));
}

TEST(ExperimentPlan, ThatNoNumberWouldMeetSaysWhy) {
  const auto table = experiment_plan(arm(kControl), kQuotas, {.margin = 0.01});
  ASSERT_FALSE(table);
  EXPECT_THAT(table.error().text(), HasSubstr("the sample of the current fleet alone has"));
  EXPECT_THAT(table.error().text(), HasSubstr("observe the control arm"));
}

TEST(ExperimentProgress, SaysHowManyAreThereAndNotHowItComesOut) {
  const auto half = experiment_progress(arm(kControl), arm("web x1 n1 0.99 10\nweb x2 n2 1.21 10\n"), kQuotas,
                                        {.margin = 0.5, .min_instances = 3});
  ASSERT_TRUE(half) << half.error().text();
  EXPECT_EQ(half->table.columns.size(), 5);
  EXPECT_THAT(to_csv(half->table), HasSubstr("web,0.8,4,2,3"));
  EXPECT_THAT(to_csv(half->table), HasSubstr("db,0.2,2,0,3"));
  EXPECT_DOUBLE_EQ(half->share, 2.0 / 6);
  EXPECT_FALSE(half->is_complete);
  EXPECT_THAT(half->table.notes, ElementsAre(HasSubstr("2 of 6 instances of the test (33.3 %)")));

  const auto whole =
      experiment_progress(arm(kControl), arm(kTest), kQuotas, {.margin = 0.5, .min_instances = 2});
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->is_complete);
  EXPECT_EQ(whole->share, 1);
}

TEST(ExperimentFindings, ByHand) {
  const auto findings =
      experiment_findings(arm(kControl), arm(kTest), kQuotas, {.margin = 0.5, .min_instances = 2});
  ASSERT_TRUE(findings) << findings.error().text();
  // 0.8 x 1.1 + 0.2 x 1
  EXPECT_NEAR(findings->evaluation.metric.value, 1.08, 1e-12);
  // web: 0.8^2 (0.11^2 x 4/3 / 4 + 1.1^2 x 0.1^2 x 4/3 / 4)
  EXPECT_NEAR(findings->evaluation.metric.deviation, 0.8 * 0.11 * std::sqrt(2.0 / 3), 1e-12);
  EXPECT_DOUBLE_EQ(findings->comparison.coverage, 1);
  EXPECT_THAT(findings->warnings, IsEmpty());
}

TEST(ExperimentFindings, WarnOfWhatADecisionShouldKnow) {
  const auto warnings = [](const Arm& test) {
    Arm control = arm(kControl);
    control.early_share = 0.5;
    const auto findings = experiment_findings(control, test, kQuotas, {.margin = 0.5, .min_instances = 4});
    return findings ? findings->warnings : std::vector<std::string>{findings.error().text()};
  };
  EXPECT_THAT(warnings(arm(kTest)), ElementsAre(HasSubstr("only 75 % of the planned instances")));
  Arm late = arm(kTest);
  late.early_share = 0.3;
  EXPECT_THAT(warnings(late),
              Contains(HasSubstr("not observed over the same time: 50 % of the control's load, and "
                                 "30 % of the test's")));
  Arm partial = arm(kTest);
  partial.notes = {"3 profiles were left out"};
  EXPECT_THAT(warnings(partial), Contains("test: 3 profiles were left out"));
  EXPECT_THAT(warnings(arm(kTest + "web w1 m1 1 10\n")), Contains(HasSubstr("1 instances are in both arms")));
  EXPECT_THAT(warnings(arm("web x1 n1 1 10\nweb x2 n2 1 10\n")),
              Contains(HasSubstr("db, with 20 % of the quota, is left out: no new observations")));
  EXPECT_THAT(warnings(arm("batch x1 n1 1 10\n")), ElementsAre(HasSubstr("no new observations")));
}

TEST(ExperimentFindings, WhoseAimIsOutOfReachSayIt) {
  const auto findings = experiment_findings(arm(kControl), arm(kTest), kQuotas, {.margin = 0.0001});
  ASSERT_TRUE(findings);
  EXPECT_FALSE(findings->progress);
  EXPECT_THAT(findings->warnings, Contains(HasSubstr("the target cannot be reached")));
}

// Loads around 10, those of one job of the test around 10 x `scale`.
std::string loaded(char arm, double scale, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string lines;
  for (const char* job : {"web", "db", "ads"}) {
    for (int i = 0; i < 40; ++i) {
      const double chance = 0.5 + static_cast<double>(random() >> 11) * 0x1p-53;
      lines += fmt::format("{} {}{} m{} 1 {}\n", job, arm, i, i,
                           10 * chance * (std::string_view(job) == "db" ? scale : 1));
    }
  }
  return lines;
}

TEST(LoadMixTest, MovesWithTheLoadAndNotByChance) {
  const std::vector<JobQuota> quotas{
      {.job = "web", .quota = 1}, {.job = "db", .quota = 1}, {.job = "ads", .quota = 1}};
  const auto mix_of = [&](double scale, uint64_t seed) {
    const Arm control = arm(loaded('c', 1, seed));
    const Arm test = arm(loaded('t', scale, seed + 1'000'000));
    return load_mix(compare_arms(control.instances, test.instances, quotas)->jobs, control, test);
  };
  // A third each; where one has twice as much, a half, and the others a quarter: 1/6 + 2 x 1/12.
  const LoadMix moved = mix_of(2, 1);
  EXPECT_TRUE(moved.has_moved());
  EXPECT_NEAR(moved.distance, 1.0 / 3, 0.06);
  EXPECT_EQ(moved.jobs[0].job, "db");
  EXPECT_NEAR(moved.jobs[0].control, 1.0 / 3, 0.03);
  EXPECT_NEAR(moved.jobs[0].test, 0.5, 0.03);
  // By chance alone, p is below 0.05 in one of twenty: 0.05 +- 4 standard errors of 400.
  int false_alarms = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    false_alarms += mix_of(1, seed * 2).p_value < 0.05 ? 1 : 0;
  }
  EXPECT_NEAR(false_alarms / 400.0, 0.05, 4 * std::sqrt(0.05 * 0.95 / 400));
}

// Both arms are random samples of fleets whose truth is known: a gain of 5 % for one job, none for the others.
TEST(ExperimentFindings, HoldTheTruthInNineteenOfTwenty) {
  std::mt19937_64 random(20'261'125);
  std::normal_distribution<double> scatter(1, 0.1);
  const auto sample = [&](double gain) {
    std::string lines;
    for (const auto& [job, count] : {std::pair("web", 12), std::pair("db", 8), std::pair("ads", 20)}) {
      for (int i = 0; i < count; ++i) {
        const double gained = std::string_view(job) == "web" ? gain : 1;
        lines += fmt::format("{} {} m{} {} 1\n", job, i, i, gained * scatter(random));
      }
    }
    return arm(lines);
  };
  const std::vector<JobQuota> quotas{
      {.job = "web", .quota = 50}, {.job = "db", .quota = 30}, {.job = "ads", .quota = 20}};
  constexpr int kTrials = 2000;
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Arm control = sample(1);
    const Arm test = sample(1.05);
    const auto jobs = compare_arms(control.instances, test.instances, quotas)->jobs;
    const MetricEstimate metric = evaluate(jobs, {.is_current_sample = true}).metric;
    held += metric.low() <= 1.025 && 1.025 <= metric.high() ? 1 : 0;
  }
  std::printf("%d of %d intervals hold the truth\n", held, kTrials);
  EXPECT_GE(held, 0.94 * kTrials);
  EXPECT_LE(held, 0.975 * kTrials);
}

const ExperimentText kText{.name = "pages",
                           .feature = "huge pages",
                           .control = {"revision=41"},
                           .test = {"revision=42"},
                           .both = {"platform=AMD Zen 4"},
                           .ratio = "ipc"};

TEST(ExperimentReport, IsWhatADecisionCanBeBasedOn) {
  const ExperimentGoal goal{.margin = 0.5, .min_instances = 2};
  const Arm control = arm(kControl);
  const Arm test = arm(kTest);
  const auto findings = experiment_findings(control, test, kQuotas, goal);
  ASSERT_TRUE(findings);
  EXPECT_EQ(report_markdown(kText, goal, control, test, *findings),
            R"(# pages

huge pages

## Verdict

**inconclusive**: the metric changes by +8 % ± 18 %, which may be an improvement or a regression of at most 26 %.

- Metric: ipc per job, normalized to the control's mean, weighted by CPU quota (WSMeter, ASPLOS 2018); 95 % interval with 6 degrees of freedom.
- Control: revision=41, platform=AMD Zen 4: 6 instances.
- Test: revision=42, platform=AMD Zen 4: 6 instances.
- Time: 1970-01-01T00:00:00Z to 1970-01-01T01:00:00Z, both arms.
- Coverage: 2 jobs with 100 % of the quota.
- Aim: a margin of 50 %; 100 % of the planned instances were observed.
- Load mix: distance 0 between the arms (0: the same, 2: nothing in common), p = 1.

## Warnings

None.

## Jobs

| job | weight | change | control | test | load, control | load, test | verdict |
|---|---|---|---|---|---|---|---|
| web | 80 % | +10 % ± 22 % | 4 | 4 | 66.7 % | 66.7 % | cannot tell |
| db | 20 % | +0 % ± 0 % | 2 | 2 | 33.3 % | 33.3 % | cannot tell |

Each job's change has its own 95 % interval: of twenty jobs without a change, one appears changed. Load is the share of
the total load of a job's instances, for as many instances per job as in the control arm.
)");
}

TEST(ExperimentReport, AsJsonHasTheSame) {
  const Arm control = arm(kControl);
  const Arm test = arm(kTest + "batch z1 n1 1 10\n");
  const auto findings = experiment_findings(control, test, kQuotas, {.margin = 0.5, .min_instances = 2});
  ASSERT_TRUE(findings);
  const std::string json = report_json(kText, control, test, *findings);
  EXPECT_THAT(json, HasSubstr("\"verdict\": \"cannot tell\""));
  EXPECT_THAT(json, HasSubstr("\"test\": 7"));
  EXPECT_THAT(json, HasSubstr("\"wanted_share\": 1.0"));
  EXPECT_THAT(json, HasSubstr("\"job\": \"batch\""));
  EXPECT_THAT(json, HasSubstr("\"reason\": \"not in the table of jobs\""));
}

// What people call jobs may have any character.
TEST(ExperimentReport, EscapesWhatMarkdownWouldTake) {
  const std::vector<JobQuota> quotas{{.job = "a|b_c", .quota = 1}};
  const Arm control = arm("a|b_c 1 m1 1 1\na|b_c 2 m2 1 1\n");
  const auto findings = experiment_findings(control, control, quotas, {.margin = 0.5, .min_instances = 2});
  ASSERT_TRUE(findings);
  EXPECT_THAT(report_markdown(kText, {}, control, control, *findings), HasSubstr("| a\\|b\\_c |"));
}

}  // namespace
}  // namespace plimsoll::query
