// Rows in ClickHouse, for the conformance suite of RowSource.
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "store/clickhouse/clickhouse_rows.h"
#include "store/clickhouse/entry_rows.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/schema.h"
#include "store/clickhouse/shards.h"
#include "store/model/batch.h"
#include "tests/clickhouse/clickhouse_server.h"
#include "tests/conformance/random_requests.h"
#include "tests/conformance/row_sources.h"

namespace plimsoll::testing {
namespace {

// What the entries of a batch are borrowed from.
struct EntryLists {
  std::vector<store::MachineEntry> machines = {};
  std::vector<store::OriginEntry> origins = {};
  std::vector<store::WorkloadEntry> workloads = {};
  std::vector<std::string> threads = {};
};

// Entries of all IDs that rows have, with the values that conditions of random_requests.h are about; `shift`: with those of others.
store::Batch entries_for(const store::DictionarySizes& sizes, uint32_t shift, EntryLists& lists) {
  constexpr uint32_t kMachines = 3;
  for (uint32_t machine = 0; machine < kMachines; ++machine) {
    lists.machines.emplace_back().platform = value_of_entry(machine + shift);
  }
  for (uint32_t id = 1; id < sizes.origins; ++id) {
    store::OriginEntry& origin = lists.origins.emplace_back();
    origin.machine = 1 + id % kMachines;
    origin.draw = value_of_entry(id + shift);
    origin.from_ns = start_of_origin(id + shift);
    origin.to_ns = origin.from_ns + kWindowNs;
  }
  for (uint32_t id = 1; id < sizes.workloads; ++id) {
    store::WorkloadEntry& workload = lists.workloads.emplace_back();
    workload.job = workload.app = value_of_entry(id + shift);
  }
  for (uint32_t id = 1; id < sizes.threads; ++id) {
    lists.threads.push_back(value_of_entry(id + shift));
  }
  store::Batch batch;
  batch.entries.machines = lists.machines;
  batch.entries.origins = lists.origins;
  batch.entries.workloads = lists.workloads;
  batch.entries.threads = lists.threads;
  batch.profiles.resize(lists.origins.size());
  return batch;
}

// Rows of other batches beside those that count: of another epoch, and of an attempt that was given up. All are split over so many databases, by
// origin; entries are in the first one.
Result<std::unique_ptr<store::RowSource>> make_clickhouse_rows(ClickHouseEngine engine, size_t shards,
                                                               const std::vector<store::Row>& rows) {
  constexpr uint32_t kEpoch = 7;
  constexpr uint64_t kBatch = 70;
  const auto options = ClickHouseServer::shared(engine).new_database();
  store::clickhouse::Connection connection(options);
  Status done = store::clickhouse::prepare_tables(connection);
  std::vector<store::clickhouse::ConnectionOptions> further;
  while (1 + further.size() < shards) {
    auto shard = ClickHouseServer::shared(engine).new_database();
    shard.shard = 1 + further.size();
    further.push_back(shard);
    store::clickhouse::Connection there(shard);
    done = done ? store::clickhouse::prepare_tables(there) : done;
  }
  store::clickhouse::RowInserter inserter(further);
  store::clickhouse::EpochBatches epoch{.epoch = kEpoch};
  epoch.add(kBatch);
  epoch.add(kBatch + 2);
  const auto shard_of = [&](uint32_t origin) { return static_cast<uint32_t>(origin % shards); };
  const auto insert = [&](std::span<const store::Row> some, store::clickhouse::BatchNumber number) {
    done = done ? inserter.insert(connection, some, number, shard_of) : done;
  };
  const auto first = std::span(rows).first(rows.size() / 2);
  insert(first, {kEpoch, kBatch});
  insert(first, {kEpoch, kBatch + 1});
  insert(std::span(rows).subspan(first.size()), {kEpoch, kBatch + 2});
  insert(first, {kEpoch + 1, kBatch});
  store::DictionarySizes& sizes = epoch.newest.entries;
  const store::ByColumn<size_t*> entries{
      {&sizes.events, &sizes.origins, &sizes.workloads, &sizes.threads, &sizes.label_sets, &sizes.stacks}};
  for (const store::Row& row : rows) {
    for (const store::Column column : store::kColumns) {
      *entries[column] = std::max(*entries[column], size_t{row[column]} + 1);
    }
  }
  const auto insert_entries = [&](uint32_t shift, store::clickhouse::BatchNumber number) {
    EntryLists lists;
    const store::Batch batch = entries_for(sizes, shift, lists);
    const Status inserted =
        store::clickhouse::for_each_table(batch, number, {}, [&](const store::clickhouse::TableRows& table) {
          return connection.insert(table.table, store::clickhouse::table_called(table.table).columns(),
                                   table.rows);
        });
    done = done ? inserted : done;
  };
  insert_entries(0, {kEpoch, kBatch});
  insert_entries(1, {kEpoch, kBatch + 1});
  insert_entries(2, {kEpoch + 1, kBatch});
  epoch.newest.batch = kBatch + 2;
  epoch.newest.epoch = kEpoch;
  store::clickhouse::RowBinaryWriter mark;
  store::clickhouse::write_mark(epoch.newest, mark);
  done =
      done ? connection.insert("batches", store::clickhouse::table_called("batches").columns(), mark.bytes())
           : done;
  if (!done) {
    return propagate(done);
  }
  return std::make_unique<store::clickhouse::ClickHouseRows>(
      std::make_shared<store::clickhouse::ConnectionPool>(options), epoch,
      store::clickhouse::pools_of(further));
}

template <ClickHouseEngine kEngine>
Implementation clickhouse_rows(const std::string& name, size_t shards = 1) {
  return {.name = name,
          .make = [=](const auto& rows, const auto&) { return make_clickhouse_rows(kEngine, shards, rows); },
          .why_missing = [] { return ClickHouseServer::why_missing(kEngine); },
          .one_request_in = 8};
}

}  // namespace

std::vector<Implementation> row_source_implementations() {
  return {clickhouse_rows<ClickHouseEngine::kDebian>("ClickHouse"),
          clickhouse_rows<ClickHouseEngine::kDebian>("ClickHouseOf2Shards", 2),
          clickhouse_rows<ClickHouseEngine::kDebian>("ClickHouseOf3Shards", 3),
          clickhouse_rows<ClickHouseEngine::kToday>("ClickHouseOfToday"),
          clickhouse_rows<ClickHouseEngine::kToday>("ClickHouseOfTodayOf2Shards", 2)};
}

}  // namespace plimsoll::testing
