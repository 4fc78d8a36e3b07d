#include "query/placement/placement_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::query {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kCosts =
    "job,platform,cpi,margin\n"
    "web,old,2.0,0.1\n"
    "web,new,1.0,0.05\n"
    "db,old,1.1,0.06\n"
    "db,new,1.0,0.05\n";
constexpr std::string_view kJobs = "job,load\nweb,100\ndb,100\n";
constexpr std::string_view kRoomy = "platform,capacity\nold,1000\nnew,500\n";
constexpr std::string_view kFull = "platform,capacity\nold,1000\nnew,100\n";
constexpr std::string_view kToday = "job,platform,load\nweb,old,100\ndb,new,100\n";

struct Input {
  std::string_view costs = kCosts;
  std::string_view jobs = kJobs;
  std::string_view platforms = kRoomy;
  std::string_view today = {};
  PlacementRows rows = PlacementRows::kPlacement;
  std::optional<double> max_unknown_cost = {};
};

Result<PlacementTables> read_tables(const Input& input) {
  auto costs = read_costs({"costs.csv", input.costs});
  if (!costs) {
    return propagate(costs);
  }
  auto jobs = read_loads({"jobs.csv", input.jobs});
  if (!jobs) {
    return propagate(jobs);
  }
  auto platforms = read_capacities({"platforms.csv", input.platforms}, costs->unit);
  if (!platforms) {
    return propagate(platforms);
  }
  PlacementTables tables{
      .costs = std::move(*costs), .jobs = std::move(*jobs), .platforms = std::move(*platforms)};
  if (!input.today.empty()) {
    auto today = read_today({"today.csv", input.today});
    if (!today) {
      return propagate(today);
    }
    tables.today = std::move(*today);
  }
  return tables;
}

Result<Table> answer(const Input& input) {
  auto tables = read_tables(input);
  return tables ? placement_table({.tables = std::move(*tables),
                                   .max_unknown_cost = input.max_unknown_cost,
                                   .rows = input.rows})
                : propagate(tables);
}

// Real numbers to nine digits.
std::string csv(const Input& input) {
  auto table = answer(input);
  if (!table) {
    return table.error().text();
  }
  for (auto& row : table->rows) {
    for (Value& value : row) {
      if (const auto* real = std::get_if<double>(&value)) {
        value = fmt::format("{:.9g}", *real);
      }
    }
  }
  std::string text = to_csv(*table);
  std::erase(text, '\r');
  return text;
}

std::vector<std::string> notes(const Input& input) {
  const auto table = answer(input);
  return table ? table->notes : std::vector<std::string>{table.error().text()};
}

TEST(PlacementTable, HasARowForEachPlacement) {
  EXPECT_EQ(csv({}),
            "job,platform,load,load_share,cost,cost_margin,cost_kind,capacity_used,alternative,cost_"
            "advantage,cost_advantage_margin,certain\n"
            "web,new,100,1,1,0.05,measured,100,old,1,0.15,yes\n"
            "db,new,100,1,1,0.05,measured,100,old,0.1,0.11,no\n");
  EXPECT_THAT(notes({}), AllOf(Contains("the plan costs 200 cycles/s (±7.071 cycles/s); no plan costs less"),
                               Contains("of 2 placements, 1 is certain within the margins")));
}

TEST(PlacementTable, CertaintyCountsWhatFullPlatformsAreWorth) {
  // The new platform's price is 0.1: web's lead over the old is 2.0 - 1.1, db's place on the old is a matter of what web leaves.
  EXPECT_THAT(csv({.platforms = "platform,capacity\nold,1000\nnew,120\n"}),
              AllOf(HasSubstr("web,new,100,1,1,0.05,measured,100,old,0.9,0.155,yes\n"),
                    HasSubstr("db,old,80,0.8,1.1,0.06,measured,88,new,"), HasSubstr("db,new,20,0.2,"),
                    Not(HasSubstr("0.115,yes"))));
}

TEST(PlacementTable, ByPlatformHasUseAndShadowPrices) {
  EXPECT_EQ(csv({.platforms = "platform,capacity\nold,1000\nnew,120\n",
                 .today = kToday,
                 .rows = PlacementRows::kPlatform}),
            "platform,capacity,capacity_used,capacity_used_share,todays_capacity_used,jobs,shadow_price\n"
            "old,1000,88,0.088,200,1,0\n"
            "new,120,120,1,100,2,0.1\n");
}

