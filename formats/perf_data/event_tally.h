// What a recording's samples say of each event: how often, how much, and what is missing.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "formats/perf_data/limits.h"
#include "formats/perf_data/metadata.h"
#include "formats/perf_data/sample_layout.h"
#include "formats/perf_data/side_records.h"
#include "proto/profile.pb.h"

namespace plimsoll::perf_data {

// That many occurrences of an event (an index) stand behind a sample.
struct Weight {
  uint32_t event = 0;
  uint64_t occurrences = 0;
};

// One thread.
class EventTally {
 public:
  // Of all samples of an event; as wire::validate() permits.
  static constexpr uint64_t kMaxOccurrences = uint64_t{1} << 56U;

  // Borrows both.
  EventTally(const std::vector<RecordedEvent>& events, const RecordLayouts& layouts, const Limits& limits);

  // Counts the sample of `event`, and fills `weights`: its period, or, where counters were read with it, what each of the
  // group's counters has counted since it was read last. Fails with kTooLarge beyond what a profile can hold.
  Status add(uint32_t event, const DecodedSample& sample, std::vector<Weight>& weights);
  void add_lost(const LostRecord& lost);
  void add_throttle(uint32_t event) { ++counts_[event].throttles; }

  // Adds the events to a profile, in their order, without hits.
  void write_events(wire::RawProfile& profile) const;
  // Once the samples are in, weighted: those of an event whose samples all stood for the same become one hit each. Others keep a
  // hit for each occurrence, and the event says how many samples there were.
  void scale_hits(wire::RawProfile& profile) const;

  struct Summary {
    std::string name;
    uint64_t samples = 0;  // records
    uint64_t lost = 0;
    uint64_t hits =
        0;  // observations: each sample for its event or, where it read a group's counters, for every member
    double value = 0;  // in `unit`
    wire::Unit unit = wire::COUNT;
  };
  std::vector<Summary> summaries() const;

  // Lost records that no event can be told of.
  uint64_t lost_without_event() const { return lost_without_event_; }

 private:
  struct Counts {
    uint64_t samples = 0;
    uint64_t hits = 0;
    uint64_t occurrences = 0;
    uint64_t period = 0;  // of the first
    bool periods_differ = false;
    uint64_t lost_records = 0;
    uint64_t lost_samples = 0;
    uint64_t throttles = 0;
  };

  uint64_t period_of(uint32_t event, const DecodedSample& sample) const;
  Status add_readings(uint32_t event, const DecodedSample& sample, std::vector<Weight>& weights);
  Status count(const Weight& weight);
  uint64_t lost_of(size_t event) const;
  std::string note_of(size_t event) const;

  const std::vector<RecordedEvent>& events_;
  const RecordLayouts& layouts_;
  const size_t max_counters_;
  std::vector<Counts> counts_;
  using CounterKey = std::pair<uint64_t, uint32_t>;  // ID, and thread where children inherit the event
  boost::unordered_flat_map<CounterKey, uint64_t> last_readings_;
  uint64_t lost_without_event_ = 0;
};

}  // namespace plimsoll::perf_data
