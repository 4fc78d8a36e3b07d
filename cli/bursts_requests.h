// `plimsoll bursts requests` and `plimsoll bursts export`: requests of recordings, and what threads did, joined.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/bursts_recordings.h"

namespace plimsoll::cli {

struct BurstsRequestsOptions {
  BurstsInput input;
  std::vector<std::string> spans;
  bool whole_only = false;
  std::string request;        // ID, in hexadecimal: only it; empty: all
  bool with_stacks = false;   // the functions in which threads of the requests ran
  bool with_layers = false;   // what each layer did for a request, of all machines together
  bool with_summary = false;  // of the layers of whole requests
  uint32_t limit = 50;
  bool is_json = false;
};

struct BurstsExportOptions {
  BurstsInput input;
  std::vector<std::string> spans;
  // Files to write; one of them.
  std::string chrome;
  std::string perfetto;
};

Status run_bursts_requests(const BurstsRequestsOptions& options);
Status run_bursts_export(const BurstsExportOptions& options);

}  // namespace plimsoll::cli
