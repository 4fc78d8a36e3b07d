#include "store/clickhouse/clickhouse_rows.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "base/run_both.h"
#include "store/aggregation/cell_sums.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/row_statement.h"

namespace plimsoll::store::clickhouse {
namespace {

// Of 32 bytes in the answer, and as many here.
constexpr uint64_t kRowsPerPage = 1'000'000;
// For each of the epochs that are asked for at once (merged_rows.cc).
constexpr size_t kShardsAtOnce = 4;

// Adds the rows of an answer to the cells that they fall into.
class AnswerFolder {
 public:
  AnswerFolder(const AggregateRequest& request, const std::vector<Column>& columns, const CellSpace& space,
               CellSums& sums, const ByColumn<uint32_t>& last_ids)
      : request_(request),
        columns_(columns),
        space_(space),
        sums_(sums),
        last_ids_(last_ids),
        values_(space.measures()) {}

  Status add(ByteReader& reader) {
    const auto event_group = reader.read<uint32_t>();
    const auto origin_group = reader.read<uint32_t>();
    const auto machine_group = reader.read<uint32_t>();
    CellKey ids;
    bool is_possible = machine_group < space_.machine_groups();
    for (const Column column : columns_) {
      ids[column] = reader.read<uint32_t>();
      is_possible = is_possible && ids[column] <= last_ids_[column];
    }
    const bool has_factor = reader.read<uint8_t>() != 0;
    for (double& value : values_) {
      value = reader.read<double>();
    }
    if (!reader.ok() || !is_possible) {
      return fail(ErrorCode::kCorrupt, "the server's answer has IDs {} and machine group {}",
                  fmt::join(ids.of, ", "), machine_group);
    }
    uint64_t first =
        event_group * space_.stride(Column::kEvent) + origin_group * space_.stride(Column::kOrigin);
    for (const Column column : {Column::kWorkload, Column::kThread, Column::kLabels}) {
      first += request_.group[column].of(ids[column]) * space_.stride(column);
    }
    return add_stack(ids[Column::kStack], first, machine_group, has_factor);
  }

 private:
  Status add_stack(uint32_t stack, uint64_t first, uint32_t machine_group, bool has_factor) {
    const IdGrouping& grouping = request_.group[Column::kStack];
    if (grouping.lists() == nullptr) {
      return add_to(first + grouping.of(stack), machine_group, has_factor);
    }
    Status added;
    for (const uint32_t group : grouping.lists()->of(stack)) {
      added = added ? add_to(first + group, machine_group, has_factor) : added;
    }
    return added;
  }

  Status add_to(uint64_t possible, uint32_t machine_group, bool has_factor) {
    const uint64_t cell = space_.wanted(possible);
    if (cell == CellSpace::kUnwanted) {
      return {};
    }
    // Nothing is written where the server's numbers of groups point.
    if (cell >= space_.cells()) {
      return fail(ErrorCode::kCorrupt, "the server's answer has groups that the question does not have");
    }
    if (!has_factor) {
      return fail(ErrorCode::kCorrupt,
                  "a row names an event of an origin, which the dictionaries do not hold");
    }
    const size_t place = sums_.place(cell);
    if (place == CellSums::kNone) {
      return too_many_sums(request_.max_sums);
    }
    for (size_t measure = 0; measure < values_.size(); ++measure) {
      sums_.sums()[place + measure * space_.machine_groups() + machine_group] += values_[measure];
    }
    return {};
  }

  const AggregateRequest& request_;
  const std::vector<Column>& columns_;
  const CellSpace& space_;
  CellSums& sums_;
  const ByColumn<uint32_t> last_ids_;
  std::vector<double> values_;  // of the row at hand, by measure
};

// Adds up the answers of shards. Any thread.
class ShardSums {
 public:
  ShardSums(const AggregateRequest& request, const std::vector<Column>& columns, const CellSpace& space,
            const ByColumn<uint32_t>& last_ids, size_t shards)
      : request_(request), columns_(columns), space_(space), last_ids_(last_ids), shards_(shards) {}

