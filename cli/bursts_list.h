// `plimsoll bursts list` and `plimsoll bursts upload`: recordings of bursts in a store.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/views/commands.h"

namespace plimsoll::cli {

// Prints a row per recording, the newest first. Parameters: those of the view `bursts`.
Status run_bursts_list(const TableOptions& options);

struct BurstsUploadOptions {
  std::vector<std::string> files;
  AnswerSource target;
};

// Adds recordings to the store of a server, or to a data directory that no server uses. A file that is there already changes nothing. Prints a
// line per file; fails with the first that is not taken.
Status run_bursts_upload(const BurstsUploadOptions& options);

}  // namespace plimsoll::cli
