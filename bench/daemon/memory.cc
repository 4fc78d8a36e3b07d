#include <array>

#include "bench/daemon/load.h"
#include "bench/daemon/parts.h"

namespace plimsoll::bench {
namespace {

constexpr double kGoalMib = 64;
constexpr size_t kProcesses = 500;

// Programs that wake up now and then, or wait for good.
Result<std::vector<Child>> start_processes() {
  const std::array<std::vector<std::string>, 6> programs{{
      {"/usr/bin/python3", "-c", "import time\nwhile True: sum(range(3000)); time.sleep(0.5)"},
      {"/usr/bin/perl", "-e",
       "while (1) { my $s = 0; $s += $_ for 1..3000; select(undef, undef, undef, 0.5) }"},
      {"bash", "-c", "while :; do for i in {1..300}; do :; done; sleep 0.5; done"},
      {"/usr/bin/sqlite3", ":memory:", ".shell sleep 100000"},
      {"tail", "-f", "/dev/null"},
      {"sleep", "100000"},
  }};
  std::vector<Child> processes;
  while (processes.size() < kProcesses) {
    auto child = Child::start(programs[processes.size() % programs.size()]);
    if (!child) {
      return propagate(child, "starting process {} of {}", processes.size() + 1, kProcesses);
    }
    processes.push_back(std::move(*child));
  }
  return processes;
}

Result<double> peak_mib(double seconds, const char* rate_hz, const ScratchFolder& folder) {
  const auto usage = run_to_end({sibling_program("plimsolld"), "--once", fmt::format("{}", seconds), "--rate",
                                 rate_hz, "--event", "cpu-clock", "--output", folder / "machine.profile"});
  if (usage && usage->peak_rss_bytes <= own_peak_rss_bytes()) {
    return fail(ErrorCode::kConflict, "this process has grown larger than plimsolld, and hides its memory");
  }
  return usage ? Result<double>(static_cast<double>(usage->peak_rss_bytes) / (1 << 20)) : propagate(usage);
}

}  // namespace

Status measure_memory(const Flags& flags, Report& report) {
  const auto folder = ScratchFolder::create();
  const auto load = folder ? Load::start(*folder) : propagate(folder);
  const auto processes = load ? start_processes() : propagate(load);
  if (!processes) {
    return propagate(processes);
  }
  const double seconds = flags.quick ? 1 : 30;
  for (const char* const rate_hz : {"99", "999"}) {
    const auto peak = peak_mib(seconds, rate_hz, *folder);
    if (!peak) {
      return propagate(peak);
    }
    report.add({.name = fmt::format("agent-rss-500-processes-at-{}-hz-mib", rate_hz),
                .value = *peak,
                .unit = "MiB",
                .goal = kGoalMib,
                .note = fmt::format("the peak in {} s, stacks of 16 KiB", seconds)});
  }
  return {};
}

}  // namespace plimsoll::bench