  Status add(std::string_view answer) {
    const size_t row_bytes =
        (3 + columns_.size()) * sizeof(uint32_t) + sizeof(uint8_t) + space_.measures() * sizeof(double);
    const std::lock_guard lock(mutex_);
    if (sums_ == nullptr) {
      // Machines are spread evenly.
      sums_ = std::make_unique<CellSums>(space_, request_.max_sums, answer.size() / row_bytes * shards_);
    }
    AnswerFolder folder(request_, columns_, space_, *sums_, last_ids_);
    return for_each_row(answer, "sums of rows", [&](ByteReader& reader) { return folder.add(reader); });
  }

  // Once all have been added.
  Result<Cells> cells() const { return sums_->cells(); }

 private:
  const AggregateRequest& request_;
  const std::vector<Column>& columns_;
  const CellSpace& space_;
  const ByColumn<uint32_t> last_ids_;
  const size_t shards_;
  std::mutex mutex_;
  std::unique_ptr<CellSums> sums_;  // protected by mutex_; null: no answer was added yet
};

// An epoch loses its marks before its rows (drop_epoch): where these are there after the answer, so were all rows before it.
Status expect_present(Queryable& server, const EpochBatches& epoch) {
  const auto answer =
      server.query(fmt::format("SELECT count() FROM batches WHERE epoch = {} AND batch = {} FORMAT RowBinary",
                               epoch.epoch, epoch.newest.batch));
  if (!answer) {
    return propagate(answer);
  }
  ByteReader reader(as_bytes(*answer));
  return reader.read<uint64_t>() != 0
             ? Status()
             : with_hint(fail(ErrorCode::kUnavailable, "epoch {} in ClickHouse was dropped while it was read",
                              epoch.epoch),
                         "ask again");
}

// Pages of whole origins.
class ClickHouseCursor : public RowCursor {
 public:
  // `marks`: the database that has them.
  ClickHouseCursor(std::shared_ptr<ConnectionPool> connections, std::shared_ptr<ConnectionPool> marks,
                   EpochBatches epoch, RowFilter filter, EntryTables entries)
      : connections_(std::move(connections)),
        marks_(std::move(marks)),
        epoch_(std::move(epoch)),
        last_ids_(last_ids_of(epoch_.newest.entries)),
        filter_(std::move(filter)),
        entries_(entries) {}

  Result<std::span<const Row>> next() override {
    if (!are_pages_known_) {
      if (const Status found = find_pages(); !found) {
        return propagate(found);
      }
      are_pages_known_ = true;
    }
    rows_.clear();
    Status read = check();
    if (read && next_page_ < pages_.size()) {
      read = read_page(pages_[next_page_]);
      next_page_ += read ? 1 : 0;
    }
    return read ? Result<std::span<const Row>>(rows_) : propagate(read);
  }

 private:
  // Origins from `from` up to `to`.
  struct Page {
    uint32_t from;
    uint32_t to;
    uint64_t rows;
  };

  Statement selecting(std::string_view columns) const {
    Statement statement{fmt::format("SELECT {} FROM rows WHERE {}", columns, epoch_.condition()), {}};
    add_conditions(filter_, epoch_, statement, entries_);
    return statement;
  }

  Status find_pages() {
    if (epoch_.ranges.empty()) {
      return {};
    }
    Statement asked = selecting("origin, count()");
    asked.sql += " GROUP BY origin ORDER BY origin FORMAT RowBinary";
    const auto answer = connections_->query(asked.sql, asked.tables);
    if (!answer) {
      return propagate(answer);
    }
    if (const Status present = expect_present(*marks_, epoch_); !present) {
      return present;
    }
    pages_.clear();
    return for_each_row(*answer, "the rows of origins", [&](ByteReader& reader) -> Status {
      const auto origin = reader.read<uint32_t>();
      const auto count = reader.read<uint64_t>();
      if (pages_.empty() || pages_.back().rows >= kRowsPerPage) {
        pages_.push_back({origin, origin, 0});
      }
      pages_.back().to = origin;
      pages_.back().rows += count;
      return {};
    });
  }

