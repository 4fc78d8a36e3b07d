// Recordings of bursts that a command is given.
#pragma once

#include <string>

#include "base/result.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::cli {

// The error names the file.
Result<traces::BurstRecording> read_burst_file(const std::string& path);

}  // namespace plimsoll::cli
