// What bursts of 1 % of the time cost a request server: over all time, and within bursts.
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "appprof/marks.h"
#include "base/time.h"
#include "base/unique_fd.h"
#include "bench/bursts/parts.h"
#include "bench/harness/child.h"
#include "bench/harness/scratch_folder.h"
#include "bench/harness/statistics.h"
#include "daemon/events/cpu_list.h"
#include "traces/bursts/burst_config.h"

namespace plimsoll::bench {
namespace {

constexpr double kGoalPercent = 0.5;
constexpr uint64_t kNever = UINT64_MAX;

// 0.78 % of the time: 32 ms of every 4.1 s, or 4 ms of every 512.
constexpr const char* kConfig = "7,5";
constexpr const char* kQuickConfig = "7,2";
constexpr int kPeriodsPerRun = 2;

struct Requests {
  uint64_t count = 0;
  int64_t took_ns = 0;

  void add(int64_t ns) {
    ++count;
    took_ns += ns;
  }
  double mean_ns() const { return count > 0 ? static_cast<double>(took_ns) / static_cast<double>(count) : 0; }
};

struct ServerRun {
  Requests within;  // of a burst
  Requests outside;
  int64_t cpu_ns = 0;  // of all requests, with what their clients take

  double cpu_ns_per_request() const {
    return static_cast<double>(cpu_ns) /
           static_cast<double>(std::max<uint64_t>(within.count + outside.count, 1));
  }
};

struct Settings {
  traces::BurstConfig config;
  uint64_t mark_bits = kNever;
  int64_t duration_ns = 0;
};

// About 30 us.
uint64_t compute() {
  constexpr uint64_t kSteps = 30'000;
  uint64_t state = kSteps;
  for (uint64_t i = 0; i < kSteps; ++i) {
    state = state * 6364136223846793005U + 1;
  }
  return state;
}

int64_t answer_requests(const UniqueFd& socket, uint64_t mark_bits) {
  const int64_t start_ns = thread_cpu_ns();
  std::array<char, 64> message{};
  for (uint64_t request = 1; ::read(socket.get(), message.data(), message.size()) > 0; ++request) {
    plimsoll_mark(mark_bits, PLIMSOLL_START, request);
    keep(compute());
    if (::write(socket.get(), message.data(), message.size()) < 0) {
      break;
    }
    plimsoll_mark(mark_bits, PLIMSOLL_STOP, request);
  }
  return thread_cpu_ns() - start_ns;
}

ServerRun send_requests(const UniqueFd& socket, const Settings& settings) {
  ServerRun run;
  const int64_t start_cpu_ns = thread_cpu_ns();
  const int64_t end_ns = monotonic_now_ns() + settings.duration_ns;
  std::array<char, 64> message{};
  while (monotonic_now_ns() < end_ns) {
    const int64_t start_ns = wall_now_ns();
    if (::write(socket.get(), message.data(), message.size()) < 0 ||
        ::read(socket.get(), message.data(), message.size()) <= 0) {
      break;
    }
    const int64_t stop_ns = wall_now_ns();
    const bool is_burst = settings.config.is_burst(stop_ns / kNsPerMs);
    (is_burst ? run.within : run.outside).add(stop_ns - start_ns);
  }
  run.cpu_ns = thread_cpu_ns() - start_cpu_ns;
  return run;
}

// A client and a thread of the server for each CPU.
Result<ServerRun> run_server(size_t pairs, const Settings& settings) {
  std::vector<ServerRun> runs(pairs);
  std::vector<int64_t> server_ns(pairs, 0);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < pairs; ++i) {
      std::array<int, 2> fds{};
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) {
        return fail_errno(errno, "making a pair of sockets");
      }
      threads.emplace_back(
          [&, i, socket = UniqueFd(fds[0])] { server_ns[i] = answer_requests(socket, settings.mark_bits); });
      threads.emplace_back([&, i, socket = UniqueFd(fds[1])]() mutable {
        runs[i] = send_requests(socket, settings);
        socket = UniqueFd();
      });
    }
  }
  ServerRun all;
  for (size_t i = 0; i < pairs; ++i) {
    for (const auto& [to, from] :
         {std::pair(&all.within, &runs[i].within), std::pair(&all.outside, &runs[i].outside)}) {
      to->count += from->count;
      to->took_ns += from->took_ns;
    }
    all.cpu_ns += runs[i].cpu_ns + server_ns[i];
  }
  return all;
}

