// The contents of those parts of a store that were asked for last: each row of parts has entries of its own in memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/stoppable_mutex.h"
#include "store/door/source.h"
#include "store/joined/part_reader.h"
#include "store/joined/part_rows.h"
#include "store/joined/part_series.h"

namespace plimsoll::store {

// One thread at a time, but for what it gives.
class RecentSeries {
 public:
  // Of a source that is asked for some parts, and later for those and further ones. Any thread.
  class Series {
   public:
    Series(const PartSeries::Readers& parts, JoinParts join, uint64_t max_bytes)
        : parts_(parts), contents_(parts, join, max_bytes) {}

    // Waits for others that read the same, at most until check_stop() fails. Nothing: another question has gone on to further parts meanwhile.
    std::optional<Result<Contents>> newest(const PartSeries::Readers& parts, const PartFacts& facts);

   private:
    friend class RecentSeries;
    class Update;

    PartSeries::Readers parts_;  // of RecentSeries: that it will have
    StoppableMutex mutex_;
    PartSeries contents_;  // protected by mutex_
    std::atomic<uint64_t> lineage_{contents_.lineage()};
    std::atomic<uint64_t> memory_bytes_{0};
  };

  // `max_bytes` is for what several parts have in common, of those that were asked for last; a series fails with kTooLarge where its question
  // needs more.
  RecentSeries(JoinParts join, uint64_t max_bytes) : join_(join), max_bytes_(max_bytes) {}

  // That of these parts, at least one, or else of most of the first of them, which goes on with all.
  std::shared_ptr<Series> of(const PartSeries::Readers& parts);

  // Forgets series with a part of which `is_gone` says so: what was made of it is of use to questions that have it already, and to no other.
  template <typename IsGone>
  void forget_where(const IsGone& is_gone) {
    std::erase_if(series_, [&](const auto& series) {
      for (const auto& part : series->parts_) {
        if (is_gone(*part)) {
          return true;
        }
      }
      return false;
    });
  }

  std::vector<uint64_t> lineages() const;

 private:
  void forget_old();

  const JoinParts join_;
  const uint64_t max_bytes_;
  std::list<std::shared_ptr<Series>> series_;  // the one that was asked for last first
};

// A fifth of the memory that this process may have, and 64 GiB at most.
uint64_t default_series_bytes();

}  // namespace plimsoll::store
