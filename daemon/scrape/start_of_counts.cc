#include "daemon/scrape/start_of_counts.h"

namespace plimsoll::scrape {

SinceLast::Start start_of_counts(const ScrapeTimes& times, const std::optional<Owner>& last_owner,
                                 const std::optional<Owner>& owner) {
  using enum SinceLast::Start;
  if (times.since_last_ns) {
    if (times.duration_ns > 0 && times.duration_ns <= *times.since_last_ns) {
      return kThisScrape;
    }
    return last_owner && owner && *last_owner != *owner ? kThisScrape : kUnknown;
  }
  const int64_t age_ns = times.duration_ns > 0 ? times.duration_ns
                         : owner               ? times.since_boot_ns - owner->started_ns
                                               : INT64_MAX;
  return age_ns <= times.interval_ns ? kThisScrape : kUnknown;
}

}  // namespace plimsoll::scrape
