// Random comparisons in random fleets, against sums made straight from the raw profiles, and margins of those.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "query/views/diff.h"
#include "statistics/difference.h"
#include "tests/unit/query/raw_profile_model.h"

namespace plimsoll::query {
namespace {

using model::Condition;
using model::ExpectedTable;
using model::Question;
using model::Random;
using model::Sampled;
using model::Unit;

using Machines = std::map<Unit, statistics::SampledMachine>;

// The same event and dimensions; other filters.
struct Comparison {
  Question base;
  Question other;

  Parameters parameters() const {
    Parameters parameters{{"event", base.event}, {"limit", "1000000"}, {"candidates", "10000"}};
    for (const std::string& dimension : base.by) {
      parameters.emplace_back("by", dimension);
    }
    for (const auto& [name, question] : {std::pair("base_where", &base), std::pair("new_where", &other)}) {
      for (const Condition& condition : question->where) {
        parameters.emplace_back(name, condition.text());
      }
    }
    base.add_patterns(parameters);
    return parameters;
  }
};

Comparison random_comparison(Random& random, const std::vector<model::Sample>& samples) {
  Comparison comparison{model::random_question(random, samples), model::random_question(random, samples)};
  comparison.other.event = comparison.base.event;
  comparison.other.by = comparison.base.by;
  comparison.other.patterns = comparison.base.patterns;
  return comparison;
}

// What a side has, on all machines of either.
struct Side {
  std::array<std::vector<double>, 4> columns;
  size_t machines = 0;

  statistics::Side side() const { return {{columns[0], columns[1], columns[2], columns[3]}, machines}; }
};

Side side_of(const Machines& all, const Machines& own, const Sampled& row, const Sampled& whole) {
  Side side{.columns = {}, .machines = own.size()};
  for (const auto& [unit, machine] : all) {
    const model::Sums of_row = row.contains(unit) ? row.at(unit) : model::Sums();
    const model::Sums of_all = whole.contains(unit) ? whole.at(unit) : model::Sums();
    side.columns[0].push_back(of_row.value);
    side.columns[1].push_back(of_all.value);
    side.columns[2].push_back(of_row.squares);
    side.columns[3].push_back(of_all.squares);
  }
  return side;
}

// A machine that has several probabilities in a draw has none that is known, in either side.
Machines joined(const Machines& base, const Machines& other) {
  Machines all = base;
  for (const auto& [unit, machine] : other) {
    const auto [entry, is_new] = all.try_emplace(unit, machine);
    if (entry->second.inclusion_probability != machine.inclusion_probability) {
      entry->second.inclusion_probability.reset();
    }
  }
  return all;
}

statistics::Design design_of(const Machines& machines) {
  std::vector<statistics::SampledMachine> sampled;
  for (const auto& [unit, machine] : machines) {
    sampled.push_back(machine);
  }
  return statistics::Design(sampled);
}

void expect_close(const Value& value, double expected, double of) {
  EXPECT_LE(std::abs(std::get<double>(value) - expected), 1e-9 * of + 1e-15)
      << std::get<double>(value) << " is not " << expected;
}

class RandomDiff : public ::testing::TestWithParam<uint64_t> {
 protected:
  RandomDiff() {
    constexpr uint64_t kProfiles = 60;
    for (uint64_t seed = 0; seed < kProfiles; ++seed) {
      profiles_.push_back(model::random_profile(random_, seed));
      fleet_.add(profiles_.back());
    }
    const model::ObservedTimes observed = model::observed_times(profiles_);
    for (const wire::RawProfile& profile : profiles_) {
      model::add_samples(profile, observed, samples_);
    }
  }

  Result<Table> ask(const Comparison& comparison) const {
    const auto request = parse_diff(comparison.parameters(), 0);
    if (!request) {
      return propagate(request);
    }
    const auto snapshot = Snapshot::load(fleet_.path());
    return snapshot ? diff(*request, **snapshot) : Result<Table>(propagate(snapshot));
  }

