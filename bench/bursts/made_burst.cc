#include "bench/bursts/made_burst.h"

#include <fmt/format.h>

#include <random>
#include <utility>
#include <vector>

#include "traces/bursts/marks/mark.h"

namespace plimsoll::bench {
namespace {

constexpr uint32_t kThreads = 64;
constexpr uint32_t kRequestSwitches = 40;

}  // namespace

traces::BurstRecording made_burst(size_t events) {
  traces::BurstRecording recording;
  recording.machine = "bench";
  recording.config_bits = 0x7F00;
  recording.threads.push_back({0, 0, "idle"});
  for (uint32_t i = 1; i <= kThreads; ++i) {
    recording.threads.push_back({100 + i, 100, fmt::format("worker-{}", i)});
  }
  traces::Burst burst;
  std::mt19937_64 random(1);
  std::vector<uint32_t> switches(kThreads + 1, 0);
  std::vector<uint64_t> requests(kThreads + 1, 0);
  uint64_t next_request = 1;
  int64_t time_ns = 0;
  const auto add = [&](traces::BurstEventKind kind, uint32_t thread, uint32_t other, uint64_t first,
                       uint64_t second) {
    traces::BurstEvent event;
    event.time_ns = time_ns;
    event.kind = kind;
    event.thread = thread;
    event.other = other;
    event.first = first;
    event.second = second;
    burst.events.push_back(event);
  };
  const auto mark = [&](traces::MarkKind kind, uint32_t thread, uint64_t request) {
    add(traces::BurstEventKind::kMarkCall, thread, 0, traces::kMarkHead, traces::mark_head(kind, request));
    add(traces::BurstEventKind::kMarkCall, thread, 0, traces::kMarkValue, request);
  };
  while (burst.events.size() < events) {
    const auto thread = static_cast<uint32_t>(1 + random() % kThreads);
    time_ns += static_cast<int64_t>(random() % 1000);
    if (switches[thread]++ % kRequestSwitches == 0) {
      if (requests[thread] != 0) {
        mark(traces::MarkKind::kStop, thread, requests[thread]);
      }
      requests[thread] = next_request++;
      mark(traces::MarkKind::kStart, thread, requests[thread]);
    }
    add(traces::BurstEventKind::kSwitch, thread, 0, 1, 0);
    const auto woken = static_cast<uint32_t>(1 + random() % kThreads);
    time_ns += static_cast<int64_t>(random() % 1000);
    add(traces::BurstEventKind::kWake, 0, woken, 1, 0);
    add(traces::BurstEventKind::kSwitch, 0, woken, 0, 0);
  }
  burst.off_ns = time_ns + 1;
  recording.bursts.push_back(std::move(burst));
  return recording;
}

}  // namespace plimsoll::bench
