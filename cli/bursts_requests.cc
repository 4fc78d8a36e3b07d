#include "cli/bursts_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "base/sort_stably.h"
#include "base/time.h"
#include "cli/bursts_files.h"
#include "cli/bursts_machines.h"
#include "cli/json_text.h"
#include "cli/views/answer_source.h"
#include "formats/perfetto/perfetto_trace.h"
#include "traces/bursts/joined/chrome_json.h"
#include "traces/bursts/joined/request_times.h"

namespace plimsoll::cli {
namespace {

using traces::RequestTimes;
using traces::ThreadState;

struct BurstRequest {
  RequestTimes times;
  int64_t offset_ns = 0;  // to the wall clock, repaired
  std::string machine;

  int64_t duration_ns() const { return times.end_ns - times.begin_ns; }
  int64_t wall_begin_ns() const { return times.begin_ns + offset_ns; }
};

struct FoundRequests {
  std::vector<BurstRequest> requests;  // the longest first
  uint64_t whole = 0;
  uint64_t cut = 0;
  uint64_t lost_events = 0;
  uint64_t contradictions = 0;
  bool has_machines = false;  // several
  std::vector<std::string> notes;
};

FoundRequests find_requests(const BurstMachines& machines, bool whole_only) {
  FoundRequests found;
  found.has_machines = machines.recordings.size() > 1;
  found.notes = clock_notes(machines);
  for (const BurstOfMachines& together : machines.bursts) {
    for (const traces::SceneMachine& machine : together.machines) {
      const traces::JoinedBurst joined = join_burst(*machine.burst);
      found.lost_events += machine.burst->all_lost();
      found.contradictions += joined.contradictions;
      for (const RequestTimes& times : request_times(*machine.burst, joined)) {
        ++(times.is_whole ? found.whole : found.cut);
        if (times.is_whole || !whole_only) {
          found.requests.push_back({times, machine.offset_ns(), machine.recording->machine});
        }
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
  std::string text =
      fmt::format("{:<18}{:<32}{:>11}{:>11}{:>11}{:>11}{:>9}{}\n", "request", "begin", "ms", "running",
                  "runnable", "blocked", "threads", found.has_machines ? "  machine" : "");
  for (const BurstRequest& request : found.requests) {
    const RequestTimes& times = request.times;
    text += fmt::format("{:016x}  {:<32}{:>11.3f}{:>11.3f}{:>11.3f}{:>11.3f}{:>9}{}{}\n", times.request,
                        format_time(request.wall_begin_ns()), ms(request.duration_ns()),
                        ms(times.in(ThreadState::kRunning)), ms(times.in(ThreadState::kRunnable)),
                        ms(times.in(ThreadState::kBlocked)), times.threads,
                        found.has_machines ? fmt::format("  {}", printable(request.machine)) : std::string(),
                        times.is_whole ? "" : "  cut");
  }
  text += fmt::format("{} whole requests, {} cut off by a burst's begin or end\n", found.whole, found.cut);
  if (found.lost_events > 0 || found.contradictions > 0) {
    text += fmt::format("note: {} events were lost, {} switches contradict others: times may be wrong\n",
                        found.lost_events, found.contradictions);
  }
  for (const std::string& note : found.notes) {
    text += fmt::format("note: {}\n", note);
  }
  return text;
}

std::string requests_json(const FoundRequests& found) {
  std::string text =
      fmt::format("{{\"whole\": {}, \"cut\": {}, \"lost_events\": {}, \"contradictions\": {}, \"notes\": [",
                  found.whole, found.cut, found.lost_events, found.contradictions);
  for (size_t i = 0; i < found.notes.size(); ++i) {
    text += i == 0 ? "" : ", ";
    append_json_string(found.notes[i], text);
  }
  text += "], \"requests\": [";
  bool is_first = true;
  for (const BurstRequest& request : found.requests) {
    const RequestTimes& times = request.times;
    text += fmt::format(
        "{}{{\"request\": \"{:016x}\", \"begin\": \"{}\", \"duration_ns\": {}, \"running_ns\": {}, "
        "\"runnable_ns\": {}, \"blocked_ns\": {}, \"threads\": {}, \"is_whole\": {}, \"machine\": ",
        std::exchange(is_first, false) ? "" : ", ", times.request, format_time(request.wall_begin_ns()),
        request.duration_ns(), times.in(ThreadState::kRunning), times.in(ThreadState::kRunnable),
        times.in(ThreadState::kBlocked), times.threads, times.is_whole);
    append_json_string(request.machine, text);
    text += "}";
  }
  return text + "]}\n";
}

Status export_perfetto(const BurstsExportOptions& options) {
  const auto machines = read_burst_machines(options.files, options.spans);
  if (!machines) {
    return propagate(machines);
  }
  // Standard output may be the trace.
  for (const std::string& note : clock_notes(*machines)) {
    fmt::print(stderr, "note: {}\n", note);
  }
  std::vector<std::vector<traces::SceneMachine>> bursts;
  for (const BurstOfMachines& burst : machines->bursts) {
    bursts.push_back(burst.machines);
  }
  return write_output_in_pieces(options.perfetto, [&](const WritePiece& write) {
    return formats::write_perfetto_trace(bursts,
                                         [&](std::string_view piece) { return write(as_bytes(piece)); });
  });
}

}  // namespace

Status run_bursts_requests(const BurstsRequestsOptions& options) {
  const auto machines = read_burst_machines(options.files, options.spans);
  if (!machines) {
    return propagate(machines);
  }
  FoundRequests found = find_requests(*machines, options.whole_only);
  found.requests.resize(std::min<size_t>(found.requests.size(), options.limit));
  return write_output("-", options.is_json ? requests_json(found) : requests_text(found));
}

Status run_bursts_export(const BurstsExportOptions& options) {
  if (options.chrome.empty() == options.perfetto.empty()) {
    return with_field(options.chrome.empty()
                          ? fail(ErrorCode::kInvalid, "--chrome or --perfetto is required")
                          : fail(ErrorCode::kInvalid, "--chrome and --perfetto are both given"),
                      "--chrome");
  }
  if (options.chrome.empty()) {
    return export_perfetto(options);
  }
  if (options.files.size() > 1) {
    return with_hint(with_field(fail(ErrorCode::kInvalid, "--chrome takes one recording"), "--chrome"),
                     "use --perfetto for several machines");
  }
  const auto recording = read_burst_file(options.files.front());
  if (!recording) {
    return propagate(recording);
  }
  return write_output_in_pieces(options.chrome, [&](const WritePiece& write) {
    return traces::write_chrome_json(*recording,
                                     [&](std::string_view piece) { return write(as_bytes(piece)); });
  });
}

}  // namespace plimsoll::cli
