// The real profiles in a data directory, beside what the simple model makes of them; and how their numbers
// are compared.
#pragma once

#include <cmath>
#include <memory>

#include "statistics/linearization.h"
#include "tests/unit/query/raw_profile_model.h"
#include "tests/unit/query/real_profiles.h"

namespace plimsoll::query::real {

using model::Sampled;
using model::Unit;
using Machines = std::map<Unit, statistics::SampledMachine>;

// What machines have of a row and of what it is a part of, as the statistics want it.
class ByMachine {
 public:
  ByMachine(const Machines& machines, const Sampled& row, const Sampled& whole) : design_(sampled(machines)) {
    for (const auto& [unit, machine] : machines) {
      add(row, unit, 0);
      add(whole, unit, 1);
    }
  }

  const statistics::Design& design() const { return design_; }
  statistics::RowSums sums() const { return {columns_[0], columns_[1], columns_[2], columns_[3]}; }
  statistics::Estimate share() const { return statistics::share(design_, sums()); }
  statistics::Estimate ratio() const { return statistics::ratio(design_, sums()); }
  statistics::Estimate rate() const { return statistics::rate(design_, sums()); }

 private:
  static std::vector<statistics::SampledMachine> sampled(const Machines& machines) {
    std::vector<statistics::SampledMachine> sampled;
    for (const auto& [unit, machine] : machines) {
      sampled.push_back(machine);
    }
    return sampled;
  }

  void add(const Sampled& sums, const Unit& unit, size_t column) {
    const auto found = sums.find(unit);
    const model::Sums of_unit = found == sums.end() ? model::Sums() : found->second;
    columns_[column].push_back(of_unit.value);
    columns_[column + 2].push_back(of_unit.squares);
  }

  statistics::Design design_;
  std::array<std::vector<double>, 4> columns_;
};

// How much was compared, so that a test that compares nothing is seen.
struct Compared {
  size_t rows = 0;
  size_t numbers = 0;
  size_t margins = 0;
  std::map<std::string, size_t> kinds;  // of margins
};

class RowCheck {
 public:
  RowCheck(const Table& table, const std::vector<Value>& row, Compared& compared)
      : table_(table), row_(row), compared_(compared) {}

  const Value& at(const std::string& column) const { return row_[column_of(table_, column)]; }

  // Right to nine digits; what is the difference of two numbers, to nine digits of those.
  void number(const std::string& column, double expected, double of = 0) {
    ASSERT_TRUE(std::holds_alternative<double>(at(column))) << column;
    const double value = std::get<double>(at(column));
    EXPECT_LE(std::abs(value - expected), 1e-9 * std::max(std::abs(expected), of))
        << fmt::format("{} is {}, not {}", column, value, expected);
    ++compared_.numbers;
  }

  void number(const std::string& column, std::optional<double> expected, double of = 0) {
    ASSERT_EQ(std::holds_alternative<double>(at(column)), expected.has_value()) << column;
    if (expected) {
      number(column, *expected, of);
    }
  }

  void estimate(const std::string& column, const std::string& kind, const statistics::Estimate& expected,
                double of = 0) {
    EXPECT_EQ(std::get<std::string>(at(kind)), statistics::margin_kind_name(expected.margin_kind)) << kind;
    number(column + "_margin", expected.margin);
    number(column + "_low", expected.low, of);
    number(column + "_high", expected.high, of);
    compared_.margins += expected.margin ? 1 : 0;
    ++compared_.kinds[std::get<std::string>(at(kind))];
  }

 private:
  const Table& table_;
  const std::vector<Value>& row_;
  Compared& compared_;
};

class RealFleet {
 public:
  RealFleet() : profiles_(all_profiles()), observed_(model::observed_times(profiles_)) {
    for (const wire::RawProfile& profile : profiles_) {
      EXPECT_TRUE(fleet_.ingest().accept(as_bytes(wire::encode(profile)), {}));
      model::add_samples(profile, observed_, samples_);
    }
    while (fleet_.ingest().build_pending()->profiles > 0) {
    }
    auto snapshot = Snapshot::load(fleet_.path());
    EXPECT_TRUE(snapshot);
    snapshot_ = std::move(*snapshot);
  }

  const Snapshot& snapshot() const { return *snapshot_; }
  const std::vector<wire::RawProfile>& profiles() const { return profiles_; }
  const std::vector<model::Sample>& samples() const { return samples_; }
  const model::ObservedTimes& observed() const { return observed_; }

  std::set<std::string> events() const {
    std::set<std::string> names;
    for (const model::Sample& sample : samples_) {
      names.insert(sample.event);
    }
    return names;
  }

  Machines machines(const model::Question& question) const {
    return model::sampled_machines(question, profiles_);
  }

 private:
  const std::vector<wire::RawProfile> profiles_;
  const model::ObservedTimes observed_;
  std::vector<model::Sample> samples_;
  Fleet fleet_;
  std::shared_ptr<const Snapshot> snapshot_;
};

// One fleet for all tests: filling it takes longer than most of them do.
class OnRealProfiles : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (fleet_ == nullptr && std::getenv("PLIMSOLL_CORPUS") != nullptr) {
      fleet_ = std::make_unique<RealFleet>();
    }
  }

  void SetUp() override {
    if (fleet_ == nullptr) {
      GTEST_SKIP() << "no corpus";
    }
  }

  static std::string text_of(const Parameters& parameters) {
    std::string text;
    for (const auto& [name, value] : parameters) {
      text += fmt::format(" {}=\"{}\"", name, value);
    }
    return text;
  }

  // The names of a row in its first columns.
  static std::vector<std::string> group_of(const std::vector<Value>& row, size_t dimensions,
                                           size_t first = 0) {
    std::vector<std::string> group;
    for (size_t i = first; i < first + dimensions; ++i) {
      group.push_back(std::get<std::string>(row[i]));
    }
    return group;
  }

  // As it comes out of its JSON: what clients are given.
  static Table through_json(const Result<Table>& table) {
    EXPECT_TRUE(table) << (table ? "" : table.error().text());
    auto read_back = table ? from_json(to_json(*table)) : propagate(table);
    EXPECT_TRUE(read_back) << (read_back ? "" : read_back.error().text());
    return read_back ? std::move(*read_back) : Table();
  }

  static inline std::unique_ptr<RealFleet> fleet_;
  Compared compared_;
};

}  // namespace plimsoll::query::real
