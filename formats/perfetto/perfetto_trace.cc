#include "formats/perfetto/perfetto_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/printable.h"
#include "formats/perfetto/wire_writer.h"
#include "traces/bursts/joined/application_rpcs.h"
#include "traces/bursts/joined/request_times.h"

namespace plimsoll::formats {
namespace {

using traces::BurstEventKind;
using traces::BurstThread;
using traces::SceneMachine;
using traces::StateInterval;

// Numbers of fields: protos/perfetto/trace/ of github.com/google/perfetto (trace.proto, trace_packet.proto, clock_snapshot.proto,
// track_event/*.proto, interned_data/interned_data.proto, profiling/profile_common.proto,
// profiling/profile_packet.proto, ftrace/ftrace_event.proto, ftrace/ftrace_event_bundle.proto, ftrace/sched.proto).
namespace field {
constexpr uint32_t kTracePacket = 1;
constexpr uint32_t kPacketFtraceEvents = 1;
constexpr uint32_t kPacketClockSnapshot = 6;
constexpr uint32_t kPacketTimestamp = 8;
constexpr uint32_t kPacketSequence = 10;
constexpr uint32_t kPacketTrackEvent = 11;
constexpr uint32_t kPacketInternedData = 12;
constexpr uint32_t kPacketSequenceFlags = 13;
constexpr uint32_t kPacketTrackDescriptor = 60;
constexpr uint32_t kPacketPerfSample = 66;
constexpr uint32_t kSnapshotClocks = 1;
constexpr uint32_t kSnapshotPrimary = 2;
constexpr uint32_t kClockId = 1;
constexpr uint32_t kClockTimestamp = 2;
constexpr uint32_t kInternedCategories = 1;
constexpr uint32_t kInternedNames = 2;
constexpr uint32_t kInternedFunctions = 5;
constexpr uint32_t kInternedFrames = 6;
constexpr uint32_t kInternedCallstacks = 7;
constexpr uint32_t kInternedBuildIds = 16;
constexpr uint32_t kInternedMappingPaths = 17;
constexpr uint32_t kInternedMappings = 19;
constexpr uint32_t kMappingBuildId = 2;
constexpr uint32_t kMappingPath = 7;
constexpr uint32_t kFrameFunction = 2;
constexpr uint32_t kFrameMapping = 3;
constexpr uint32_t kFrameRelativePc = 4;
constexpr uint32_t kCallstackFrame = 2;
constexpr uint32_t kSampleCpu = 1;
constexpr uint32_t kSamplePid = 2;
constexpr uint32_t kSampleTid = 3;
constexpr uint32_t kSampleCallstack = 4;
constexpr uint32_t kInternedId = 1;
constexpr uint32_t kInternedName = 2;
constexpr uint32_t kDescriptorUuid = 1;
constexpr uint32_t kDescriptorName = 2;
constexpr uint32_t kDescriptorProcess = 3;
constexpr uint32_t kDescriptorThread = 4;
constexpr uint32_t kDescriptorParent = 5;
constexpr uint32_t kProcessPid = 1;
constexpr uint32_t kProcessName = 6;
constexpr uint32_t kThreadPid = 1;
constexpr uint32_t kThreadTid = 2;
constexpr uint32_t kThreadName = 5;
constexpr uint32_t kEventCategoryIds = 3;
constexpr uint32_t kEventAnnotations = 4;
constexpr uint32_t kEventType = 9;
constexpr uint32_t kEventNameId = 10;
constexpr uint32_t kEventTrack = 11;
constexpr uint32_t kAnnotationText = 6;
constexpr uint32_t kAnnotationName = 10;
constexpr uint32_t kBundleCpu = 1;
constexpr uint32_t kBundleEvent = 2;
constexpr uint32_t kFtraceTimestamp = 1;
constexpr uint32_t kFtracePid = 2;
constexpr uint32_t kFtraceSwitch = 4;
constexpr uint32_t kFtraceWaking = 20;
constexpr uint32_t kSwitchPrevComm = 1;
constexpr uint32_t kSwitchPrevPid = 2;
constexpr uint32_t kSwitchPrevPriority = 3;
constexpr uint32_t kSwitchPrevState = 4;
constexpr uint32_t kSwitchNextComm = 5;
constexpr uint32_t kSwitchNextPid = 6;
constexpr uint32_t kSwitchNextPriority = 7;
constexpr uint32_t kWakingComm = 1;
constexpr uint32_t kWakingPid = 2;
constexpr uint32_t kWakingPriority = 3;
constexpr uint32_t kWakingSuccess = 4;
constexpr uint32_t kWakingCpu = 5;
}  // namespace field

constexpr uint64_t kClockRealtime = 1;
constexpr uint64_t kClockBoottime = 6;
constexpr uint64_t kSequence = 1;
constexpr uint64_t kStateCleared = 1;
constexpr uint64_t kNeedsState = 2;
constexpr uint64_t kSliceBegin = 1;
constexpr uint64_t kSliceEnd = 2;
constexpr uint64_t kInstant = 3;
// Not recorded: that of ordinary threads.
constexpr uint64_t kPriority = 120;
constexpr size_t kBytesOfPiece = size_t{64} << 10;

constexpr uint64_t kCategoryThread = 1;
constexpr uint64_t kCategoryRequest = 2;

// At one moment slices end from the innermost outwards, and begin from the outermost inwards.
enum class Place : uint8_t { kStateEnd, kRequestEnd, kRequestBegin, kStateBegin, kPoint };

struct SliceEvent {
  int64_t time_ns = 0;
  Place place = Place::kStateBegin;
  uint64_t track = 0;
  uint64_t name = 0;                   // interned
  const BurstThread* waker = nullptr;  // of the begin of a state

