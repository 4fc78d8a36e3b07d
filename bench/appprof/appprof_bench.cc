// How much slower programs become with libplimsoll_appprof, and with its peers: see docs/benchmarks.md.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/appprof/variants.h"
#include "bench/appprof/workloads.h"
#include "bench/harness/program.h"
#include "bench/harness/statistics.h"

namespace plimsoll::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kGoalPercent = 1;
constexpr uint64_t kSeed = 20261128;
// Profilers of all allocations are slower by factors of up to some hundred.
constexpr uint64_t kPartForPeers = 20;

struct Plan {
  double length_s;  // rounds begin before that
  double run_s;     // of a program
  size_t min_rounds;
  size_t peers_every;              // rounds: peers are slow, and their slowdown is seen in few
  std::vector<VariantKind> kinds;  // that are measured
};

// A round runs each program in each variant and in what it is compared with, one right after the other, in random order: a pair.
class SlowdownRounds {
 public:
  SlowdownRounds(const Plan& plan, Variants found, std::vector<Workload> workloads)
      : plan_(plan), variants_(std::move(found)), workloads_(std::move(workloads)) {}

  Status run() {
    const auto begin = Clock::now();
    for (size_t round = 0;; ++round) {
      const double elapsed_s = std::chrono::duration<double>(Clock::now() - begin).count();
      if (round >= plan_.min_rounds && elapsed_s >= plan_.length_s) {
        return {};
      }
      std::shuffle(workloads_.begin(), workloads_.end(), random_);
      for (const Workload& workload : workloads_) {
        if (auto done = run_round(workload, round % plan_.peers_every == 0); !done) {
          return done;
        }
      }
    }
  }

  void report(Report& report) const {
    std::vector<double> all;
    for (const auto& [key, pairs] : pairs_) {
      if (key.second == "appprof") {
        all.insert(all.end(), pairs.begin(), pairs.end());
      }
    }
    if (!all.empty()) {
      add("appprof-upper-percent", all, true, report);
    }
    for (const auto& [key, pairs] : pairs_) {
      const auto& [workload, variant] = key;
      add(fmt::format("{}-{}-upper-percent", variant, workload), pairs, variant == "appprof", report);
    }
  }

 private:
  Status run_round(const Workload& workload, bool with_peers) {
    for (const Variant& variant : variants_.all) {
      const bool is_peer = variant.kind == VariantKind::kPeer;
      const bool is_measured = std::ranges::find(plan_.kinds, variant.kind) != plan_.kinds.end();
      if (!is_measured || (is_peer && !with_peers)) {
        continue;
      }
      const auto base = std::ranges::find(variants_.all, variant.base, &Variant::name);
      std::array<const Variant*, 2> order{&variant, &*base};
      std::shuffle(order.begin(), order.end(), random_);
      std::map<std::string, double> took_s;
      for (const Variant* each : order) {
        const auto run = workload.run(*each, is_peer ? kPartForPeers : 1);
        if (!run) {
          return propagate(run);
        }
        took_s[each->name] = *run;
      }
      pairs_[{workload.name(), variant.name}].push_back(
          std::log(took_s.at(variant.name) / took_s.at(variant.base)));
    }
    return {};
  }

  // The upper limit of the slowdown, which is what a goal is about.
  static void add(const std::string& name, const std::vector<double>& pairs, bool has_goal, Report& report) {
    const auto percent = [](double log_ratio) { return std::expm1(log_ratio) * 100; };
    const Interval interval = hodges_lehmann_interval(pairs);
    const bool is_bounded = std::isfinite(interval.high);
    report.add({.name = name,
                .value = percent(is_bounded ? interval.high : median(pairs)),
                .unit = "%",
                .goal = has_goal ? std::optional(kGoalPercent) : std::nullopt,
                .note = is_bounded ? fmt::format("{} pairs; Hodges-Lehmann {:+.2f}, {:+.2f} to {:+.2f}",
                                                 pairs.size(), percent(interval.center),
                                                 percent(interval.low), percent(interval.high))
                                   : fmt::format("{} pairs: the median, too few for a limit", pairs.size())});
  }

