#include "cli/bursts_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "base/sort_stably.h"
#include "base/time.h"
#include "cli/bursts_layers.h"
#include "cli/bursts_machines.h"
#include "cli/json_text.h"
#include "cli/views/answer_source.h"
#include "formats/perfetto/perfetto_trace.h"
#include "traces/bursts/joined/chrome_json.h"
#include "traces/bursts/joined/function_shares.h"
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
  JoinedCounts counts;
  bool has_machines = false;  // several
  bool has_stacks = false;    // are asked for
  uint64_t samples = 0;
  uint64_t samples_without_stack = 0;
  std::vector<traces::FunctionSamples> functions;
  std::vector<std::string> notes;
};

class RequestFinder {
 public:
  // `only`: the request's ID; 0: all of them.
  RequestFinder(const BurstsRequestsOptions& options, uint64_t only, const BurstMachines& machines)
      : options_(options), only_(only), clocks_(machines) {
    found_.has_stacks = options.with_stacks;
    found_.has_machines = machines.has_several_machines();
  }

  void add(const BurstOfMachines& together) {
    clocks_.add(together);
    for (const traces::SceneMachine& machine : together.machines) {
      const traces::JoinedBurst joined = join_burst(*machine.burst);
      found_.counts.add(*machine.burst, joined);
      if (options_.with_stacks) {
        functions_.add(machine.recording->stacks, joined, only_);
      }
      for (const RequestTimes& times : request_times(*machine.burst, joined)) {
        if (only_ != 0 && times.request != only_) {
          continue;
        }
        ++(times.is_whole ? found_.counts.whole : found_.counts.cut);
        if (times.is_whole || !options_.whole_only) {
          found_.requests.push_back({times, machine.offset_ns(), machine.recording->machine});
        }
      }
    }
    // A day has millions, of which some are shown.
    if (found_.requests.size() > size_t{options_.limit} + kRequestsAtOnce) {
      keep_longest();
    }
  }

  FoundRequests finish(const BurstMachines& machines) {
    keep_longest();
    found_.samples = functions_.samples();
    found_.samples_without_stack = functions_.without_stack();
    found_.functions = functions_.most(options_.limit);
    found_.notes = machines.notes();
    found_.notes.insert(found_.notes.end(), clocks_.notes().begin(), clocks_.notes().end());
    return std::move(found_);
  }

 private:
  static constexpr size_t kRequestsAtOnce = 100'000;

  void keep_longest() {
    sort_stably(found_.requests, [](const BurstRequest& request) { return -request.duration_ns(); });
    if (found_.requests.size() > options_.limit) {
      found_.requests.erase(found_.requests.begin() + options_.limit, found_.requests.end());
    }
  }

  const BurstsRequestsOptions& options_;
  const uint64_t only_;
  ClockNotes clocks_;
  traces::FunctionShares functions_;
  FoundRequests found_;
};

double ms(int64_t ns) {
  return static_cast<double>(ns) / static_cast<double>(kNsPerMs);
}

std::string functions_text(const FoundRequests& found) {
  if (found.samples == 0) {
    return "no samples of these requests: \"plimsolld bursts record --samples HZ\" records them\n";
  }
  const auto percent = [&](uint64_t samples) {
    return 100 * static_cast<double>(samples) / static_cast<double>(found.samples);
  };
  std::string text = fmt::format("\n{:>8}{:>8}  function\n", "own %", "all %");
  for (const traces::FunctionSamples& one : found.functions) {
    text +=
        fmt::format("{:>8.1f}{:>8.1f}  {}\n", percent(one.own), percent(one.all), printable(one.function));
  }
  return text +
         fmt::format("of {} samples, {} without a stack\n", found.samples, found.samples_without_stack);
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
  text += found.counts.text();
  text += found.has_stacks ? functions_text(found) : std::string();
  for (const std::string& note : found.notes) {
    text += fmt::format("note: {}\n", note);
  }
  return text;
}

