// How much slower real programs become under profiling: see docs/benchmarks.md.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <random>

#include "bench/harness/program.h"
#include "bench/overhead/fixed_work.h"
#include "bench/overhead/profiler.h"
#include "bench/overhead/slowdown.h"

namespace plimsoll::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kGoalMedianPercent = 0.5;
constexpr double kGoalUpperPercent = 1;
constexpr uint64_t kSeed = 20261121;

struct Plan {
  double length_s;    // rounds begin before that
  double run_s;       // of a program
  double warm_share;  // of its work, before it is measured
  size_t least_rounds;
};

// A round runs every program with and without profiling, in an order of its own.
class Rounds {
 public:
  Rounds(const Plan& plan, const ScratchFolder& folder, std::vector<FixedWork> works)
      : plan_(plan), folder_(folder), works_(std::move(works)) {}

  Status run() {
    const auto start = Clock::now();
    for (size_t round = 0;; ++round) {
      const double elapsed_s = std::chrono::duration<double>(Clock::now() - start).count();
      if (round >= plan_.least_rounds && elapsed_s >= plan_.length_s) {
        show_progress("\r                                      \r");
        return {};
      }
      show_progress(fmt::format("\rround {}, {:.0f} of {:.0f} s ", round + 1, elapsed_s, plan_.length_s));
      if (auto done = run_round(round); !done) {
        return done;
      }
    }
  }

  void report(Report& report) const {
    wall_.report(kGoalMedianPercent, kGoalUpperPercent, report);
    cpu_.report(report);
    report.add({.name = "overhead-samples-per-cpu-second",
                .value = static_cast<double>(collected_.samples) / collected_.seconds /
                         static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN)),
                .unit = "1/s",
                .note = "that the profiled runs were under; 99 are asked for of busy CPUs"});
    report.add({.name = "overhead-agent-cpu-percent",
                .value = collected_.cpu_s / collected_.seconds * 100,
                .unit = "%",
                .note = "of one CPU: plimsolld, with a start and a profile written each round"});
  }

 private:
  static void show_progress(const std::string& text) {
    if (::isatty(STDERR_FILENO) == 1) {
      std::fputs(text.c_str(), stderr);
      std::fflush(stderr);
    }
  }

  Status run_round(size_t round) {
    std::shuffle(works_.begin(), works_.end(), random_);
    std::array<std::vector<Effort>, 2> efforts;  // without and with, in the order of works_
    const size_t first = random_() % 2;
    for (const size_t profiled : {first, 1 - first}) {
      auto measured = run_all(profiled == 1);
      if (!measured) {
        return propagate(measured);
      }
      efforts[profiled] = std::move(*measured);
    }
    for (size_t i = 0; i < works_.size(); ++i) {
      const std::string name(works_[i].name());
      wall_.add(round, name, efforts[0][i].wall_s, efforts[1][i].wall_s);
      cpu_.add(round, name, efforts[0][i].cpu_s, efforts[1][i].cpu_s);
    }
    return {};
  }

  Result<std::vector<Effort>> run_all(bool profiled) {
    std::optional<Profiler> profiler;
    if (profiled) {
      auto started = Profiler::start(folder_);
      if (!started) {
        return propagate(started);
      }
      profiler.emplace(std::move(*started));
    }
    // Caches warm up in both cases; so do the tables of a profiler that has only just begun.
    for (const FixedWork& work : works_) {
      if (const auto warm = work.run(plan_.warm_share); !warm) {
        return propagate(warm);
      }
    }
    std::vector<Effort> efforts;
    for (const FixedWork& work : works_) {
      const auto effort = work.run();
      if (!effort) {
        return propagate(effort);
      }
      efforts.push_back(*effort);
    }
    return profiler ? stopped(*profiler, std::move(efforts))
                    : Result<std::vector<Effort>>(std::move(efforts));
  }

  Result<std::vector<Effort>> stopped(Profiler& profiler, std::vector<Effort> efforts) {
    const auto collected = profiler.stop();
    if (!collected) {
      return propagate(collected);
    }
    collected_.samples += collected->samples;
    collected_.seconds += collected->seconds;
    collected_.cpu_s += collected->cpu_s;
    return efforts;
  }

  const Plan plan_;
  const ScratchFolder& folder_;
  std::vector<FixedWork> works_;
  std::mt19937_64 random_{kSeed};
  Slowdown wall_{"wall"};
  Slowdown cpu_{"cpu"};
  Profiler::Collected collected_;
};

Status measure_slowdown(const Flags& flags, Report& report) {
  const Plan plan = flags.quick ? Plan{12, 0.3, 0.2, 2} : Plan{1200, 2, 0.1, 2};
  const auto folder = ScratchFolder::create();
  auto works = folder ? FixedWork::all(*folder) : propagate(folder);
  if (!works) {
    return propagate(works);
  }
  for (FixedWork& work : *works) {
    if (auto calibrated = work.calibrate(plan.run_s); !calibrated) {
      return propagate(calibrated, "measuring out the work of {}", work.name());
    }
  }
  Rounds rounds(plan, *folder, std::move(*works));
  if (auto done = rounds.run(); !done) {
    return done;
  }
  rounds.report(report);
  return {};
}

const std::array<Part, 1> kParts{{
    {"slowdown", "wall and CPU time of real programs, profiled and not, in interleaved pairs; 20 minutes",
     measure_slowdown},
}};

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  return plimsoll::bench::run_program(
      "Measures how much slower programs become under plimsolld at 99 Hz with stacks.",
      plimsoll::bench::kParts, argc, argv);
}
