// For which request each thread of a burst works when. Pure; one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "traces/bursts/joined/thread_states.h"

namespace plimsoll::traces {

// Borrows the joined burst. Takes a pointer per interval that is for a request.
class RequestsOfThreads {
 public:
  explicit RequestsOfThreads(const JoinedBurst& joined);

  // 0: none that is known. At the moment of a mark: that which the mark names.
  uint64_t at(uint32_t thread, int64_t time_ns) const;

  // Calls `visit(request, ns)` for each part of the time in which the thread works for a request.
  template <typename Visit>
  void for_each_part(uint32_t thread, int64_t begin_ns, int64_t end_ns, const Visit& visit) const {
    const auto found = states_.find(thread);
    if (found == states_.end()) {
      return;
    }
    const std::vector<const StateInterval*>& states = found->second;
    auto state = std::upper_bound(
        states.begin(), states.end(), begin_ns,
        [](int64_t time_ns, const StateInterval* interval) { return time_ns < interval->end_ns; });
    for (; state != states.end() && (*state)->begin_ns < end_ns; ++state) {
      visit((*state)->request, std::min(end_ns, (*state)->end_ns) - std::max(begin_ns, (*state)->begin_ns));
    }
  }

 private:
  std::unordered_map<uint32_t, std::vector<const StateInterval*>> states_;  // in the order of time
};

}  // namespace plimsoll::traces
