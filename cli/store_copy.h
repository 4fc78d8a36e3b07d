// `plimsoll store copy`: moves the rows of a data directory into ClickHouse, and back.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace plimsoll::cli {

struct StoreCopyOptions {
  std::string data_dir;
  std::string to;             // "directory", or an address of ClickHouse
  std::string password_file;  // empty: no password
  std::string ca;             // empty: as this machine has it
  bool is_replicated = false;
  std::vector<std::string> shards = {};  // addresses of further databases that rows are split over
  bool removes = false;
};

// Prints what was copied, where the rows are now, and how to remove the old ones; on standard error, where that is a terminal, how far it is.
Status run_store_copy(const StoreCopyOptions& options);

}  // namespace plimsoll::cli
