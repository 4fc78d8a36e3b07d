// The sink of a store in ClickHouse (store/door/sink.h).
//
// A batch is written table by table under the number of this attempt, and its mark last (batches.h): readers see all of it, or nothing. Whatever
// fails before, the batch is not committed, and the next attempt writes it again under another number; what is left of this one takes room until
// its epoch is dropped. Rows may be split over several databases by machine (shards.h); all else is in the main one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/clickhouse/batches.h"
#include "store/clickhouse/connection.h"
#include "store/clickhouse/shards.h"
#include "store/door/sink.h"

namespace plimsoll::store::clickhouse {

// Of an epoch.
struct EpochLimits {
  uint64_t max_profiles = 500'000;
  uint64_t max_entries =
      4'000'000;  // of its dictionaries, which the builder and each question have in memory
  int64_t max_age_ns = int64_t{24} * 3600 * 1'000'000'000;  // since its first batch
};

class ClickHouseSink : public Sink {
 public:
  // A commit is some ten statements, of which each makes a part of a table.
  static constexpr uint64_t kClickHouseBatchProfiles = 1024;

  // Makes the tables where they are missing, and takes over from the process that wrote before, which must have ended. `now_ns` is the wall
  // clock. `further`: the other shards of the rows, of which kConflict where the newest batch is split over more.
  static Result<std::unique_ptr<ClickHouseSink>> open(ConnectionOptions options, const EpochLimits& limits,
                                                      std::function<int64_t()> now_ns,
                                                      const std::vector<ConnectionOptions>& further = {});

  int64_t committed_up_to() const override { return committed_up_to_; }
  Result<Place> begin(bool is_profile_waiting) override;
  Result<Dictionaries> dictionaries() override;
  // kConflict also where another process has taken over.
  Status commit(Batch batch) override;

  // For what else this process writes.
  std::shared_ptr<WriterSession> session() const { return session_; }

 private:
  // What is committed, and where the next batch goes.
  struct State {
    BatchMark newest;                // batch 0: there is none
    EpochBatches batches;            // of its epoch
    std::vector<EventEntry> events;  // of its epoch, from ID 1 on
    // Of its epoch's machines, by ID. Not kept where there is one database.
    std::vector<uint32_t> machine_shards = {0};
    bool begins_epoch = false;  // the next batch: with these events
  };

  ClickHouseSink(Connection connection, RowInserter inserter, uint32_t session, const EpochLimits& limits,
                 std::function<int64_t()> now_ns)
      : connection_(std::move(connection)),
        inserter_(std::move(inserter)),
        session_(std::make_shared<WriterSession>(session)),
        limits_(limits),
        now_ns_(std::move(now_ns)) {}

  Status learn_state();
  Status learn_machines(State& state);
  bool is_full() const;
  bool is_old() const;
  uint32_t epoch() const { return state_.newest.epoch + (state_.begins_epoch ? 1U : 0U); }
  DictionarySizes sizes() const;
  Status expect_place(const Batch& batch) const;
  State after(const Batch& batch);
  Status write(const Batch& batch, std::span<const EventEntry> carried, const State& next);

  Connection connection_;
  RowInserter inserter_;
  const std::shared_ptr<WriterSession> session_;
  const EpochLimits limits_;
  const std::function<int64_t()> now_ns_;
  State state_;
  bool is_state_known_ = false;  // it is not after a commit that failed
  std::atomic<int64_t> committed_up_to_ = 0;
};

}  // namespace plimsoll::store::clickhouse
