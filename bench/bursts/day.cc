// A search over a day's bursts of a machine, as the command line does it.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/durable_file.h"
#include "base/time.h"
#include "bench/bursts/made_burst.h"
#include "bench/bursts/parts.h"
#include "bench/harness/child.h"
#include "bench/harness/scratch_folder.h"
#include "traces/bursts/burst_config.h"
#include "traces/bursts/recording/burst_file.h"

namespace plimsoll::bench {
namespace {

// A day of bursts of "7,8", from ten in the morning on; as many per file as a daemon sends in five minutes.
constexpr int64_t kFirstMs = 1'795'600'809'728;
constexpr size_t kBurstsPerFile = 9;
constexpr size_t kBurstsPerDay = 2636;
constexpr size_t kBurstsPerHour = 110;
constexpr size_t kEventsPerBurst = 20'000;

struct Written {
  std::vector<std::string> files;
  uint64_t events = 0;
  uint64_t bytes = 0;
};

Result<Written> write_bursts(size_t bursts, const ScratchFolder& folder) {
  constexpr int64_t kPeriodMs = 32'768;
  constexpr int64_t kBurstMs = 256;
  traces::BurstRecording recording = made_burst(kEventsPerBurst);
  const traces::Burst made = std::move(recording.bursts.front());
  recording.clock = {.is_synchronized = true, .max_error_ns = kNsPerMs, .estimated_error_ns = 0};
  Written written;
  for (size_t first = 0; first < bursts; first += kBurstsPerFile) {
    recording.bursts.clear();
    for (size_t i = first; i < std::min(first + kBurstsPerFile, bursts); ++i) {
      traces::Burst burst = made;
      burst.planned.begin_ms = kFirstMs + static_cast<int64_t>(i) * kPeriodMs;
      burst.planned.end_ms = burst.planned.begin_ms + kBurstMs;
      burst.wall_offset_on_ns = burst.planned.begin_ms * kNsPerMs;
      burst.wall_offset_off_ns = burst.wall_offset_on_ns;
      written.events += burst.events.size();
      recording.bursts.push_back(std::move(burst));
    }
    const std::string encoded = traces::encode_bursts(recording);
    written.files.push_back(folder / fmt::format("{}.bursts", first));
    written.bytes += encoded.size();
    if (const Status done = write_file_durably(written.files.back(), as_bytes(encoded)); !done) {
      return propagate(done);
    }
  }
  return written;
}

}  // namespace

Status measure_day(const Flags& flags, Report& report) {
  constexpr double kGoal = 3e6;
  const auto folder = ScratchFolder::create();
  const size_t bursts = flags.quick ? kBurstsPerHour : kBurstsPerDay;
  const auto written = folder ? write_bursts(bursts, *folder) : propagate(folder);
  if (!written) {
    return propagate(written);
  }
  std::vector<std::string> argv{sibling_program("plimsoll"), "bursts", "search", kMadeBurstSearch};
  argv.insert(argv.end(), written->files.begin(), written->files.end());
  const int64_t start_ns = monotonic_now_ns();
  const auto usage = run_to_end(argv);
  if (!usage) {
    return propagate(usage);
  }
  const double seconds =
      static_cast<double>(monotonic_now_ns() - start_ns) / static_cast<double>(kNsPerSecond);
  const auto events = static_cast<double>(written->events);
  report.add({.name = "day-searched-events-per-second",
              .value = events / usage->cpu_s,
              .unit = "events/s",
              .better = Better::kHigher,
              .goal = kGoal,
              .note = "CPU time: files are read, checked and decoded, bursts joined and searched"});
  report.add({.name = "day-search-seconds",
              .value = seconds,
              .unit = "s",
              .note = fmt::format(
                  "{} bursts, {:.1f} million events, {:.0f} MB in {} files; at most {:.0f} MB of memory",
                  bursts, events / 1e6, static_cast<double>(written->bytes) / 1e6, written->files.size(),
                  static_cast<double>(usage->peak_rss_bytes) / 1e6)});
  return {};
}

}  // namespace plimsoll::bench
