// Entries of dictionaries and what else a batch has, as rows of their tables, and back.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/result.h"
#include "store/clickhouse/batches.h"
#include "store/clickhouse/connection.h"
#include "store/door/symbols.h"
#include "store/model/batch.h"
#include "store/model/bindings.h"
#include "store/model/dictionaries.h"
#include "store/model/profile_record.h"

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

// The same of names that a search found: of the tables `bindings` and `binary_accounts`.
Status for_each_name_table(std::span<const NamedBinary> binaries, BatchNumber number,
                           const std::function<Status(const TableRows& rows)>& use);

// Adds the entries of an epoch that are missing, the events of origins aside. kCorrupt where one is not there, is there twice, or names another
// one that is not there; then some may have been added.
Status extend(Dictionaries& entries, Queryable& server, const EpochBatches& epoch);
// Adds the events of origins that have none yet.
Status extend_origin_events(Dictionaries& entries, Queryable& server, const EpochBatches& epoch);
// Of each origin, from ID 1 on.
Result<std::vector<ProfileRecord>> read_profiles(Queryable& server, const EpochBatches& epoch);
// Without the empty one.
Result<std::vector<EventEntry>> read_events(Queryable& server, const EpochBatches& epoch);
Result<std::vector<MachineEntry>> read_machines(Queryable& server, const EpochBatches& epoch);

// Of a row of `bindings` from the column `function` on, and of `binary_accounts` from `quality` on.
void read_frame(ByteReader& reader, Frame& frame);
void read_account(ByteReader& reader, BinaryAccount& account);

}  // namespace plimsoll::store::clickhouse
