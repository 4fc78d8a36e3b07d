// How many events a burst can have without loss, how large they are in a file, and what open events cost
// between bursts.
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/time.h"
#include "bench/bursts/hand_over.h"
#include "bench/bursts/parts.h"
#include "bench/harness/statistics.h"
#include "daemon/bursts/burst_recorder.h"
#include "daemon/events/cpu_list.h"
#include "traces/bursts/recording/burst_file.h"

namespace plimsoll::bench {
namespace {

constexpr double kGoalEventsPerSecond = 200'000;
constexpr double kGoalBytesPerEvent = 6;
// Two switches, two wake-ups and the two calls of a mark in each turn: 222,000 events a second and CPU.
constexpr int64_t kTurnNs = 27'000;

struct RecordedBurst {
  double events_per_second = 0;  // of a CPU
  uint64_t lost = 0;
  double bytes_per_event = 0;
  double decoding_ns_per_event = 0;
};

Result<RecordedBurst> record_burst(const std::vector<int>& cpus, int64_t duration_ns) {
  bursts::BurstRecorderOptions options;
  // Of one burst of all CPUs; a record takes some 100 bytes.
  options.max_burst_bytes = std::max(options.max_burst_bytes, (uint64_t{64} << 20) * cpus.size());
  auto recorder = bursts::BurstRecorder::open(options);
  if (!recorder) {
    return propagate(recorder);
  }
  traces::Burst burst;
  if (const Status enabled = (*recorder)->enable(burst); !enabled) {
    return propagate(enabled);
  }
  const auto turns =
      hand_over({.cpus = cpus, .duration_ns = duration_ns, .turn_ns = kTurnNs, .is_marked = true});
  const Status disabled = (*recorder)->disable(burst);
  if (!turns || !disabled) {
    return turns ? propagate(disabled) : propagate(turns);
  }
  const int64_t decoding_ns = thread_cpu_ns();
  if (const Status finished = (*recorder)->finish(burst); !finished) {
    return propagate(finished);
  }
  const int64_t decoded_ns = thread_cpu_ns();
  const auto events = static_cast<double>(std::max<size_t>(burst.events.size(), 1));
  const double seconds = static_cast<double>(burst.off_ns - burst.on_ns) / static_cast<double>(kNsPerSecond);
  RecordedBurst recorded{.events_per_second = events / seconds / static_cast<double>(cpus.size()),
                         .lost = burst.all_lost(),
                         .bytes_per_event = 0,
                         .decoding_ns_per_event = static_cast<double>(decoded_ns - decoding_ns) / events};
  traces::BurstRecording recording;
  recording.machine = "bench";
  recording.config_bits = 0x7F00;
  recording.threads = (*recorder)->take_threads();
  recording.bursts.push_back(std::move(burst));
  recorded.bytes_per_event = static_cast<double>(traces::encode_bursts(recording).size()) / events;
  return recorded;
}

double getpid_ns() {
  constexpr int kGetpidCalls = 100'000;
  const int64_t start_ns = thread_cpu_ns();
  for (int i = 0; i < kGetpidCalls; ++i) {
    keep(static_cast<uint64_t>(::syscall(SYS_getpid)));
  }
  return static_cast<double>(thread_cpu_ns() - start_ns) / kGetpidCalls;
}

// Of one CPU, a turn of two switches.
Result<double> turn_ns(int cpu) {
  constexpr int64_t kDurationNs = 200 * kNsPerMs;
  const auto turns = hand_over({.cpus = {cpu}, .duration_ns = kDurationNs, .turn_ns = 0, .is_marked = false});
  return turns ? Result<double>(static_cast<double>(kDurationNs) /
                                static_cast<double>(std::max<uint64_t>(*turns, 1)))
               : propagate(turns);
}

struct Costs {
  std::vector<double> getpid;
  std::vector<double> turn;

  Status add(int cpu) {
    getpid.push_back(getpid_ns());
    const auto ns = turn_ns(cpu);
    turn.push_back(ns.value_or(0));
    return ns ? Status() : propagate(ns);
  }
};

}  // namespace

bool can_record_bursts(std::string_view part, Report& report) {
  const Status can = bursts::BurstRecorder::check();
  if (!can) {
    report.skip(part, can.error().text());
  }
  return can.has_value();
}

Status measure_recording(const Flags& flags, Report& report) {
  if (!can_record_bursts("recording", report)) {
    return {};
  }
  const auto cpus = perf::online_cpus();
  if (!cpus) {
    return propagate(cpus);
  }
  const int rounds = flags.quick ? 3 : 9;
  std::vector<double> rates;
  std::vector<double> bytes;
  std::vector<double> decoding;
  uint64_t lost = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto recorded = record_burst(*cpus, flags.quick ? 256 * kNsPerMs : 1024 * kNsPerMs);
    if (!recorded) {
      return propagate(recorded);
    }
    rates.push_back(recorded->events_per_second);
    bytes.push_back(recorded->bytes_per_event);
    decoding.push_back(recorded->decoding_ns_per_event);
    lost += recorded->lost;
  }
  report.add({.name = "bursts-recorded-events-per-second",
              .value = median(rates),
              .unit = "events/s",
              .better = Better::kHigher,
              .goal = kGoalEventsPerSecond,
              .note = fmt::format("per CPU, of {}; the load makes up to 222,000", cpus->size())});
  report.add({.name = "bursts-lost-events",
              .value = static_cast<double>(lost),
              .unit = "events",
              .goal = 0,
              .note = fmt::format("of {} bursts", rounds)});
  report.add({.name = "bursts-bytes-per-event",
              .value = median(bytes),
              .unit = "bytes",
              .goal = kGoalBytesPerEvent,
              .note = "of the file: switches, wake-ups and marks"});
  report.add({.name = "bursts-decoding-ns-per-event", .value = median(decoding), .unit = "ns"});
  return {};
}

Status measure_between(const Flags& flags, Report& report) {
  if (!can_record_bursts("between", report)) {
    return {};
  }
  const auto cpus = perf::online_cpus();
  if (!cpus || cpus->empty()) {
    return cpus ? fail(ErrorCode::kUnsupported, "no CPU is online") : propagate(cpus);
  }
  Costs without;
  Costs with;
  const int rounds = flags.quick ? 7 : 21;
  for (int round = 0; round < rounds; ++round) {
    if (const Status measured = without.add(cpus->front()); !measured) {
      return measured;
    }
    // Opened and not enabled, as between bursts.
    const auto recorder = bursts::BurstRecorder::open({});
    if (!recorder) {
      return propagate(recorder);
    }
    if (const Status measured = with.add(cpus->front()); !measured) {
      return measured;
    }
  }
  report.add({.name = "getpid-between-bursts-ns",
              .value = median(with.getpid),
              .unit = "ns",
              .peer = "without a recording",
              .peer_value = median(without.getpid)});
  report.add({.name = "pipe-turn-between-bursts-ns",
              .value = median(with.turn),
              .unit = "ns",
              .peer = "without a recording",
              .peer_value = median(without.turn),
              .note = "two switches, two writes, two reads"});
  return {};
}

}  // namespace plimsoll::bench
