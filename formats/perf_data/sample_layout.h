// Where in a record its event's ID, its time and its sample's fields lie: perf_event_open(2), "PERF_RECORD_SAMPLE", and
// enum perf_event_sample_format in <linux/perf_event.h>.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "capture/perf/records.h"
#include "formats/perf_data/metadata.h"

namespace plimsoll::perf_data {

// Tells which event a record belongs to. Immutable; borrows the events.
class RecordLayouts {
 public:
  // What else records have may differ from event to event. kUnsupported where an ID cannot be found without knowing the event.
  static Result<RecordLayouts> make(const std::vector<RecordedEvent>& events);

  // Index of the event that a sample belongs to; nothing where its ID is none of the recording's. A single event needs no ID;
  // of several without IDs the first takes all.
  std::optional<uint32_t> event_of_sample(Bytes record) const;
  // Likewise of a record that is no sample, by what follows it.
  std::optional<uint32_t> event_of_other(Bytes record) const;
  std::optional<uint32_t> event_of_id(uint64_t id) const;

  // Whether several events share one stream of samples without saying which is whose.
  bool lacks_ids() const { return events_->size() > 1 && !id_at_; }

  // 0 where it has none: perf's own records, and those that tell of the time before the recording.
  uint64_t time_ns(Bytes record) const;
  // Whether records of perf's own making, which look like the first event's, have times.
  bool tells_times() const { return trailers_.front().time_from_end.has_value(); }

  // The record without its trailer.
  Bytes without_trailer(Bytes record) const;

 private:
  // What follows a record that is no sample (struct sample_id of sample_id_all).
  struct Trailer {
    size_t size_bytes = 0;
    std::optional<size_t> time_from_end = {};
    bool operator==(const Trailer&) const = default;
  };

  explicit RecordLayouts(const std::vector<RecordedEvent>& events);
  const Trailer& trailer_of(Bytes record) const;

  const std::vector<RecordedEvent>* events_;
  boost::unordered_flat_map<uint64_t, uint32_t> event_of_id_;
  std::optional<size_t> id_at_;                // in a sample, from the record's begin
  std::optional<size_t> trailer_id_from_end_;  // in other records
  std::vector<Trailer> trailers_;              // by event
};

// One value of PERF_SAMPLE_READ.
struct CounterReading {
  uint64_t value = 0;
  uint64_t id = 0;
};

// Of samples that do not tell their process, or were taken of one that was gone.
inline constexpr uint32_t kUnknownPid = UINT32_MAX;

// A sample's fields, in terms of this machine. Reused from sample to sample, so that it allocates seldom.
struct DecodedSample {
  perf::SampleRecord
      record;  // its call chain has PERF_CONTEXT_* marks; a single mark and address where there is no chain
  uint64_t period = 0;                       // 0: not told
  std::vector<CounterReading> readings;      // the group's leader first
  std::vector<perf::BranchRecord> branches;  // the newest first
  bool has_all_branches = false;  // that were taken; else some kinds of them, so that others lie between two
  bool has_leaf_alone = false;    // of a call chain that was asked for: the kernel found no frame
  bool is_of_guest = false;
  bool is_in_kernel = false;
  size_t unread_bytes = 0;  // of the record, behind all of its fields: none in a sound one
};

// Decodes the fields of the event's sample type, in the kernel's order. `unwinds`: its registers are x86-64's. False where the
// record ends before its fields do.
bool decode_sample(Bytes record, const perf_event_attr& attr, bool unwinds, DecodedSample& sample);

}  // namespace plimsoll::perf_data
