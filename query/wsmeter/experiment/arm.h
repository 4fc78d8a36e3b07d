// One side of an experiment: what was observed of those that have a feature, or of those that do not.
//
// Pure: no I/O; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "query/wsmeter/observed/observation.h"
#include "query/wsmeter/observed/performance.h"

namespace plimsoll::query {

struct Arm {
  InstancesByJob instances;
  // Of the same instances in the same order: what they did of the ratio's denominator (cycles), for the fleet.
  std::map<std::string, std::vector<double>, std::less<>> loads;
  std::map<std::string, std::vector<std::string>, std::less<>> names;  // likewise: instance and machine
  int64_t from_ns = 0;  // wall clock; profiles of these machines lie within
  int64_t to_ns = 0;
  // What of its load was done in the first half of the time; nothing: not requested.
  std::optional<double> early_share = {};
  std::vector<std::string> notes = {};  // of the observations: what they lack
};

// Observations of one instance on one machine (of several platforms) are put together, by their loads.
Arm arm_of(const Observations& observations);

size_t instances_of(const Arm& arm);
double load_of(const Arm& arm);  // of all instances
// That are there on both sides: an instance changed arms during the test, or the filters overlap.
size_t instances_of_both(const Arm& control, const Arm& test);

}  // namespace plimsoll::query
