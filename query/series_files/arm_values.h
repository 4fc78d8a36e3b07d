// Latencies or CPU time of a control and a test arm, from files.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "query/series_files/records.h"
#include "statistics/percentile_change.h"

namespace plimsoll::query {

struct ArmNames {
  std::string control = "control";
  std::string test = "test";
};

struct ArmValues {
  std::vector<statistics::ArmValue> control;
  std::vector<statistics::ArmValue> test;
  uint64_t other_arms = 0;  // records of arms that are neither
};

// Columns time, arm, user, value; place (default: all at one) and count (default 1) if they are there. A user who is in both arms counts in each.
Result<ArmValues> read_arm_values(const NamedSeries& series, const ArmNames& names);

}  // namespace plimsoll::query
