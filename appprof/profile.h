// A profile in memory, before it is written as pprof or text.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "appprof/labels.h"

namespace plimsoll::appprof {

struct ValueType {
  std::string type;
  std::string unit;
};

struct Sample {
  // Innermost first. Return addresses, but for the innermost of a stack that a signal interrupted.
  std::vector<uintptr_t> stack;
  bool is_leaf_exact = false;
  // The name of a frame that stands for what has no stack ("[no answer]"); empty: none.
  std::string stand_in;
  std::array<double, 2> values{};
  Labels labels;
};

struct Profile {
  std::vector<ValueType> types;  // one or two, of the values
  ValueType period_type;
  int64_t period = 0;
  int64_t time_ns = 0;       // Unix time of the end
  int64_t monotonic_ns = 0;  // of the end, by the clock that is never set: of cumulative profiles
  int64_t duration_ns = 0;
  std::vector<Sample> samples;
  std::vector<std::string> comments;
};

// What `later` has more of than `earlier`, both cumulative, stack by stack.
Profile difference(const Profile& earlier, Profile later);

class SiteTable;
// A sample for each site, and one for what found no place.
void add_sites(const SiteTable& sites, Profile& profile);

// Sums samples of the same stack, labels and stand-in.
void merge_equal(Profile& profile);

int64_t unix_time_ns();
int64_t monotonic_ns();

}  // namespace plimsoll::appprof
