// A compiler profile that the server makes of its own files.
#pragma once

#include "base/result.h"
#include "cli/fdo.h"

namespace plimsoll::cli {

// GET /api/v1/fdo/autofdo: for options without a binary. The report is asked for with --json alone, after the profile is written.
Status pull_profile(const FdoAutofdoOptions& options);

}  // namespace plimsoll::cli
