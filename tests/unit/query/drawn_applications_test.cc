// Profiles of applications on drawn machines, of a fleet whose truth is known: what half of the machines say stands for all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "base/time.h"
#include "tests/start.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using plimsoll::testing::kNoonNs;

constexpr uint32_t kMachines = 80;
constexpr uint32_t kDrawn = kMachines / 2;
constexpr int kDraws = 20;
constexpr int64_t kIntervalS = 600;
constexpr std::string_view kHeap = "heap-inuse-bytes";
constexpr std::string_view kWaits = "lock-wait-ns";

// On some machines there is no endpoint, on others up to three.
uint32_t endpoints_of(uint32_t machine) {
  return machine % 4;
}
uint64_t heap_of(uint32_t machine, uint32_t endpoint) {
  return 100 * (1 + (machine * 5 + endpoint) % 7);
}
uint64_t other_heap_of(uint32_t machine, uint32_t endpoint) {
  return 60 * (1 + (machine * 3 + endpoint) % 5);
}
uint64_t waits_per_s(uint32_t machine, uint32_t endpoint) {
  return 1 + (machine + 2 * endpoint) % 9;
}

template <typename ValueOf>
double sum_of_fleet(ValueOf value_of) {
  double sum = 0;
  for (uint32_t machine = 0; machine < kMachines; ++machine) {
    for (uint32_t endpoint = 0; endpoint < endpoints_of(machine); ++endpoint) {
      sum += static_cast<double>(value_of(machine, endpoint));
    }
  }
  return sum;
}

class DrawnApplications : public ::testing::Test {
 protected:
  static std::string draw(int number) { return fmt::format("d{}", number); }

  // One fleet for all tests, which only ask.
  static void SetUpTestSuite() {
    g_fleet = std::make_unique<Fleet>();
    std::mt19937_64 random(38);
    std::vector<uint32_t> machines(kMachines);
    std::iota(machines.begin(), machines.end(), 0);
    for (int number = 0; number < kDraws; ++number) {
      std::ranges::shuffle(machines, random);
      for (uint32_t place = 0; place < kDrawn; ++place) {
        add_machine(machines[place], number);
      }
    }
    while (true) {
      const auto built = g_fleet->ingest().build_pending();
      ASSERT_TRUE(built) << built.error().text();
      if (built->profiles == 0) {
        break;
      }
    }
  }

  static void TearDownTestSuite() {
    g_snapshot.reset();
    g_fleet.reset();
  }

  // What a daemon sends: of each endpoint, and that it was asked for these kinds.
  static void add_machine(uint32_t machine, int number) {
    add(machine, number, 10, "(kinds)", "main 1\n", true);
    for (uint32_t endpoint = 0; endpoint < endpoints_of(machine); ++endpoint) {
      // The answers of endpoints take their time.
      const int64_t seconds = 9 + (machine + endpoint) % 3;
      add(machine, number, seconds, fmt::format("127.0.0.1:{}/heap", 6060 + endpoint),
          fmt::format("main;cache {}\nmain;other {}\nevent=lock-wait-ns main;lock {}\n",
                      heap_of(machine, endpoint), other_heap_of(machine, endpoint),
                      static_cast<int64_t>(waits_per_s(machine, endpoint)) * seconds),
          false);
    }
  }

  static void add(uint32_t machine, int number, int64_t seconds, const std::string& endpoint,
                  const std::string& stacks, bool is_empty) {
    wire::RawProfile profile =
        make_profile({.seed = ++g_seed,
                      .machine = fmt::format("m{}", machine),
                      .from_ns = kNoonNs + number * kIntervalS * kNsPerSecond,
                      .length_ns = seconds * kNsPerSecond,
                      .events = {{.name = std::string(kHeap), .unit = wire::BYTES, .kind = wire::SNAPSHOT},
                                 {.name = std::string(kWaits), .unit = wire::NANOSECONDS}},
                      .stacks = stacks});
    if (is_empty) {
      profile.clear_samples();
      for (wire::Event& event : *profile.mutable_events()) {
        event.set_hits(0);
        event.set_counter_total(0);
      }
    }
    profile.mutable_assignment()->set_id("scrape:" + endpoint);
    wire::Draw& of = *profile.mutable_assignment()->mutable_draw();
    of.set_id(draw(number));
    of.set_inclusion_probability(static_cast<double>(kDrawn) / kMachines);
    of.set_interval_ns(kIntervalS * kNsPerSecond);
    const auto accepted = g_fleet->ingest().accept(as_bytes(wire::encode(profile)), {});
    ASSERT_TRUE(accepted) << accepted.error().text();
  }

