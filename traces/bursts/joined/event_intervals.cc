#include "traces/bursts/joined/event_intervals.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace plimsoll::traces {
namespace {

void end_interval(std::optional<EventInterval>& open, int64_t time_ns, std::vector<EventInterval>& to) {
  if (open) {
    open->end_ns = std::max(open->begin_ns, time_ns);
    to.push_back(*open);
    open.reset();
  }
}

EventInterval begun_by(const BurstEvent& event) {
  return {.begin_ns = event.time_ns,
          .end_ns = event.time_ns,
          .value = event.first,
          .thread = event.thread,
          .cpu = event.cpu};
}

}  // namespace

MarkedIntervals marked_intervals(const Burst& burst, const JoinedBurst& joined) {
  struct Now {
    std::optional<EventInterval> wait;
    std::optional<EventInterval> phase;
  };
  std::unordered_map<uint32_t, Now> threads;
  MarkedIntervals made;
  for (const Mark& mark : joined.marks) {
    if (mark.time_ns < burst.on_ns || mark.time_ns > burst.off_ns) {
      continue;  // as in request_times()
    }
    Now& now = threads[mark.tid];
    const EventInterval begun{
        .begin_ns = mark.time_ns, .end_ns = mark.time_ns, .value = mark.value, .thread = mark.tid, .cpu = 0};
    switch (mark.kind) {
      case MarkKind::kStart:
      case MarkKind::kSwitch:
      case MarkKind::kStop:
        end_interval(now.phase, mark.time_ns, made.phases);
        break;
      case MarkKind::kLockWait:
        end_interval(now.wait, mark.time_ns, made.lock_waits);
        now.wait = begun;
        break;
      case MarkKind::kLockGot:
        if (now.wait && now.wait->value == mark.value) {
          end_interval(now.wait, mark.time_ns, made.lock_waits);
        }
        break;
      case MarkKind::kPhase:
        end_interval(now.phase, mark.time_ns, made.phases);
        if (mark.value != 0) {
          now.phase = begun;
        }
        break;
    }
  }
  for (auto& [thread, now] : threads) {
    end_interval(now.wait, burst.off_ns, made.lock_waits);
    end_interval(now.phase, burst.off_ns, made.phases);
  }
  return made;
}

std::vector<EventInterval> system_calls(const Burst& burst) {
  std::vector<EventInterval> made;
  std::unordered_map<uint32_t, EventInterval> open;  // by thread
  for (const BurstEvent& event : burst.events) {
    if (event.kind == BurstEventKind::kSyscallEnter) {
      open[event.thread] = begun_by(event);
    } else if (event.kind == BurstEventKind::kSyscallExit) {
      const auto call = open.find(event.thread);
      if (call == open.end()) {
        continue;
      }
      if (call->second.value == event.first) {
        made.push_back(call->second);
        made.back().end_ns = event.time_ns;
        made.back().cpu = event.cpu;
      }
      open.erase(call);
    }
  }
  return made;
}

std::vector<EventInterval> disk_requests(const Burst& burst) {
  std::vector<EventInterval> made;
  std::unordered_map<uint64_t, EventInterval> open;  // by device and sector
  for (const BurstEvent& event : burst.events) {
    if (event.kind == BurstEventKind::kDiskIssue) {
      open[event.second] = begun_by(event);
    } else if (event.kind == BurstEventKind::kDiskDone) {
      if (const auto issued = open.find(event.second); issued != open.end()) {
        made.push_back(issued->second);
        made.back().end_ns = event.time_ns;
        open.erase(issued);
      }
    }
  }
  return made;
}

}  // namespace plimsoll::traces
