// Bursts of several machines, joined: by their planned times, with clocks repaired as far as calls prove.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/bursts_recordings.h"
#include "cli/trace_files.h"
#include "traces/bursts/clocks/clock_repair.h"
#include "traces/bursts/joined/thread_states.h"
#include "traces/bursts/search/scene.h"

namespace plimsoll::cli {

// What all machines recorded of one burst.
struct BurstOfMachines {
  int64_t planned_begin_ms = 0;
  std::vector<traces::SceneMachine>
      machines;                   // in the order in which recordings are listed, with their shifts
  traces::RepairedClocks clocks;  // without machines where there are too many of them
  std::vector<BurstRecordingPointer> recordings;  // that `machines` points into

  bool has_compared_clocks() const { return clocks.machines.size() == machines.size(); }
};

// Whether the next burst is wanted too.
using VisitBurst = std::function<Result<bool>(const BurstOfMachines& burst)>;

class BurstMachines {
 public:
  static Result<BurstMachines> open(const BurstsInput& input, const std::vector<std::string>& span_files);

  // In the order of time, each machine once: of a burst that one recorded twice at once the part with the most events. (Where its clock was
  // set back, there are two parts of different times.) A recording is read when its first burst comes, and is in memory until its last one,
  // or a copy of one, has gone. kTooLarge where recordings of the same time have over 50 million events.
  Status for_each_burst(const VisitBurst& visit);

  bool has_several_machines() const;
  const traces::SearchSpans* spans() const { return spans_.get(); }  // null where none were given
  // Of spans and recordings; complete after for_each_burst().
  std::vector<std::string> notes() const;

 private:
  std::unique_ptr<BurstRecordings> recordings_;
  TraceFiles trace_files_;  // without spans where none were given
  std::unique_ptr<traces::SearchSpans> spans_;
  uint64_t copies_ = 0;  // parts that were left out
};

// What was found of requests, and what makes their times doubtful.
struct JoinedCounts {
  uint64_t whole = 0;
  uint64_t cut = 0;
  uint64_t lost_events = 0;
  uint64_t contradictions = 0;
  uint64_t missing_switches = 0;

  void add(const traces::Burst& burst, const traces::JoinedBurst& joined);
  // Lines, and the first members of a JSON document with `notes`.
  std::string text() const;
  std::string json(const std::vector<std::string>& notes) const;
};

// What a reader of repaired times should know: contradictions, and clocks that are off. Bounded.
class ClockNotes {
 public:
  explicit ClockNotes(const BurstMachines& machines) : has_several_(machines.has_several_machines()) {}
  void add(const BurstOfMachines& burst);
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  const bool has_several_;
  bool is_cut_ = false;
  std::vector<std::string> notes_;
};

}  // namespace plimsoll::cli
