#include "traces/bursts/joined/application_rpcs.h"

#include <algorithm>
#include <map>
#include <utility>

namespace plimsoll::traces {

std::vector<ApplicationRpc> application_rpcs(const BurstRecording& recording, const Burst& burst) {
  std::vector<ApplicationRpc> rpcs;
  std::map<std::pair<uint32_t, uint64_t>, size_t> open;  // by process and number of the call
  for (const BurstEvent& event : burst.events) {
    if (!is_of_application(event.kind) || event.time_ns < burst.on_ns || event.time_ns > burst.off_ns) {
      continue;
    }
    const std::pair key(recording.threads[event.thread].pid, recording.details[event.second].call);
    if (event.kind == BurstEventKind::kRpcIn || event.kind == BurstEventKind::kRpcOut) {
      open[key] = rpcs.size();
      rpcs.push_back({.begin_ns = event.time_ns,
                      .end_ns = std::max(event.time_ns, burst.off_ns),
                      .request_bytes = event.first,
                      .answer_bytes = 0,
                      .thread = event.thread,
                      .detail = static_cast<uint32_t>(event.second),
                      .is_in = event.kind == BurstEventKind::kRpcIn,
                      .is_whole = false});
    } else if (event.kind == BurstEventKind::kRpcEnd) {
      if (const auto found = open.find(key); found != open.end()) {
        ApplicationRpc& rpc = rpcs[found->second];
        rpc.end_ns = event.time_ns;
        rpc.answer_bytes = event.first;
        rpc.is_whole = true;
        open.erase(found);
      }
    }
  }
  return rpcs;
}

}  // namespace plimsoll::traces
