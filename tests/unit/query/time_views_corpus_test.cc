// What changes in real profiles, between selections and over time: every number, against sums made straight
// from the raw profiles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/time.h"
#include "query/views/diff.h"
#include "query/views/series.h"
#include "query/views/stability.h"
#include "statistics/difference.h"
#include "statistics/stability/distance.h"
#include "statistics/stability/entropy.h"
#include "tests/unit/query/real_fleet.h"

namespace plimsoll::query::real {
namespace {

using model::Condition;
using model::ExpectedTable;
using model::Question;
using model::Sample;
using By = std::vector<std::string>;

constexpr std::array kParts{std::pair("self", &model::Expected::self),
                            std::pair("total", &model::Expected::total)};

// Seconds of machines, weighted: what rates are of. Samples of it are those of the selection.
Sampled exposures(const Question& question, const std::vector<wire::RawProfile>& profiles,
                  const model::ObservedTimes& observed, const Sampled& all) {
  const Machines machines = model::sampled_machines(question, profiles);
  Sampled exposures = all;
  for (auto& [unit, sums] : exposures) {
    sums.value = 0;
  }
  for (const wire::RawProfile& profile : profiles) {
    const Unit unit = model::unit_of(profile);
    if (machines.contains(unit) && model::has_event(profile, question.event)) {
      exposures[unit].value +=
          model::weight(profile, question.event, observed) * model::length_ns(profile) / 1e9;
    }
  }
  return exposures;
}

Sampled part_of(const ExpectedTable& table, const std::vector<std::string>& name,
                Sampled model::Expected::* part) {
  const auto found = table.rows.find(name);
  return found == table.rows.end() ? Sampled() : found->second.*part;
}

class RealDiff : public OnRealProfiles {
 protected:
  struct Side {
    Question question;
    ExpectedTable table;
    Sampled whole;
    Machines machines;
  };

  static Side side_of(const Question& question, const std::string& measure) {
    Side side{.question = question,
              .table = model::expected_answer(question, fleet_->samples()),
              .whole = {},
              .machines = fleet_->machines(question)};
    side.whole = measure == "share"
                     ? side.table.all
                     : exposures(question, fleet_->profiles(), fleet_->observed(), side.table.all);
    return side;
  }

  static Table ask(const Side& base, const Side& other, const std::string& measure) {
    Parameters parameters{
        {"event", base.question.event}, {"measure", measure}, {"limit", "1000000"}, {"candidates", "10000"}};
    for (const std::string& dimension : base.question.by) {
      parameters.emplace_back("by", dimension);
    }
    for (const auto& [name, side] : {std::pair("base_where", &base), std::pair("new_where", &other)}) {
      for (const Condition& condition : side->question.where) {
        parameters.emplace_back(name, condition.text());
      }
    }
    const auto request = parse_diff(parameters, 0);
    EXPECT_TRUE(request) << (request ? "" : request.error().text());
    return request ? through_json(diff(*request, fleet_->snapshot())) : Table();
  }

  void expect_part(RowCheck& check, const Side& base, const Side& other, const std::string& column,
                   const Sampled& of_base, const Sampled& of_other, const std::string& name) {
    Machines machines = base.machines;
    for (const auto& [unit, machine] : other.machines) {
      const auto [entry, is_new] = machines.try_emplace(unit, machine);
      if (entry->second.inclusion_probability != machine.inclusion_probability) {
        entry->second.inclusion_probability.reset();
      }
    }
    const ByMachine base_columns(machines, of_base, base.whole);
    const ByMachine other_columns(machines, of_other, other.whole);
    const statistics::Estimate expected = statistics::difference(
        column.ends_with("share") ? statistics::Statistic::kShare : statistics::Statistic::kRate,
        base_columns.design(), {base_columns.sums(), base.machines.size()},
        {other_columns.sums(), other.machines.size()});
    const double before = model::sum(of_base) / model::sum(base.whole);
    const double after = model::sum(of_other) / model::sum(other.whole);
    check.number("base_" + column, before);
    check.number("new_" + column, after);
    check.number(column + "_change", after - before, std::max(before, after));
    check.estimate(column + "_change", column + "_change_margin_kind", expected, std::max(before, after));
    EXPECT_FALSE(std::get<std::string>(check.at(name + "_verdict")).empty());
  }

