#include "traces/bursts/joined/request_times.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

namespace plimsoll::traces {
namespace {

struct Gathered {
  RequestTimes times;
  std::set<uint32_t> threads;
  uint32_t starts = 0;
  uint32_t stops = 0;
};

}  // namespace

std::vector<RequestTimes> request_times(const Burst& burst, const JoinedBurst& joined) {
  std::unordered_map<uint64_t, Gathered> requests;
  const auto of = [&](uint64_t request) -> Gathered& {
    const auto [found, is_new] = requests.try_emplace(request);
    if (is_new) {
      found->second.times.request = request;
      found->second.times.begin_ns = burst.on_ns;
      found->second.times.end_ns = burst.off_ns;
    }
    return found->second;
  };
  for (const Mark& mark : joined.marks) {
    const bool is_within = burst.on_ns <= mark.time_ns && mark.time_ns <= burst.off_ns;
    if (!is_within || mark.value == 0 || (mark.kind != MarkKind::kStart && mark.kind != MarkKind::kStop)) {
      continue;
    }
    Gathered& request = of(mark.value);
    if (mark.kind == MarkKind::kStart) {
      request.times.begin_ns = request.starts++ == 0 ? mark.time_ns : request.times.begin_ns;
    } else {
      ++request.stops;
      request.times.end_ns = mark.time_ns;
    }
  }
  for (const StateInterval& interval : joined.intervals) {
    if (interval.request != 0) {
      Gathered& request = of(interval.request);
      request.times.ns[static_cast<size_t>(interval.state)] += interval.end_ns - interval.begin_ns;
      request.threads.insert(interval.thread);
    }
  }
  std::vector<RequestTimes> times;
  times.reserve(requests.size());
  for (auto& [id, request] : requests) {
    if (request.times.begin_ns > request.times.end_ns) {
      continue;
    }
    request.times.threads = static_cast<uint32_t>(request.threads.size());
    request.times.is_whole = request.starts == 1 && request.stops == 1;
    times.push_back(request.times);
  }
  std::ranges::sort(times, {}, [](const RequestTimes& one) { return std::tuple(one.begin_ns, one.request); });
  return times;
}

}  // namespace plimsoll::traces
