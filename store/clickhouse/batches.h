// Which batches are committed, and so which rows of the tables count.
//
// ClickHouse has no transaction over several tables, and an insert of which the client has lost the answer may still be done, even later. So each
// attempt at a batch gets a number that none had before and none gets again; all that it writes names it, and its mark in the table `batches` is
// written last, in one insert of one row. The mark names the batch that it follows. The newest mark is that of the last batch, and what it
// follows, mark by mark, are all others: what an attempt left behind that was given up is in no such row, whenever it arrives.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/clickhouse/connection.h"
#include "store/clickhouse/row_binary.h"
#include "store/model/dictionaries.h"

namespace plimsoll::store::clickhouse {

// One row of the table.
struct BatchMark {
  uint32_t epoch = 0;
  uint64_t batch = 0;  // its attempt: of later ones larger
  uint64_t place = 0;  // in its epoch, from 0
  uint64_t follows =
      0;  // the batch before it, of the epoch before where `place` is 0; 0: it is the first of all
  int64_t after_sequence = 0;    // Batch::after
  int64_t last_sequence = 0;     // Batch::last
  int64_t written_ns = 0;        // wall clock
  DictionarySizes entries = {};  // with those of the batch
  bool is_complete = false;      // its epoch takes no more batches, whatever the limits of the next writer
  uint32_t shards = 1;  // databases that its rows are split over (shards.h); of later batches no fewer

  bool operator==(const BatchMark&) const = default;
};

// The part of an epoch that counts.
struct EpochBatches {
  uint32_t epoch = 0;
  // First and last of batches without gaps between them; ascending.
  std::vector<std::pair<uint64_t, uint64_t>> ranges = {};
  int64_t first_written_ns = 0;
  BatchMark newest = {};

  bool has(uint64_t batch) const;
  // One more, later than those that it has.
  void add(uint64_t batch);
  // Of its rows, in SQL: "epoch = 3 AND (batch BETWEEN 7 AND 9)".
  std::string condition() const;
};

// Of all epochs that there are, by number. kCorrupt where marks are missing (an epoch is dropped as a whole, and the oldest first), or cannot be.
Result<std::map<uint32_t, EpochBatches>> committed_among(const std::vector<BatchMark>& marks);

// Of batches with larger numbers than `after`, in their order. Of very many it takes several statements: of an epoch that is dropped meanwhile some
// marks may be missing then, which committed_among() finds.
Result<std::vector<BatchMark>> read_marks(Queryable& server, uint64_t after = 0);
// In the order of the table's columns.
void write_mark(const BatchMark& mark, RowBinaryWriter& writer);

// A session number for this process, larger than those of all processes before it, and than `known`. They must have ended: a process with an
// older session gets kConflict (WriterSession::expect_newest).
Result<uint32_t> begin_session(Connection& connection, uint32_t known = 0);
// 0: there was none.
Result<uint32_t> newest_session(Queryable& server);

// The committed batches as a reader follows them. Any thread.
class CommittedBatches {
 public:
  using Epochs = std::map<uint32_t, EpochBatches>;

  // Of all epochs that there are now, by number. Reads the marks that are new: without any it costs one statement.
  Result<std::shared_ptr<const Epochs>> newest(Queryable& server);

 private:
  Result<Epochs> follow(Queryable& server, uint32_t oldest_epoch, uint64_t newest_batch) const;

  std::mutex mutex_;
  std::shared_ptr<const Epochs> epochs_ = std::make_shared<const Epochs>();  // protected by mutex_
};

// The numbers of what this process writes: it has a session that none had before. Any thread.
class WriterSession {
 public:
  explicit WriterSession(uint32_t number) : number_(number) {}

  uint32_t number() const { return number_; }
  // Of the sink's next attempt at a batch.
  uint64_t next_batch() { return first() + ++batches_; }
  // Of the next batch of names. They are apart, so that the ranges of a sink's batches (EpochBatches) have no gaps for them.
  uint64_t next_names() { return first() + kFirstNames + ++names_; }

  // kConflict where another process has begun a later session. A session that begins between this check and the caller's insert is not noticed: a
  // second writer must not be started while this one runs.
  Status expect_newest(Queryable& server, std::string_view database) const;

 private:
  static constexpr uint64_t kFirstNames = uint64_t{1} << 31U;

  uint64_t first() const { return uint64_t{number_} << 32U; }

  const uint32_t number_;
  std::atomic<uint32_t> batches_ = 0;
  std::atomic<uint32_t> names_ = 0;
};

}  // namespace plimsoll::store::clickhouse
