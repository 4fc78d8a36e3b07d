#include "traces/bursts/joined/requests_of_threads.h"

#include <iterator>

namespace plimsoll::traces {

RequestsOfThreads::RequestsOfThreads(const JoinedBurst& joined) {
  for (const StateInterval& interval : joined.intervals) {
    if (interval.request != 0) {
      states_[interval.thread].push_back(&interval);
    }
  }
}

uint64_t RequestsOfThreads::at(uint32_t thread, int64_t time_ns) const {
  const auto found = states_.find(thread);
  if (found == states_.end()) {
    return 0;
  }
  const auto after =
      std::upper_bound(found->second.begin(), found->second.end(), time_ns,
                       [](int64_t time, const StateInterval* interval) { return time < interval->begin_ns; });
  if (after == found->second.begin()) {
    return 0;
  }
  const StateInterval& interval = **std::prev(after);
  return time_ns <= interval.end_ns ? interval.request : 0;
}

}  // namespace plimsoll::traces
