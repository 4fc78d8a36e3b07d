// `plimsoll bursts show`: what recordings of bursts have.
#pragma once

#include "base/result.h"
#include "cli/bursts_recordings.h"

namespace plimsoll::cli {

struct BurstsShowOptions {
  BurstsInput input;
  bool is_json = false;
};

Status run_bursts_show(const BurstsShowOptions& options);

}  // namespace plimsoll::cli
