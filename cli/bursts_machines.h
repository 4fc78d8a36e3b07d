// Bursts of several machines, joined: by their planned times, with clocks repaired as far as calls prove.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/trace_files.h"
#include "traces/bursts/burst_config.h"
#include "traces/bursts/clocks/clock_repair.h"
#include "traces/bursts/recording/burst_recording.h"
#include "traces/bursts/search/scene.h"

namespace plimsoll::cli {

// What all machines recorded of one burst.
struct BurstOfMachines {
  int64_t planned_begin_ms = 0;
  std::vector<traces::SceneMachine> machines;  // in the order of the files, with their shifts
  traces::RepairedClocks clocks;
};

struct BurstMachines {
  std::vector<traces::BurstRecording> recordings;
  std::optional<traces::BurstConfig> config;
  TraceFiles trace_files;                      // without spans where none were given
  std::unique_ptr<traces::SearchSpans> spans;  // null where none were given
  std::vector<BurstOfMachines> bursts;         // in the order of time
};

// kInvalid where two recordings are of one machine or of different burst-configs. One recording keeps its times.
Result<BurstMachines> read_burst_machines(const std::vector<std::string>& files,
                                          const std::vector<std::string>& span_files);

// What a reader of repaired times should know: contradictions, and clocks that are off. Of all bursts; bounded.
std::vector<std::string> clock_notes(const BurstMachines& machines);

}  // namespace plimsoll::cli
