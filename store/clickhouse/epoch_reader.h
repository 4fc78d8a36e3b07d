// An epoch in ClickHouse as a reader follows it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "base/stoppable_mutex.h"
#include "store/clickhouse/batches.h"
#include "store/clickhouse/connection.h"
#include "store/clickhouse/epoch_names.h"
#include "store/clickhouse/shards.h"
#include "store/joined/part_choice.h"
#include "store/joined/part_reader.h"
#include "store/model/damaged_part.h"

namespace plimsoll::store::clickhouse {

struct EpochTimes : PartTimes {
  bool is_rolled_up = false;  // each of its profiles is of an hour
};

// Reads what is new alone. Any thread.
class EpochReader : public PartReader {
 public:
  EpochReader(std::shared_ptr<ConnectionPool> connections, uint32_t epoch, ShardPools further = {})
      : connections_(std::move(connections)),
        further_(std::move(further)),
        number_(epoch),
        state_{.batches = {.epoch = epoch}} {}

  // Whether these have all batches that it follows. If not, its entries and names may be those of a batch that counts no more, and another
  // reader has to take its place: the mark of an attempt that was given up has arrived late, and the next batch does not follow it.
  bool is_continued_by(const EpochBatches& batches) const;

  // What is committed now, and how many batches of names: version() and read() are of that. `is_newest`: others may have names that come, and
  // no more profiles.
  void follow(const EpochBatches& batches, uint64_t name_batches, bool is_newest);

  // Reads the times of all of them, as far as they are not known yet, with one statement for some hundred epochs. One that lacks an entry that its
  // marks tell of is damaged.
  static Status read_times(Queryable& server, std::span<EpochReader* const> readers);
  // As read_times() has found them.
  EpochTimes times() const;

  std::string name() const override;

  // Entries are missing. For a minute: a replica may have lagged behind.
  std::optional<DamagedPart> damage() const override;
  Result<int64_t> version() override;
  Result<PartContents> read(const EntriesMark& known) override;

  // Frees what is known of an epoch that is complete and has had no new names for a while, unless it is being read. A caller that has been
  // given it keeps it.
  void forget_old_entries();

 private:
  using Clock = std::chrono::steady_clock;

  // What is committed.
  struct State {
    EpochBatches batches;
    uint64_t name_batches = 0;
    bool is_newest = true;
    int64_t version = 1;
  };

  // Origins whose times are not known yet.
  struct Untimed {
    EpochReader* reader = nullptr;
    EpochBatches batches = {};
    size_t first_origin = 1;
  };

  static Status ask_times(Queryable& server, const std::string& conditions, std::span<const Untimed> asked);
  std::optional<Untimed> untimed();
  void take_times(const Untimed& untimed, const EpochTimes& times);

  State state() const;
  Status extend(const State& state);
  void forget();
  void forget_unless_extended(const State& state);
  void note_damage(const Error& error);

  const std::shared_ptr<ConnectionPool> connections_;
  const ShardPools further_;
  const uint32_t number_;

  mutable std::mutex state_mutex_;
  State state_;  // protected by state_mutex_, like all up to the next mutex
  std::optional<DamagedPart> damage_;
  Clock::time_point damaged_until_;

  mutable std::mutex times_mutex_;
  EpochTimes times_;          // protected by times_mutex_
  size_t timed_origins_ = 1;  // likewise: of which they are

  StoppableMutex mutex_;  // held while the server is asked
  std::shared_ptr<const PartEntries>
      entries_;  // protected by mutex_, like all below; none: they were forgotten, or not read yet
  EpochNames names_;
  EntriesMark mark_;                           // of entries_
  int64_t reading_ = 0;                        // likewise
  std::optional<Clock::time_point> extended_;  // when there were new ones last
};

}  // namespace plimsoll::store::clickhouse
