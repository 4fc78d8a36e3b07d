#include "query/operations/draws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/time.h"
#include "store/draws/draw_store.h"
#include "tests/start.h"
#include "tests/temporary_directory.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using plimsoll::testing::kStartNs;

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// Of one and ten minutes, from two strata; m1 has answered, m5 has failed, m7 was not heard of.
store::DrawWithMachines draw(const std::string& id, int64_t start_ns) {
  store::DrawWithMachines draw;
  draw.draw = {.id = id,
               .made_ns = start_ns - 15 * kNsPerSecond,
               .interval_start_ns = start_ns,
               .interval_ns = 600 * kNsPerSecond,
               .window_start_ns = start_ns + 100 * kNsPerSecond,
               .window_ns = 10 * kNsPerSecond,
               .due_ns = start_ns + 170 * kNsPerSecond,
               .seed = 7,
               .policy = "every 10m",
               .collects = {},
               .strata = {{"platform=a", 6, 2, 2, 6}, {"platform=b", 3, 1.5, 1, 2}}};
  draw.draw.collects.add_events()->set_name("cycles");
  draw.draw.collects.add_events()->set_name("instructions");
  draw.machines = {{.machine_id = "m1",
                    .stratum = 0,
                    .inclusion_probability = 1.0 / 3,
                    .window_start_ns = start_ns + 100 * kNsPerSecond,
                    .told_ns = start_ns,
                    .answered_ns = start_ns + 111 * kNsPerSecond,
                    .observed_ns = 10 * kNsPerSecond},
                   {.machine_id = "m5",
                    .stratum = 0,
                    .inclusion_probability = 1.0 / 3,
                    .window_start_ns = start_ns + 100 * kNsPerSecond,
                    .told_ns = start_ns,
                    .reported_ns = start_ns + 101 * kNsPerSecond,
                    .state = wire::FAILED,
                    .detail = "no PMU"},
                   {.machine_id = "m7", .stratum = 1, .inclusion_probability = 0.5}};
  draw.machines[2].window_start_ns = id == "withheld" ? 0 : start_ns + 120 * kNsPerSecond;
  return draw;
}

class DrawsViewTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto ingest = store::Ingest::open(folder_ / "data");
    ASSERT_TRUE(ingest);
  }
  void keep(const store::DrawWithMachines& draw) {
    ASSERT_TRUE(store::DrawStore::open(folder_ / "data/draws.db", sqlite::OpenMode::kReadWrite)->add(draw));
  }
  Result<Table> ask(const Parameters& parameters, int64_t now_ns = kStartNs + 3600 * kNsPerSecond,
                    const KnownDraws::DrawAgain& again = {}) {
    const auto request = parse_draws(parameters, now_ns);
    if (!request) {
      return propagate(request);
    }
    const auto known = KnownDraws::load(*request, *store::open_fleet(folder_ / "data"), again);
    return known ? draws(*request, *known) : Result<Table>(propagate(known));
  }

  plimsoll::testing::TemporaryDirectory folder_;
};

TEST_F(DrawsViewTest, AreListedTheNewestFirst) {
  keep(draw("fleet-1", kStartNs));
  keep(draw("fleet-2", kStartNs + 600 * kNsPerSecond));
  const std::string columns =
      "draw,made,window_start,window,events,bursts,machines,expected,drawn,answered,partial,late,pending,"
      "withheld,"
      "unreached,"
      "refused,failed,vanished,lost\n";
  const std::string second =
      "fleet-2,2027-01-15T08:09:45Z,2027-01-15T08:11:40Z,10000000000,cycles instructions,,9,3.5,3,";
  EXPECT_EQ(csv(ask({})),
            columns + second + "1,0,0,0,0,1,0,1,0,0\n" +
                "fleet-1,2027-01-15T07:59:45Z,2027-01-15T08:01:40Z,10000000000,cycles instructions,,9,3.5,3,"
                "1,0,0,0,0,1,0,1,0,0\n");
  // While it is not due yet.
  EXPECT_EQ(csv(ask({{"limit", "1"}}, kStartNs + 700 * kNsPerSecond)),
            columns + second + "1,0,0,1,0,0,0,1,0,0\n");
  EXPECT_THAT(ask({{"limit", "1"}})->notes, ElementsAre("the newest 1 of 2 draws"));
}

