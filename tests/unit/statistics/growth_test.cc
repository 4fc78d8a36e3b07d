// Growth that is more than chance, and programs that do not leak: simulated snapshots of heaps.
#include "statistics/growth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <random>
#include <vector>

#include "statistics/false_discovery.h"

namespace plimsoll::statistics::growth_test {
namespace {

constexpr int64_t kHourNs = 3'600'000'000'000;
constexpr int64_t kDayNs = 24 * kHourNs;
constexpr double kMiB = 1 << 20;
constexpr double kPerSample = kMiB / 2;  // bytes that a sample stands for
constexpr double kMaxChance = 0.02;      // as the view has it

// Snapshots of one process of `hours`, one an hour, in which the value is the whole.
std::vector<GrowthSnapshot> hourly(const std::vector<double>& values, uint32_t series = 0) {
  std::vector<GrowthSnapshot> snapshots;
  for (size_t hour = 0; hour < values.size(); ++hour) {
    snapshots.push_back({series, static_cast<int64_t>(hour) * kHourNs, values[hour]});
  }
  return snapshots;
}

template <typename Value>
std::vector<double> values_of(size_t hours, Value value) {
  std::vector<double> values;
  for (size_t hour = 0; hour < hours; ++hour) {
    values.push_back(value(static_cast<double>(hour)));
  }
  return values;
}

Growth growth_of(const std::vector<double>& values, int64_t period_ns = kDayNs, double per_sample = 0) {
  return GrowthSteps(hourly(values), period_ns).growth(values, per_sample);
}

double daily_wave(double hour) {
  return std::sin(2 * std::numbers::pi * hour / 24);
}

TEST(Growth, OfALineIsItsSlope) {
  const Growth growth = growth_of(values_of(169, [](double hour) { return 1000 + 2 * hour; }));
  EXPECT_EQ(growth.steps, 6);
  EXPECT_NEAR(growth.per_period, 48, 1e-9);
  EXPECT_LT(growth.p, 1e-9);
  EXPECT_NEAR(growth.late_share.value_or(0), 1, 1e-9);
  EXPECT_NEAR(growth.in_use, 1000 + 2 * (168 - 11.5), 2) << "the mean over the newest day";
}

TEST(Growth, WavesOfThePeriodCancel) {
  const Growth level = growth_of(values_of(169, [](double hour) { return 1000 + 500 * daily_wave(hour); }));
  EXPECT_NEAR(level.per_period, 0, 1e-6);
  const Growth rising =
      growth_of(values_of(169, [](double hour) { return 1000 + hour + 500 * daily_wave(hour); }));
  EXPECT_NEAR(rising.per_period, 24, 1e-6);
  EXPECT_LT(rising.p, 1e-6);
}

TEST(Growth, OfOneJumpIsNotSteady) {
  EXPECT_GT(growth_of(values_of(337, [](double hour) { return hour < 100 ? 10.0 : 1000.0; })).p, 0.05);
}

TEST(Growth, OfAWarmUpIsNotSteadyAndLevelsOff) {
  const Growth quick =
      growth_of(values_of(337, [](double hour) { return 1000 * (1 - std::exp(-hour / 12)); }));
  EXPECT_GT(quick.p, 0.05);
  const Growth slow =
      growth_of(values_of(337, [](double hour) { return 1000 * (1 - std::exp(-hour / 96)); }));
  EXPECT_LT(slow.late_share.value_or(1), kLevelsOff) << "whatever its p";
}

TEST(Growth, OfFewSamplesIsChance) {
  // One more object in each period, of which each is one sample: no scatter at all, and yet as random as 6 counts of 1.
  const auto values = values_of(169, [](double hour) { return std::floor((hour + 24) / 24); });
  EXPECT_LT(growth_of(values, kDayNs, 0).p, 1e-6);
  EXPECT_GT(growth_of(values, kDayNs, 1).p, kMaxChance);
}

TEST(Growth, OfTooShortATimeIsNotKnown) {
  const Growth growth = growth_of(values_of(60, [](double hour) { return hour; }));
  EXPECT_LT(growth.steps, kMinGrowthSteps);
  EXPECT_EQ(growth.p, 1);
  EXPECT_EQ(GrowthSteps({}, kDayNs).steps(), 0);
  EXPECT_EQ(GrowthSteps({}, kDayNs).growth({}, 1).steps, 0);
}

// Each third day a restart, after which it warms up for half a day: growth is all that a process shows.
TEST(Growth, RestartsBeginAgain) {
  const auto saw = values_of(
      28 * 24 + 1, [](double hour) { return 100 + 1000 * (1 - std::exp(-std::fmod(hour, 72) / 12)); });
  const Growth growth = growth_of(saw);
  EXPECT_LT(growth.late_share.value_or(1), kLevelsOff);
  EXPECT_LT(growth.per_period, 100) << "neither what restarts take away is counted, nor most of warming up";
  // A leak of 10 an hour under the same restarts.
  const Growth leak =
      growth_of(values_of(28 * 24 + 1, [](double hour) { return 100 + 10 * std::fmod(hour, 72); }));
  EXPECT_NEAR(leak.per_period, 240, 10);
  EXPECT_LT(leak.p, 1e-4);
  EXPECT_GT(leak.late_share.value_or(0), kLevelsOff);
}

TEST(Growth, IsTheSumOfProcesses) {
  std::vector<GrowthSnapshot> snapshots = hourly(values_of(169, [](double hour) { return 100 + hour; }), 7);
  const std::vector<GrowthSnapshot> other =
      hourly(values_of(169, [](double hour) { return 100 + 3 * hour; }), 2);
  snapshots.insert(snapshots.begin(), other.begin(), other.end());
  std::vector<double> values;
  for (const GrowthSnapshot& snapshot : snapshots) {
    values.push_back(snapshot.whole);
  }
  const GrowthSteps steps(snapshots, kDayNs);
  EXPECT_EQ(steps.processes(), 2);
  EXPECT_EQ(steps.steps(), 6);
  EXPECT_NEAR(steps.growth(values, 0).per_period, 24 + 72, 1e-9);
}

// A program of several processes and sites, as snapshots show it.
struct SimulatedProgram {
  std::vector<GrowthSnapshot> snapshots;
  std::vector<std::vector<double>> sites;  // by site and snapshot
};

enum class Site { kSteady, kWave, kWarmUp, kCache, kJump, kLeak };

struct SiteModel {
  Site kind = Site::kSteady;
  double bytes = 0;
  double wave = 0;  // a share of it
  double warm_up_hours = 1;
  double fluctuation = 0;  // a share of it, of a process that forgets within `memory_hours`
  double memory_hours = 1;
  double leak_per_hour = 0;
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed, double leak_per_hour = 0) : random_(seed) {
    const auto sites = 10 + random_() % 21;
    for (size_t i = 0; i < sites; ++i) {
      models_.push_back(any_site());
    }
    if (leak_per_hour > 0) {
      models_.front() = {.kind = Site::kLeak, .bytes = 4 * kMiB, .leak_per_hour = leak_per_hour};
    }
  }

