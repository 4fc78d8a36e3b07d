#include "cli/bursts_machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/printable.h"
#include "base/sort_stably.h"
#include "base/time.h"
#include "cli/json_text.h"
#include "traces/bursts/burst_config.h"
#include "traces/bursts/clocks/clock_pairs.h"

namespace plimsoll::cli {
namespace {

// IDs of values have 16 bits.
constexpr uint32_t kMaxValuesOfAttribute = 60'000;
// Each takes 40 bytes.
constexpr uint64_t kMaxHeldEvents = 50'000'000;

// One pass over recordings, in the order of time.
class BurstSweep {
 public:
  BurstSweep(BurstRecordings& recordings, const traces::SearchSpans* spans)
      : recordings_(recordings), spans_(spans) {
    for (size_t i = 0; i < recordings.listed().size(); ++i) {
      unread_.push_back(i);
    }
    sort_stably(unread_, [&](size_t number) { return recordings.listed()[number].begin_ns; });
  }

  Status run(const VisitBurst& visit) {
    bool goes_on = true;
    while (goes_on && (next_ < unread_.size() || !pending_.empty())) {
      if (const Status read = read_up_to_first(); !read) {
        return read;
      }
      if (pending_.empty()) {
        continue;
      }
      auto first = pending_.extract(pending_.begin());
      const auto visited = visit(joined(first.key(), std::move(first.mapped())));
      if (!visited) {
        return propagate(visited);
      }
      goes_on = *visited;
    }
    return {};
  }

  uint64_t copies() const { return copies_; }

 private:
  struct Part {
    size_t number = 0;  // of its recording in the list
    const traces::Burst* burst = nullptr;
    BurstRecordingPointer recording;
  };
  struct PlannedBurst {
    int64_t begin_ms = 0;
    uint64_t config_bits = 0;
    auto operator<=>(const PlannedBurst&) const = default;
  };

  // All that may have a part of the first burst that is known, or of an earlier one.
  Status read_up_to_first() {
    while (next_ < unread_.size()) {
      const size_t number = unread_[next_];
      const int64_t begin_ns = recordings_.listed()[number].begin_ns;
      if (!pending_.empty() && begin_ns > pending_.begin()->first.begin_ms * kNsPerMs) {
        break;
      }
      ++next_;
      if (const Status read = read_one(number); !read) {
        return read;
      }
    }
    return {};
  }

  Status read_one(size_t number) {
    const ListedRecording& listed = recordings_.listed()[number];
    std::erase_if(held_, [](const auto& held) { return held.first.expired(); });
    uint64_t events = listed.events;
    for (const auto& [recording, count] : held_) {
      events += count;
    }
    if (!held_.empty() && events > kMaxHeldEvents) {
      return with_hint(fail(ErrorCode::kTooLarge, "recordings of the time of {} have over {} events together",
                            format_time(listed.begin_ns), kMaxHeldEvents),
                       "give --machine, or less time by --since and --until");
    }
    const auto read = recordings_.read(number);
    if (!read || *read == nullptr) {
      return read ? Status() : propagate(read);
    }
    const BurstRecordingPointer& recording = *read;
    held_.emplace_back(recording, listed.events);
    for (const traces::Burst& burst : recording->bursts) {
      const bool is_wanted = burst.planned.begin_ms * kNsPerMs < recordings_.to_ns() &&
                             burst.planned.end_ms * kNsPerMs > recordings_.from_ns();
      if (is_wanted) {
        pending_[{burst.planned.begin_ms, recording->config_bits}].push_back({number, &burst, recording});
      }
    }
    return {};
  }

  // What a machine recorded by hand and by assignment at once, it recorded twice: the part with the most events counts.
  std::vector<Part> without_copies(std::vector<Part> parts) {
    std::vector<Part> kept;
    std::map<std::string, std::vector<size_t>> places;  // in `kept`, by machine
    for (Part& part : parts) {
      std::vector<size_t>& of_machine = places[part.recording->machine];
      const auto same = std::ranges::find_if(of_machine, [&](size_t place) {
        const traces::Burst& before = *kept[place].burst;
        return before.on_ns <= part.burst->off_ns && part.burst->on_ns <= before.off_ns;
      });
      if (same == of_machine.end()) {
        of_machine.push_back(kept.size());
        kept.push_back(std::move(part));
        continue;
      }
      ++copies_;
      if (part.burst->events.size() > kept[*same].burst->events.size()) {
        kept[*same] = std::move(part);
      }
    }
    return kept;
  }

  BurstOfMachines joined(const PlannedBurst& planned, std::vector<Part> all_parts) {
    std::vector<Part> parts = without_copies(std::move(all_parts));
    sort_stably(parts, [](const Part& part) { return part.number; });
    BurstOfMachines burst{
        .planned_begin_ms = planned.begin_ms, .machines = {}, .clocks = {}, .recordings = {}};
    for (Part& part : parts) {
      burst.machines.push_back({.recording = part.recording.get(), .burst = part.burst, .shift_ns = 0});
      burst.recordings.push_back(std::move(part.recording));
    }
    const auto config = traces::BurstConfig::of_bits(planned.config_bits);
    // A machine may have recorded a burst twice, where its clock was set back.
    if (!config || burst.machines.size() > traces::kMaxClockMachines) {
      return burst;
    }
    std::vector<traces::ClockPair> pairs;
    if (burst.machines.size() > 1) {
      pairs = traces::pairs_of_marks(burst.machines);
      if (spans_ != nullptr) {
        const auto of_spans = traces::pairs_of_spans(burst.machines, *spans_);
        pairs.insert(pairs.end(), of_spans.begin(), of_spans.end());
      }
    }
    burst.clocks = traces::repair_clocks(burst.machines, pairs, *config);
    for (size_t i = 0; i < burst.machines.size(); ++i) {
      burst.machines[i].shift_ns = burst.clocks.machines[i].shift_ns;
    }
    return burst;
  }

