#include "store/spans/finding_store.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/stop_scope.h"
#include "store/identity/bound_database.h"

namespace plimsoll::store {
namespace {

constexpr const char* kFindingSchema = R"sql(
CREATE TABLE IF NOT EXISTS hour (
  begin_ns INTEGER PRIMARY KEY, requests INTEGER NOT NULL, note TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS category (  -- the most requests first
  hour INTEGER NOT NULL REFERENCES hour(begin_ns), place INTEGER NOT NULL,
  service TEXT NOT NULL, operation TEXT NOT NULL, category TEXT NOT NULL,
  requests INTEGER NOT NULL, weight REAL NOT NULL, variation REAL NOT NULL,
  p50_ns INTEGER NOT NULL, p50_low_ns INTEGER NOT NULL, p50_high_ns INTEGER NOT NULL,
  p95_ns INTEGER NOT NULL, p95_low_ns INTEGER NOT NULL, p95_high_ns INTEGER NOT NULL,
  p99_ns INTEGER NOT NULL, p99_low_ns INTEGER NOT NULL, p99_high_ns INTEGER NOT NULL,
  PRIMARY KEY (hour, place)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS finding (  -- the highest score first
  hour INTEGER NOT NULL REFERENCES hour(begin_ns), place INTEGER NOT NULL,
  service TEXT NOT NULL, operation TEXT NOT NULL, replica TEXT NOT NULL, machine TEXT NOT NULL,
  kind TEXT NOT NULL, score REAL NOT NULL, confidence REAL NOT NULL, evidence TEXT NOT NULL,
  PRIMARY KEY (hour, place)
) WITHOUT ROWID;
)sql";

std::string findings_path(const std::string& spans_path) {
  return fmt::format("{}/{}", spans_path, kFindingsFile);
}

LatencyQuantile quantile_in(const sqlite::Statement& row, int column) {
  return {row.integer(column), row.integer(column + 1), row.integer(column + 2)};
}

Status delete_hours(sqlite::Database& database, std::string_view which, int64_t begin_ns) {
  Status deleted;
  for (const char* table : {"category", "finding"}) {
    deleted = deleted
                  ? database.execute(fmt::format("DELETE FROM {} WHERE hour {} ?", table, which), begin_ns)
                  : deleted;
  }
  return deleted ? database.execute(fmt::format("DELETE FROM hour WHERE begin_ns {} ?", which), begin_ns)
                 : deleted;
}

Status insert_hour(sqlite::Database& database, const DiagnosedHour& hour) {
  Status added =
      database.execute("INSERT INTO hour VALUES (?, ?, ?)", hour.begin_ns, hour.requests, hour.note);
  for (size_t place = 0; place < hour.categories.size() && added; ++place) {
    const CategoryStatistics& one = hour.categories[place];
    added = database.execute(
        "INSERT INTO category VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", hour.begin_ns,
        place, one.service, one.operation, one.category, one.requests, one.weight, one.variation,
        one.p50.value_ns, one.p50.low_ns, one.p50.high_ns, one.p95.value_ns, one.p95.low_ns, one.p95.high_ns,
        one.p99.value_ns, one.p99.low_ns, one.p99.high_ns);
  }
  for (size_t place = 0; place < hour.findings.size() && added; ++place) {
    const KeptFinding& one = hour.findings[place];
    added = database.execute("INSERT INTO finding VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", hour.begin_ns,
                             place, one.service, one.operation, one.replica, one.machine, one.kind, one.score,
                             one.confidence, one.evidence);
  }
  return added;
}

}  // namespace

Result<FindingStore> FindingStore::open(const std::string& spans_path, std::string_view directory_id) {
  auto database = open_bound_database(findings_path(spans_path), kFindingSchema, directory_id);
  return database ? Result<FindingStore>(FindingStore(std::move(*database))) : propagate(database);
}

Result<std::optional<FindingStore>> FindingStore::open_if_there(const std::string& spans_path) {
  const std::string path = findings_path(spans_path);
  std::error_code error;
  const bool is_there = std::filesystem::exists(path, error);
  if (error) {
    return fail_errno(error.value(), "looking for {}", path);
  }
  std::optional<FindingStore> store;
  if (is_there) {
    auto database = sqlite::Database::open(path, sqlite::OpenMode::kRead);
    if (!database) {
      return propagate(database);
    }
    store = FindingStore(std::move(*database));
  }
  return store;
}

Status FindingStore::add(const DiagnosedHour& hour, int64_t oldest_ns) {
  auto transaction = sqlite::Transaction::begin(database_);
  Status added = transaction ? delete_hours(database_, "=", hour.begin_ns) : propagate(transaction);
  added = added ? delete_hours(database_, "<", oldest_ns) : added;
  added = added ? insert_hour(database_, hour) : added;
  return added ? transaction->commit() : added;
}

Status FindingStore::read_categories(DiagnosedHour& hour) {
  return sqlite::for_each_row(
      database_.query("SELECT service, operation, category, requests, weight, variation, p50_ns, p50_low_ns, "
                      "p50_high_ns, p95_ns, p95_low_ns, p95_high_ns, p99_ns, p99_low_ns, p99_high_ns "
                      "FROM category WHERE hour = ? ORDER BY place",
                      hour.begin_ns),
      [&](const sqlite::Statement& row) {
        hour.categories.push_back({.service = std::string(row.text(0)),
                                   .operation = std::string(row.text(1)),
                                   .category = std::string(row.text(2)),
                                   .requests = static_cast<uint64_t>(row.integer(3)),
                                   .weight = row.real(4),
                                   .p50 = quantile_in(row, 6),
                                   .p95 = quantile_in(row, 9),
                                   .p99 = quantile_in(row, 12),
                                   .variation = row.real(5)});
      });
}

Status FindingStore::read_findings(DiagnosedHour& hour) {
  return sqlite::for_each_row(
      database_.query("SELECT service, operation, replica, machine, kind, score, confidence, evidence "
                      "FROM finding WHERE hour = ? ORDER BY place",
                      hour.begin_ns),
      [&](const sqlite::Statement& row) {
        hour.findings.push_back({.service = std::string(row.text(0)),
                                 .operation = std::string(row.text(1)),
                                 .replica = std::string(row.text(2)),
                                 .machine = std::string(row.text(3)),
                                 .kind = std::string(row.text(4)),
                                 .score = row.real(5),
                                 .confidence = row.real(6),
                                 .evidence = std::string(row.text(7))});
      });
}

Status FindingStore::visit(int64_t from_ns, int64_t to_ns, bool with_categories,
                           const std::function<void(const DiagnosedHour& hour)>& visitor) {
  // One state of all three tables.
  const auto transaction = sqlite::Transaction::begin_read(database_);
  if (!transaction) {
    return propagate(transaction);
  }
  return sqlite::for_each_row(
      database_.query("SELECT begin_ns, requests, note FROM hour WHERE begin_ns >= ? AND begin_ns < ? "
                      "ORDER BY begin_ns DESC",
                      from_ns, to_ns),
      [&](const sqlite::Statement& row) -> Status {
        DiagnosedHour hour{.begin_ns = row.integer(0),
                           .requests = static_cast<uint64_t>(row.integer(1)),
                           .note = std::string(row.text(2)),
                           .categories = {},
                           .findings = {}};
        Status read = check_stop();
        read = read && with_categories ? read_categories(hour) : read;
        read = read ? read_findings(hour) : read;
        if (read) {
          visitor(hour);
        }
        return read;
      });
}

Result<std::optional<int64_t>> FindingStore::newest_ns(int64_t before_ns) {
  std::optional<int64_t> newest;
  const Status read = sqlite::for_each_row(
      database_.query("SELECT begin_ns FROM hour WHERE begin_ns < ? ORDER BY begin_ns DESC LIMIT 1",
                      before_ns),
      [&](const sqlite::Statement& row) { newest = row.integer(0); });
  return read ? Result<std::optional<int64_t>>(newest) : propagate(read);
}

}  // namespace plimsoll::store
