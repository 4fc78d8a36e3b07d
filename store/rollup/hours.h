// From profiles to hours: which origins of a block become one, and what its events come to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sqlite/database.h"
#include "store/model/dictionaries.h"

namespace plimsoll::store {

// A row of the table origin_event, without its key's origin.
struct EventRow {
  uint32_t event = 0;
  double scale = 0;
  uint64_t hits = 0;
  uint64_t lost = 0;
  uint64_t throttles = 0;
  double counter_total = 0;
  int64_t time_enabled_ns = 0;
  int64_t time_running_ns = 0;
  std::string note = {};
  uint64_t samples = 0;
  // Of hours (table rolled_up_event).
  uint64_t profiles = 1;
  int64_t observed_ns = 0;
  double effective_samples = 0;

  bool ran() const { return time_enabled_ns == 0 || time_running_ns > 0; }
};

// A row of the table origin, with its events, in the order of their IDs.
struct OriginRow {
  std::string profile_id;
  int64_t archive_sequence = 0;
  OriginEntry entry;
  std::vector<EventRow> events;
};

// Of a block. By ID; the first is empty.
Result<std::vector<OriginRow>> read_origins(sqlite::Database& catalogue);

// Immutable.
class Hours {
 public:
  // Profiles become one where their machine (with all its attributes), draw, stratum, probability, interval and series are the same, the same
  // events ran in them, and their middles are in the same hour (UTC): so each weighs in every question about whole hours what the others
  // weigh. `profiles` and `events` by ID.
  Hours(const std::vector<OriginRow>& profiles, const AppendOnlyList<EventEntry>& events);

  // By ID; in the order of the archive, each with the last of its profiles' IDs and sequences.
  const std::vector<OriginRow>& origins() const { return origins_; }
  size_t profiles() const { return origin_of_.size() - 1; }
  // Of a profile.
  uint32_t origin_of(uint32_t profile) const { return origin_of_[profile]; }
  // What the hits of a profile's rows are multiplied by.
  uint64_t multiplier(uint32_t profile, uint32_t event) const;

 private:
  struct Multiplier {
    uint32_t event = 0;
    uint32_t multiplier = 1;
  };

  bool merge(const std::vector<uint32_t>& members, const std::vector<OriginRow>& profiles);
  bool merge_event(size_t place, const std::vector<uint32_t>& members, const std::vector<OriginRow>& profiles,
                   OriginRow& hour, std::vector<uint32_t>& multipliers) const;
  void sort_by_sequence();

  std::vector<uint32_t> base_of_squares_;  // by event; 0: it is none of squares
  std::vector<OriginRow> origins_ = std::vector<OriginRow>(1);
  std::vector<uint32_t> origin_of_;
  std::vector<std::vector<Multiplier>> multipliers_;  // by profile; those that are not 1
};

}  // namespace plimsoll::store