std::string functions_json(const FoundRequests& found) {
  std::string text = fmt::format(", \"samples\": {}, \"samples_without_stack\": {}, \"functions\": [",
                                 found.samples, found.samples_without_stack);
  bool is_first = true;
  for (const traces::FunctionSamples& one : found.functions) {
    text += std::exchange(is_first, false) ? "{\"function\": " : ", {\"function\": ";
    append_json_string(one.function, text);
    text += fmt::format(", \"own\": {}, \"all\": {}}}", one.own, one.all);
  }
  return text + "]";
}

std::string requests_json(const FoundRequests& found) {
  std::string text = "{" + found.counts.json(found.notes) + ", \"requests\": [";
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
  return text + "]" + (found.has_stacks ? functions_json(found) : std::string()) + "}\n";
}

// As it is shown: 16 hexadecimal digits. 0: no ID is given.
Result<uint64_t> request_of(const std::string& text) {
  uint64_t request = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, request, 16);
  const bool is_id = parsed.ec == std::errc() && parsed.ptr == end && request != 0;
  return text.empty() || is_id ? Result<uint64_t>(request)
                               : with_field(fail(ErrorCode::kInvalid,
                                                 "\"{}\" is no ID of a request in hexadecimal digits", text),
                                            "--request");
}

// All of it is in memory together.
Status export_perfetto(const BurstsExportOptions& options) {
  auto machines = BurstMachines::open(options.input, options.spans);
  if (!machines) {
    return propagate(machines);
  }
  ClockNotes clocks(*machines);
  std::vector<std::vector<traces::SceneMachine>> bursts;
  std::vector<BurstOfMachines> held;
  const Status read = machines->for_each_burst([&](const BurstOfMachines& burst) -> Result<bool> {
    clocks.add(burst);
    bursts.push_back(burst.machines);
    held.push_back(burst);
    return true;
  });
  if (!read) {
    return read;
  }
  // Standard output may be the trace.
  for (const auto& notes : {machines->notes(), clocks.notes()}) {
    for (const std::string& note : notes) {
      fmt::print(stderr, "note: {}\n", note);
    }
  }
  return write_output_in_pieces(options.perfetto, [&](const WritePiece& write) {
    return formats::write_perfetto_trace(bursts,
                                         [&](std::string_view piece) { return write(as_bytes(piece)); });
  });
}

Status export_chrome(const BurstsExportOptions& options) {
  const auto recordings = open_burst_recordings(options.input);
  if (!recordings) {
    return propagate(recordings);
  }
  if ((*recordings)->listed().size() != 1) {
    return with_hint(
        with_field(fail(ErrorCode::kInvalid, "--chrome takes one recording, of {} that are selected",
                        (*recordings)->listed().size()),
                   "--chrome"),
        "use --perfetto for several; --machine, --since and --until select stored ones");
  }
  const auto recording = (*recordings)->read(0);
  if (!recording) {
    return propagate(recording);
  }
  if (*recording == nullptr) {
    return fail(ErrorCode::kNotFound, "{}", (*recordings)->notes().back());
  }
  return write_output_in_pieces(options.chrome, [&](const WritePiece& write) {
    return traces::write_chrome_json(**recording,
                                     [&](std::string_view piece) { return write(as_bytes(piece)); });
  });
}

}  // namespace

Status run_bursts_requests(const BurstsRequestsOptions& options) {
  const auto only = request_of(options.request);
  if (!only) {
    return propagate(only);
  }
  if (options.with_layers) {
    return run_bursts_layers(options, *only);
  }
  BurstsInput input = options.input;
  input.names_functions = options.with_stacks;
  auto machines = BurstMachines::open(input, options.spans);
  if (!machines) {
    return propagate(machines);
  }
  RequestFinder finder(options, *only, *machines);
  const Status read = machines->for_each_burst([&](const BurstOfMachines& burst) -> Result<bool> {
    finder.add(burst);
    return true;
  });
  if (!read) {
    return read;
  }
  const FoundRequests found = finder.finish(*machines);
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
  if (options.input.files.size() > 1) {
    return with_hint(with_field(fail(ErrorCode::kInvalid, "--chrome takes one recording"), "--chrome"),
                     "use --perfetto for several machines");
  }
  return export_chrome(options);
}

}  // namespace plimsoll::cli
