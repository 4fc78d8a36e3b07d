// What `plimsoll regressions` prints.
#pragma once

#include <string>
#include <vector>

#include "diagnosis/buckets/regressions.h"
#include "traces/model/span_set.h"

namespace plimsoll::query {

// Both end with a line end. `notes`: on the files.
std::string regressions_markdown(const diagnosis::RegressionReport& report, const traces::Names& names,
                                 const std::vector<std::string>& notes);
std::string regressions_json(const diagnosis::RegressionReport& report, const traces::Names& names,
                             const std::vector<std::string>& notes);

}  // namespace plimsoll::query
