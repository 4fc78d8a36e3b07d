// `plimsoll regressions`: buckets of requests in which a new version is slower, from request traces in files, a data directory or a server.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/views/answer_source.h"

namespace plimsoll::cli {

struct RegressionsOptions {
  std::vector<std::string> traces;  // files and folders
  AnswerSource source;
  // As diagnosis::RequestTableOptions has them.
  std::string hardware, workload, version;
  std::vector<std::string> attributes;
  std::string base, current;
  std::string since, until;  // as parse_time_ns() reads them
  bool is_json = false;
};

Status run_regressions(const RegressionsOptions& options);

}  // namespace plimsoll::cli
