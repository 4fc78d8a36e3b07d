// Which batches are committed, and so which rows of the tables count.
//
// ClickHouse has no transaction over several tables, and an insert of which the client has lost the answer may still be done, even later. So each
// attempt at a batch gets a number that none had before and none gets again; all that it writes names it, and its mark in the table `batches` is
// written last, in one insert of one row. The mark names the batch that it follows. The newest mark is that of the last batch, and what it
// follows, mark by mark, are all others: what an attempt left behind that was given up is in no such row, whenever it arrives.
#pragma once

#include <cstdint>
#include <map>
#include <string>
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

  bool operator==(const BatchMark&) const = default;
};

// The part of an epoch that counts.
struct EpochBatches {
  uint32_t epoch = 0;
  // First and last of batches without gaps between them; ascending.
  std::vector<std::pair<uint64_t, uint64_t>> ranges = {};
  int64_t first_written_ns = 0;
  BatchMark newest = {};

  // One more, later than those that it has.
  void add(uint64_t batch);
  // Of its rows, in SQL: "epoch = 3 AND (batch BETWEEN 7 AND 9)".
  std::string condition() const;
};

// Of all epochs that there are, by number. kCorrupt where marks are missing (an epoch is dropped as a whole, and the oldest first), or cannot be.
Result<std::map<uint32_t, EpochBatches>> committed_among(const std::vector<BatchMark>& marks);

Result<std::vector<BatchMark>> read_marks(Connection& connection);
// In the order of the table's columns.
void write_mark(const BatchMark& mark, RowBinaryWriter& writer);

// A number for the attempts of this process: larger than those of all processes before it. Each must have ended, or write no more.
Result<uint32_t> begin_session(Connection& connection);
// 0: there was none.
Result<uint32_t> newest_session(Connection& connection);

}  // namespace plimsoll::store::clickhouse
