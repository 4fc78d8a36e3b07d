#include "daemon/bursts/recording_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/time.h"
#include "traces/bursts/burst_config.h"
#include "traces/bursts/recording/burst_file.h"

namespace plimsoll::bursts {

void RecordingBuilder::add(traces::Burst burst, const traces::ClockState& clock) {
  if (bursts_.empty()) {
    clock_ = clock;
  } else {
    clock_.is_synchronized = clock_.is_synchronized && clock.is_synchronized;
    clock_.max_error_ns = std::max(clock_.max_error_ns, clock.max_error_ns);
    clock_.estimated_error_ns = std::max(clock_.estimated_error_ns, clock.estimated_error_ns);
  }
  events_ += burst.events.size();
  bursts_.push_back(std::move(burst));
}

void RecordingBuilder::add(ApplicationEvents events) {
  events_ += events.events.size() * kEventsPerApplicationEvent;
  applications_.lost += events.lost;
  std::ranges::move(events.events, std::back_inserter(applications_.events));
}

BuiltRecording RecordingBuilder::build(std::vector<traces::BurstThread> threads, uint64_t max_bytes,
                                       traces::BurstStacks stacks) {
  traces::BurstRecording recording = head_;
  recording.clock = clock_;
  recording.threads = std::move(threads);
  recording.stacks = std::move(stacks);
  recording.bursts = std::exchange(bursts_, {});
  events_ = 0;
  add_application_events(std::exchange(applications_, {}), recording);
  if (const auto config = traces::BurstConfig::of_bits(recording.config_bits);
      config && is_clock_off(recording.clock, *config)) {
    recording.notes.push_back(clock_note(recording.clock));
  }
  BuiltRecording built;
  while (!recording.bursts.empty()) {
    std::string encoded = encode_bursts(recording);
    if (encoded.size() <= max_bytes) {
      built.encoded = std::move(encoded);
      built.bursts = recording.bursts.size();
      for (const traces::Burst& burst : recording.bursts) {
        built.events += burst.events.size();
      }
      break;
    }
    // Half of them, so that few are encoded again; at last none.
    const size_t kept = recording.bursts.size() / 2;
    built.left_out += recording.bursts.size() - kept;
    recording.bursts.resize(kept);
    drop_unused_details(recording);
  }
  return built;
}

std::string clock_note(const traces::ClockState& clock) {
  return fmt::format(
      "the clock is {}: bursts of this machine may differ from those of others by over a tenth of a burst",
      clock.is_synchronized ? fmt::format("right within {} ms", clock.max_error_ns / kNsPerMs)
                            : "not synchronized");
}

}  // namespace plimsoll::bursts