  uint64_t type() const {
    return place == Place::kPoint ? kInstant : place >= Place::kRequestBegin ? kSliceBegin : kSliceEnd;
  }
};

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

uint64_t unsigned_time(int64_t time_ns) {
  return static_cast<uint64_t>(std::max<int64_t>(time_ns, 0));
}

class PerfettoWriter {
 public:
  PerfettoWriter(const std::vector<std::vector<SceneMachine>>& bursts,
                 const std::function<Status(std::string_view)>& write)
      : bursts_(bursts), write_(write) {
    for (const auto& burst : bursts) {
      for (const SceneMachine& machine : burst) {
        machines_.insert(machine.recording->machine);
      }
    }
    for (const auto& burst : bursts) {
      for (const SceneMachine& machine : burst) {
        add_process_names(*machine.recording);
      }
    }
  }

  Status run() {
    begin();
    for (const auto& burst : bursts_) {
      if (!written_) {
        break;
      }
      add_burst(burst);
    }
    flush();
    return written_;
  }

 private:
  bool is_one_machine() const { return machines_.size() <= 1; }

  // Of one machine alone: others have processes with the same numbers.
  void add_process_names(const traces::BurstRecording& recording) {
    if (!is_one_machine() || !named_.insert(&recording).second) {
      return;
    }
    for (const BurstThread& thread : recording.threads) {
      if (thread.tid == thread.pid && !thread.name.empty()) {
        process_names_.try_emplace(thread.pid, thread.name);
      }
    }
  }

  void begin() {
    const int64_t first_ns = bursts_.empty() || bursts_.front().empty()
                                 ? 0
                                 : bursts_.front().front().burst->on_ns + bursts_.front().front().offset_ns();
    WireMessage snapshot;
    for (const uint64_t id : {kClockBoottime, kClockRealtime}) {
      WireMessage clock;
      clock.number(field::kClockId, id);
      clock.number(field::kClockTimestamp, unsigned_time(first_ns));
      snapshot.message(field::kSnapshotClocks, clock);
    }
    snapshot.number(field::kSnapshotPrimary, kClockBoottime);
    WireMessage packet = new_packet(kStateCleared);
    packet.message(field::kPacketClockSnapshot, snapshot);
    WireMessage interned;
    for (const auto& [id, name] :
         {std::pair(kCategoryThread, "thread"), std::pair(kCategoryRequest, "request")}) {
      interned.message(field::kInternedCategories, interned_name(id, name));
    }
    packet.message(field::kPacketInternedData, interned);
    add(packet);
    requests_track_ = next_track_++;
    WireMessage descriptor;
    descriptor.number(field::kDescriptorUuid, requests_track_);
    descriptor.text(field::kDescriptorName, "requests");
    add_descriptor(descriptor);
  }