  Status read_page(Page page) {
    Statement asked = selecting("event, origin, workload, thread, labels, stack, hits");
    asked.sql += fmt::format(" AND origin BETWEEN {} AND {} FORMAT RowBinary", page.from, page.to);
    const auto answer = connections_->query(asked.sql, asked.tables);
    if (!answer) {
      return propagate(answer);
    }
    const Status read = for_each_row(*answer, "rows", [&](ByteReader& reader) -> Status {
      Row& row = rows_.emplace_back();
      bool is_possible = true;
      for (const Column column : kColumns) {
        row[column] = reader.read<uint32_t>();
        is_possible = is_possible && row[column] <= last_ids_[column];
      }
      row.hits = reader.read<uint64_t>();
      // They are indexes for who reads the rows.
      return is_possible
                 ? Status()
                 : fail(ErrorCode::kCorrupt, "a row of epoch {} has an ID that its dictionaries lack: {}",
                        epoch_.epoch, fmt::join(row.ids.of, ", "));
    });
    // Batches that are committed do not change: their epoch was dropped, or the answer comes from a replica that lags behind. Fewer rows would
    // look like the end.
    return read && rows_.size() != page.rows
               ? with_hint(fail(ErrorCode::kUnavailable,
                                "epoch {} in ClickHouse has {} rows of origins {} to {}, and had {}",
                                epoch_.epoch, rows_.size(), page.from, page.to, page.rows),
                           "ask again: it was dropped, or a replica lags behind")
               : read;
  }

  const std::shared_ptr<ConnectionPool> connections_;
  const std::shared_ptr<ConnectionPool> marks_;
  const EpochBatches epoch_;
  const ByColumn<uint32_t> last_ids_;
  const RowFilter filter_;
  const EntryTables entries_;
  bool are_pages_known_ = false;
  std::vector<Page> pages_;
  size_t next_page_ = 0;
  std::vector<Row> rows_;
};

// One shard after the other.
class ShardsCursor : public RowCursor {
 public:
  struct Shard {
    std::string name;
    std::unique_ptr<RowCursor> cursor;
  };

  explicit ShardsCursor(std::vector<Shard> shards) : shards_(std::move(shards)) {
    for (const Shard& shard : shards_) {
      shard.cursor->stop_when([this] { return check(); });
    }
  }

  Result<std::span<const Row>> next() override {
    for (; current_ < shards_.size(); ++current_) {
      const auto rows = shards_[current_].cursor->next();
      if (!rows) {
        return propagate(rows, "{}", shards_[current_].name);
      }
      if (!rows->empty()) {
        return *rows;
      }
    }
    return std::span<const Row>();
  }

 private:
  const std::vector<Shard> shards_;
  size_t current_ = 0;
};

}  // namespace

Result<Cells> ClickHouseRows::aggregate(const AggregateRequest& request) const {
  const ByColumn<uint32_t> last_ids = last_ids_of(epoch_.newest.entries);
  const auto space = CellSpace::of(request, last_ids);
  if (!space) {
    return propagate(space);
  }
  if (epoch_.ranges.empty()) {
    return CellSums(*space, request.max_sums, 0).cells();
  }
  const SumsStatement asked =
      sums_statement(request, epoch_, further_.empty() ? EntryTables::kBesideRows : EntryTables::kElsewhere);
  ShardSums sums(request, asked.columns, *space, last_ids, shards());
  std::vector<Status> results(shards());
  std::atomic<size_t> next = 0;
  std::atomic<bool> has_failed = false;
  run_all(std::min(kShardsAtOnce, shards()), [&](size_t) {
    for (size_t number = next++; number < shards() && !has_failed; number = next++) {
      const auto answer = shard(number)->query(asked.statement.sql, asked.statement.tables);
      results[number] = answer ? sums.add(*answer) : propagate(answer);
      has_failed = has_failed || !results[number];
    }
  });
  for (size_t number = 0; number < shards(); ++number) {
    if (!results[number]) {
      return further_.empty() ? propagate(results[number])
                              : propagate(results[number], "{}", shard_name(shard(number)->options()));
    }
  }
  const Status present = expect_present(*connections_, epoch_);
  return present ? sums.cells() : propagate(present);
}

std::unique_ptr<RowCursor> ClickHouseRows::scan(RowFilter filter) const {
  if (further_.empty()) {
    return std::make_unique<ClickHouseCursor>(connections_, connections_, epoch_, std::move(filter),
                                              EntryTables::kBesideRows);
  }
  std::vector<ShardsCursor::Shard> cursors;
  for (size_t number = 0; number < shards(); ++number) {
    cursors.push_back({shard_name(shard(number)->options()),
                       std::make_unique<ClickHouseCursor>(shard(number), connections_, epoch_, filter,
                                                          EntryTables::kElsewhere)});
  }
  return std::make_unique<ShardsCursor>(std::move(cursors));
}

}  // namespace plimsoll::store::clickhouse
