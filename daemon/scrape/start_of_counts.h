// Since when an application has counted what it tells.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/scrape/since_last.h"

namespace plimsoll::scrape {

// The process that answers at an endpoint.
struct Owner {
  uint32_t pid = 0;
  int64_t started_ns = 0;  // since boot
  bool operator==(const Owner&) const = default;
};

// What is known when a profile has been fetched; times are of clocks that only go on.
struct ScrapeTimes {
  int64_t duration_ns = 0;                    // that the profile tells; 0: it does not
  std::optional<int64_t> since_last_ns = {};  // from the end of the scrape before; nothing: this is the first
  int64_t interval_ns = 0;                    // what counts as young the first time
  int64_t since_boot_ns = 0;
};

// A profile of a duration that lies between the scrapes is whole: the application counted from zero for it ("?seconds=5").
// An owner that is not known says nothing: only a process that is known to be another has begun to count from zero.
SinceLast::Start start_of_counts(const ScrapeTimes& times, const std::optional<Owner>& last_owner,
                                 const std::optional<Owner>& owner);

}  // namespace plimsoll::scrape
