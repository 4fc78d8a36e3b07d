// From profiles to hours: which origins of a block become one, and what its events come to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sqlite/database.h"
#include "store/model/dictionaries.h"
#include "store/model/profile_record.h"

namespace plimsoll::store {

// A row of the table origin, with its events, in the order of their IDs.
struct OriginRow : ProfileRecord {
  OriginEntry entry = {};
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
