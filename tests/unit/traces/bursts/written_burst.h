// Bursts as text, for tests.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>

#include "traces/bursts/marks/mark.h"
#include "traces/bursts/recording/burst_recording.h"

namespace plimsoll::traces {

// Of lines "TIME WHAT ...", times in ns: "switch FROM STATE TO" (STATE: S blocked, R preempted, Y yields, X ends), "wake WAKER WOKEN",
// "interrupt THREAD WOKEN", "new PARENT CHILD", "mark THREAD KIND VALUE" (its two calls at that time), "call THREAD [NUMBER]",
// "exit THREAD NUMBER", "fault THREAD",
// "issue THREAD BYTES SECTOR", "done THREAD BYTES SECTOR", "sent THREAD BYTES", "received THREAD BYTES", "sample THREAD STACK".
inline Burst written_burst(const std::string& text, int64_t on_ns, int64_t off_ns) {
  Burst burst;
  burst.on_ns = on_ns;
  burst.off_ns = off_ns;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    BurstEvent event;
    std::string what;
    if (!(words >> event.time_ns >> what >> event.thread)) {
      continue;
    }
    if (what == "switch") {
      char state = 0;
      words >> state >> event.other;
      event.first = state == 'S' ? 1 : state == 'R' ? 0x100 : state == 'X' ? 0x10 : 0;
    } else if (what == "mark") {
      int kind = 0;
      uint64_t value = 0;
      words >> kind >> value;
      event.kind = BurstEventKind::kMarkCall;
      event.first = kMarkHead;
      event.second = mark_head(static_cast<MarkKind>(kind), value);
      burst.events.push_back(event);
      event.first = kMarkValue;
      event.second = value;
    } else if (what == "call") {
      words >> event.first;
      event.kind = BurstEventKind::kSyscallEnter;
    } else if (what == "exit") {
      words >> event.first;
      event.kind = BurstEventKind::kSyscallExit;
    } else if (what == "fault") {
      event.kind = BurstEventKind::kPageFault;
    } else if (what == "issue" || what == "done") {
      words >> event.first >> event.second;
      event.kind = what == "issue" ? BurstEventKind::kDiskIssue : BurstEventKind::kDiskDone;
    } else if (what == "sample") {
      words >> event.first;
      event.kind = BurstEventKind::kSample;
    } else if (what == "sent" || what == "received") {
      words >> event.first;
      event.kind = what == "sent" ? BurstEventKind::kPacketSent : BurstEventKind::kPacketReceived;
    } else {
      words >> event.other;
      event.kind = what == "new" ? BurstEventKind::kNewThread : BurstEventKind::kWake;
      event.first = what == "interrupt" ? 1 : 0;
    }
    burst.events.push_back(event);
  }
  return burst;
}

}  // namespace plimsoll::traces
