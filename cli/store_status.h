// `plimsoll store status`: what a data directory holds.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/views/commands.h"

namespace plimsoll::cli {

struct StoreStatusOptions {
  TableOptions asked;  // parameters: those of the view `store`
  // Of the server whose limits are shown for a data directory; empty: its defaults and the environment. A server shows its own.
  std::string config_path = {};
};

// Prints a row for each block, and what else takes room as notes; or a row for each limit.
Status run_store_status(const StoreStatusOptions& options);

}  // namespace plimsoll::cli
