#include <array>
#include <filesystem>
#include <string_view>

#include "base/file.h"
#include "bench/daemon/agent_run.h"
#include "bench/daemon/load.h"
#include "bench/daemon/parts.h"
#include "bench/harness/statistics.h"

namespace plimsoll::bench {
namespace {

constexpr double kGoalUsPerSample = 15;
constexpr double kGoalStartUpSeconds = 0.15;
constexpr double kGoalCpuRatio = 4;
constexpr double kGoalBytesRatio = 50;

// One recording of the loaded machine, at 999 Hz with stacks of 16 KiB.
struct Recording {
  double samples = 0;
  double cpu_s = 0;
  double bytes = 0;
};

using Record = Result<Recording> (*)(double seconds, const ScratchFolder& folder);

Result<Recording> record_ours(double seconds, const ScratchFolder& folder) {
  const auto run = run_agent(seconds, {"--rate", "999"}, folder);
  return run ? Result<Recording>(Recording{run->samples(), run->usage.cpu_s, static_cast<double>(run->bytes)})
             : propagate(run);
}

// An empty line ends each sample in the text of perf script.
Result<double> count_samples(const std::string& script) {
  const auto text = MappedFile::open(script, uint64_t{64} << 30);
  if (!text) {
    return propagate(text);
  }
  const std::string_view rest = as_text(text->bytes());
  double samples = 0;
  for (size_t at = rest.find("\n\n"); at != std::string_view::npos; at = rest.find("\n\n", at + 2)) {
    ++samples;
  }
  return samples;
}

Result<Recording> record_with_perf(double seconds, const ScratchFolder& folder) {
  const std::string data = folder / "perf.data";
  const std::string script = folder / "perf.script";
  const auto recorded =
      run_to_end({"perf", "record", "-q", "-B", "-N", "-a", "-e", "cpu-clock", "-F", "999", "--call-graph",
                  "dwarf,16384", "-o", data, "--", "sleep", fmt::format("{}", seconds)});
  const auto scripted =
      recorded ? run_to_end({"perf", "script", "--no-inline", "-i", data}, script) : propagate(recorded);
  const auto samples = scripted ? count_samples(script) : propagate(scripted);
  if (!samples) {
    return propagate(samples);
  }
  std::error_code error;
  return Recording{*samples, recorded->cpu_s + scripted->cpu_s,
                   static_cast<double>(std::filesystem::file_size(data, error))};
}

// What the rounds of one recorder come to.
struct Rounds {
  std::vector<double> slopes_us;
  std::vector<double> starts_s;
  std::vector<double> bytes_per_sample;  // of the long runs

  Status add(Record record, double short_s, double long_s, const ScratchFolder& folder) {
    const auto first = record(short_s, folder);
    const auto second = first ? record(long_s, folder) : propagate(first);
    if (!second) {
      return propagate(second);
    }
    const Line line = line_through({first->samples, first->cpu_s}, {second->samples, second->cpu_s});
    slopes_us.push_back(line.slope * 1e6);
    starts_s.push_back(line.start);
    bytes_per_sample.push_back(second->bytes / second->samples);
    return {};
  }
};

struct Plan {
  int rounds;
  double ours_short_s, ours_long_s;
  double perf_short_s, perf_long_s;
};

}  // namespace

Status measure_agent(const Flags& flags, Report& report) {
  const Plan plan = flags.quick ? Plan{1, 1, 3, 0.5, 1.5} : Plan{3, 10, 60, 3, 10};
  const auto folder = ScratchFolder::create();
  const auto load = folder ? Load::start(*folder) : propagate(folder);
  if (!load) {
    return propagate(load);
  }
  Rounds ours;
  Rounds perf;
  Status perf_failure;
  for (int round = 0; round < plan.rounds; ++round) {
    if (auto added = ours.add(record_ours, plan.ours_short_s, plan.ours_long_s, *folder); !added) {
      return added;
    }
    // Some of what runs on a machine is more than perf can bear: one round without it is not the end.
    if (auto added = perf.add(record_with_perf, plan.perf_short_s, plan.perf_long_s, *folder); !added) {
      perf_failure = added;
    }
  }
  const bool has_peer = !perf.slopes_us.empty();
  report.add({.name = "agent-cpu-per-sample-us",
              .value = median(ours.slopes_us),
              .unit = "us",
              .peer = has_peer ? "perf record --call-graph dwarf,16384, perf script --no-inline" : "",
              .peer_value = median(perf.slopes_us),
              .goal = kGoalUsPerSample,
              .goal_ratio = kGoalCpuRatio,
              .note = fmt::format("slopes between {} and {} s, perf's between {} and {} s; 999 Hz, 16 KiB",
                                  plan.ours_short_s, plan.ours_long_s, plan.perf_short_s, plan.perf_long_s)});
  report.add({.name = "agent-start-up-s",
              .value = median(ours.starts_s),
              .unit = "s",
              .goal = kGoalStartUpSeconds,
              .note = "CPU time at no samples, on the same lines"});
  report.add({.name = "bytes-per-sample",
              .value = median(ours.bytes_per_sample),
              .unit = "bytes",
              .peer = has_peer ? "perf.data" : "",
              .peer_value = median(perf.bytes_per_sample),
              .goal_ratio = kGoalBytesRatio,
              .note = fmt::format("a file of {} s, kernel symbols included; perf's of {} s", plan.ours_long_s,
                                  plan.perf_long_s)});
  return has_peer ? Status() : propagate(perf_failure, "without a peer");
}

}  // namespace plimsoll::bench