  static WireMessage interned_name(uint64_t id, std::string_view name) {
    WireMessage entry;
    entry.number(field::kInternedId, id);
    entry.text(field::kInternedName, name);
    return entry;
  }

  static WireMessage new_packet(uint64_t flags) {
    WireMessage packet;
    packet.number(field::kPacketSequence, kSequence);
    packet.number(field::kPacketSequenceFlags, flags);
    return packet;
  }

  void add(const WireMessage& packet) {
    WireMessage trace;
    trace.message(field::kTracePacket, packet);
    bytes_ += trace.bytes();
    if (bytes_.size() >= kBytesOfPiece) {
      flush();
    }
  }

  void flush() {
    if (written_) {
      written_ = write_(bytes_);
    }
    bytes_.clear();
  }

  void add_descriptor(const WireMessage& descriptor) {
    WireMessage packet = new_packet(kNeedsState);
    packet.message(field::kPacketTrackDescriptor, descriptor);
    add(packet);
  }

  // A packet of its own says it, before the first event that has it.
  uint64_t name_id(const std::string& name) {
    const auto [found, is_new] = names_.try_emplace(name, names_.size() + 1);
    if (is_new) {
      WireMessage interned;
      interned.message(field::kInternedNames, interned_name(found->second, name));
      WireMessage packet = new_packet(kNeedsState);
      packet.message(field::kPacketInternedData, interned);
      add(packet);
    }
    return found->second;
  }

  uint64_t machine_track(const SceneMachine& machine) {
    const auto [found, is_new] = machine_tracks_.try_emplace(machine.recording->machine, next_track_);
    if (is_new) {
      ++next_track_;
      WireMessage descriptor;
      descriptor.number(field::kDescriptorUuid, found->second);
      descriptor.text(field::kDescriptorName, printable(machine.recording->machine));
      add_descriptor(descriptor);
    }
    return found->second;
  }

  // Has the name of the process's first thread, where that is known, else of one that was seen.
  uint64_t process_track(uint32_t pid, const std::string& name_of_thread) {
    const auto [found, is_new] = process_tracks_.try_emplace(pid, next_track_);
    if (is_new) {
      const auto first = process_names_.find(pid);
      const std::string name = first == process_names_.end() ? name_of_thread : printable(first->second);
      ++next_track_;
      WireMessage process;
      process.number(field::kProcessPid, pid);
      process.text(field::kProcessName, name);
      WireMessage descriptor;
      descriptor.number(field::kDescriptorUuid, found->second);
      descriptor.message(field::kDescriptorProcess, process);
      add_descriptor(descriptor);
    }
    return found->second;
  }

  uint64_t thread_track(const SceneMachine& machine, uint32_t index) {
    const BurstThread& thread = machine.recording->threads[index];
    const std::tuple key(std::string_view(machine.recording->machine), copy_, thread.pid, thread.tid);
    const auto [found, is_new] = thread_tracks_.try_emplace(key, 0);
    if (!is_new) {
      return found->second;
    }
    const std::string name = printable(thread.name);
    WireMessage descriptor;
    if (is_one_machine()) {
      const uint32_t pid = thread.pid != 0 ? thread.pid : thread.tid;
      const uint64_t parent = process_track(pid, name);
      WireMessage ids;
      ids.number(field::kThreadPid, pid);
      ids.number(field::kThreadTid, thread.tid);
      ids.text(field::kThreadName, name);
      found->second = next_track_++;
      descriptor.number(field::kDescriptorUuid, found->second);
      descriptor.number(field::kDescriptorParent, parent);
      descriptor.message(field::kDescriptorThread, ids);
    } else {
      const uint64_t parent = machine_track(machine);
      found->second = next_track_++;
      descriptor.number(field::kDescriptorUuid, found->second);
      descriptor.number(field::kDescriptorParent, parent);
      descriptor.text(field::kDescriptorName, fmt::format("{} {}", name, thread.tid));
    }
    add_descriptor(descriptor);
    return found->second;
  }