wire::ApplicationKindReport kind_report(const std::string& kind, uint32_t endpoints, uint32_t answered,
                                        const std::string& cause) {
  wire::ApplicationKindReport report;
  report.set_kind(kind);
  report.set_endpoints(endpoints);
  report.set_answered(answered);
  report.set_cause(cause);
  report.set_with_cause(endpoints - answered);
  return report;
}

TEST_F(DrawsViewTest, AnsweredKindsOfApplicationsAreCountedWithTheCommonestCause) {
  store::DrawWithMachines kept = draw("fleet-1", kStartNs);
  keep(kept);
  kept.machines[0].kinds = {kind_report("heap", 4, 2, "no answer"), kind_report("wall", 1, 1, "")};
  kept.machines[1].kinds = {kind_report("heap", 5, 2, "the application returned 503")};
  kept.machines[2].kinds = {kind_report("heap", 2, 0, "no answer")};
  auto written = store::DrawStore::open(folder_ / "data/draws.db", sqlite::OpenMode::kReadWrite);
  for (const store::DrawnMachine& machine : kept.machines) {
    ASSERT_TRUE(written->update_kinds("fleet-1", machine));
  }
  for (const Parameters& parameters :
       {Parameters{{"draw", "fleet-1"}}, Parameters{{"draw", "fleet-1"}, {"by", "stratum"}}}) {
    const auto table = ask(parameters);
    ASSERT_TRUE(table) << table.error().text();
    EXPECT_THAT(table->notes,
                Contains("application profiles, heap: 4 of 11 endpoints on 3 machines answered; "
                         "commonest cause of the others: no answer (4)"));
    EXPECT_THAT(table->notes, Contains("application profiles, wall: 1 of 1 endpoint on 1 machine answered"));
  }
}

TEST_F(DrawsViewTest, OneIsExplainedMachineByMachine) {
  keep(draw("fleet-1", kStartNs));
  const auto table = ask({{"draw", "fleet-1"}});
  EXPECT_EQ(
      csv(table),
      "machine,stratum,inclusion_probability,window_start,outcome,detail,assigned_at,answered_at,observed\n"
      "m1,platform=a,0.3333333333333333,2027-01-15T08:01:40Z,answered,,2027-01-15T08:00:00Z,2027-01-"
      "15T08:01:51Z,10000000000\n"
      "m5,platform=a,0.3333333333333333,2027-01-15T08:01:40Z,failed,no PMU,2027-01-15T08:00:00Z,,0\n"
      "m7,platform=b,0.5,2027-01-15T08:02:00Z,unreached,,,,0\n");
  EXPECT_THAT(table->notes,
              ElementsAre("policy: every 10m",
                          "for 2027-01-15T08:00:00Z to 2027-01-15T08:10:00Z, profiled from "
                          "2027-01-15T08:01:40Z to 2027-01-15T08:01:50Z; collects cycles instructions",
                          "made 2027-01-15T07:59:45Z from 9 machines with seed 7"));
  EXPECT_THAT(ask({{"draw", "fleet-1"}, {"limit", "2"}})->notes, Contains("showing 2 of 3 machines"));
}

TEST_F(DrawsViewTest, SayWhichBurstsAreRecorded) {
  store::DrawWithMachines with_bursts = draw("fleet-1", kStartNs);
  wire::BurstRequest& bursts = *with_bursts.draw.collects.mutable_bursts();
  bursts.set_config_bits(0x7f00);
  bursts.set_duration_ns(300 * kNsPerSecond);
  bursts.add_events("page-faults");
  keep(with_bursts);
  EXPECT_THAT(csv(ask({})), HasSubstr(",cycles instructions,\"7,8\",9,"));
  EXPECT_THAT(ask({{"draw", "fleet-1"}})->notes,
              Contains(HasSubstr("; collects cycles instructions; bursts 7,8 for 5m with page-faults")));
}

