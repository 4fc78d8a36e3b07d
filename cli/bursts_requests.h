// `plimsoll bursts requests` and `plimsoll bursts export`: requests of recordings, and what threads did, joined.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace plimsoll::cli {

struct BurstsRequestsOptions {
  std::vector<std::string> files;  // one per machine
  std::vector<std::string> spans;
  bool whole_only = false;
  uint32_t limit = 50;
  bool is_json = false;
};

struct BurstsExportOptions {
  std::vector<std::string> files;  // one per machine
  std::vector<std::string> spans;
  // Files to write; one of them.
  std::string chrome;
  std::string perfetto;
};

Status run_bursts_requests(const BurstsRequestsOptions& options);
Status run_bursts_export(const BurstsExportOptions& options);

}  // namespace plimsoll::cli