// While bursts are recorded.
Result<ServerRun> run_recorded(size_t pairs, Settings settings, const ScratchFolder& folder) {
  auto recorder =
      Child::start({sibling_program("plimsolld"), "bursts", "record", "--config", settings.config.text(),
                    "--output", folder / "machine.bursts", "--bursts", "1000"});
  if (!recorder) {
    return propagate(recorder);
  }
  // It opens its events first.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  settings.mark_bits = settings.config.bits();
  const auto run = run_server(pairs, settings);
  // Writes what it recorded, and fails where that was nothing.
  ::kill(recorder->pid(), SIGTERM);
  const auto usage = recorder->wait();
  return usage ? run : propagate(usage, "recording bursts");
}

struct Slowdowns {
  std::vector<double> all_percent;
  std::vector<double> within_percent;
};

Status measure_pair(size_t pairs, const Settings& settings, bool is_recorded_first,
                    const ScratchFolder& folder, Slowdowns& slowdowns) {
  std::array<ServerRun, 2> runs;
  for (int turn = 0; turn < 2; ++turn) {
    const bool is_recorded = (turn == 0) == is_recorded_first;
    const auto run = is_recorded ? run_recorded(pairs, settings, folder) : run_server(pairs, settings);
    if (!run) {
      return propagate(run);
    }
    runs[is_recorded ? 1 : 0] = *run;
  }
  slowdowns.all_percent.push_back((runs[1].cpu_ns_per_request() / runs[0].cpu_ns_per_request() - 1) * 100);
  if (runs[1].within.count > 0 && runs[1].outside.count > 0) {
    slowdowns.within_percent.push_back((runs[1].within.mean_ns() / runs[1].outside.mean_ns() - 1) * 100);
  }
  return {};
}

}  // namespace

Status measure_server(const Flags& flags, Report& report) {
  if (!can_record_bursts("server", report)) {
    return {};
  }
  const auto folder = ScratchFolder::create();
  const auto cpus = folder ? perf::online_cpus() : propagate(folder);
  const auto config = traces::BurstConfig::parse(flags.quick ? kQuickConfig : kConfig);
  if (!cpus || !config) {
    return cpus ? propagate(config) : propagate(cpus);
  }
  const Settings settings{
      .config = *config, .mark_bits = kNever, .duration_ns = kPeriodsPerRun * config->period_ms() * kNsPerMs};
  Slowdowns slowdowns;
  for (int round = 0; round < (flags.quick ? 6 : 15); ++round) {
    const Status measured = measure_pair(cpus->size(), settings, round % 2 == 1, *folder, slowdowns);
    if (!measured) {
      return measured;
    }
  }
  const Interval all = hodges_lehmann_interval(slowdowns.all_percent);
  report.add({.name = "server-with-bursts-slowdown-percent",
              .value = all.center,
              .unit = "%",
              .goal = kGoalPercent,
              .note = fmt::format("{:.2f} to {:.2f}: CPU time per request of 30 us with two marks, bursts of "
                                  "0.78 % of the time",
                                  all.low, all.high)});
  const Interval within = hodges_lehmann_interval(slowdowns.within_percent);
  report.add({.name = "server-within-bursts-slowdown-percent",
              .value = within.center,
              .unit = "%",
              .note = fmt::format("{:.1f} to {:.1f}: time per request within bursts against outside",
                                  within.low, within.high)});
  return {};
}

}  // namespace plimsoll::bench