  // Fourteen days, hourly; processes restart every `restart_days` on average.
  SimulatedProgram run(size_t processes, double restart_days) {
    SimulatedProgram program;
    program.sites.resize(models_.size());
    for (uint32_t process = 0; process < processes; ++process) {
      run_process(process, restart_days, program);
    }
    return program;
  }

 private:
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  double normal() { return std::normal_distribution<double>()(random_); }

  SiteModel any_site() {
    SiteModel model;
    model.kind = static_cast<Site>(random_() % 5);
    model.bytes = kMiB * std::exp(uniform(0, 6));
    model.wave = model.kind == Site::kWave ? uniform(0.1, 0.8) : uniform(0, 0.1);
    model.warm_up_hours = model.kind == Site::kWarmUp ? uniform(2, 16) : uniform(0.2, 2);
    model.fluctuation = model.kind == Site::kCache ? uniform(0.05, 0.3) : uniform(0, 0.05);
    model.memory_hours = model.kind == Site::kCache ? uniform(24, 240) : uniform(1, 6);
    return model;
  }

  // Objects that were sampled: some stay from one snapshot to the next, so that what chance has chosen stays for a while.
  double sampled(double expected, double before, double& held) {
    constexpr double kStays = 0.8;
    const double kept = before > 0 ? kStays * std::min(1.0, expected / before) : 0;
    const auto had = static_cast<long>(std::llround(held));
    const double stayed =
        had > 0 && kept > 0 ? static_cast<double>(std::binomial_distribution<long>(had, kept)(random_)) : 0;
    const double come = std::max(expected - kStays * std::min(before, expected), 0.0);
    held = stayed + static_cast<double>(std::poisson_distribution<long>(std::max(come, 1e-9))(random_));
    return held * kPerSample;
  }

