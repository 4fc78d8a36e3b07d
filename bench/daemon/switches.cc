// What recording switches costs programs whose threads switch all the time.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <numeric>
#include <thread>

#include "base/unique_fd.h"
#include "bench/daemon/parts.h"
#include "bench/harness/child.h"
#include "bench/harness/scratch_folder.h"
#include "bench/harness/statistics.h"
#include "daemon/events/cpu_list.h"

namespace plimsoll::bench {
namespace {

constexpr double kGoalPercent = 2;
constexpr double kSwitchesPerSecond = 100'000;  // of all CPUs together
constexpr uint64_t kCalibrationTurns = 20'000;

struct PipeEnds {
  UniqueFd read;
  UniqueFd write;
};

Result<PipeEnds> open_pipe() {
  std::array<int, 2> fds{};
  return ::pipe(fds.data()) == 0 ? Result<PipeEnds>(PipeEnds{UniqueFd(fds[0]), UniqueFd(fds[1])})
                                 : fail_errno(errno, "making a pipe");
}

void stay_on(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(static_cast<size_t>(cpu), &cpus);
  ::sched_setaffinity(0, sizeof cpus, &cpus);
}

uint64_t spin(uint64_t steps) {
  uint64_t state = steps;
  for (uint64_t i = 0; i < steps; ++i) {
    state = state * 6364136223846793005U + 1;
  }
  return state;
}

// Two threads on each CPU that hand a byte to and fro, and compute between: two switches a turn.
class SwitchingLoad {
 public:
  static Result<SwitchingLoad> make() {
    SwitchingLoad load;
    auto cpus = perf::online_cpus();
    if (!cpus) {
      return propagate(cpus);
    }
    load.cpus_ = std::move(*cpus);
    const double wanted_ns = 2e9 * static_cast<double>(load.cpus_.size()) / kSwitchesPerSecond;
    // CPU time of a turn without computing, and of a step of it.
    const auto idle_ns = load.cpu_ns_per_turn(kCalibrationTurns);
    load.steps_ = 1000;
    const auto busy_ns = idle_ns ? load.cpu_ns_per_turn(kCalibrationTurns) : idle_ns;
    if (!busy_ns) {
      return propagate(busy_ns);
    }
    const double step_ns = (*busy_ns - *idle_ns) / 1000;
    load.steps_ = static_cast<uint64_t>(std::max(0.0, (wanted_ns - *idle_ns) / std::max(step_ns, 0.01)));
    return load;
  }

  // CPU time of a turn, of both threads: what others take of the CPUs does not count.
  Result<double> cpu_ns_per_turn(uint64_t turns) const {
    std::vector<double> cpu_ns(2 * cpus_.size());
    std::vector<PipeEnds> pipes;
    for (size_t i = 0; i < cpu_ns.size(); ++i) {
      auto ends = open_pipe();
      if (!ends) {
        return propagate(ends);
      }
      pipes.push_back(std::move(*ends));
    }
    {
      std::vector<std::jthread> threads;
      for (size_t i = 0; i < cpu_ns.size(); ++i) {
        threads.emplace_back([&, i] {
          stay_on(cpus_[i / 2]);
          const int64_t start_ns = thread_cpu_ns();
          hand_over(turns, i % 2 == 0, pipes[i].write.get(), pipes[i ^ 1U].read.get());
          cpu_ns[i] = static_cast<double>(thread_cpu_ns() - start_ns);
        });
      }
    }
    return std::accumulate(cpu_ns.begin(), cpu_ns.end(), 0.0) / static_cast<double>(turns * cpus_.size());
  }

  uint64_t turns_for(double seconds) const {
    return static_cast<uint64_t>(seconds * kSwitchesPerSecond / 2 / static_cast<double>(cpus_.size()));
  }

 private:
  void hand_over(uint64_t turns, bool is_first, int to, int from) const {
    char byte = 0;
    bool is_open = true;
    for (uint64_t turn = 0; turn < turns && is_open; ++turn) {
      keep(spin(steps_ / 2));
      is_open = (!is_first || ::write(to, &byte, 1) == 1) && ::read(from, &byte, 1) == 1 &&
                (is_first || ::write(to, &byte, 1) == 1);
    }
  }

  std::vector<int> cpus_;
  uint64_t steps_ = 0;
};

struct Cost {
  double turn_ns = 0;
  double agent_cpu_s = 0;
};

Result<Cost> cost_under(const std::vector<std::string>& events, double seconds, const SwitchingLoad& load,
                        const ScratchFolder& folder) {
  std::vector<std::string> argv{sibling_program("plimsolld"),
                                "--once",
                                fmt::format("{}", seconds + 2),
                                "--output",
                                folder / "machine.profile",
                                "--event",
                                "cpu-clock"};
  argv.insert(argv.end(), events.begin(), events.end());
  auto agent = Child::start(argv);
  if (!agent) {
    return propagate(agent);
  }
  // It reads the machine's processes first.
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  const auto turn_ns = load.cpu_ns_per_turn(load.turns_for(seconds));
  const auto usage = agent->wait();
  if (!turn_ns || !usage) {
    return turn_ns ? propagate(usage) : propagate(turn_ns);
  }
  return Cost{*turn_ns, usage->cpu_s};
}

}  // namespace

Status measure_switches(const Flags& flags, Report& report) {
  const auto folder = ScratchFolder::create();
  const auto load = folder ? SwitchingLoad::make() : propagate(folder);
  if (!load) {
    return propagate(load);
  }
  const double seconds = flags.quick ? 2 : 6;
  std::vector<double> slowdowns;
  std::vector<double> agent_cpu_s;
  for (int round = 0; round < (flags.quick ? 4 : 15); ++round) {
    std::array<Cost, 2> costs;
    for (int turn = 0; turn < 2; ++turn) {
      const bool with_waits = (round + turn) % 2 == 1;
      const auto cost = cost_under(
          with_waits ? std::vector<std::string>{"--event", "off-cpu-ns", "--event", "cpu-latency-ns"}
                     : std::vector<std::string>{},
          seconds, *load, *folder);
      if (!cost) {
        return propagate(cost);
      }
      costs[with_waits ? 1 : 0] = *cost;
    }
    slowdowns.push_back((costs[1].turn_ns / costs[0].turn_ns - 1) * 100);
    agent_cpu_s.push_back((costs[1].agent_cpu_s - costs[0].agent_cpu_s) / (seconds + 2) * 100);
  }
  const Interval slowdown = hodges_lehmann_interval(slowdowns);
  report.add({.name = "switches-slowdown-percent",
              .value = slowdown.center,
              .unit = "%",
              .goal = kGoalPercent,
              .note = fmt::format("{:.2f} to {:.2f}: CPU time of threads with {:.0f} switches a second, by "
                                  "off-cpu-ns and cpu-latency-ns beside cpu-clock",
                                  slowdown.low, slowdown.high, kSwitchesPerSecond)});
  report.add({.name = "switches-agent-percent",
              .value = median(agent_cpu_s),
              .unit = "%",
              .note = "of one CPU: what plimsolld takes for them"});
  return {};
}

}  // namespace plimsoll::bench
