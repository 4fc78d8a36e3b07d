// The pass that diagnoses each hour of request traces (server/background/work_kinds.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/time.h"
#include "server/background/background_work.h"

namespace plimsoll::server {

struct TraceDiagnosisOptions {
  std::string data_dir = {};
  uint64_t max_spans = 0;  // that a pass may have in memory
  int64_t max_age_ns = 0;  // of what is kept
};

// Diagnoses each whole hour once, ten minutes after its end, against the hour before it, and keeps what it found with statistics of the hour's
// requests in spans/findings.db. Hours that passed since the last diagnosis, as while no server ran, are diagnosed later, the oldest first and
// one a pass, if they are of the last 24. An hour with more spans than fit is diagnosed without the one before it, or not at all, which its
// note says. Ends early when it is to stop; the hour is diagnosed after the next start then.
BackgroundTask::Pass trace_diagnosis_pass(TraceDiagnosisOptions options,
                                          std::function<int64_t()> now_ns = wall_now_ns);

}  // namespace plimsoll::server
