// A compiler profile that the server makes of its own files.
#pragma once

#include <chrono>

#include "base/result.h"
#include "cli/fdo.h"

namespace plimsoll::cli {

// While the server makes another profile it has none for the report: it is asked so often, after one pause, after two, ...
inline constexpr int kReportTries = 5;
inline constexpr std::chrono::milliseconds kReportPause{2000};

// GET /api/v1/fdo/autofdo: for options without a binary. The report is asked for with --json alone, after the profile is written; a profile
// that is refused, too large (AnswerSource::max_answer_bytes) or empty leaves no file.
Status pull_profile(const FdoAutofdoOptions& options, std::chrono::milliseconds report_pause = kReportPause);

}  // namespace plimsoll::cli
