// `plimsoll bursts requests` and `plimsoll bursts export`: a recording's requests, and what its threads did, joined.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace plimsoll::cli {

struct BurstsRequestsOptions {
  std::string file;
  bool whole_only = false;
  uint32_t limit = 50;
  bool is_json = false;
};

struct BurstsExportOptions {
  std::string file;
  std::string output;
};

Status run_bursts_requests(const BurstsRequestsOptions& options);
Status run_bursts_export(const BurstsExportOptions& options);

}  // namespace plimsoll::cli
