// Puts recordings together: bursts in the order of time, until one is to be handed over. Pure; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "daemon/bursts/application_events.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::bursts {

// Bytes of burst_file.h, and what they have.
struct BuiltRecording {
  std::string encoded = {};
  uint64_t bursts = 0;
  uint64_t events = 0;
  uint64_t left_out = 0;  // bursts that did not fit into the bytes, the newest
};

// What a recording says of a clock that is off (traces::is_clock_off()).
std::string clock_note(const traces::ClockState& clock);

class RecordingBuilder {
 public:
  // `head`: machine, draw, config, CPUs and notes of all recordings. Full with so many events.
  RecordingBuilder(traces::BurstRecording head, uint64_t max_events)
      : head_(std::move(head)), max_events_(max_events) {}

  // The clock of a recording is the worst of those of its bursts.
  void add(traces::Burst burst, const traces::ClockState& clock);

  // They are put into the bursts of the recording that build() makes next. They count as several, for what they take of memory.
  void add(ApplicationEvents events);

  uint64_t events() const { return events_; }
  bool is_empty() const { return bursts_.empty(); }
  bool is_full() const { return events_ >= max_events_; }

  // What was added since the last call, in at most so many bytes; no bytes where there is nothing, or nothing fits. `threads` and
  // `stacks` are those of these bursts.
  BuiltRecording build(std::vector<traces::BurstThread> threads, uint64_t max_bytes,
                       traces::BurstStacks stacks = {});

 private:
  const traces::BurstRecording head_;
  const uint64_t max_events_;
  traces::ClockState clock_;
  std::vector<traces::Burst> bursts_;
  ApplicationEvents applications_;
  uint64_t events_ = 0;
};

}  // namespace plimsoll::bursts