TEST(PlacementTable, ByMoveSaysWhatComesFromWhere) {
  // Web moves in and db makes room: it costs db 0.1 an instruction, and saves web 1.
  const Input input{
      .platforms = "platform,capacity\nold,1000\nnew,150\n", .today = kToday, .rows = PlacementRows::kMove};
  EXPECT_THAT(
      csv(input),
      AllOf(HasSubstr("job,from,to,load,saving,saving_margin,cost_advantage,cost_advantage_margin,certain\n"
                      "web,old,new,100,100,11.1803399,0.9,0.155,yes\n"),
            HasSubstr("db,new,old,50,-5,3.90512484,")));
  // 100 less 5, of 300; errors of web's costs 10 and 5, of db's half of 6 and 5.
  EXPECT_THAT(
      notes(input),
      AllOf(Contains(
                "the plan saves 95 cycles/s (±11.84 cycles/s) against today's placement, 31.7 % of its cost"),
            Contains("of 2 moves, 1 is certain within the margins"),
            Contains("full platforms, with the saving per unit of added capacity: new (0.1)")));
}

TEST(PlacementTable, SaysWhenNothingMoves) {
  const std::string_view best = "job,platform,load\nweb,new,100\ndb,new,100\n";
  EXPECT_THAT(notes({.today = best}), Contains(HasSubstr("nothing moves")));
  EXPECT_EQ(csv({.today = best, .rows = PlacementRows::kMove}),
            "job,from,to,load,saving,saving_margin,cost_advantage,cost_advantage_margin,certain\n");
}

TEST(PlacementTable, WithoutMarginsNothingIsSaidToBeCertain) {
  const Input input{.costs = "job,platform,cpi\nweb,old,2\nweb,new,1\ndb,old,1\ndb,new,1\n", .today = kToday};
  EXPECT_THAT(csv(input), HasSubstr("web,new,100,1,1,,measured,100,old,1,,unknown\n"));
  EXPECT_THAT(notes(input), Contains(HasSubstr("margin unknown")));
}

TEST(PlacementTable, NanosecondsCountInCpus) {
  const Input input{.costs = "job,platform,ns_per_instruction\nweb,old,0.5\n",
                    .jobs = "job,load\nweb,4e9\n",
                    .platforms = "platform,cpus\nold,16\n"};
  EXPECT_THAT(csv(input), HasSubstr("web,old,4e+09,1,0.5,,measured,2e+09,,,,yes\n"));
  EXPECT_THAT(notes(input), Contains(HasSubstr("the plan costs 2 CPUs")));
  Input short_of = input;
  short_of.platforms = "platform,capacity\nold,1e9\n";
  EXPECT_THAT(csv(short_of), HasSubstr("1 job (web) need at least 2 CPUs even at each job's minimum cost, "
                                       "and all platforms together have 1 CPUs; at least 1 CPUs is missing"));
}

TEST(PlacementTable, UnknownPairsAreLeftOutOrBounded) {
  Input input{.costs = "job,platform,cpi,margin\nweb,old,2,0.1\nweb,new,1,0.05\ndb,new,1,0.05\n",
              .today = kToday};
  EXPECT_THAT(csv(input), HasSubstr("db,new,100,1,1,0.05,measured,100,,,,yes\n"));
  EXPECT_THAT(notes(input), Contains("1 of 4 pairs of job and platform have no cost and are not used"));
  input.max_unknown_cost = 1.2;
  EXPECT_THAT(csv(input), HasSubstr("db,new,100,1,1,0.05,measured,100,old,0.2,1.25,no\n"))
      << "the old platform may be cheaper: nobody measured it";
  input.platforms = kFull;
  EXPECT_THAT(csv(input), HasSubstr("db,old,100,1,1.2,,at most,120,new,"));
  EXPECT_THAT(notes(input), AllOf(Contains(HasSubstr("the plan saves at least 80 cycles/s (margin unknown)")),
                                  Contains(HasSubstr("the plan uses some of them"))));
}

TEST(PlacementTable, ASavingNeedsMeasuredCostsOfToday) {
  const std::string_view costs = "job,platform,cpi\nweb,new,1\ndb,old,1\ndb,new,1\n";
  EXPECT_THAT(notes({.costs = costs, .today = kToday}), Contains(HasSubstr("the saving is unknown")));
}