  // A column of the row of a function; of a draw, or of all.
  static double value(std::string_view event, const std::string& function, const std::string& column,
                      const std::string& draw = {}, const std::string& machine = {}) {
    Parameters parameters{{"event", std::string(event)}};
    for (const auto& [dimension, text] : {std::pair("draw", draw), std::pair("machine", machine)}) {
      if (!text.empty()) {
        parameters.emplace_back("where", fmt::format("{}={}", dimension, text));
      }
    }
    const auto request = parse_top(parameters, 0);
    EXPECT_TRUE(request) << request.error().text();
    const auto table = query::top(*request, snapshot());
    EXPECT_TRUE(table) << table.error().text();
    const auto at = std::ranges::find(table->columns, column, &TableColumn::name) - table->columns.begin();
    for (const auto& row : table->rows) {
      if (std::get<std::string>(row[0]) == function) {
        return std::get<double>(row[static_cast<size_t>(at)]);
      }
    }
    return 0;
  }

  // Whether the mean of the estimates of all draws is the truth but for chance: within four standard errors.
  static void expect_unbiased(std::string_view event, const std::string& function, double truth) {
    double sum = 0;
    double squares = 0;
    for (int number = 0; number < kDraws; ++number) {
      const double error = value(event, function, "self", draw(number)) - truth;
      sum += error;
      squares += error * error;
    }
    const double mean = sum / kDraws;
    const double standard_error = std::sqrt((squares / kDraws - mean * mean) / (kDraws - 1));
    EXPECT_GT(standard_error, 0) << "draws differ";
    EXPECT_LT(std::abs(mean), 4 * standard_error) << event << " of " << truth;
  }

 private:
  static const Snapshot& snapshot() {
    if (g_snapshot == nullptr) {
      g_snapshot = Snapshot::load(g_fleet->path()).value();
    }
    return *g_snapshot;
  }

  static inline std::unique_ptr<Fleet> g_fleet;
  static inline std::shared_ptr<const Snapshot> g_snapshot;
  static inline uint64_t g_seed = 0;
};

TEST_F(DrawnApplications, HalfOfTheMachinesStandForAllWithoutABiasAndWithinTheirMargins) {
  const double heap = sum_of_fleet(heap_of);
  const double other = sum_of_fleet(other_heap_of);
  expect_unbiased(kHeap, "cache", heap);
  expect_unbiased(kWaits, "lock", sum_of_fleet(waits_per_s) * kIntervalS);
  int within = 0;
  for (int number = 0; number < kDraws; ++number) {
    const double low = value(kHeap, "cache", "self_share_low", draw(number));
    const double high = value(kHeap, "cache", "self_share_high", draw(number));
    within += low <= heap / (heap + other) && heap / (heap + other) <= high ? 1 : 0;
  }
  // Of 20 intervals of 95 %, fewer than 15 hold the truth once in 3000 times.
  EXPECT_GE(within, 15);
}

TEST_F(DrawnApplications, OfSeveralDrawsHeapsHaveTheirMeanAndWaitsTheirSum) {
  double heaps = 0;
  double waits = 0;
  for (int number = 0; number < kDraws; ++number) {
    heaps += value(kHeap, "cache", "self", draw(number));
    waits += value(kWaits, "lock", "self", draw(number));
  }
  EXPECT_NEAR(value(kHeap, "cache", "self"), heaps / kDraws, 1e-6 * heaps);
  EXPECT_NEAR(value(kWaits, "lock", "self"), waits, 1e-6 * waits);
}

TEST_F(DrawnApplications, OfOneMachineDrawsInWhichItWasNotDrawnCountInTheMean) {
  double sum = 0;
  for (uint32_t machine = 0; machine < kMachines; ++machine) {
    sum += value(kHeap, "cache", "self", "", fmt::format("m{}", machine));
  }
  EXPECT_NEAR(sum, value(kHeap, "cache", "self"), 1e-6 * sum) << "machines add up to the fleet";
}

}  // namespace
}  // namespace plimsoll::query
