// How often each instruction of a program ran, exactly and by samples.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace plimsoll::bench {

using CountByAddress = std::map<uint64_t, double>;

// Runs a program linked without -pie under callgrind. Files are written into `folder`.
Result<CountByAddress> exact_counts(const std::vector<std::string>& argv, const std::string& folder);

// Runs it under perf record, on cpu-clock at 4,999 Hz: samples by address.
Result<CountByAddress> sampled_counts(const std::vector<std::string>& argv, const std::string& folder);

}  // namespace plimsoll::bench
