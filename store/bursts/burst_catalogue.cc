#include "store/bursts/burst_catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/hex.h"
#include "base/stop_scope.h"
#include "store/identity/bound_database.h"

namespace plimsoll::store {
namespace {

constexpr const char* kBurstSchema = R"sql(
CREATE TABLE IF NOT EXISTS recording (
  sequence INTEGER PRIMARY KEY,  -- in the order in which they were received
  id BLOB NOT NULL UNIQUE, machine TEXT NOT NULL, config_bits INTEGER NOT NULL,
  is_synchronized INTEGER NOT NULL, max_error_ns INTEGER NOT NULL, estimated_error_ns INTEGER NOT NULL,
  begin_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,
  bursts INTEGER NOT NULL, events INTEGER NOT NULL, lost INTEGER NOT NULL,
  bytes INTEGER NOT NULL, received_ns INTEGER NOT NULL, content_hash BLOB NOT NULL,
  draw TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS recording_times ON recording (begin_ns, end_ns);
)sql";

constexpr const char* kColumns =
    "id, machine, config_bits, is_synchronized, max_error_ns, estimated_error_ns, begin_ns, end_ns, bursts, "
    "events, lost, bytes, received_ns, content_hash, draw";
// Of a file that an older version has written last.
constexpr const char* kColumnsWithoutDraws =
    "id, machine, config_bits, is_synchronized, max_error_ns, estimated_error_ns, begin_ns, end_ns, bursts, "
    "events, lost, bytes, received_ns, content_hash, '' AS draw";

std::string burst_catalogue_path(const std::string& bursts_path) {
  return fmt::format("{}/{}", bursts_path, kBurstCatalogueFile);
}

BurstEntry entry_in(const sqlite::Statement& row) {
  const auto count = [&row](int column) { return static_cast<uint64_t>(row.integer(column)); };
  return {.bursts = {.id = row.blob(0),
                     .machine = std::string(row.text(1)),
                     .draw = std::string(row.text(14)),
                     .config_bits = count(2),
                     .clock = {.is_synchronized = row.integer(3) != 0,
                               .max_error_ns = row.integer(4),
                               .estimated_error_ns = row.integer(5)},
                     .begin_ns = row.integer(6),
                     .end_ns = row.integer(7),
                     .bursts = count(8),
                     .events = count(9),
                     .lost = count(10),
                     .bytes = count(11),
                     .received_ns = row.integer(12)},
          .content_hash = row.blob(13)};
}

Result<bool> has_draws(sqlite::Database& database) {
  const auto found =
      database.integer("SELECT count(*) FROM pragma_table_info('recording') WHERE name = 'draw'", 0);
  return found ? Result<bool>(*found != 0) : propagate(found);
}

// To what an older version has made.
Status add_draws(sqlite::Database& database) {
  const auto has_them = has_draws(database);
  if (!has_them || *has_them) {
    return has_them ? Status() : propagate(has_them);
  }
  return database.run("ALTER TABLE recording ADD COLUMN draw TEXT NOT NULL DEFAULT ''");
}

}  // namespace

std::string recording_path(const std::string& bursts_path, std::string_view id) {
  return fmt::format("{}/{}.bursts", recordings_folder(bursts_path), to_hex(id));
}

Result<BurstCatalogue> BurstCatalogue::open(const std::string& bursts_path, std::string_view directory_id) {
  auto database = open_bound_database(burst_catalogue_path(bursts_path), kBurstSchema, directory_id);
  const Status made = database ? add_draws(*database) : propagate(database);
  return made ? Result<BurstCatalogue>(BurstCatalogue(std::move(*database), kColumns))
              : propagate(made, "adding draws to {}", burst_catalogue_path(bursts_path));
}

Result<std::optional<BurstCatalogue>> BurstCatalogue::open_if_there(const std::string& bursts_path) {
  const std::string path = burst_catalogue_path(bursts_path);
  std::error_code error;
  const bool is_there = std::filesystem::exists(path, error);
  if (error) {
    return fail_errno(error.value(), "looking for {}", path);
  }
  std::optional<BurstCatalogue> catalogue;
  if (is_there) {
    auto database = sqlite::Database::open(path, sqlite::OpenMode::kRead);
    const auto has_table = database ? database->has_table("recording") : propagate(database);
    const auto knows_draws = has_table ? has_draws(*database) : propagate(has_table);
    if (!knows_draws) {
      return propagate(knows_draws, "opening {}", path);
    }
    // Without it the writer has just made the file.
    if (*has_table) {
      catalogue = BurstCatalogue(std::move(*database), *knows_draws ? kColumns : kColumnsWithoutDraws);
    }
  }
  return catalogue;
}

Result<std::optional<BurstEntry>> BurstCatalogue::find(std::string_view id) {
  std::optional<BurstEntry> found;
  const Status read = sqlite::for_each_row(
      database_.query(fmt::format("SELECT {} FROM recording WHERE id = ?", columns_), as_bytes(id)),
      [&](const sqlite::Statement& row) { found = entry_in(row); });
  return read ? Result<std::optional<BurstEntry>>(std::move(found)) : propagate(read);
}

Result<std::vector<StoredBursts>> BurstCatalogue::list(const BurstQuestion& question) {
  std::vector<StoredBursts> found;
  const bool is_limited = question.newest > 0;
  const size_t limit = is_limited ? question.newest : question.max_recordings + 1;
  const Status read = sqlite::for_each_row(
      database_.query(fmt::format("SELECT * FROM (SELECT {0} FROM recording WHERE begin_ns < ?1 AND "
                                  "end_ns > ?2 AND (?3 = '' OR machine = ?3)) WHERE ?4 = '' OR draw = ?4 "
                                  "ORDER BY begin_ns {1}, machine {1}, id {1} LIMIT ?5",
                                  columns_, is_limited ? "DESC" : "ASC"),
                      question.times.to_ns, question.times.from_ns, question.machine, question.draw,
                      static_cast<int64_t>(limit)),
      [&](const sqlite::Statement& row) -> Status {
        if (!is_limited && found.size() == question.max_recordings) {
          return with_hint(fail(ErrorCode::kTooLarge, "there are over {} recordings of bursts of that time",
                                question.max_recordings),
                           "ask for less time, or for one machine");
        }
        found.push_back(entry_in(row).bursts);
        return check_stop();
      });
  if (is_limited) {
    std::ranges::reverse(found);
  }
  return read ? Result<std::vector<StoredBursts>>(std::move(found)) : propagate(read);
}

Result<std::vector<BurstEntry>> BurstCatalogue::all() {
  std::vector<BurstEntry> found;
  const Status read = sqlite::for_each_row(
      database_.query(fmt::format("SELECT {} FROM recording ORDER BY sequence", columns_)),
      [&](const sqlite::Statement& row) { found.push_back(entry_in(row)); });
  return read ? Result<std::vector<BurstEntry>>(std::move(found)) : propagate(read);
}

Result<std::optional<StoredBursts>> BurstCatalogue::oldest_of_several() {
  std::optional<StoredBursts> oldest;
  size_t found = 0;
  const Status read = sqlite::for_each_row(
      database_.query(fmt::format("SELECT {} FROM recording ORDER BY sequence LIMIT 2", columns_)),
      [&](const sqlite::Statement& row) {
        if (++found == 1) {
          oldest = entry_in(row).bursts;
        }
      });
  if (!read) {
    return propagate(read);
  }
  return found == 2 ? std::move(oldest) : std::nullopt;
}

Result<int64_t> BurstCatalogue::bytes() {
  return database_.integer("SELECT coalesce(sum(bytes), 0) FROM recording", 0);
}

Status BurstCatalogue::insert(const BurstEntry& entry) {
  const StoredBursts& bursts = entry.bursts;
  return database_.execute(
      fmt::format("INSERT INTO recording ({}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  kColumns),
      as_bytes(bursts.id), bursts.machine, bursts.config_bits, bursts.clock.is_synchronized ? 1 : 0,
      bursts.clock.max_error_ns, bursts.clock.estimated_error_ns, bursts.begin_ns, bursts.end_ns,
      bursts.bursts, bursts.events, bursts.lost, bursts.bytes, bursts.received_ns,
      as_bytes(entry.content_hash), bursts.draw);
}

Status BurstCatalogue::remove(std::string_view id) {
  return database_.execute("DELETE FROM recording WHERE id = ?", as_bytes(id));
}

}  // namespace plimsoll::store
