#include "formats/perfetto/ftrace_events.h"

#include "base/printable.h"
#include "formats/perfetto/fields.h"

namespace plimsoll::formats::perfetto {
namespace {

using traces::BurstEventKind;
using traces::BurstThread;
using traces::SceneMachine;

// Not recorded: that of ordinary threads.
constexpr uint64_t kPriority = 120;

// The state in which a thread is left, from the numbers of Linux 4.14 and later to those of Linux 4.4, which Perfetto assumes of a trace
// that does not name its kernel: it would show a preempted thread (0x100) as waking.
uint64_t state_of_switch(uint64_t state) {
  constexpr uint64_t kSameBits = 0x3F;  // up to EXIT_ZOMBIE
  constexpr uint64_t kParked = 0x40;
  constexpr uint64_t kIdle = 0x80;
  constexpr uint64_t kPreempted = 0x100;
  constexpr uint64_t kOldParked = 0x200;
  constexpr uint64_t kOldIdle = 0x402;  // uninterruptible, and no load
  constexpr uint64_t kOldPreempted = 0x800;
  if ((state & kPreempted) != 0) {
    return kOldPreempted;
  }
  return (state & kSameBits) | ((state & kParked) != 0 ? kOldParked : 0) |
         ((state & kIdle) != 0 ? kOldIdle : 0);
}

WireMessage ftrace_event(const SceneMachine& machine, const traces::BurstEvent& event) {
  const BurstThread& thread = machine.recording->threads[event.thread];
  const BurstThread& other = machine.recording->threads[event.other];
  WireMessage made;
  made.number(field::kFtraceTimestamp, trace_time(event.time_ns + machine.offset_ns()));
  made.number(field::kFtracePid, thread.tid);
  WireMessage details;
  if (event.kind == BurstEventKind::kSwitch) {
    details.text(field::kSwitchPrevComm, printable(thread.name));
    details.number(field::kSwitchPrevPid, thread.tid);
    details.number(field::kSwitchPrevPriority, kPriority);
    details.number(field::kSwitchPrevState, state_of_switch(event.first));
    details.text(field::kSwitchNextComm, printable(other.name));
    details.number(field::kSwitchNextPid, other.tid);
    details.number(field::kSwitchNextPriority, kPriority);
    made.message(field::kFtraceSwitch, details);
  } else {
    details.text(field::kWakingComm, printable(other.name));
    details.number(field::kWakingPid, other.tid);
    details.number(field::kWakingPriority, kPriority);
    details.number(field::kWakingSuccess, 1);
    details.number(field::kWakingCpu, event.cpu);
    made.message(field::kFtraceWaking, details);
  }
  return made;
}

}  // namespace

// A bundle for each run of events of one CPU, so that they stay in order.
void add_ftrace(const SceneMachine& machine, PacketWriter& out) {
  constexpr size_t kMaxBundleEvents = 1000;
  WireMessage bundle;
  size_t events = 0;
  uint16_t cpu = 0;
  const auto end = [&] {
    if (events > 0) {
      WireMessage packet = PacketWriter::new_packet_of_ftrace();
      packet.message(field::kPacketFtraceEvents, bundle);
      out.add(packet);
    }
    bundle = {};
    events = 0;
  };
  for (const traces::BurstEvent& event : machine.burst->events) {
    if (event.kind != BurstEventKind::kSwitch && event.kind != BurstEventKind::kWake &&
        event.kind != BurstEventKind::kNewThread) {
      continue;
    }
    if (event.cpu != cpu || events == kMaxBundleEvents) {
      end();
    }
    if (events == 0) {
      cpu = event.cpu;
      bundle.number(field::kBundleCpu, cpu);
    }
    bundle.message(field::kBundleEvent, ftrace_event(machine, event));
    ++events;
  }
  end();
}

}  // namespace plimsoll::formats::perfetto
