// CPU use of services over time, from files: a series each, step by step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/series_files/records.h"

namespace plimsoll::query {

struct ServiceSeries {
  std::vector<std::string> names;             // sorted
  std::vector<std::vector<double>> services;  // CPUs of each service in each step that all of them have
  int64_t step_ns = 0;
  size_t gaps = 0;      // places where steps are missing
  size_t left_out = 0;  // steps that some service lacks
};

inline constexpr size_t kMaxPooledServices = 64;

// Columns time, service, cpus. Steps begin with the first time of any service; a time may be off its step by a tenth of it, so that two times
// of one step differ by a fifth at most. A service that is there twice in a step is summed.
Result<ServiceSeries> read_service_series(const NamedSeries& series);

}  // namespace plimsoll::query
