#include "formats/perfetto/perfetto_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/printable.h"
#include "formats/perfetto/fields.h"
#include "formats/perfetto/ftrace_events.h"
#include "formats/perfetto/packet_writer.h"
#include "formats/perfetto/stacks.h"
#include "formats/perfetto/tracks.h"
#include "formats/perfetto/wire_writer.h"
#include "traces/bursts/joined/application_rpcs.h"
#include "traces/bursts/joined/request_times.h"

namespace plimsoll::formats::perfetto {
namespace {

using traces::BurstEventKind;
using traces::BurstThread;
using traces::SceneMachine;
using traces::StateInterval;

constexpr uint64_t kClockRealtime = 1;
constexpr uint64_t kClockBoottime = 6;
constexpr uint64_t kSliceBegin = 1;
constexpr uint64_t kSliceEnd = 2;
constexpr uint64_t kInstant = 3;

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

bool are_of_one_machine(const std::vector<std::vector<SceneMachine>>& bursts) {
  std::set<std::string_view> machines;
  for (const auto& burst : bursts) {
    for (const SceneMachine& machine : burst) {
      machines.insert(machine.recording->machine);
    }
  }
  return machines.size() <= 1;
}

class TraceWriter {
 public:
  TraceWriter(const std::vector<std::vector<SceneMachine>>& bursts,
              const std::function<Status(std::string_view)>& write)
      : bursts_(bursts),
        is_one_machine_(are_of_one_machine(bursts)),
        out_(write),
        tracks_(out_, is_one_machine_),
        stacks_(out_) {
    for (const auto& burst : bursts) {
      for (const SceneMachine& machine : burst) {
        tracks_.add_process_names(*machine.recording);
      }
    }
  }

  Status run() {
    begin();
    for (const auto& burst : bursts_) {
      if (!out_.written()) {
        break;
      }
      add_burst(burst);
    }
    out_.flush();
    return out_.written();
  }

 private:
  void begin() {
    const int64_t first_ns = bursts_.empty() || bursts_.front().empty()
                                 ? 0
                                 : bursts_.front().front().burst->on_ns + bursts_.front().front().offset_ns();
    WireMessage snapshot;
    for (const uint64_t id : {kClockBoottime, kClockRealtime}) {
      WireMessage clock;
      clock.number(field::kClockId, id);
      clock.number(field::kClockTimestamp, trace_time(first_ns));
      snapshot.message(field::kSnapshotClocks, clock);
    }
    snapshot.number(field::kSnapshotPrimary, kClockBoottime);
    WireMessage packet = PacketWriter::first_packet();
    packet.message(field::kPacketClockSnapshot, snapshot);
    WireMessage interned;
    for (const auto& [id, name] :
         {std::pair(kCategoryThread, "thread"), std::pair(kCategoryRequest, "request")}) {
      interned.message(field::kInternedCategories, interned_text_entry(id, name));
    }
    packet.message(field::kPacketInternedData, interned);
    out_.add(packet);
    tracks_.begin();
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
          const uint64_t track = tracks_.request(*machine.recording, request.request);
          const uint64_t name = out_.name_id(fmt::format("request {:016x}", request.request));
          events.push_back(
              {request.begin_ns + machine.offset_ns(), Place::kRequestBegin, track, name, nullptr});
          events.push_back({request.end_ns + machine.offset_ns(), Place::kRequestEnd, track, name, nullptr});
        }
      }
      add_told(machine, events);
      if (is_one_machine_) {
        add_ftrace(machine, out_);
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
      const uint64_t name = out_.name_id(fmt::format("rpc {} {}{}{}", rpc.is_in ? "in" : "out",
                                                     printable(text_of_detail(recording, rpc.detail)),
                                                     peer.empty() ? ""
                                                     : rpc.is_in  ? " from "
                                                                  : " to ",
                                                     peer));
      const uint64_t parent = tracks_.thread(*machine.recording, copy_, rpc.thread);
      if (rpc.begin_ns >= rpc.end_ns) {
        events.push_back({rpc.begin_ns + machine.offset_ns(), Place::kPoint, parent, name, nullptr});
        continue;
      }
      const uint64_t track = tracks_.rpc(parent);
      events.push_back({rpc.begin_ns + machine.offset_ns(), Place::kRequestBegin, track, name, nullptr});
      events.push_back({rpc.end_ns + machine.offset_ns(), Place::kRequestEnd, track, name, nullptr});
    }
    for (const traces::BurstEvent& event : machine.burst->events) {
      if (event.kind == BurstEventKind::kAnnotation || event.kind == BurstEventKind::kNamedPhase) {
        const std::string text = printable(text_of_detail(recording, event.second));
        const uint64_t name =
            out_.name_id(event.kind == BurstEventKind::kAnnotation ? fmt::format("{} ({})", text, event.first)
                                                                   : "phase " + text);
        events.push_back({event.time_ns + machine.offset_ns(), Place::kPoint,
                          tracks_.thread(*machine.recording, copy_, event.thread), name, nullptr});
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
                          tracks_.thread(*machine.recording, copy_, thread), open.name, nullptr});
      }
      open.request = 0;
    };
    for (const StateInterval& interval : joined.intervals) {
      if (interval.begin_ns >= interval.end_ns) {
        continue;
      }
      Open& open = threads[interval.thread];
      const uint64_t track = tracks_.thread(*machine.recording, copy_, interval.thread);
      const int64_t begin_ns = interval.begin_ns + machine.offset_ns();
      if (open.request != interval.request || open.end_ns != interval.begin_ns) {
        close(interval.thread, open);
        open.request = interval.request;
        if (interval.request != 0) {
          open.name = out_.name_id(fmt::format("request {:016x}", interval.request));
          events.push_back({begin_ns, Place::kRequestBegin, track, open.name, nullptr});
        }
      }
      open.end_ns = interval.end_ns;
      const uint64_t name = out_.name_id(std::string(name_of(interval.state)));
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
    WireMessage packet = PacketWriter::new_packet();
    packet.number(field::kPacketTimestamp, trace_time(event.time_ns));
    packet.message(field::kPacketTrackEvent, slice);
    out_.add(packet);
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
      sample.number(field::kSampleCallstack, stacks_.callstack(*machine.recording, event.first));
      WireMessage packet = PacketWriter::new_packet();
      packet.number(field::kPacketTimestamp, trace_time(event.time_ns + machine.offset_ns()));
      packet.message(field::kPacketPerfSample, sample);
      out_.add(packet);
    }
  }

  const std::vector<std::vector<SceneMachine>>& bursts_;
  const bool is_one_machine_;
  PacketWriter out_;
  Tracks tracks_;
  Stacks stacks_;
  uint32_t copy_ = 0;  // of the machine whose part of a burst is added
};

}  // namespace
}  // namespace plimsoll::formats::perfetto

namespace plimsoll::formats {

Status write_perfetto_trace(const std::vector<std::vector<traces::SceneMachine>>& bursts,
                            const std::function<Status(std::string_view piece)>& write) {
  return perfetto::TraceWriter(bursts, write).run();
}

}  // namespace plimsoll::formats