  uint64_t request_track(uint64_t request, const SceneMachine& machine) {
    const uint64_t track = next_track_++;
    WireMessage descriptor;
    descriptor.number(field::kDescriptorUuid, track);
    descriptor.number(field::kDescriptorParent, requests_track_);
    descriptor.text(field::kDescriptorName, is_one_machine()
                                                ? fmt::format("request {:016x}", request)
                                                : fmt::format("request {:016x} on {}", request,
                                                              printable(machine.recording->machine)));
    add_descriptor(descriptor);
    return track;
  }

  void add_burst(const std::vector<SceneMachine>& burst) {
    std::vector<SliceEvent> events;
    std::map<std::string_view, uint32_t> copies;
    for (const SceneMachine& machine : burst) {
      copy_ = copies[machine.recording->machine]++;
      const traces::JoinedBurst joined = join_burst(*machine.burst);
      add_states(machine, joined, events);
      for (const traces::RequestTimes& request : request_times(*machine.burst, joined)) {
        // Without a length it would begin after it has ended.
        if (request.begin_ns < request.end_ns) {
          const uint64_t track = request_track(request.request, machine);
          const uint64_t name = name_id(fmt::format("request {:016x}", request.request));
          events.push_back(
              {request.begin_ns + machine.offset_ns(), Place::kRequestBegin, track, name, nullptr});
          events.push_back({request.end_ns + machine.offset_ns(), Place::kRequestEnd, track, name, nullptr});
        }
      }
      add_told(machine, events);
      if (is_one_machine()) {
        add_ftrace(machine);
        add_samples(machine);
      }
    }
    std::ranges::sort(events, {}, [](const SliceEvent& event) {
      return std::tuple(event.time_ns, event.place, event.track);
    });
    for (const SliceEvent& event : events) {
      add_event(event);
    }
  }

  // What applications tell of: a track below the thread's for each RPC, since they overlap, and instants.
  void add_told(const SceneMachine& machine, std::vector<SliceEvent>& events) {
    const traces::BurstRecording& recording = *machine.recording;
    for (const traces::ApplicationRpc& rpc : application_rpcs(recording, *machine.burst)) {
      const std::string peer = printable(peer_of_detail(recording, rpc.detail));
      const uint64_t name = name_id(fmt::format("rpc {} {}{}{}", rpc.is_in ? "in" : "out",
                                                printable(text_of_detail(recording, rpc.detail)),
                                                peer.empty() ? ""
                                                : rpc.is_in  ? " from "
                                                             : " to ",
                                                peer));
      const uint64_t parent = thread_track(machine, rpc.thread);
      if (rpc.begin_ns >= rpc.end_ns) {
        events.push_back({rpc.begin_ns + machine.offset_ns(), Place::kPoint, parent, name, nullptr});
        continue;
      }
      const uint64_t track = next_track_++;
      WireMessage descriptor;
      descriptor.number(field::kDescriptorUuid, track);
      descriptor.number(field::kDescriptorParent, parent);
      descriptor.text(field::kDescriptorName, "rpcs");
      add_descriptor(descriptor);
      events.push_back({rpc.begin_ns + machine.offset_ns(), Place::kRequestBegin, track, name, nullptr});
      events.push_back({rpc.end_ns + machine.offset_ns(), Place::kRequestEnd, track, name, nullptr});
    }
    for (const traces::BurstEvent& event : machine.burst->events) {
      if (event.kind == BurstEventKind::kAnnotation || event.kind == BurstEventKind::kNamedPhase) {
        const std::string text = printable(text_of_detail(recording, event.second));
        const uint64_t name =
            name_id(event.kind == BurstEventKind::kAnnotation ? fmt::format("{} ({})", text, event.first)
                                                              : "phase " + text);
        events.push_back({event.time_ns + machine.offset_ns(), Place::kPoint,
                          thread_track(machine, event.thread), name, nullptr});
      }
    }
  }