  void run_process(uint32_t process, double restart_days, SimulatedProgram& program) {
    constexpr size_t kHours = 14 * 24 + 1;
    const double hourly_restart = restart_days > 0 ? 1 / (24 * restart_days) : 0;
    std::vector<double> fluctuation(models_.size()), before(models_.size()), held(models_.size()),
        jump(models_.size());
    double age = uniform(0, 48);
    for (size_t hour = 0; hour < kHours; ++hour, age += 1) {
      if (uniform(0, 1) < hourly_restart) {
        age = 0;
        std::ranges::fill(held, 0);
        std::ranges::fill(before, 0);
        std::ranges::fill(jump, 0);
      }
      double whole = 0;
      for (size_t i = 0; i < models_.size(); ++i) {
        const SiteModel& model = models_[i];
        const double forgets = std::exp(-1 / model.memory_hours);
        fluctuation[i] = forgets * fluctuation[i] + std::sqrt(1 - forgets * forgets) * normal();
        if (model.kind == Site::kJump && uniform(0, 1) < 1.0 / 200) {
          jump[i] = uniform(0, 2);
        }
        const double level = model.bytes * (1 - std::exp(-(age + 0.1) / model.warm_up_hours)) *
                                 std::max(0.0, 1 + model.wave * daily_wave(static_cast<double>(hour)) +
                                                   model.fluctuation * fluctuation[i] + jump[i]) +
                             model.leak_per_hour * age;
        const double expected = level / kPerSample;
        program.sites[i].push_back(sampled(expected, before[i], held[i]));
        before[i] = expected;
        whole += program.sites[i].back();
      }
      program.snapshots.push_back({process, static_cast<int64_t>(hour) * kHourNs, whole});
    }
  }

  std::mt19937_64 random_;
  std::vector<SiteModel> models_;
};

// The sites that are accused, as the view does it.
std::vector<size_t> accused(const SimulatedProgram& program, int64_t period_ns = kDayNs) {
  const GrowthSteps steps(program.snapshots, period_ns);
  std::vector<double> p;
  std::vector<bool> levels_off;
  for (const std::vector<double>& site : program.sites) {
    const Growth growth = steps.growth(site, kPerSample);
    p.push_back(growth.p);
    levels_off.push_back(growth.late_share.value_or(0) < kLevelsOff);
  }
  const std::vector<double> adjusted = holm(p);
  std::vector<size_t> sites;
  for (size_t i = 0; i < p.size(); ++i) {
    if (adjusted[i] < kMaxChance && !levels_off[i]) {
      sites.push_back(i);
    }
  }
  return sites;
}

constexpr int kRuns = 200;

// One to four processes, which live long, or restart about every five or every two days.
SimulatedProgram simulated(int run, double leak_per_hour) {
  constexpr double kRestartDays[] = {0, 5, 2};
  return Simulation(static_cast<uint64_t>(run), leak_per_hour)
      .run(1 + static_cast<size_t>(run) % 4, kRestartDays[run % 3]);
}

TEST(SimulatedHeaps, ProgramsThatDoNotLeakAreNotAccused) {
  int accused_programs = 0;
  for (int run = 0; run < kRuns; ++run) {
    accused_programs += accused(simulated(run, 0)).empty() ? 0 : 1;
  }
  RecordProperty("accused_of_200", accused_programs);
  std::printf("accused without a leak: %d of %d\n", accused_programs, kRuns);
  EXPECT_LE(accused_programs, kRuns * 5 / 100);
}

// That the simulation is one that could be accused: days whose waves are taken for growth.
TEST(SimulatedHeaps, HalfADayIsTooShortAPeriod) {
  int accused_programs = 0;
  for (int run = 0; run < 20; ++run) {
    SimulatedProgram program = simulated(run * 3, 0);  // without restarts
    // The rise of a wave, alone.
    SimulatedProgram rise;
    rise.sites.resize(program.sites.size());
    for (size_t i = 0; i < program.snapshots.size(); ++i) {
      const int64_t hour = program.snapshots[i].time_ns / kHourNs;
      if (hour >= 234 && hour <= 246) {
        rise.snapshots.push_back(program.snapshots[i]);
        for (size_t site = 0; site < program.sites.size(); ++site) {
          rise.sites[site].push_back(program.sites[site][i]);
        }
      }
    }
    accused_programs += accused(rise, 2 * kHourNs).empty() ? 0 : 1;
  }
  EXPECT_GE(accused_programs, 10);
}

TEST(SimulatedHeaps, APlantedLeakIsFoundAndNothingElse) {
  std::array<int, 3> found{};
  std::array<int, 3> runs{};
  int others = 0;
  for (int run = 0; run < kRuns; ++run) {
    const std::vector<size_t> sites = accused(simulated(run, 2 * kMiB));
    const bool is_found = std::ranges::find(sites, 0U) != sites.end();
    found[static_cast<size_t>(run) % 3] += is_found ? 1 : 0;
    ++runs[static_cast<size_t>(run) % 3];
    others += sites.size() > (is_found ? 1 : 0) ? 1 : 0;
  }
  std::printf(
      "leak of 2 MiB an hour found: %d of %d without restarts, %d of %d with one in five days, %d of %d with "
      "one "
      "in two; others accused: %d\n",
      found[0], runs[0], found[1], runs[1], found[2], runs[2], others);
  EXPECT_GE(found[0], runs[0] * 95 / 100);
  EXPECT_GE(found[1], runs[1] * 90 / 100);
  // Few of those processes live through three whole days.
  EXPECT_GE(found[2], runs[2] * 50 / 100);
  EXPECT_LE(others, kRuns * 5 / 100);
}

}  // namespace
}  // namespace plimsoll::statistics::growth_test
