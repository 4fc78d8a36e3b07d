#include "traces/bursts/recording/burst_codec.h"

#include <vector>

#include "base/time.h"

namespace plimsoll::traces {
namespace {

// A time plus an offset less a planned time does not overflow, nor a burst's length times the most threads that a recording may have.
// 36 years of uptime, dates until 2116, and 36 minutes.
constexpr int64_t kMaxTimeNs = int64_t{1} << 60;
constexpr int64_t kMaxWallNs = int64_t{1} << 62;
constexpr int64_t kMinOffsetNs = -(int64_t{1} << 61);
constexpr int64_t kMaxBurstNs = int64_t{1} << 41;
// kind, CPU, time, thread, and the call or the other thread, a byte each.
constexpr uint64_t kMinEventBytes = 5;

bool is_time(int64_t time_ns) {
  return -kMaxTimeNs <= time_ns && time_ns <= kMaxTimeNs;
}

bool is_wall_ms(int64_t time_ms) {
  return 0 <= time_ms && time_ms <= kMaxWallNs / kNsPerMs;
}

bool is_offset(int64_t offset_ns) {
  return kMinOffsetNs <= offset_ns && offset_ns <= kMaxWallNs;
}

bool has_other(BurstEventKind kind) {
  return kind == BurstEventKind::kSwitch || kind == BurstEventKind::kWake ||
         kind == BurstEventKind::kNewThread;
}

bool has_second(BurstEventKind kind) {
  return kind == BurstEventKind::kMarkCall || kind == BurstEventKind::kDiskIssue ||
         kind == BurstEventKind::kDiskDone || is_of_application(kind);
}

// Columns one behind the other compress to half of what rows do.
void write_events(const std::vector<BurstEvent>& events, VarintWriter& out) {
  out.number(events.size());
  for (const BurstEvent& event : events) {
    out.number(static_cast<uint64_t>(event.kind));
  }
  for (const BurstEvent& event : events) {
    out.number(event.cpu);
  }
  uint64_t before_ns = 0;
  for (const BurstEvent& event : events) {
    // Without a sign, as in read_events(): the difference of two times may be more than an int64_t holds.
    const auto time_ns = static_cast<uint64_t>(event.time_ns);
    out.signed_number(static_cast<int64_t>(time_ns - before_ns));
    before_ns = time_ns;
  }
  for (const BurstEvent& event : events) {
    out.number(event.thread);
  }
  for (const BurstEvent& event : events) {
    out.number(has_other(event.kind) ? event.other : event.first);
  }
  for (const BurstEvent& event : events) {
    if (has_other(event.kind)) {
      out.number(event.first);
    } else if (has_second(event.kind)) {
      out.number(event.second);
    }
  }
}

std::vector<BurstEvent> read_events(uint64_t max_events, const BurstBounds& bounds, VarintReader& in) {
  std::vector<BurstEvent> events(in.count(max_events, kMinEventBytes));
  for (BurstEvent& event : events) {
    event.kind = static_cast<BurstEventKind>(in.number_up_to(bounds.kinds - 1));
  }
  for (BurstEvent& event : events) {
    event.cpu = static_cast<uint16_t>(in.number_up_to(UINT16_MAX));
  }
  uint64_t before_ns = 0;
  for (BurstEvent& event : events) {
    // Without a sign, so that damage cannot overflow.
    before_ns += static_cast<uint64_t>(in.signed_number());
    event.time_ns = static_cast<int64_t>(before_ns);
  }
  const uint64_t last_thread = bounds.threads == 0 ? 0 : bounds.threads - 1;
  for (BurstEvent& event : events) {
    event.thread = static_cast<uint32_t>(in.number_up_to(last_thread));
  }
  for (BurstEvent& event : events) {
    if (has_other(event.kind)) {
      event.other = static_cast<uint32_t>(in.number_up_to(last_thread));
    } else {
      event.first = in.number_up_to(event.kind == BurstEventKind::kSample ? bounds.last_stack : UINT64_MAX);
    }
  }
  for (BurstEvent& event : events) {
    if (has_other(event.kind)) {
      event.first = in.number();
    } else if (has_second(event.kind)) {
      event.second = in.number();
    }
  }
  return events;
}

}  // namespace

void write_burst(const Burst& burst, VarintWriter& out) {
  for (const int64_t value : {burst.planned.begin_ms, burst.planned.end_ms, burst.on_ns, burst.off_ns,
                              burst.wall_offset_on_ns, burst.wall_offset_off_ns}) {
    out.signed_number(value);
  }
  for (const uint64_t lost : burst.lost) {
    out.number(lost);
  }
  out.number(burst.unread_bytes);
  write_events(burst.events, out);
}

Burst read_burst(uint64_t max_events, const BurstBounds& bounds, VarintReader& in) {
  Burst burst;
  for (int64_t* value : {&burst.planned.begin_ms, &burst.planned.end_ms, &burst.on_ns, &burst.off_ns,
                         &burst.wall_offset_on_ns, &burst.wall_offset_off_ns}) {
    *value = in.signed_number();
  }
  for (uint64_t kind = 0; kind < bounds.kinds; ++kind) {
    burst.lost[kind] = in.number();
  }
  burst.unread_bytes = in.number();
  burst.events = read_events(max_events, bounds, in);
  return burst;
}

bool has_sound_times(const Burst& burst) {
  return is_wall_ms(burst.planned.begin_ms) && is_wall_ms(burst.planned.end_ms) && is_time(burst.on_ns) &&
         is_time(burst.off_ns) && burst.on_ns <= burst.off_ns && burst.off_ns - burst.on_ns <= kMaxBurstNs &&
         is_offset(burst.wall_offset_on_ns) && is_offset(burst.wall_offset_off_ns) &&
         (burst.events.empty() ||
          (is_time(burst.events.front().time_ns) && is_time(burst.events.back().time_ns)));
}

}  // namespace plimsoll::traces