  void expect_diff(const Question& base_question, const std::vector<Condition>& new_where,
                   const std::string& measure) {
    Question new_question = base_question;
    new_question.where = new_where;
    SCOPED_TRACE(text_of(base_question.parameters()) + " and" + text_of(new_question.parameters()));
    const Side base = side_of(base_question, measure);
    const Side other = side_of(new_question, measure);
    std::set<std::vector<std::string>> names;
    for (const Side* side : {&base, &other}) {
      for (const auto& [name, row] : side->table.rows) {
        names.insert(name);
      }
    }
    const Table table = ask(base, other, measure);
    EXPECT_EQ(table.rows.size(), names.size());
    for (const auto& row : table.rows) {
      const auto name = group_of(row, base_question.by.size());
      ASSERT_TRUE(names.contains(name)) << fmt::format("{}", fmt::join(name, ", "));
      RowCheck check(table, row, compared_);
      for (const auto& [part_name, part] : kParts) {
        expect_part(check, base, other, fmt::format("{}_{}", part_name, measure),
                    part_of(base.table, name, part), part_of(other.table, name, part), part_name);
      }
      ++compared_.rows;
    }
  }
};

TEST_F(RealDiff, OfTwoDrawsIsTheDifferenceOfTheNaiveSums) {
  for (const char* event : {"cycles", "instructions", "cpu-clock"}) {
    for (const char* measure : {"share", "rate"}) {
      for (const auto& by : {By{"function"}, By{"stack"}, By{"app", "thread"}}) {
        expect_diff({.event = event, .by = by, .where = {{"draw", false, "draw-0"}}},
                    {{"draw", false, "draw-1"}}, measure);
      }
    }
  }
  EXPECT_GT(compared_.rows, 800);
  EXPECT_GT(compared_.margins, 150);
}

TEST_F(RealDiff, OfAppsAndMachinesIsTheDifferenceOfTheNaiveSums) {
  for (const char* measure : {"share", "rate"}) {
    expect_diff({.event = "cycles", .by = {"binary"}, .where = {{"app", false, "[kernel]"}}},
                {{"app", true, "[kernel]"}}, measure);
    expect_diff({.event = "cycles", .by = {"app", "function"}, .where = {{"machine", false, "desktop01"}}},
                {{"machine", false, "desktop02"}}, measure);
    expect_diff({.event = "instructions", .by = {"thread"}, .where = {{"binary", false, "[kernel]"}}},
                {{"binary", true, "[kernel]"}}, measure);
  }
  EXPECT_GT(compared_.rows, 100);
  EXPECT_GT(compared_.margins, 50);
}

class RealSeries : public OnRealProfiles {
 protected:
  static constexpr int64_t kBucketNs = kHourNs / 6;

  struct Bucket {
    ExpectedTable table;
    Machines machines;
    Sampled seconds;
  };

  static int64_t start_of(const wire::RawProfile& profile) {
    const auto length_ns = static_cast<int64_t>(model::length_ns(profile));
    const int64_t start_ns = profile.window().start().wall_ns();
    return std::midpoint(start_ns, start_ns + length_ns) / kBucketNs * kBucketNs;
  }

  static std::map<std::string, Bucket> expected(const Question& question) {
    std::map<int64_t, std::vector<wire::RawProfile>> profiles;
    for (const wire::RawProfile& profile : fleet_->profiles()) {
      if (model::has_event(profile, question.event)) {
        profiles[start_of(profile)].push_back(profile);
      }
    }
    const Machines all = fleet_->machines({});
    std::map<std::string, Bucket> buckets;
    for (const auto& [start_ns, of_bucket] : profiles) {
      Bucket bucket{.table = {}, .machines = model::sampled_machines(question, of_bucket), .seconds = {}};
      if (bucket.machines.empty()) {
        continue;
      }
      for (auto& [unit, machine] : bucket.machines) {
        machine.stratum = all.at(unit).stratum;
      }
      std::vector<Sample> samples;
      for (const wire::RawProfile& profile : of_bucket) {
        model::add_samples(profile, fleet_->observed(), samples);
      }
      bucket.table = model::expected_answer(question, samples);
      bucket.seconds = exposures(question, of_bucket, fleet_->observed(), bucket.table.all);
      buckets[format_time(start_ns)] = std::move(bucket);
    }
    return buckets;
  }

