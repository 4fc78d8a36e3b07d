// Whether rows have the hits that their origins came with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "store/model/profile_record.h"
#include "store/model/row.h"

namespace plimsoll::store {

// Sums the hits of rows by origin and event while a block is written again. Memory: 24 bytes for each event of an origin.
class OriginHits {
 public:
  // Of the next origin, from 1. `events` by ascending ID.
  void add_origin(std::span<const EventRecord> events);

  // kCorrupt where the row's origin is not known, or did not come with the row's event.
  Status add(const Row& row);

  // kCorrupt unless each of the origins from `first` to before `end` has the hits that it came with.
  Status expect_all(size_t first, size_t end) const;

  // IDs that are known, 0 among them.
  size_t origins() const { return first_.size() - 1; }

 private:
  struct EventHits {
    uint32_t event = 0;
    uint64_t expected = 0;
    uint64_t found = 0;
  };

  std::vector<EventHits> events_;    // by origin, then by event
  std::vector<size_t> first_{0, 0};  // by origin, and one behind the last: where its events begin
};

}  // namespace plimsoll::store
