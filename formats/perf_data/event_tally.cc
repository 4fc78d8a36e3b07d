#include "formats/perf_data/event_tally.h"

#include <algorithm>

#include "base/time.h"
#include "formats/perf_data/event_names.h"

namespace plimsoll::perf_data {
namespace {

constexpr uint64_t kMaxHits = EventTally::kMaxOccurrences;

// Asked for as a rate, and the samples do not tell what they stand for.
bool lacks_period(const perf_event_attr& attr) {
  return attr.freq && (attr.sample_type & (PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ)) == 0;
}

void add_up(uint64_t& sum, uint64_t more) {
  sum += std::min(more, UINT64_MAX - sum);
}

}  // namespace

EventTally::EventTally(const std::vector<RecordedEvent>& events, const RecordLayouts& layouts,
                       const Limits& limits)
    : events_(events), layouts_(layouts), max_counters_(limits.max_counters), counts_(events.size()) {}

uint64_t EventTally::period_of(uint32_t event, const DecodedSample& sample) const {
  const perf_event_attr& attr = events_[event].attr;
  uint64_t period = sample.period;
  if ((attr.sample_type & PERF_SAMPLE_PERIOD) == 0) {
    period = attr.sample_period;
  }
  if (lacks_period(attr)) {
    const bool is_clock = unit_of(attr) == wire::NANOSECONDS && attr.sample_freq > 0;
    period = is_clock ? static_cast<uint64_t>(kNsPerSecond) / attr.sample_freq : 1;
  }
  return std::max<uint64_t>(period, 1);
}

Status EventTally::count(const Weight& weight) {
  Counts& counts = counts_[weight.event];
  if (weight.occurrences > kMaxHits - counts.occurrences) {
    return fail(ErrorCode::kTooLarge, "the samples of {} stand for more than 2^56 occurrences",
                events_[weight.event].name);
  }
  counts.periods_differ |= counts.hits > 0 && weight.occurrences != counts.period;
  counts.period = counts.hits == 0 ? weight.occurrences : counts.period;
  counts.occurrences += weight.occurrences;
  ++counts.hits;
  return {};
}

Status EventTally::add_readings(uint32_t event, const DecodedSample& sample, std::vector<Weight>& weights) {
  for (const CounterReading& reading : sample.readings) {
    const uint64_t id = reading.id == 0 ? sample.record.event_id : reading.id;
    const auto member = reading.id == 0 ? std::optional(event) : layouts_.event_of_id(id);
    if (!member) {
      continue;
    }
    const uint32_t thread = events_[*member].attr.inherit ? sample.record.tid : 0;
    if (last_readings_.size() >= max_counters_ && !last_readings_.contains({id, thread})) {
      return fail(ErrorCode::kTooLarge, "the samples have readings of more than {} counters", max_counters_);
    }
    uint64_t& last = last_readings_[{id, thread}];
    if (reading.value > last) {
      weights.push_back({*member, reading.value - last});
    }
    last = reading.value;
  }
  return {};
}

Status EventTally::add(uint32_t event, const DecodedSample& sample, std::vector<Weight>& weights) {
  weights.clear();
  ++counts_[event].samples;
  if (sample.readings.empty()) {
    weights.push_back({event, period_of(event, sample)});
  } else if (auto added = add_readings(event, sample, weights); !added) {
    return added;
  }
  for (const Weight& weight : weights) {
    if (auto counted = count(weight); !counted) {
      return counted;
    }
  }
  return {};
}

void EventTally::add_lost(const LostRecord& lost) {
  if (!lost.has_event) {
    add_up(lost_without_event_, lost.records);
    return;
  }
  Counts& counts = counts_[lost.event];
  add_up(lost.are_samples ? counts.lost_samples : counts.lost_records, lost.records);
}

// Where the kernel keeps count of each event's lost samples, perf writes that at the end, and it contains what the buffers'
// own records told before.
uint64_t EventTally::lost_of(size_t event) const {
  const Counts& counts = counts_[event];
  const bool is_told_twice =
      (events_[event].attr.read_format & PERF_FORMAT_LOST) != 0 && counts.lost_samples > 0;
  uint64_t lost = counts.lost_samples;
  add_up(lost, is_told_twice ? 0 : counts.lost_records);
  return lost;
}

std::string EventTally::note_of(size_t event) const {
  const perf_event_attr& attr = events_[event].attr;
  std::string note;
  if (attr.exclude_kernel && !attr.exclude_user) {
    note = "only in user mode";
  } else if (attr.exclude_user && !attr.exclude_kernel) {
    note = "only in the kernel";
  }
  if (lacks_period(attr) && unit_of(attr) == wire::COUNT) {
    note += note.empty() ? "" : "; ";
    note += "the recording has no sample periods: values are numbers of samples";
  }
  return note;
}

void EventTally::write_events(wire::RawProfile& profile) const {
  for (size_t i = 0; i < events_.size(); ++i) {
    const perf_event_attr& attr = events_[i].attr;
    wire::Event& event = *profile.add_events();
    event.set_name(events_[i].name);
    event.set_note(note_of(i));
    event.set_unit(unit_of(attr));
    event.set_kind(wire::DELTA);
    event.set_counter_total(static_cast<double>(counts_[i].occurrences));
    event.set_lost(std::min(lost_of(i), kMaxHits));
    event.set_throttles(counts_[i].throttles);
    event.set_mean_period(attr.freq ? 0 : attr.sample_period);
  }
}

void EventTally::scale_hits(wire::RawProfile& profile) const {
  for (wire::SampleTable& table : *profile.mutable_samples()) {
    if (table.event(0) >= counts_.size()) {
      continue;  // of squares
    }
    const Counts& counts = counts_[table.event(0)];
    wire::Event& event = *profile.mutable_events(static_cast<int>(table.event(0)));
    if (counts.periods_differ) {
      event.set_samples(counts.hits);
      continue;
    }
    for (uint64_t& hits : *table.mutable_hits()) {
      hits /= counts.period;
    }
    event.set_hits(counts.hits);
  }
}

std::vector<EventTally::Summary> EventTally::summaries() const {
  std::vector<Summary> summaries;
  for (size_t i = 0; i < events_.size(); ++i) {
    summaries.push_back({events_[i].name, counts_[i].samples, lost_of(i), counts_[i].hits,
                         static_cast<double>(counts_[i].occurrences), unit_of(events_[i].attr)});
  }
  return summaries;
}

}  // namespace plimsoll::perf_data
