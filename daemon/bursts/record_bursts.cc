#include "daemon/bursts/record_bursts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iterator>
#include <memory>
#include <utility>

#include "base/durable_file.h"
#include "base/time.h"
#include "daemon/bursts/applications.h"
#include "daemon/bursts/burst_loop.h"
#include "daemon/bursts/recording_builder.h"
#include "daemon/service/signals.h"
#include "traces/bursts/burst_config.h"
#include "traces/bursts/recording/burst_file.h"

namespace plimsoll::bursts {
namespace {

void show(const std::string& output, const std::string& line) {
  std::FILE* const out = is_standard_output(output) ? stderr : stdout;
  fmt::print(out, "{}\n", line);
  std::fflush(out);
}

std::string line_of(const traces::Burst& burst) {
  return fmt::format("burst {}: {} events, {} lost", format_time(burst.planned.begin_ms * kNsPerMs),
                     burst.events.size(), burst.all_lost());
}

// What was recorded before an error is in `recording`.
Status record_into(traces::BurstRecording& recording, const RecordBurstsOptions& options,
                   const traces::BurstConfig& config, BurstLoop& loop, Applications* applications,
                   ApplicationEvents& told) {
  uint64_t events = 0;
  const int64_t all_ns = (int64_t{options.bursts} + 1) * config.period_ms() * kNsPerMs;
  while (recording.bursts.size() < options.bursts && events <= options.max_events && !loop.is_stopped()) {
    const traces::BurstTimes planned = loop.next();
    if (applications != nullptr) {
      applications->prepare(config, all_ns, monotonic_now_ns() + planned.begin_ms * kNsPerMs - wall_now_ns());
    }
    const auto begun = loop.wait_for(planned);
    if (!begun) {
      return propagate(begun);
    }
    if (*begun != Waited::kReached) {
      continue;
    }
    auto burst = loop.record(planned);
    if (!burst) {
      return propagate(burst);
    }
    events += burst->events.size();
    if (applications != nullptr) {
      const uint64_t left = options.max_events - std::min(events, options.max_events);
      // Of one application at least.
      ApplicationEvents more = applications->collect(std::max<uint64_t>(left / kEventsPerApplicationEvent, 1),
                                                     monotonic_now_ns() + kNsPerSecond);
      events += more.events.size() * kEventsPerApplicationEvent;
      told.lost += more.lost;
      std::ranges::move(more.events, std::back_inserter(told.events));
    }
    show(options.output, line_of(*burst));
    recording.bursts.push_back(std::move(*burst));
  }
  return {};
}

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
    recording.notes.push_back(clock_note(recording.clock));
  }
  for (const std::string& note : recording.notes) {
    show(options.output, "note: " + note);
  }
  auto loop = BurstLoop::make(*config, **recorder, stop->fd());
  if (!loop) {
    return propagate(loop);
  }
  std::unique_ptr<Applications> applications;
  if (!options.announcements.empty()) {
    config::DaemonConfig scraped;
    scraped.scrape_announcements = options.announcements;
    applications = std::make_unique<AnnouncedApplications>(scraped, nullptr, stop->fd());
  }
  ApplicationEvents told;
  const Status done = record_into(recording, options, *config, *loop, applications.get(), told);
  if (applications != nullptr) {
    applications->release(monotonic_now_ns() + kNsPerSecond);
  }
  // What was recorded before an error is kept.
  if (!done && recording.bursts.empty()) {
    return done;
  }
  recording.threads = (*recorder)->take_threads();
  recording.stacks = (*recorder)->take_stacks();
  add_application_events(std::move(told), recording);
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