  void add_states(const SceneMachine& machine, const traces::JoinedBurst& joined,
                  std::vector<SliceEvent>& events) {
    struct Open {
      uint64_t request = 0;
      uint64_t name = 0;
      int64_t end_ns = 0;
    };
    std::unordered_map<uint32_t, Open> threads;
    const auto close = [&](uint32_t thread, Open& open) {
      if (open.request != 0) {
        events.push_back({open.end_ns + machine.offset_ns(), Place::kRequestEnd,
                          thread_track(machine, thread), open.name, nullptr});
      }
      open.request = 0;
    };
    for (const StateInterval& interval : joined.intervals) {
      if (interval.begin_ns >= interval.end_ns) {
        continue;
      }
      Open& open = threads[interval.thread];
      const uint64_t track = thread_track(machine, interval.thread);
      const int64_t begin_ns = interval.begin_ns + machine.offset_ns();
      if (open.request != interval.request || open.end_ns != interval.begin_ns) {
        close(interval.thread, open);
        open.request = interval.request;
        if (interval.request != 0) {
          open.name = name_id(fmt::format("request {:016x}", interval.request));
          events.push_back({begin_ns, Place::kRequestBegin, track, open.name, nullptr});
        }
      }
      open.end_ns = interval.end_ns;
      const uint64_t name = name_id(std::string(name_of(interval.state)));
      const BurstThread* const waker =
          interval.waker == traces::kNoThread ? nullptr : &machine.recording->threads[interval.waker];
      events.push_back({begin_ns, Place::kStateBegin, track, name, waker});
      events.push_back({interval.end_ns + machine.offset_ns(), Place::kStateEnd, track, name, nullptr});
    }
    for (auto& [thread, open] : threads) {
      close(thread, open);
    }
  }

  void add_event(const SliceEvent& event) {
    WireMessage slice;
    slice.number(field::kEventType, event.type());
    slice.number(field::kEventTrack, event.track);
    if (event.type() != kSliceEnd) {
      slice.number(field::kEventCategoryIds,
                   event.place == Place::kStateBegin ? kCategoryThread : kCategoryRequest);
      slice.number(field::kEventNameId, event.name);
    }
    if (event.waker != nullptr) {
      WireMessage annotation;
      annotation.text(field::kAnnotationName, "woken by");
      annotation.text(field::kAnnotationText,
                      fmt::format("{} ({})", printable(event.waker->name), event.waker->tid));
      slice.message(field::kEventAnnotations, annotation);
    }
    WireMessage packet = new_packet(kNeedsState);
    packet.number(field::kPacketTimestamp, unsigned_time(event.time_ns));
    packet.message(field::kPacketTrackEvent, slice);
    add(packet);
  }

  // Of tables of their own, by field: each recording has other numbers for the same text.
  uint64_t interned_text(uint32_t table, const std::string& text) {
    const auto [found, is_new] = texts_.try_emplace(std::pair(table, text), texts_.size() + 1);
    if (is_new) {
      add_interned(table, interned_name(found->second, text));
    }
    return found->second;
  }

  void add_interned(uint32_t table, const WireMessage& entry) {
    WireMessage interned;
    interned.message(table, entry);
    WireMessage packet = new_packet(kNeedsState);
    packet.message(field::kPacketInternedData, interned);
    add(packet);
  }

  uint64_t mapping_id(const traces::BurstRecording& recording, uint32_t index) {
    const auto [found, is_new] = mappings_.try_emplace(OfRecording(&recording, index), mappings_.size() + 1);
    if (is_new) {
      const traces::BurstBinary& binary = recording.stacks.binaries[index];
      WireMessage mapping;
      mapping.number(field::kInternedId, found->second);
      if (!binary.build_id.empty()) {
        mapping.number(field::kMappingBuildId, interned_text(field::kInternedBuildIds, binary.build_id));
      }
      mapping.number(field::kMappingPath,
                     interned_text(field::kInternedMappingPaths, printable(binary.path)));
      add_interned(field::kInternedMappings, mapping);
    }
    return found->second;
  }

  uint64_t frame_id(const traces::BurstRecording& recording, uint32_t index) {
    const auto [found, is_new] = frames_.try_emplace(OfRecording(&recording, index), frames_.size() + 1);
    if (is_new) {
      const traces::BurstFrame& frame = recording.stacks.frames[index];
      const std::string name = printable(name_of_frame(recording.stacks, index));
      WireMessage entry;
      entry.number(field::kInternedId, found->second);
      entry.number(field::kFrameFunction, interned_text(field::kInternedFunctions, name));
      entry.number(field::kFrameMapping, mapping_id(recording, frame.binary));
      entry.number(field::kFrameRelativePc, frame.address);
      add_interned(field::kInternedFrames, entry);
    }
    return found->second;
  }

