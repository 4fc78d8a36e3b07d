#include "cli/bursts_show.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <utility>

#include "base/printable.h"
#include "base/time.h"
#include "cli/json_text.h"
#include "cli/views/answer_source.h"
#include "traces/bursts/burst_config.h"
#include "traces/bursts/marks/mark_decoder.h"

namespace plimsoll::cli {
namespace {

using traces::BurstEventKind;

// One burst as counts.
struct BurstSummary {
  std::array<uint64_t, traces::kBurstEventKinds> events{};
  traces::MarkCounts marks;
  // How much later than planned all CPUs began to record; by the clock at that moment.
  int64_t late_ns = 0;
  bool clock_was_set = false;
};

BurstSummary summarize(const traces::Burst& burst) {
  // The clock runs evenly but for its own correction, which is 0.05 % at most.
  constexpr int64_t kMinStepNs = kNsPerMs;
  BurstSummary summary;
  traces::MarkDecoder decoder;
  for (const traces::BurstEvent& event : burst.events) {
    ++summary.events[static_cast<size_t>(event.kind)];
    if (event.kind == BurstEventKind::kMarkCall) {
      (void)decoder.take({event.time_ns, event.thread, event.first, event.second});
    }
  }
  decoder.finish();
  summary.marks = decoder.counts();
  summary.late_ns = burst.on_ns + burst.wall_offset_on_ns - burst.planned.begin_ms * kNsPerMs;
  const int64_t step_ns = burst.wall_offset_off_ns - burst.wall_offset_on_ns;
  summary.clock_was_set = step_ns > kMinStepNs || step_ns < -kMinStepNs;
  return summary;
}

std::string clock_text(const traces::ClockState& clock) {
  return clock.is_synchronized
             ? fmt::format("clock within {:.3f} ms", static_cast<double>(clock.max_error_ns) / 1e6)
             : "clock not synchronized";
}

std::string show_text(const traces::BurstRecording& recording, const traces::BurstConfig& config) {
  std::string text =
      fmt::format("machine {}{}, {} CPUs, {} threads, config {}, {}{}\n", printable(recording.machine),
                  recording.draw.empty() ? "" : ", draw " + printable(recording.draw), recording.cpus,
                  recording.threads.size(), config.text(), clock_text(recording.clock),
                  is_clock_off(recording.clock, config) ? ": may be off by over a tenth of a burst" : "");
  for (const std::string& note : recording.notes) {
    text += fmt::format("note: {}\n", printable(note));
  }
  if (recording.lost_application_events > 0) {
    text += fmt::format("note: {} events that applications told of were lost or refused\n",
                        recording.lost_application_events);
  }
  text += fmt::format("{:<26}{:>9}{:>9}{:>9}{:>7}{:>9}{:>9}{:>9}{:>7}\n", "begin", "ms", "late us", "events",
                      "lost", "switches", "wakes", "marks", "torn");
  for (const traces::Burst& burst : recording.bursts) {
    const BurstSummary summary = summarize(burst);
    const auto count = [&](BurstEventKind kind) { return summary.events[static_cast<size_t>(kind)]; };
    text += fmt::format(
        "{:<26}{:>9.1f}{:>9.0f}{:>9}{:>7}{:>9}{:>9}{:>9}{:>7}{}\n",
        format_time(burst.planned.begin_ms * kNsPerMs), static_cast<double>(burst.off_ns - burst.on_ns) / 1e6,
        static_cast<double>(summary.late_ns) / 1e3, burst.events.size(), burst.all_lost(),
        count(BurstEventKind::kSwitch), count(BurstEventKind::kWake) + count(BurstEventKind::kNewThread),
        summary.marks.marks, summary.marks.torn, summary.clock_was_set ? "  the clock was set" : "");
  }
  return text;
}

std::string burst_json(const traces::Burst& burst) {
  const BurstSummary summary = summarize(burst);
  std::string text = fmt::format(
      "{{\"begin\": \"{}\", \"end\": \"{}\", \"on_ns\": {}, \"off_ns\": {}, \"late_ns\": {}, "
      "\"clock_was_set\": {}, "
      "\"unread_bytes\": {}, \"marks\": {}, \"torn_marks\": {}",
      format_time(burst.planned.begin_ms * kNsPerMs), format_time(burst.planned.end_ms * kNsPerMs),
      burst.on_ns, burst.off_ns, summary.late_ns, summary.clock_was_set, burst.unread_bytes,
      summary.marks.marks, summary.marks.torn);
  for (const auto& [name, counts] : {std::pair("events", summary.events), std::pair("lost", burst.lost)}) {
    text += fmt::format(", \"{}\": {{", name);
    for (size_t kind = 0; kind < counts.size(); ++kind) {
      text += fmt::format("{}\"{}\": {}", kind == 0 ? "" : ", ", name_of(static_cast<BurstEventKind>(kind)),
                          counts[kind]);
    }
    text += "}";
  }
  return text + "}";
}

std::string show_json(const traces::BurstRecording& recording, const traces::BurstConfig& config) {
  std::string text = "{\"machine\": ";
  append_json_string(recording.machine, text);
  text += ", \"draw\": ";
  append_json_string(recording.draw, text);
  text += fmt::format(
      ", \"cpus\": {}, \"threads\": {}, \"config\": \"{}\", \"clock\": {{\"is_synchronized\": {}, "
      "\"max_error_ns\": {}, \"estimated_error_ns\": {}, \"is_off\": {}}}, \"lost_application_events\": {}, "
      "\"notes\": [",
      recording.cpus, recording.threads.size(), config.text(), recording.clock.is_synchronized,
      recording.clock.max_error_ns, recording.clock.estimated_error_ns, is_clock_off(recording.clock, config),
      recording.lost_application_events);
  for (size_t i = 0; i < recording.notes.size(); ++i) {
    text += i == 0 ? "" : ", ";
    append_json_string(recording.notes[i], text);
  }
  text += "], \"bursts\": [";
  for (size_t i = 0; i < recording.bursts.size(); ++i) {
    text += (i == 0 ? "" : ", ") + burst_json(recording.bursts[i]);
  }
  return text + "]}";
}

}  // namespace

Status run_bursts_show(const BurstsShowOptions& options) {
  const auto recordings = open_burst_recordings(options.input);
  if (!recordings) {
    return propagate(recordings);
  }
  const bool is_list = options.is_json && options.input.files.size() != 1;
  std::string text = is_list ? "{\"recordings\": [" : "";
  bool is_first = true;
  for (size_t i = 0; i < (*recordings)->listed().size(); ++i) {
    const auto recording = (*recordings)->read(i);
    if (!recording) {
      return propagate(recording);
    }
    if (*recording == nullptr) {
      continue;
    }
    const auto config = traces::BurstConfig::of_bits((*recording)->config_bits);
    if (!config) {
      return propagate(config);
    }
    text += std::exchange(is_first, false) ? "" : options.is_json ? ", " : "\n";
    text += options.is_json ? show_json(**recording, *config) : show_text(**recording, *config);
  }
  // Standard output may be a document.
  for (const std::string& note : (*recordings)->notes()) {
    fmt::print(stderr, "note: {}\n", note);
  }
  return write_output("-", text + (is_list ? "]}\n" : options.is_json ? "\n" : ""));
}

}  // namespace plimsoll::cli
