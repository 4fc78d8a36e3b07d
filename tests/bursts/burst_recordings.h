// Recordings of bursts for tests.
#pragma once

#include <cstdint>
#include <string>

#include "traces/bursts/recording/burst_file.h"

namespace plimsoll::testing {

// Two bursts of config 7,8 by a synchronized clock. `first_period` counts periods of 32.768 s since 1970.
inline traces::BurstRecording burst_recording(const std::string& machine, int64_t first_period = 1,
                                              size_t events = 10) {
  constexpr int64_t kPeriodMs = 32'768;
  constexpr int64_t kNsOfMs = 1'000'000;
  traces::BurstRecording recording;
  recording.machine = machine;
  recording.config_bits = 0x7f00;
  recording.cpus = 1;
  recording.clock = {.is_synchronized = true, .max_error_ns = 1000};
  recording.threads = {{0, 0, ""}, {71, 70, "worker"}};
  for (int64_t period = first_period; period < first_period + 2; ++period) {
    traces::Burst burst;
    burst.planned = {period * kPeriodMs - 256, period * kPeriodMs};
    burst.on_ns = burst.planned.begin_ms * kNsOfMs % 1'000'000'000'000;
    burst.off_ns = burst.on_ns + 256 * kNsOfMs;
    burst.wall_offset_on_ns = burst.planned.begin_ms * kNsOfMs - burst.on_ns;
    burst.wall_offset_off_ns = burst.wall_offset_on_ns;
    for (size_t i = 0; i < events; ++i) {
      burst.events.push_back(
          {.time_ns = burst.on_ns + static_cast<int64_t>(i), .thread = static_cast<uint32_t>(i % 2)});
    }
    recording.bursts.push_back(std::move(burst));
  }
  return recording;
}

}  // namespace plimsoll::testing
