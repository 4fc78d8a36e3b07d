// `plimsoll store status`: what a data directory holds.
#pragma once

#include <string>

#include "base/result.h"

namespace plimsoll::cli {

struct StoreStatusOptions {
  std::string data_dir;
  std::string config_path =
      {};  // of the server whose limits are shown; empty: its defaults and the environment
  bool is_json = false;
  bool is_csv = false;
};

// Prints a row for each block, and what else takes room as notes.
Status run_store_status(const StoreStatusOptions& options);

}  // namespace plimsoll::cli
