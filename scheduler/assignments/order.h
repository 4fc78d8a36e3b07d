// An order to measure: these machines, or those that run these jobs, once and soon, whatever the policy draws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "proto/profile.pb.h"

namespace plimsoll::scheduler {

struct MeasuringOrder {
  std::string by;  // whose order it is
  // Both given: those of the machines that run one of the jobs. Neither: any machine.
  std::vector<std::string> machines = {};
  std::vector<std::string> jobs = {};
  size_t max_machines = 10;  // of those meant, by chance
  int64_t window_ns = 30 * int64_t{1'000'000'000};
  wire::Assignment collects;  // events, rate, stacks and bursts
};

// The longest that one may ask for.
inline constexpr int64_t kLongestOrderNs = 600 * int64_t{1'000'000'000};

// kInvalid, with the field, where it makes no sense.
Status check(const MeasuringOrder& order);

// "ordered by alice: 10 machines at most of those that run web, for 30s"
std::string text_of(const MeasuringOrder& order);

}  // namespace plimsoll::scheduler
