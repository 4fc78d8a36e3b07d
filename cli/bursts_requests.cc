#include "cli/bursts_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/sort_stably.h"
#include "base/time.h"
#include "cli/bursts_files.h"
#include "cli/views/answer_source.h"
#include "traces/bursts/joined/chrome_json.h"
#include "traces/bursts/joined/request_times.h"

namespace plimsoll::cli {
namespace {

using traces::RequestTimes;
using traces::ThreadState;

struct BurstRequest {
  RequestTimes times;
  int64_t wall_offset_ns = 0;

  int64_t duration_ns() const { return times.end_ns - times.begin_ns; }
};

struct FoundRequests {
  std::vector<BurstRequest> requests;  // the longest first
  uint64_t whole = 0;
  uint64_t cut = 0;
  uint64_t lost_events = 0;
  uint64_t contradictions = 0;
};

FoundRequests find_requests(const traces::BurstRecording& recording, bool whole_only) {
  FoundRequests found;
  for (const traces::Burst& burst : recording.bursts) {
    const traces::JoinedBurst joined = join_burst(burst);
    found.lost_events += burst.all_lost();
    found.contradictions += joined.contradictions;
    for (const RequestTimes& times : request_times(burst, joined)) {
      ++(times.is_whole ? found.whole : found.cut);
      if (times.is_whole || !whole_only) {
        found.requests.push_back({times, burst.wall_offset_on_ns});
      }
    }
  }
  sort_stably(found.requests, [](const BurstRequest& request) { return -request.duration_ns(); });
  return found;
}

double ms(int64_t ns) {
  return static_cast<double>(ns) / static_cast<double>(kNsPerMs);
}

std::string requests_text(const FoundRequests& found) {
  std::string text = fmt::format("{:<18}{:<32}{:>11}{:>11}{:>11}{:>11}{:>9}\n", "request", "begin", "ms",
                                 "running", "runnable", "blocked", "threads");
  for (const BurstRequest& request : found.requests) {
    const RequestTimes& times = request.times;
    text += fmt::format("{:016x}  {:<32}{:>11.3f}{:>11.3f}{:>11.3f}{:>11.3f}{:>9}{}\n", times.request,
                        format_time(times.begin_ns + request.wall_offset_ns), ms(request.duration_ns()),
                        ms(times.in(ThreadState::kRunning)), ms(times.in(ThreadState::kRunnable)),
                        ms(times.in(ThreadState::kBlocked)), times.threads, times.is_whole ? "" : "  cut");
  }
  text += fmt::format("{} whole requests, {} cut off by a burst's begin or end\n", found.whole, found.cut);
  if (found.lost_events > 0 || found.contradictions > 0) {
    text += fmt::format("note: {} events were lost, {} switches contradict others: times may be wrong\n",
                        found.lost_events, found.contradictions);
  }
  return text;
}

std::string requests_json(const FoundRequests& found) {
  std::string text = fmt::format(
      "{{\"whole\": {}, \"cut\": {}, \"lost_events\": {}, \"contradictions\": {}, \"requests\": [",
      found.whole, found.cut, found.lost_events, found.contradictions);
  bool is_first = true;
  for (const BurstRequest& request : found.requests) {
    const RequestTimes& times = request.times;
    text += fmt::format(
        "{}{{\"request\": \"{:016x}\", \"begin\": \"{}\", \"duration_ns\": {}, \"running_ns\": {}, "
        "\"runnable_ns\": {}, \"blocked_ns\": {}, \"threads\": {}, \"is_whole\": {}}}",
        std::exchange(is_first, false) ? "" : ", ", times.request,
        format_time(times.begin_ns + request.wall_offset_ns), request.duration_ns(),
        times.in(ThreadState::kRunning), times.in(ThreadState::kRunnable), times.in(ThreadState::kBlocked),
        times.threads, times.is_whole);
  }
  return text + "]}\n";
}

}  // namespace

Status run_bursts_requests(const BurstsRequestsOptions& options) {
  const auto recording = read_burst_file(options.file);
  if (!recording) {
    return propagate(recording);
  }
  FoundRequests found = find_requests(*recording, options.whole_only);
  found.requests.resize(std::min<size_t>(found.requests.size(), options.limit));
  return write_output("-", options.is_json ? requests_json(found) : requests_text(found));
}

Status run_bursts_export(const BurstsExportOptions& options) {
  const auto recording = read_burst_file(options.file);
  if (!recording) {
    return propagate(recording);
  }
  return write_output_in_pieces(options.output, [&](const WritePiece& write) {
    return traces::write_chrome_json(*recording,
                                     [&](std::string_view piece) { return write(as_bytes(piece)); });
  });
}

}  // namespace plimsoll::cli
