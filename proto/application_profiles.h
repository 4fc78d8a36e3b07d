// Which raw profiles are those that applications made of themselves.
#pragma once

#include <string_view>

#include "proto/profile.pb.h"

namespace plimsoll::wire {

// What their assignments are called by, followed by the endpoint: "scrape:127.0.0.1:8080/pprof/heap". The endpoints of a machine are
// observed side by side, so that their windows are no part of the time for which it was sampled.
inline constexpr std::string_view kApplicationAssignment = "scrape:";

inline bool is_of_application(const Assignment& assignment) {
  return assignment.id().starts_with(kApplicationAssignment);
}

}  // namespace plimsoll::wire
