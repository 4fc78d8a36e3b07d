#include "cli/bursts_machines.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/printable.h"
#include "base/time.h"
#include "cli/bursts_files.h"

namespace plimsoll::cli {
namespace {

// IDs of values have 16 bits.
constexpr uint32_t kMaxValuesOfAttribute = 60'000;

Status read_recordings(const std::vector<std::string>& files, BurstMachines& made) {
  if (files.size() > traces::kMaxClockMachines) {
    return fail(ErrorCode::kInvalid, "{} recordings are given; at most {} can be joined", files.size(),
                traces::kMaxClockMachines);
  }
  std::set<std::string> machines;
  for (const std::string& file : files) {
    auto recording = read_burst_file(file);
    if (!recording) {
      return propagate(recording);
    }
    const auto config = traces::BurstConfig::of_bits(recording->config_bits);
    if (!config) {
      return propagate(config);
    }
    if (made.config && *made.config != *config) {
      return fail(ErrorCode::kInvalid, "{} has the burst-config {}, recordings before it have {}", file,
                  config->text(), made.config->text());
    }
    if (!machines.insert(recording->machine).second) {
      return with_hint(fail(ErrorCode::kInvalid, "{} is another recording of machine {}", file,
                            printable(recording->machine)),
                       "give one recording per machine");
    }
    made.config = *config;
    made.recordings.push_back(std::move(*recording));
  }
  return {};
}

void join_bursts(const traces::BurstConfig& config, BurstMachines& made) {
  std::map<int64_t, std::vector<traces::SceneMachine>> bursts;
  for (const traces::BurstRecording& recording : made.recordings) {
    for (const traces::Burst& burst : recording.bursts) {
      bursts[burst.planned.begin_ms].push_back({.recording = &recording, .burst = &burst, .shift_ns = 0});
    }
  }
  for (auto& [begin_ms, machines] : bursts) {
    BurstOfMachines joined{.planned_begin_ms = begin_ms, .machines = std::move(machines), .clocks = {}};
    // A machine may have recorded a burst twice, where its clock was set back.
    if (joined.machines.size() <= traces::kMaxClockMachines) {
      std::vector<traces::ClockPair> pairs;
      if (joined.machines.size() > 1) {
        pairs = traces::pairs_of_marks(joined.machines);
        if (made.spans) {
          const auto of_spans = traces::pairs_of_spans(joined.machines, *made.spans);
          pairs.insert(pairs.end(), of_spans.begin(), of_spans.end());
        }
      }
      joined.clocks = traces::repair_clocks(joined.machines, pairs, config);
      for (size_t i = 0; i < joined.machines.size(); ++i) {
        joined.machines[i].shift_ns = joined.clocks.machines[i].shift_ns;
      }
    }
    made.bursts.push_back(std::move(joined));
  }
}

}  // namespace

Result<BurstMachines> read_burst_machines(const std::vector<std::string>& files,
                                          const std::vector<std::string>& span_files) {
  BurstMachines made;
  if (auto read = read_recordings(files, made); !read) {
    return propagate(read);
  }
  if (!span_files.empty()) {
    traces::SpanLimits limits;
    limits.keeps_attributes = true;
    limits.attributes.max_values = kMaxValuesOfAttribute;
    auto spans = read_trace_files(span_files, limits);
    if (!spans) {
      return propagate(spans);
    }
    made.trace_files = std::move(*spans);
    made.spans = std::make_unique<traces::SearchSpans>(*made.trace_files.spans);
  }
  if (made.config) {
    join_bursts(*made.config, made);
  }
  return made;
}

std::vector<std::string> clock_notes(const BurstMachines& machines) {
  constexpr size_t kMaxClockNotes = 20;
  std::vector<std::string> notes = machines.trace_files.notes;
  const size_t before = notes.size();
  for (const BurstOfMachines& burst : machines.bursts) {
    const std::string begin = format_time(burst.planned_begin_ms * kNsPerMs);
    for (const std::string& contradiction : burst.clocks.contradictions) {
      notes.push_back(fmt::format("burst at {}: no shift of clocks is right, times are as recorded: {}",
                                  begin, contradiction));
    }
    for (size_t i = 0; i < burst.clocks.machines.size() && machines.recordings.size() > 1; ++i) {
      const traces::MachineClock& clock = burst.clocks.machines[i];
      const std::string name = printable(burst.machines[i].recording->machine);
      if (clock.proof == traces::ClockProof::kNone && burst.machines.size() > 1) {
        notes.push_back(fmt::format(
            "burst at {}: no call proves the order of events of {} and other machines{}", begin, name,
            clock.may_be_off ? ", and its clock may be off by over a tenth of a burst" : ""));
      } else if (clock.shift_ns != 0) {
        notes.push_back(fmt::format("burst at {}: the clock of {} is shifted by {:.3f} ms, as {} prove{}",
                                    begin, name, static_cast<double>(clock.shift_ns) / 1e6,
                                    clock.assumed > 0 ? "marks of requests with calls that wait" : "calls",
                                    clock.is_off ? ": it is off by over a tenth of a burst" : ""));
      }
    }
    if (notes.size() - before > kMaxClockNotes) {
      notes.resize(before + kMaxClockNotes);
      notes.emplace_back("there are more such notes: see plimsoll bursts clocks");
      break;
    }
  }
  return notes;
}

}  // namespace plimsoll::cli