  const Plan plan_;
  const Variants variants_;
  std::vector<Workload> workloads_;
  std::mt19937_64 random_{kSeed};
  std::map<std::pair<std::string, std::string>, std::vector<double>> pairs_;  // by workload and variant
};

Status measure_rounds(const Plan& plan, Report& report) {
  const auto folder = ScratchFolder::create();
  if (!folder) {
    return propagate(folder);
  }
  auto found = variants(*folder);
  if (!found) {
    return propagate(found);
  }
  Workload::Found programs = Workload::all(*folder);
  for (const auto& skipped : {found->skipped, programs.skipped}) {
    for (const std::string& why : skipped) {
      fmt::print(stderr, "left out: {}\n", why);
    }
  }
  const auto usual = std::ranges::find(found->all, "tcmalloc", &Variant::name);
  for (Workload& workload : programs.workloads) {
    if (auto calibrated = workload.calibrate(plan.run_s, *usual); !calibrated) {
      return propagate(calibrated, "measuring out the work of {}", workload.name());
    }
  }
  SlowdownRounds rounds(plan, std::move(*found), std::move(programs.workloads));
  if (auto done = rounds.run(); !done) {
    return done;
  }
  rounds.report(report);
  return {};
}

Status measure_slowdown(const Flags& flags, Report& report) {
  const std::vector<VariantKind> kinds{VariantKind::kLibrary, VariantKind::kPeer};
  return measure_rounds(flags.quick ? Plan{10, 0.3, 1, 4, kinds} : Plan{1200, 1, 12, 6, kinds}, report);
}

Status measure_causes(const Flags& flags, Report& report) {
  const std::vector<VariantKind> kinds{VariantKind::kCause};
  return measure_rounds(flags.quick ? Plan{4, 0.1, 1, 1, kinds} : Plan{600, 1, 12, 1, kinds}, report);
}

// What a program that does nothing takes longer: a part of each of the runs above, whatever they do.
Status measure_start(const Flags& flags, Report& report) {
  const auto folder = ScratchFolder::create();
  if (!folder) {
    return propagate(folder);
  }
  const auto found = variants(*folder);
  if (!found) {
    return propagate(found);
  }
  const Workload nothing = Workload::nothing();
  const size_t pairs = flags.quick ? 20 : 300;
  for (const std::string_view name : {"appprof", "idle-thread"}) {
    const auto variant = std::ranges::find(found->all, name, &Variant::name);
    const auto base = std::ranges::find(found->all, variant->base, &Variant::name);
    std::vector<double> longer_ms;
    for (size_t pair = 0; pair < pairs; ++pair) {
      const bool is_first = pair % 2 == 0;
      const auto one = nothing.run(is_first ? *variant : *base);
      const auto other = nothing.run(is_first ? *base : *variant);
      if (!one || !other) {
        return propagate(one ? other : one);
      }
      longer_ms.push_back((is_first ? *one - *other : *other - *one) * 1e3);
    }
    const Interval interval = hodges_lehmann_interval(longer_ms);
    report.add({.name = fmt::format("start-{}-ms", name),
                .value = interval.center,
                .unit = "ms",
                .note = fmt::format("{} pairs beside {}; {:.2f} to {:.2f}", pairs, base->name, interval.low,
                                    interval.high)});
  }
  return {};
}

const std::array<Part, 3> kParts{{
    {"slowdown",
     "wall time with the library, with HEAPPROFILE and with heaptrack, in interleaved rounds; 20 minutes",
     measure_slowdown},
    {"causes",
     "wall time with a library that only passes locks on, with one that only has a thread, and under a "
     "storm of requests; 10 minutes",
     measure_causes},
    {"start", "how much longer a program takes that does nothing", measure_start},
}};

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::run_program(
      "Measures how much slower programs become with libplimsoll_appprof preloaded, idle but for its "
      "sampling.",
      plimsoll::bench::kParts, argc, argv);
}