TEST_F(DrawsViewTest, OrStratumByStratum) {
  keep(draw("fleet-1", kStartNs));
  EXPECT_EQ(csv(ask({{"draw", "fleet-1"}, {"by", "stratum"}})),
            "stratum,machines,expected,drawn,answered,partial,late,pending,withheld,unreached,refused,failed,"
            "vanished,lost\n"
            "platform=a,6,2,2,1,0,0,0,0,0,0,1,0,0\n"
            "platform=b,3,1.5,1,0,0,0,0,0,1,0,0,0,0\n");
}

TEST_F(DrawsViewTest, WhoWasWithheldHasNoWindow) {
  keep(draw("withheld", kStartNs));
  EXPECT_THAT(csv(ask({{"draw", "withheld"}})), HasSubstr("m7,platform=b,0.5,,withheld,,,,0\n"));
}

TEST_F(DrawsViewTest, OneIsVerifiedByMakingItAgain) {
  keep(draw("fleet-1", kStartNs));
  wire::Machine machine;
  machine.set_id("m1");
  ASSERT_TRUE(store::LiveMachines::open(folder_ / "data/live.db", sqlite::OpenMode::kReadWrite)
                  ->register_machine(machine, kStartNs - 60 * kNsPerSecond, kNsPerSecond));
  std::vector<std::string> made_again;
  const auto verify = [&](const Status& outcome, const std::string& by) {
    return ask({{"draw", "fleet-1"}, {"by", by}, {"verify", "yes"}}, kStartNs,
               [&](const store::DrawWithMachines& draw, const store::FleetAt& fleet_at) {
                 made_again.push_back(fmt::format("{} of {} machines, from {} registered", draw.draw.id,
                                                  draw.machines.size(),
                                                  fleet_at(draw.draw.made_ns)->machines.size()));
                 return outcome;
               });
  };
  for (const char* const by : {"machine", "stratum"}) {
    EXPECT_THAT(verify({}, by)->notes,
                Contains(HasSubstr("verified: with this seed and the fleet at that time")));
    EXPECT_EQ(verify(fail(ErrorCode::kConflict, "cannot be reproduced"), by).error().message,
              "cannot be reproduced");
  }
  EXPECT_THAT(made_again, SizeIs(4));
  EXPECT_THAT(made_again, Each("fleet-1 of 3 machines, from 1 registered"));
  EXPECT_THAT(ask({{"draw", "fleet-1"}, {"verify", "no"}})->notes, Not(Contains(HasSubstr("verified"))));
}

TEST_F(DrawsViewTest, NothingIsCalledVerifiedThatWasNot) {
  keep(draw("fleet-1", kStartNs));
  EXPECT_EQ(ask({{"verify", "yes"}}).error().field, "verify");
  EXPECT_EQ(ask({{"draw", "fleet-1"}, {"verify", "perhaps"}}).error().field, "verify");
  EXPECT_EQ(ask({{"draw", "fleet-1"}, {"verify", "yes"}}).error().code, ErrorCode::kUnsupported);
  std::filesystem::remove(folder_ / "data/live.db");
  const auto without_fleet = ask({{"draw", "fleet-1"}, {"verify", "yes"}}, kStartNs,
                                 [](const store::DrawWithMachines& draw, const store::FleetAt& fleet_at) {
                                   const auto past = fleet_at(draw.draw.made_ns);
                                   return past ? Status() : propagate(past);
                                 });
  ASSERT_FALSE(without_fleet);
  EXPECT_EQ(without_fleet.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(without_fleet.error().text(), HasSubstr("live.db is missing"));
}

TEST_F(DrawsViewTest, WhatIsNotThereIsSaid) {
  EXPECT_THAT(ask({})->notes, ElementsAre(HasSubstr("no draws")));
  EXPECT_EQ(ask({{"draw", "fleet-1"}}).error().code, ErrorCode::kNotFound);
  keep(draw("fleet-1", kStartNs));
  const auto misspelt = ask({{"draw", "fleet-2"}});
  EXPECT_EQ(misspelt.error().field, "draw");
  EXPECT_EQ(misspelt.error().hint, "did you mean fleet-1?");
  EXPECT_EQ(ask({{"by", "stratum"}}).error().field, "by");
  EXPECT_EQ(ask({{"draw", "fleet-1"}, {"by", "weather"}}).error().field, "by");
}

}  // namespace
}  // namespace plimsoll::query
