// `plimsoll calibrate -- COMMAND`: how often this machine may be sampled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace plimsoll::cli {

struct CalibrateOptions {
  std::vector<uint32_t> rates_hz = {19, 49, 99, 199, 499, 999};
  double overhead_percent = 1;  // that is wanted at most
  double confidence_percent = 95;
  uint32_t rounds = 20;
  bool measures_cpu_time = false;       // of the command, in place of the time on the wall
  double limit_s = 3600;                // of one run of the command
  std::vector<std::string> event_sets;  // as plimsolld takes them
  uint32_t stack_bytes = 0;             // likewise; 0: its default
  bool is_json = false;
  std::vector<std::string> command;
};

// Each round runs the command once without a profiler, once more so as a control, and once at every rate, in random order. Prints what each
// rate costs and the highest one that is permitted. Fails with kNotFound where none is, kInvalid where the command does not end with
// status 0, kUnavailable where SIGINT or SIGTERM came.
Status run_calibrate(CalibrateOptions options);

}  // namespace plimsoll::cli