  static Table ask(const Question& question, const std::string& measure) {
    Parameters parameters{
        {"event", question.event}, {"limit", "10000"}, {"bucket", "10m"}, {"measure", measure}};
    for (const std::string& dimension : question.by) {
      parameters.emplace_back("by", dimension);
    }
    for (const Condition& condition : question.where) {
      parameters.emplace_back("where", condition.text());
    }
    const auto request = parse_series(parameters, 0);
    EXPECT_TRUE(request) << (request ? "" : request.error().text());
    return request ? through_json(series(*request, fleet_->snapshot())) : Table();
  }

  void expect_series(const Question& question, const std::string& measure) {
    SCOPED_TRACE(text_of(question.parameters()) + " " + measure);
    const std::map<std::string, Bucket> buckets = expected(question);
    const size_t rows = model::expected_answer(question, fleet_->samples()).rows.size();
    const Table table = ask(question, measure);
    EXPECT_EQ(table.rows.size(), buckets.size() * rows);
    std::set<std::vector<std::string>> seen;
    for (const auto& row : table.rows) {
      RowCheck check(table, row, compared_);
      const auto& time = std::get<std::string>(check.at("time"));
      ASSERT_TRUE(buckets.contains(time)) << time;
      const Bucket& bucket = buckets.at(time);
      EXPECT_EQ(std::get<int64_t>(check.at("machines")), static_cast<int64_t>(bucket.machines.size()));
      auto name = group_of(row, question.by.size(), 2);
      for (const auto& [part, values] : kParts) {
        expect_part(check, fmt::format("{}_{}", part, measure), bucket, part_of(bucket.table, name, values));
      }
      name.push_back(time);
      EXPECT_TRUE(seen.insert(name).second) << time;
      ++compared_.rows;
    }
    buckets_ += buckets.size();
  }

  static void expect_part(RowCheck& check, const std::string& column, const Bucket& bucket,
                          const Sampled& part) {
    const bool is_share = column.ends_with("share");
    const ByMachine columns(bucket.machines, part, is_share ? bucket.table.all : bucket.seconds);
    const double whole = model::sum(is_share ? bucket.table.all : bucket.seconds);
    check.number(column, whole > 0 ? std::optional(model::sum(part) / whole) : std::nullopt);
    check.estimate(column, column + "_margin_kind", is_share ? columns.share() : columns.rate());
  }

