// How much slower real programs become under profiling: see docs/benchmarks.md.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
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
  double length_s;  // rounds begin before that
  double run_s;     // of a program
  size_t min_rounds;
};

// How long plimsolld's events were on, or off, and the CPU time that it took then.
struct Share {
  double wall_s = 0;
  double agent_cpu_s = 0;

  double agent_percent() const { return agent_cpu_s / wall_s * 100; }
};

// A round runs every program twice, with and without profiling, one right after the other.
class Rounds {
 public:
  Rounds(const Plan& plan, Profiler profiler, std::vector<FixedWork> works)
      : plan_(plan), profiler_(std::move(profiler)), works_(std::move(works)) {}

  Status run() {
    const auto start = Clock::now();
    for (size_t round = 0;; ++round) {
      const double elapsed_s = std::chrono::duration<double>(Clock::now() - start).count();
      if (round >= plan_.min_rounds && elapsed_s >= plan_.length_s) {
        show_progress("\r                                      \r");
        return {};
      }
      show_progress(fmt::format("\rround {}, {:.0f} of {:.0f} s ", round + 1, elapsed_s, plan_.length_s));
      std::shuffle(works_.begin(), works_.end(), random_);
      for (const FixedWork& work : works_) {
        if (auto done = run_pair(work); !done) {
          return done;
        }
      }
    }
  }

  Status report(Report& report) {
    const auto samples = profiler_.stop();
    if (!samples) {
      return propagate(samples);
    }
    wall_.report({.median_percent = kGoalMedianPercent, .upper_percent = kGoalUpperPercent}, report);
    cpu_.report(report);
    report.add({.name = "overhead-samples-per-cpu-second",
                .value = static_cast<double>(*samples) / profiled_cpu_s_,
                .unit = "1/s",
                .note = "of the programs, whose run was profiled; 99 are asked for"});
    report.add({.name = "overhead-agent-cpu-percent",
                .value = shares_[1].agent_percent(),
                .unit = "%",
                .note = fmt::format("of one CPU: plimsolld with its events on; off, {:.3f}",
                                    shares_[0].agent_percent())});
    return {};
  }

 private:
  static void show_progress(const std::string& text) {
    if (::isatty(STDERR_FILENO) == 1) {
      std::fputs(text.c_str(), stderr);
      std::fflush(stderr);
    }
  }

  Status run_pair(const FixedWork& work) {
    std::array<Effort, 2> efforts;  // without and with
    const size_t first = random_() % 2;
    for (const size_t profiled : {first, 1 - first}) {
      const auto effort = run_one(work, profiled);
      if (!effort) {
        return propagate(effort);
      }
      efforts[profiled] = *effort;
    }
    const std::string name(work.name());
    profiled_cpu_s_ += efforts[1].cpu_s;
    wall_.add(name, efforts[0].wall_s, efforts[1].wall_s);
    cpu_.add(name, efforts[0].cpu_s, efforts[1].cpu_s);
    return {};
  }

  Result<Effort> run_one(const FixedWork& work, size_t profiled) {
    const auto start = Clock::now();
    const auto cpu_before_s = profiler_.cpu_s();
    if (auto switched = profiler_.switch_events(profiled == 1); !switched) {
      return propagate(switched);
    }
    const auto effort = work.run();
    const auto cpu_after_s = profiler_.cpu_s();
    for (const auto& cpu_s : {cpu_before_s, cpu_after_s}) {
      if (!cpu_s) {
        return propagate(cpu_s);
      }
    }
    shares_[profiled].wall_s += std::chrono::duration<double>(Clock::now() - start).count();
    shares_[profiled].agent_cpu_s += *cpu_after_s - *cpu_before_s;
    return effort;
  }

  const Plan plan_;
  Profiler profiler_;
  std::vector<FixedWork> works_;
  std::mt19937_64 random_{kSeed};
  Slowdown wall_{"wall"};
  Slowdown cpu_{"cpu"};
  double profiled_cpu_s_ = 0;
  std::array<Share, 2> shares_;  // events off, events on
};

Status measure_slowdown(const Flags& flags, Report& report) {
  const Plan plan = flags.quick ? Plan{12, 0.3, 2} : Plan{1200, 1, 2};
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
  auto profiler = Profiler::start(*folder);
  if (!profiler) {
    return propagate(profiler);
  }
  Rounds rounds(plan, std::move(*profiler), std::move(*works));
  if (auto done = rounds.run(); !done) {
    return done;
  }
  return rounds.report(report);
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