TEST(PlacementTable, JobsWithoutLoadAreNotPlaced) {
  const Input input{.costs = "job,platform,cpi\nweb,old,2\nidle,old,2\n",
                    .jobs = "job,load\nweb,1\nidle,0\n"};
  EXPECT_THAT(csv(input), Not(HasSubstr("idle")));
  EXPECT_THAT(notes(input), Contains("not placed, without load: idle"));
}

TEST(PlacementTable, WhatDoesNotFitIsLaidToJobsAndPlatforms) {
  const auto why = [](std::string_view platforms, std::string_view costs = kCosts) {
    return csv({.costs = costs, .platforms = platforms});
  };
  EXPECT_THAT(
      why("platform,capacity\nold,50\nnew,50\n"),
      AllOf(HasSubstr("no placement: 2 jobs"), HasSubstr("need at least 200 cycles/s"),
            HasSubstr("all platforms together have 100 cycles/s; at least 104.5 cycles/s is missing")));
  EXPECT_THAT(why(kFull, "job,platform,cpi\nweb,old,2\nweb,new,1\ndb,new,1.5\n"),
              AllOf(HasSubstr("1 job (db) without a cost on other platforms need at least 150 cycles/s"),
                    HasSubstr("and new have 100 cycles/s; at least 50 cycles/s is missing"),
                    HasSubstr("--max-unknown-cost")));
  EXPECT_THAT(why("platform,capacity\nold,85\nnew,120\n"), HasSubstr("only 200 cycles/s even at each job"));
  EXPECT_THAT(why(kRoomy, "job,platform,cpi\nweb,old,2\n"),
              HasSubstr("no known cost on any platform for this job: db"));
}

TEST(PlacementTable, ThatMakesNoSenseSaysWhere) {
  const auto cost = [](std::string_view row) {
    const std::string costs = std::string(kCosts) + std::string(row) + "\n";
    return csv({.costs = costs});
  };
  EXPECT_THAT(cost("mail,old,1,0"), HasSubstr("costs.csv: line 6: job \"mail\" is not in jobs.csv"));
  EXPECT_THAT(cost("web,moon,1,0"), HasSubstr("line 6: platform \"moon\" is not in platforms.csv"));
  EXPECT_THAT(cost("web,old,1,0"), HasSubstr("line 6: job \"web\" on platform \"old\" has a cost already"));
  EXPECT_THAT(cost("web,old,nan,0"), HasSubstr("line 6: cpi must be a number, is \"nan\""));
  EXPECT_THAT(cost("web,old,-1,0"), HasSubstr("line 6: cpi is -1"));
  EXPECT_THAT(cost("web,old,0,0"), HasSubstr("line 6: cpi is 0"));
  EXPECT_THAT(cost("web,old,1,-1"), HasSubstr("line 6: margin is -1"));
  EXPECT_THAT(cost("web,old,1"), HasSubstr("line 6: 3 fields"));
  EXPECT_THAT(csv({.costs = "job,platform\n"}), HasSubstr("cpi or ns_per_instruction"));
  EXPECT_THAT(csv({.jobs = "job,load\nweb,1\nweb,2\n"}),
              HasSubstr("jobs.csv: line 3: job \"web\" has a row"));
  EXPECT_THAT(csv({.jobs = "job,load\nweb,inf\n"}), HasSubstr("line 2: load must be a number"));
  EXPECT_THAT(csv({.jobs = "job,load\n"}), HasSubstr("no job has a load"));
  EXPECT_THAT(csv({.platforms = "platform,capacity\nold,0\n"}), HasSubstr("line 2: capacity is 0"));
  EXPECT_THAT(csv({.platforms = "platform,capacity\nold,1\nold,1\n"}), HasSubstr("platforms.csv: line 3"));
  EXPECT_THAT(csv({.platforms = "platform,cpus\nold,1\n"}), HasSubstr("CPUs x clock rate"));
  EXPECT_THAT(csv({.today = "job,platform,load\nweb,old,50\ndb,old,100\n"}),
              HasSubstr("job \"web\" has a load of 100, of which 50 is placed"));
  EXPECT_THAT(csv({.today = "job,platform,load\nweb,moon,50\n"}), HasSubstr("today.csv: line 2"));
  EXPECT_THAT(csv({.rows = PlacementRows::kMove}), HasSubstr("--today"));
}

}  // namespace
}  // namespace plimsoll::query
