// `plimsolld bursts record`: some bursts of this machine, into a file.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "daemon/bursts/burst_recorder.h"
#include "daemon/machine/machine.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::bursts {

struct RecordBurstsOptions {
  std::string config = "7,8";
  std::string output;
  uint32_t bursts = 1;
  // What is kept, of all bursts; recording ends with the burst that exceeds it.
  uint64_t max_events = 20'000'000;
  BurstRecorderOptions recorder;
  identity::MachineSettings machine;
  std::string
      announcements;  // a folder: applications that announce themselves there are asked for their events; empty: none are
  traces::ClockState clock;  // read before the system call filter is in force
};

// Waits for bursts and records them; SIGINT and SIGTERM end it, and what is recorded is written. Prints a line per burst on
// standard output.
Status record_bursts(const RecordBurstsOptions& options);

}  // namespace plimsoll::bursts