  // The outermost frame comes first.
  uint64_t callstack_id(const traces::BurstRecording& recording, uint64_t stack) {
    const auto [found, is_new] =
        callstacks_.try_emplace(OfRecording(&recording, stack), callstacks_.size() + 1);
    if (is_new) {
      std::vector<uint64_t> frames;
      recording.stacks.for_each_frame(stack,
                                      [&](uint32_t frame) { frames.push_back(frame_id(recording, frame)); });
      WireMessage callstack;
      callstack.number(field::kInternedId, found->second);
      for (const uint64_t frame : std::views::reverse(frames)) {
        callstack.number(field::kCallstackFrame, frame);
      }
      add_interned(field::kInternedCallstacks, callstack);
    }
    return found->second;
  }

  void add_samples(const SceneMachine& machine) {
    for (const traces::BurstEvent& event : machine.burst->events) {
      if (event.kind != BurstEventKind::kSample || event.first == 0) {
        continue;
      }
      const BurstThread& thread = machine.recording->threads[event.thread];
      WireMessage sample;
      sample.number(field::kSampleCpu, event.cpu);
      sample.number(field::kSamplePid, thread.pid != 0 ? thread.pid : thread.tid);
      sample.number(field::kSampleTid, thread.tid);
      sample.number(field::kSampleCallstack, callstack_id(*machine.recording, event.first));
      WireMessage packet = new_packet(kNeedsState);
      packet.number(field::kPacketTimestamp, unsigned_time(event.time_ns + machine.offset_ns()));
      packet.message(field::kPacketPerfSample, sample);
      add(packet);
    }
  }

  // A bundle for each run of events of one CPU, so that they stay in order.
  void add_ftrace(const SceneMachine& machine) {
    constexpr size_t kMaxBundleEvents = 1000;
    WireMessage bundle;
    size_t events = 0;
    uint16_t cpu = 0;
    const auto end = [&] {
      if (events > 0) {
        WireMessage packet;
        packet.number(field::kPacketSequence, kSequence);
        packet.message(field::kPacketFtraceEvents, bundle);
        add(packet);
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

  static WireMessage ftrace_event(const SceneMachine& machine, const traces::BurstEvent& event) {
    const BurstThread& thread = machine.recording->threads[event.thread];
    const BurstThread& other = machine.recording->threads[event.other];
    WireMessage made;
    made.number(field::kFtraceTimestamp, unsigned_time(event.time_ns + machine.offset_ns()));
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

  const std::vector<std::vector<SceneMachine>>& bursts_;
  const std::function<Status(std::string_view)>& write_;
  Status written_;     // the first failure
  std::string bytes_;  // that are not written yet
  uint64_t next_track_ = 1;
  uint64_t requests_track_ = 0;
  // By name: of one machine there may be several recordings, one after the other.
  std::set<std::string_view> machines_;
  std::map<std::string_view, uint64_t> machine_tracks_;
  std::map<uint32_t, uint64_t> process_tracks_;                   // by process ID
  std::unordered_map<uint32_t, std::string_view> process_names_;  // of one machine
  std::set<const traces::BurstRecording*> named_;                 // whose processes are in it
  // By machine, copy, PID and TID.
  std::map<std::tuple<std::string_view, uint32_t, uint32_t, uint32_t>, uint64_t> thread_tracks_;
  // Of a burst that a machine recorded twice, by two configs or since its clock was set back: slices of one track may not overlap.
  uint32_t copy_ = 0;
  std::unordered_map<std::string, uint64_t> names_;
  // Of stacks, whose numbers are those of their recording.
  using OfRecording = std::pair<const traces::BurstRecording*, uint64_t>;
  std::map<std::pair<uint32_t, std::string>, uint64_t> texts_;
  std::map<OfRecording, uint64_t> mappings_;
  std::map<OfRecording, uint64_t> frames_;
  std::map<OfRecording, uint64_t> callstacks_;
};

}  // namespace

Status write_perfetto_trace(const std::vector<std::vector<SceneMachine>>& bursts,
                            const std::function<Status(std::string_view piece)>& write) {
  return PerfettoWriter(bursts, write).run();
}

}  // namespace plimsoll::formats
