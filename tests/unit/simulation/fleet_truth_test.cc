// A fleet whose truth is known, through the real scheduler, store and query: the shares that come out have the truth in their margins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <numbers>

#include "base/time.h"
#include "query/views/top.h"
#include "tests/simulation/simulated_fleet.h"
#include "tests/start.h"
#include "tests/temporary_directory.h"

namespace plimsoll::simulation::fleet_truth_test {
namespace {

using plimsoll::testing::kStartNs;

using ::testing::IsEmpty;

constexpr int64_t kHeartbeatNs = 4 * kNsPerMinute;
constexpr int64_t kIntervalNs = 20 * kNsPerMinute;
constexpr int64_t kSpanNs = 2 * kNsPerHour;  // that is asked about at a time
constexpr int kSpans = 24;
constexpr double kSpanSeconds = 7200;

struct Job {
  std::string name;
  std::string platform;         // where it runs; empty: anywhere
  double presence = 0;          // of the machines where it may run
  double samples_a_second = 0;  // at its mean, of an instance
  double swing = 0;             // over the day
};

const std::vector<Job>& jobs() {
  static const std::vector<Job> jobs{
      {"search", "", 0.6, 20, 0.7}, {"ads", "zen", 0.8, 15, 0.5},   {"logs", "lake", 0.7, 10, 0.1},
      {"batch", "", 0.3, 25, -0.6}, {"mail", "rome", 0.9, 12, 0.3}, {"rare", "", 0.03, 120, 0},
  };
  return jobs;
}

// Samples a second of an instance. Datacenters have their noon at other times.
double rate(const Job& job, const SimulatedMachine& machine, int64_t now_ns) {
  const double noon = machine.attributes.datacenter() == "east" ? 0 : 0.33;
  const double day = static_cast<double>(now_ns - kStartNs) / static_cast<double>(24 * kNsPerHour) + noon;
  // Machines differ, and stay as they are.
  const double own =
      0.5 + static_cast<double>(std::hash<std::string>()(machine.attributes.id() + job.name) % 1000) / 1000;
  return job.samples_a_second * own * (1 + job.swing * std::sin(2 * std::numbers::pi * day));
}

std::vector<SimulatedMachine> make_machines(Random& random) {
  std::vector<SimulatedMachine> machines;
  for (int i = 0; i < 240; ++i) {
    SimulatedMachine& machine = machines.emplace_back();
    machine.attributes.set_id(fmt::format("m{:03}", i));
    machine.attributes.set_boot_id("boot");
    machine.attributes.set_platform(i % 10 < 5 ? "zen" : i % 10 < 9 ? "lake" : "rome");
    machine.attributes.set_datacenter(i % 3 == 0 ? "west" : "east");
    for (const Job& job : jobs()) {
      const bool may_run = job.platform.empty() || job.platform == machine.attributes.platform();
      if (may_run && std::bernoulli_distribution(job.presence)(random)) {
        machine.instances[job.name] = 1 + static_cast<int>(random() % 3);
      }
    }
  }
  return machines;
}

scheduler::DrawSettings settings() {
  scheduler::DrawSettings settings;
  settings.interval_ns = kIntervalNs;
  settings.window_ns = 10 * kNsPerSecond;
  settings.late_after_ns = 12 * kNsPerMinute;
  settings.heartbeat_ns = kHeartbeatNs;
  settings.size = {.fraction = 0.08, .min_per_stratum = 3, .min_per_job = 4};
  settings.safety = {.share_of_job = 0.15, .share_of_platform = 0.15};
  settings.strata = {"platform"};
  settings.event_sets = {{"cycles"}};
  return settings;
}

// Each job's samples in a span, of all machines, had they been measured all the time.
std::map<std::string, double> truth(const std::vector<SimulatedMachine>& machines, int64_t from_ns) {
  std::map<std::string, double> samples;
  constexpr int kSteps = 60;
  for (const SimulatedMachine& machine : machines) {
    for (const Job& job : jobs()) {
      const auto instances = machine.instances.find(job.name);
      for (int step = 0; step < kSteps && instances != machine.instances.end(); ++step) {
        const int64_t at_ns = from_ns + kSpanNs * (2 * step + 1) / (2 * kSteps);
        samples[job.name] += instances->second * rate(job, machine, at_ns) * kSpanSeconds / kSteps;
      }
    }
  }
  return samples;
}

double sum(const std::map<std::string, double>& samples) {
  double sum = 0;
  for (const auto& [job, count] : samples) {
    sum += count;
  }
  return sum;
}

struct Answer {
  double share = 0;
  double low = 0;
  double high = 0;
};

std::map<std::string, Answer> shares(const query::Snapshot& snapshot, int64_t from_ns) {
  const auto request = query::parse_top(
      {{"by", "job"}, {"since", format_time(from_ns)}, {"until", format_time(from_ns + kSpanNs)}}, from_ns);
  const auto table = query::top(*request, snapshot);
  EXPECT_TRUE(table) << table.error().text();
  std::map<std::string, Answer> shares;
  for (const auto& row : table->rows) {
    const auto number = [&](const char* column) {
      const auto* value = std::get_if<double>(&row[query::column_of(*table, column)]);
      return value == nullptr ? std::nan("") : *value;
    };
    shares[std::get<std::string>(row[0])] = {number("self_share"), number("self_share_low"),
                                             number("self_share_high")};
  }
  return shares;
}

TEST(SimulatedFleetTruth, IsInTheMarginsOfWhatDrawnMachinesSay) {
  const testing::TemporaryDirectory folder;
  Random random(20'261'123);
  const std::vector<SimulatedMachine> machines = make_machines(random);
  SimulatedServer server(folder / "data", settings(), 11);
  // By span and job, what came: what a collection without weights would go by.
  std::map<int64_t, std::map<std::string, double>> sent;
  FleetBehaviour behaviour;
  behaviour.stacks = [&](const SimulatedMachine& machine, int64_t from_ns, int64_t to_ns) {
    std::string stacks;
    for (const Job& job : jobs()) {
      const auto instances = machine.instances.find(job.name);
      if (instances == machine.instances.end()) {
        continue;
      }
      const double expected = instances->second * rate(job, machine, from_ns) *
                              static_cast<double>(to_ns - from_ns) / static_cast<double>(kNsPerSecond);
      if (const int hits = std::poisson_distribution<int>(expected)(random); hits > 0) {
        stacks += fmt::format("process={} main;{} {}\n", job.name, job.name, hits);
        sent[(from_ns - kStartNs) / kSpanNs][job.name] += hits;
      }
    }
    return stacks;
  };
  // One of ten times nothing comes, for one reason or another.
  behaviour.fate = [&](const SimulatedMachine&, const wire::Assignment&) {
    const uint64_t die = random() % 30;
    return die == 0 ? Fate::kFails : die == 1 ? Fate::kLoses : die == 2 ? Fate::kVanishes : Fate::kAnswers;
  };
  behaviour.vanishes_for_ns = 20 * kNsPerMinute;
  server.start(kStartNs - 20 * kNsPerMinute);
  SimulatedFleet fleet(machines, behaviour, server, kHeartbeatNs, settings().safety);
  fleet.run(kStartNs - 20 * kNsPerMinute, kStartNs + kSpans * kSpanNs + 20 * kNsPerMinute);
  server.build_rows();

  EXPECT_THAT(fleet.watch().violations(), IsEmpty());
  EXPECT_GT(fleet.orders(), 30) << "which answers know nothing of";
  EXPECT_THAT(server.breaker().stops(), IsEmpty()) << "silence now and then is no reason";
  const auto snapshot = query::Snapshot::load(server.data_dir());
  ASSERT_TRUE(snapshot) << snapshot.error().text();
  int intervals = 0;
  int held = 0;
  int naive_held = 0;
  double rare_truth = 0;
  double rare_share = 0;
  double rare_naive = 0;
  for (int span = 0; span < kSpans; ++span) {
    const int64_t from_ns = kStartNs + span * kSpanNs;
    std::map<std::string, double> expected = truth(machines, from_ns);
    const double all = sum(expected);
    const double all_sent = sum(sent[span]);
    const auto answers = shares(**snapshot, from_ns);
    ASSERT_EQ(answers.size(), jobs().size());
    for (const auto& [job, answer] : answers) {
      const double share = expected[job] / all;
      const double naive = sent[span][job] / all_sent;
      if (job == "rare") {
        rare_truth += share;
        rare_share += answer.share;
        rare_naive += naive;
      }
      if (std::isnan(answer.low)) {
        continue;
      }
      ++intervals;
      held += answer.low <= share && share <= answer.high;
      const double margin = (answer.high - answer.low) / 2;
      naive_held += std::abs(naive - share) <= margin;
    }
  }
  const double coverage = static_cast<double>(held) / intervals;
  const double naive_coverage = static_cast<double>(naive_held) / intervals;
  std::printf("%zu profiles; %d intervals: %.3f hold the truth, %.3f would without weights\n",
              fleet.profiles_sent(), intervals, coverage, naive_coverage);
  std::printf("the rare job has %.4f, by the answers %.4f, without weights %.4f\n", rare_truth / kSpans,
              rare_share / kSpans, rare_naive / kSpans);
  EXPECT_GE(intervals, kSpans * 5);
  EXPECT_GE(coverage, 0.92);
  EXPECT_LE(coverage, 0.985);
  EXPECT_LE(naive_coverage, 0.7);
  EXPECT_NEAR(rare_share, rare_truth, 0.1 * rare_truth);
  EXPECT_GT(rare_naive, 1.3 * rare_truth);
}

}  // namespace
}  // namespace plimsoll::simulation::fleet_truth_test
