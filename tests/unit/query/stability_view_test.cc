#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "base/time.h"
#include "query/views/stability.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class StabilityView : public ::testing::Test {
 protected:
  void add(const std::string& machine, int64_t from_ns, const std::string& stacks) {
    const wire::RawProfile profile =
        make_profile({.seed = ++seed_, .machine = machine, .from_ns = from_ns, .stacks = stacks});
    ASSERT_TRUE(fleet_.ingest().accept(as_bytes(wire::encode(profile)), {}));
  }

  // So many machines, in two hours. Hits of each of two functions scatter as independent samples do.
  void add_fleet(int machines, double hits, double parse_later = 1) {
    for (int machine = 0; machine < machines; ++machine) {
      for (const int64_t hour : {0, 1}) {
        const auto draw = [&](double mean) { return std::poisson_distribution<int>(mean)(random_); };
        add(fmt::format("m{}", machine), kProfileStartNs + hour * kNsPerHour,
            fmt::format("main;parse {}\nmain;lex {}\nmain;copy {}\n",
                        1 + draw(0.3 * hits * (hour == 0 ? 1 : parse_later)), 1 + draw(0.5 * hits),
                        1 + draw(0.2 * hits)));
      }
    }
  }

  Result<Table> ask(const Parameters& parameters) {
    const auto request = parse_stability(parameters, 0);
    if (!request) {
      return propagate(request);
    }
    while (fleet_.ingest().build_pending()->profiles > 0) {
    }
    const auto snapshot = Snapshot::load(fleet_.path());
    return snapshot ? stability(*request, **snapshot) : Result<Table>(propagate(snapshot));
  }

  std::string verdicts(const Parameters& parameters) {
    const auto table = ask(parameters);
    if (!table) {
      return table.error().text();
    }
    std::string text;
    for (const auto& row : table->rows) {
      text += std::get<std::string>(row[0]) + ": " + std::get<std::string>(row[1]) + "\n";
    }
    return text;
  }

  static double number(const Table& table, size_t row, const std::string& column) {
    return std::get<double>(table.rows[row][column_of(table, column)]);
  }
  static bool is_absent(const Table& table, size_t row, const std::string& column) {
    return std::holds_alternative<std::monostate>(table.rows[row][column_of(table, column)]);
  }

  Fleet fleet_;
  uint64_t seed_ = 0;
  std::mt19937_64 random_{1};
};

TEST_F(StabilityView, ManyMachinesWithManySamplesAreStable) {
  add_fleet(30, 1000);
  EXPECT_EQ(verdicts({}),
            "halves of the machines: stable\n"
            "halves of the time: stable\n");
}

TEST_F(StabilityView, WhatChangedInTheMiddleHasMoved) {
  add_fleet(30, 1000, 2);
  EXPECT_EQ(verdicts({}),
            "halves of the machines: stable\n"
            "halves of the time: moved\n");
}

TEST_F(StabilityView, SmallChangesAreTolerated) {
  add_fleet(30, 1000, 1.2);
  EXPECT_THAT(verdicts({{"tolerance", "0.02"}}), HasSubstr("time: moved"));
  EXPECT_THAT(verdicts({{"tolerance", "0.2"}}), HasSubstr("time: stable"));
}

TEST_F(StabilityView, OfFewSamplesItIsNoisyAndSaysWhatHelps) {
  add_fleet(10, 4);
  const auto table = ask({});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(std::get<std::string>(table->rows[0][1]), "noisy");
  EXPECT_GT(number(*table, 0, "noise"), 0.1);
  EXPECT_GT(std::get<int64_t>(table->rows[0][column_of(*table, "machines_needed")]), 0);
  EXPECT_GT(number(*table, 0, "times_longer"), 1);
}

TEST_F(StabilityView, FewMachinesCannotTell) {
  add_fleet(3, 1000);
  const auto table = ask({});
  ASSERT_TRUE(table) << table.error().text();
  for (const size_t row : {0U, 1U}) {
    EXPECT_EQ(std::get<std::string>(table->rows[row][1]), "too few machines");
    EXPECT_TRUE(is_absent(*table, row, "distance_p"));
    EXPECT_TRUE(is_absent(*table, row, "noise"));
  }
}

TEST_F(StabilityView, OneWindowHasNoHalvesOfTime) {
  for (int machine = 0; machine < 20; ++machine) {
    add(fmt::format("m{}", machine), kProfileStartNs, "main;parse 1000\nmain;lex 2000\n");
  }
  EXPECT_EQ(verdicts({}),
            "halves of the machines: stable\n"
            "halves of the time: one half is empty\n");
}

// Shares of x: 0.5, 0.3, 0.2; of y: 0.25, 0.25, 0.5.
TEST_F(StabilityView, DistanceAndEntropyAreThoseOfTheHalvesTotals) {
  for (int machine = 0; machine < 10; ++machine) {
    add(fmt::format("m{}", machine), kProfileStartNs, "main;parse 500\nmain;lex 300\nmain;copy 200\n");
    add(fmt::format("m{}", machine), kProfileStartNs + kNsPerHour,
        "main;parse 200\nmain;lex 200\nmain;copy 400\n");
  }
  const auto table = ask({});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(number(*table, 0, "distance"), 0);
  EXPECT_NEAR(number(*table, 1, "distance"), 0.25 + 0.05 + 0.3, 1e-12);
  const double first = -(0.5 * std::log2(0.5) + 0.3 * std::log2(0.3) + 0.2 * std::log2(0.2));
  EXPECT_NEAR(number(*table, 1, "entropy_change"), 1.5 - first, 1e-12);
  // All of it: 7000, 5000 and 6000 of 18,000; each machine is the same, so that nothing is to be corrected.
  double all = 0;
  for (const double share : {7.0 / 18, 5.0 / 18, 6.0 / 18}) {
    all -= share * std::log2(share);
  }
  EXPECT_NEAR(number(*table, 0, "entropy"), all, 1e-9);
  EXPECT_EQ(std::get<int64_t>(table->rows[1][column_of(*table, "first_machines")]), 10);
  EXPECT_EQ(std::get<int64_t>(table->rows[1][column_of(*table, "second_machines")]), 10);
}

TEST_F(StabilityView, TheSmallestOfManyRowsCountAsOne) {
  for (int machine = 0; machine < 10; ++machine) {
    std::string stacks = "main;hot 100000\n";
    for (size_t i = 0; i < kLargestRows + 9; ++i) {
      stacks += fmt::format("main;f{} 1\n", i);
    }
    add(fmt::format("m{}", machine), kProfileStartNs + machine % 2 * kNsPerHour, stacks);
  }
  const auto table = ask({});
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_THAT(table->notes, Contains("uses the largest 1000 of 1010 rows; all others count as one"));
  // One of 100,000, 999 of 1, and one of 10.
  const double of = 100'000 + 1009;
  const double entropy = std::log2(of) - (100'000 * std::log2(100'000.0) + 10 * std::log2(10.0)) / of;
  EXPECT_NEAR(number(*table, 0, "entropy"), entropy, 1e-9);
}

TEST_F(StabilityView, WhatDoesNotFitIsSaid) {
  add_fleet(3, 10);
  EXPECT_THAT(verdicts({{"tolerance", "0"}}), HasSubstr("tolerance is \"0\", not a number above 0, up to 2"));
  EXPECT_THAT(verdicts({{"tolarance", "1"}}), HasSubstr("did you mean tolerance?"));
  EXPECT_THAT(verdicts({{"where", "job=none"}}), HasSubstr("the selection has no samples"));
}

}  // namespace
}  // namespace plimsoll::query