  BurstRecordings& recordings_;
  const traces::SearchSpans* const spans_;
  std::vector<size_t> unread_;  // by begin
  size_t next_ = 0;             // of unread_
  std::map<PlannedBurst, std::vector<Part>> pending_;
  uint64_t copies_ = 0;
  std::vector<std::pair<std::weak_ptr<const traces::BurstRecording>, uint64_t>> held_;  // with their events
};

}  // namespace

Result<BurstMachines> BurstMachines::open(const BurstsInput& input,
                                          const std::vector<std::string>& span_files) {
  auto recordings = open_burst_recordings(input);
  if (!recordings) {
    return propagate(recordings);
  }
  BurstMachines made;
  made.recordings_ = std::move(*recordings);
  if (!span_files.empty()) {
    traces::SpanLimits limits;
    limits.keeps_attributes = true;
    limits.attributes.max_values = kMaxValuesOfAttribute;
    auto spans = read_trace_files(span_files, limits);
    if (!spans) {
      return propagate(spans);
    }
    made.trace_files_ = std::move(*spans);
    made.spans_ = std::make_unique<traces::SearchSpans>(*made.trace_files_.spans);
  }
  return made;
}

Status BurstMachines::for_each_burst(const VisitBurst& visit) {
  BurstSweep sweep(*recordings_, spans_.get());
  const Status visited = sweep.run(visit);
  copies_ = sweep.copies();
  return visited;
}

bool BurstMachines::has_several_machines() const {
  const std::vector<ListedRecording>& listed = recordings_->listed();
  return std::ranges::any_of(
      listed, [&](const ListedRecording& one) { return one.machine != listed.front().machine; });
}

std::vector<std::string> BurstMachines::notes() const {
  std::vector<std::string> notes = trace_files_.notes;
  notes.insert(notes.end(), recordings_->notes().begin(), recordings_->notes().end());
  if (copies_ > 0) {
    notes.push_back(
        fmt::format("{} parts of bursts were left out: their machines recorded them twice at once, the other "
                    "parts have more events or as many",
                    copies_));
  }
  return notes;
}

void JoinedCounts::add(const traces::Burst& burst, const traces::JoinedBurst& joined) {
  lost_events += burst.all_lost();
  contradictions += joined.contradictions;
  missing_switches += joined.missing_switches;
}

std::string JoinedCounts::text() const {
  std::string text = fmt::format("{} whole requests, {} cut off by a burst's begin or end\n", whole, cut);
  if (lost_events > 0 || contradictions > 0) {
    text += fmt::format("note: {} events were lost, {} switches contradict others: times may be wrong\n",
                        lost_events, contradictions);
  }
  if (missing_switches > 0) {
    text += fmt::format(
        "note: the kernel left out {} switches to threads or more: some of their running time may count as "
        "runnable or blocked\n",
        missing_switches);
  }
  return text;
}

std::string JoinedCounts::json(const std::vector<std::string>& notes) const {
  std::string text = fmt::format(
      "\"whole\": {}, \"cut\": {}, \"lost_events\": {}, \"contradictions\": {}, "
      "\"missing_switches\": {}, \"notes\": [",
      whole, cut, lost_events, contradictions, missing_switches);
  for (size_t i = 0; i < notes.size(); ++i) {
    text += i == 0 ? "" : ", ";
    append_json_string(notes[i], text);
  }
  return text + "]";
}

void ClockNotes::add(const BurstOfMachines& burst) {
  constexpr size_t kMaxClockNotes = 20;
  if (is_cut_) {
    return;
  }
  const std::string begin = format_time(burst.planned_begin_ms * kNsPerMs);
  if (!burst.has_compared_clocks()) {
    notes_.push_back(
        fmt::format("burst at {}: {} recordings are too many to compare clocks: times are as recorded", begin,
                    burst.machines.size()));
  }
  for (const std::string& contradiction : burst.clocks.contradictions) {
    notes_.push_back(fmt::format("burst at {}: no shift of clocks is right, times are as recorded: {}", begin,
                                 contradiction));
  }
  for (size_t i = 0; i < burst.clocks.machines.size() && has_several_; ++i) {
    const traces::MachineClock& clock = burst.clocks.machines[i];
    const std::string name = printable(burst.machines[i].recording->machine);
    if (clock.proof == traces::ClockProof::kNone && burst.machines.size() > 1) {
      notes_.push_back(
          fmt::format("burst at {}: no call proves the order of events of {} and other machines{}", begin,
                      name, clock.may_be_off ? ", and its clock may be off by over a tenth of a burst" : ""));
    } else if (clock.shift_ns != 0) {
      notes_.push_back(fmt::format("burst at {}: the clock of {} is shifted by {:.3f} ms, as {} prove{}",
                                   begin, name, static_cast<double>(clock.shift_ns) / 1e6,
                                   clock.assumed > 0 ? "marks of requests with calls that wait" : "calls",
                                   clock.is_off ? ": it is off by over a tenth of a burst" : ""));
    }
  }
  if (notes_.size() > kMaxClockNotes) {
    notes_.resize(kMaxClockNotes);
    notes_.emplace_back("there are more such notes: see plimsoll bursts clocks");
    is_cut_ = true;
  }
}

}  // namespace plimsoll::cli