  size_t buckets_ = 0;
};

TEST_F(RealSeries, OfEachBucketIsTheNaiveSumOfItsProfiles) {
  for (const char* event : {"cycles", "instructions", "cpu-clock", "branch-records", "lock-wait-ns"}) {
    for (const char* measure : {"share", "rate"}) {
      for (const auto& by : {By{"function"}, By{"machine"}, By{"app", "binary"}}) {
        expect_series({.event = event, .by = by, .where = {}}, measure);
      }
      expect_series({.event = event, .by = {"thread"}, .where = {{"app", true, "chrome"}}}, measure);
    }
  }
  EXPECT_GT(buckets_, 100);
  EXPECT_GT(compared_.rows, 3'000);
  EXPECT_GT(compared_.margins, 500);
}

TEST_F(RealSeries, OfADrawsMachinesIsTheNaiveSumOfTheirProfiles) {
  for (const char* measure : {"share", "rate"}) {
    expect_series({.event = "cycles", .by = {"function"}, .where = {{"draw", false, "draw-1"}}}, measure);
    expect_series({.event = "cpu-clock", .by = {"stack"}, .where = {{"draw", false, "draw-0"}}}, measure);
  }
  EXPECT_GT(compared_.rows, 300);
  EXPECT_GT(compared_.margins, 30);
}

class RealStability : public OnRealProfiles {
 protected:
  // Of what was recorded before the middle of all of the selection's time, and after it.
  static std::array<ExpectedTable, 2> halves(const Question& question) {
    int64_t from_ns = INT64_MAX;
    int64_t to_ns = 0;
    const auto end_of = [](const wire::RawProfile& profile) {
      return profile.window().start().wall_ns() + static_cast<int64_t>(model::length_ns(profile));
    };
    std::vector<const wire::RawProfile*> selected;
    for (const wire::RawProfile& profile : fleet_->profiles()) {
      if (!model::sampled_machines(question, {profile}).empty()) {
        selected.push_back(&profile);
        from_ns = std::min(from_ns, profile.window().start().wall_ns());
        to_ns = std::max(to_ns, end_of(profile));
      }
    }
    std::array<std::vector<Sample>, 2> samples;
    for (const wire::RawProfile* profile : selected) {
      const int64_t middle_ns = std::midpoint(profile->window().start().wall_ns(), end_of(*profile));
      const size_t half = middle_ns < std::midpoint(from_ns, to_ns) ? 0 : 1;
      model::add_samples(*profile, fleet_->observed(), samples[half]);
    }
    return {model::expected_answer(question, samples[0]), model::expected_answer(question, samples[1])};
  }

  // Of either half by the same rows.
  static std::array<std::vector<double>, 2> totals(const std::array<ExpectedTable, 2>& halves) {
    std::set<std::vector<std::string>> names;
    for (const ExpectedTable& half : halves) {
      for (const auto& [name, row] : half.rows) {
        names.insert(name);
      }
    }
    std::array<std::vector<double>, 2> totals;
    for (const auto& name : names) {
      for (size_t half = 0; half < 2; ++half) {
        totals[half].push_back(model::sum(part_of(halves[half], name, &model::Expected::self)));
      }
    }
    return totals;
  }

  static int64_t machines_of(const ExpectedTable& half) {
    std::set<std::string> machines;
    for (const auto& [unit, sums] : half.all) {
      machines.insert(unit.second);
    }
    return static_cast<int64_t>(machines.size());
  }

  void expect_halves(const Question& question, size_t top) {
    SCOPED_TRACE(fmt::format("{} top {}", text_of(question.parameters()), top));
    Parameters parameters{{"event", question.event}, {"top", fmt::format("{}", top)}, {"permutations", "20"}};
    for (const std::string& dimension : question.by) {
      parameters.emplace_back("by", dimension);
    }
    for (const Condition& condition : question.where) {
      parameters.emplace_back("where", condition.text());
    }
    const auto request = parse_stability(parameters, 0);
    ASSERT_TRUE(request) << request.error().text();
    const Table table = through_json(stability(*request, fleet_->snapshot()));
    const auto expected = halves(question);
    const auto [first, second] = totals(expected);
    RowCheck check(table, table.rows.at(1), compared_);
    EXPECT_EQ(std::get<std::string>(check.at("comparison")), "halves of the time");
    EXPECT_EQ(std::get<int64_t>(check.at("first_machines")), machines_of(expected[0]));
    EXPECT_EQ(std::get<int64_t>(check.at("second_machines")), machines_of(expected[1]));
    check.number("distance", statistics::manhattan_distance(first, second, top), 1);
    check.number("entropy_change", statistics::entropy(second) - statistics::entropy(first), 1);
    compared_.rows += first.size();
  }
};

TEST_F(RealStability, HalvesOfTheTimeAreAsFarApartAsTheirNaiveSums) {
  for (const char* event : {"cycles", "instructions", "cpu-clock"}) {
    for (const char* dimension : {"function", "binary", "app", "thread", "machine"}) {
      for (const size_t top : {size_t{3}, size_t{1000}}) {
        expect_halves({.event = event, .by = {dimension}, .where = {}}, top);
        expect_halves({.event = event, .by = {dimension}, .where = {{"draw", true, ""}}}, top);
      }
    }
  }
  EXPECT_GT(compared_.rows, 2'000);
  EXPECT_EQ(compared_.numbers, 3 * 5 * 2 * 2 * 2);
}

}  // namespace
}  // namespace plimsoll::query::real
