#include "traces/bursts/clocks/clock_pairs.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "traces/bursts/marks/mark_decoder.h"

namespace plimsoll::traces {
namespace {

constexpr int64_t kMaxMarkNs = int64_t{1} << 62;

struct WholeRequest {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  uint32_t starts = 0;
  uint32_t stops = 0;
};

std::unordered_map<uint64_t, WholeRequest> whole_requests(const SceneMachine& machine) {
  std::unordered_map<uint64_t, WholeRequest> requests;
  MarkDecoder decoder;
  for (const BurstEvent& event : machine.burst->events) {
    if (event.kind != BurstEventKind::kMarkCall) {
      continue;
    }
    const auto mark = decoder.take({event.time_ns, event.thread, event.first, event.second});
    if (!mark || mark->value == 0) {
      continue;
    }
    const int64_t time_ns = mark->time_ns + machine.burst->wall_offset_on_ns;
    // From 1970 to 2116, as spans are: of others differences could overflow.
    if (time_ns < 0 || time_ns > kMaxMarkNs) {
      continue;
    }
    if (mark->kind == MarkKind::kStart) {
      WholeRequest& request = requests[mark->value];
      request.begin_ns = time_ns;
      ++request.starts;
    } else if (mark->kind == MarkKind::kStop) {
      WholeRequest& request = requests[mark->value];
      request.end_ns = time_ns;
      ++request.stops;
    }
  }
  std::erase_if(requests, [](const auto& entry) {
    const WholeRequest& request = entry.second;
    return request.starts != 1 || request.stops != 1 || request.end_ns < request.begin_ns;
  });
  return requests;
}

struct OnMachine {
  uint32_t machine = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;

  int64_t duration_ns() const { return end_ns - begin_ns; }
};

}  // namespace

std::vector<ClockPair> pairs_of_spans(const std::vector<SceneMachine>& machines, const SearchSpans& spans) {
  const std::vector<uint32_t> of_names = recorded_machines(machines, spans.set().names().machines);
  const auto start_of = [&](uint32_t rpc) { return spans.span(spans.rpcs()[rpc].first()).start_ns; };
  std::vector<ClockPair> pairs;
  if (machines.empty()) {
    return pairs;
  }
  int64_t first_ns = kMaxMarkNs;
  int64_t last_ns = 0;
  for (const SceneMachine& machine : machines) {
    const int64_t offset_ns = machine.burst->wall_offset_on_ns;
    first_ns = std::clamp<int64_t>(machine.burst->on_ns + offset_ns, 0, first_ns);
    last_ns = std::clamp<int64_t>(machine.burst->off_ns + offset_ns, last_ns, kMaxMarkNs);
  }
  // Calls without a client span are in the order of their servers' clocks, which may be off by as much as a burst lasts.
  const int64_t slack_ns = std::clamp<int64_t>(last_ns - first_ns, 0, kMaxMarkNs / 2);
  const std::vector<uint32_t>& rpcs = spans.rpcs_by_start();
  for (auto rpc = std::ranges::lower_bound(rpcs, first_ns - slack_ns, {}, start_of);
       rpc != rpcs.end() && start_of(*rpc) <= last_ns + slack_ns; ++rpc) {
    const RpcHalves& halves = spans.rpcs()[*rpc];
    if (halves.caller == kNoSpan || halves.server == kNoSpan) {
      continue;
    }
    const Span& client = spans.span(halves.caller);
    const Span& server = spans.span(halves.server);
    const uint32_t caller = of_names[client.machine];
    const uint32_t callee = of_names[server.machine];
    if (caller == kNoMachine || callee == kNoMachine || caller == callee) {
      continue;
    }
    const Burst& burst = *machines[caller].burst;
    if (client.start_ns < burst.on_ns + burst.wall_offset_on_ns ||
        client.start_ns > burst.off_ns + burst.wall_offset_on_ns) {
      continue;
    }
    // Durations need no common clock: where the server's span is the longer one, the caller did not wait for it.
    const bool has_waited = halves.client != kNoSpan && client.status != SpanStatus::kError &&
                            server.duration_ns() <= client.duration_ns();
    pairs.push_back({.caller = caller,
                     .callee = callee,
                     .sent_ns = client.start_ns,
                     .received_ns = server.start_ns,
                     .replied_ns = server.end_ns,
                     .returned_ns = client.end_ns,
                     .has_reply = has_waited,
                     .is_assumed = false});
  }
  return pairs;
}

std::vector<ClockPair> pairs_of_marks(const std::vector<SceneMachine>& machines) {
  std::map<uint64_t, std::vector<OnMachine>> requests;
  for (uint32_t machine = 0; machine < machines.size(); ++machine) {
    for (const auto& [id, request] : whole_requests(machines[machine])) {
      requests[id].push_back({machine, request.begin_ns, request.end_ns});
    }
  }
  std::vector<ClockPair> pairs;
  for (const auto& [id, on_machines] : requests) {
    const OnMachine& caller = *std::ranges::max_element(on_machines, {}, &OnMachine::duration_ns);
    for (const OnMachine& callee : on_machines) {
      // Of equal durations neither can be told to lie within the other. Parts of one recording are on one clock.
      const bool is_other = machines[callee.machine].recording != machines[caller.machine].recording;
      if (is_other && callee.duration_ns() < caller.duration_ns()) {
        pairs.push_back({.caller = caller.machine,
                         .callee = callee.machine,
                         .sent_ns = caller.begin_ns,
                         .received_ns = callee.begin_ns,
                         .replied_ns = callee.end_ns,
                         .returned_ns = caller.end_ns,
                         .has_reply = true,
                         .is_assumed = true});
      }
    }
  }
  return pairs;
}

}  // namespace plimsoll::traces