  // Columns as diff.h has them.
  void expect_answer(const Table& table, const Comparison& comparison) {
    const ExpectedTable base = model::expected_answer(comparison.base, samples_);
    const ExpectedTable other = model::expected_answer(comparison.other, samples_);
    const Machines base_machines = model::sampled_machines(comparison.base, profiles_);
    const Machines other_machines = model::sampled_machines(comparison.other, profiles_);
    const Machines machines = joined(base_machines, other_machines);
    const statistics::Design design = design_of(machines);
    std::set<std::vector<std::string>> names;
    for (const ExpectedTable* side : {&base, &other}) {
      for (const auto& [name, row] : side->rows) {
        names.insert(name);
      }
    }
    EXPECT_EQ(table.rows.size(), names.size());
    for (const auto& row : table.rows) {
      std::vector<std::string> name;
      for (size_t i = 0; i < comparison.base.by.size(); ++i) {
        name.push_back(std::get<std::string>(row[i]));
      }
      ASSERT_TRUE(names.contains(name)) << fmt::format("{}", fmt::join(name, ", "));
      size_t column = name.size();
      for (Sampled model::Expected::* part : {&model::Expected::self, &model::Expected::total}) {
        const Sampled of_base = base.rows.contains(name) ? base.rows.at(name).*part : Sampled();
        const Sampled of_other = other.rows.contains(name) ? other.rows.at(name).*part : Sampled();
        const Side base_side = side_of(machines, base_machines, of_base, base.all);
        const Side other_side = side_of(machines, other_machines, of_other, other.all);
        const statistics::Estimate estimate = statistics::difference(statistics::Statistic::kShare, design,
                                                                     base_side.side(), other_side.side());
        expect_close(row[column], sum(of_base) / sum(base.all), 1);
        expect_close(row[column + 1], sum(of_other) / sum(other.all), 1);
        expect_close(row[column + 2], *estimate.value, 1);
        EXPECT_EQ(std::get<std::string>(row[column + 6]), statistics::margin_kind_name(estimate.margin_kind));
        ASSERT_EQ(std::holds_alternative<double>(row[column + 3]), estimate.margin.has_value());
        if (estimate.margin) {
          ++margins_;
          expect_close(row[column + 3], *estimate.margin, *estimate.margin);
          expect_close(row[column + 4], *estimate.low, 1);
          expect_close(row[column + 5], *estimate.high, 1);
        }
        column += 9;
      }
    }
    rows_ += table.rows.size();
  }

  Random random_{GetParam()};
  Fleet fleet_;
  std::vector<model::Sample> samples_;
  std::vector<wire::RawProfile> profiles_;
  size_t rows_ = 0;
  size_t margins_ = 0;
};

TEST_P(RandomDiff, AgreesWithSumsOverTheRawProfiles) {
  for (int i = 0; i < 30; ++i) {
    const Comparison comparison = random_comparison(random_, samples_);
    SCOPED_TRACE([&] {
      std::string text;
      for (const auto& [name, value] : comparison.parameters()) {
        text += fmt::format(" {}=\"{}\"", name, value);
      }
      return text;
    }());
    const auto table = ask(comparison);
    const bool is_empty = model::expected_answer(comparison.base, samples_).all.empty() ||
                          model::expected_answer(comparison.other, samples_).all.empty();
    ASSERT_EQ(table.has_value(), !is_empty && comparison.base.where != comparison.other.where)
        << (table ? "" : table.error().text());
    if (table) {
      expect_answer(*table, comparison);
    }
  }
  EXPECT_GT(rows_, 50) << "the comparisons hardly select anything";
  EXPECT_GT(margins_, 5) << "hardly any row has a margin";
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomDiff, ::testing::Range(uint64_t{1}, uint64_t{11}));

}  // namespace
}  // namespace plimsoll::query
