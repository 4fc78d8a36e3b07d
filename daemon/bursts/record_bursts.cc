#include "daemon/bursts/record_bursts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "base/durable_file.h"
#include "base/time.h"
#include "daemon/bursts/burst_clock.h"
#include "daemon/service/signals.h"
#include "traces/bursts/burst_config.h"
#include "traces/bursts/recording/burst_file.h"

namespace plimsoll::bursts {
namespace {

// The next whole one.
traces::BurstTimes next_burst(const traces::BurstConfig& config) {
  const int64_t now_ms = wall_now_ns() / kNsPerMs;
  const traces::BurstTimes burst = config.burst_at_or_after(now_ms);
  return now_ms < burst.begin_ms ? burst : config.burst_at_or_after(burst.end_ms);
}

void show(const std::string& output, const std::string& line) {
  std::FILE* const out = is_standard_output(output) ? stderr : stdout;
  fmt::print(out, "{}\n", line);
  std::fflush(out);
}

std::string line_of(const traces::Burst& burst) {
  return fmt::format("burst {}: {} events, {} lost", format_time(burst.planned.begin_ms * kNsPerMs),
                     burst.events.size(), burst.all_lost());
}

class Recording {
 public:
  Recording(const RecordBurstsOptions& options, const traces::BurstConfig& config, BurstRecorder& recorder,
            const Signals& stop)
      : options_(options), config_(config), recorder_(recorder), stop_(stop) {}

  Status run(traces::BurstRecording& recording) {
    auto timer = WallTimer::make();
    if (!timer) {
      return propagate(timer);
    }
    uint64_t events = 0;
    while (recording.bursts.size() < options_.bursts && events <= options_.max_events) {
      traces::Burst burst;
      burst.planned = next_burst(config_);
      const auto begun = timer->wait_until(burst.planned.begin_ms * kNsPerMs, stop_.fd());
      if (!begun) {
        return propagate(begun);
      }
      if (*begun == Waited::kStopped) {
        break;
      }
      if (*begun == Waited::kClockWasSet) {
        continue;
      }
      const auto ended = record(burst, *timer);
      if (!ended) {
        return propagate(ended);
      }
      events += burst.events.size();
      show(options_.output, line_of(burst));
      recording.bursts.push_back(std::move(burst));
      if (*ended == Waited::kStopped) {
        break;
      }
    }
    return {};
  }

 private:
  // A burst in which the clock is set ends at once: its end is another time then. The offsets show it.
  Result<Waited> record(traces::Burst& burst, WallTimer& timer) {
    if (const Status enabled = recorder_.enable(burst); !enabled) {
      return propagate(enabled);
    }
    const auto ended = timer.wait_until(burst.planned.end_ms * kNsPerMs, stop_.fd());
    const Status disabled = recorder_.disable(burst);
    const Status finished = disabled ? recorder_.finish(burst) : disabled;
    return finished ? ended : propagate(finished);
  }

  const RecordBurstsOptions& options_;
  const traces::BurstConfig config_;
  BurstRecorder& recorder_;
  const Signals& stop_;
};

}  // namespace

Status record_bursts(const RecordBurstsOptions& options) {
  const auto config = traces::BurstConfig::parse(options.config);
  if (!config) {
    return with_field(propagate(config), "--config");
  }
  const auto machine = identity::read_machine(options.machine);
  if (!machine) {
    return propagate(machine);
  }
  // Before the recorder's thread, which must not take them.
  const auto stop = Signals::install({SIGINT, SIGTERM});
  if (!stop) {
    return propagate(stop);
  }
  auto recorder = BurstRecorder::open(options.recorder);
  if (!recorder) {
    return propagate(recorder, "preparing to record bursts");
  }
  traces::BurstRecording recording;
  recording.machine = machine->id();
  recording.config_bits = config->bits();
  recording.cpus = static_cast<uint32_t>((*recorder)->cpus());
  recording.clock = options.clock;
  recording.notes = (*recorder)->notes();
  if (is_clock_off(recording.clock, *config)) {
    recording.notes.push_back(fmt::format(
        "the clock is {}: bursts of this machine may differ from those of others by over a tenth of a burst",
        recording.clock.is_synchronized
            ? fmt::format("right within {} ms", recording.clock.max_error_ns / kNsPerMs)
            : "not synchronized"));
  }
  for (const std::string& note : recording.notes) {
    show(options.output, "note: " + note);
  }
  const Status done = Recording(options, *config, **recorder, *stop).run(recording);
  // What was recorded before an error is kept.
  if (!done && recording.bursts.empty()) {
    return done;
  }
  recording.threads = (*recorder)->threads();
  const std::string encoded = encode_bursts(recording);
  if (const Status written = write_file_durably(options.output, as_bytes(encoded)); !written) {
    return written;
  }
  show(options.output,
       fmt::format("{}: {} bursts, {} threads, {} KiB", options.output, recording.bursts.size(),
                   recording.threads.size(), (encoded.size() + 1023) / 1024));
  return done;
}

}  // namespace plimsoll::bursts
