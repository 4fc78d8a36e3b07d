// Entries of dictionaries and what else a batch has, as rows of their tables, and back.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/clickhouse/batches.h"
#include "store/clickhouse/connection.h"
#include "store/model/batch.h"
#include "store/model/dictionaries.h"

namespace plimsoll::store::clickhouse {

struct TableRows {
  std::string_view table;
  std::string rows;  // RowBinary
};

// The epoch and the attempt that rows of a batch name.
struct BatchNumber {
  uint32_t epoch = 0;
  uint64_t batch = 0;
};

// Calls `use` with the rows of each table that the batch has some for, `rows` and `batches` aside, until it fails. `carried` are the events that
// an epoch begins with, from ID 1 on.
Status for_each_table(const Batch& batch, BatchNumber number, std::span<const EventEntry> carried,
                      const std::function<Status(const TableRows& rows)>& use);

// Some of the batch's rows.
std::string encode_rows(std::span<const Row> rows, BatchNumber number);

// All entries of an epoch, without the events of origins. kCorrupt where one is missing or there twice.
Result<Dictionaries> read_dictionaries(Connection& connection, const EpochBatches& epoch);
// Adds them.
Status read_origin_events(Connection& connection, const EpochBatches& epoch, Dictionaries& entries);
// Without the empty one.
Result<std::vector<EventEntry>> read_events(Connection& connection, const EpochBatches& epoch);

}  // namespace plimsoll::store::clickhouse
