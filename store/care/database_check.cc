#include "store/care/database_check.h"

#include <filesystem>
#include <system_error>

#include "sqlite/page_checksums.h"
#include "store/identity/listed_database.h"

namespace plimsoll::store {
namespace {

constexpr std::string_view kIntegritySql = "PRAGMA integrity_check(10)";
constexpr int kMaxForeignKeys = 10;

void check_structure(CheckLog& log, sqlite::Database& database) {
  const Status checked =
      sqlite::for_each_row(database.query(kIntegritySql), [&](const sqlite::Statement& row) {
        if (row.text(0) != "ok") {
          log.add(database.path(), std::string(row.text(0)), std::string(kRestoreFile));
        }
      });
  if (!checked) {
    log.add(database.path(), checked.error(), kRestoreFile);
  }
}

void check_foreign_keys(CheckLog& log, sqlite::Database& database) {
  int found = 0;
  const Status checked = sqlite::for_each_row(
      database.query("PRAGMA foreign_key_check"), [&](const sqlite::Statement& row) -> Status {
        log.add(database.path(),
                fmt::format("row {} of table {} refers to a row of table {} that is not there",
                            row.integer(1), row.text(0), row.text(2)),
                std::string(kRestoreFile));
        return ++found < kMaxForeignKeys ? Status()
                                         : fail(ErrorCode::kTooLarge, "more rows refer to nothing");
      });
  if (!checked) {
    log.add(database.path(), checked.error(), kRestoreFile);
  }
}

// Beside the file, while it is being written.
uint64_t bytes_of(const std::string& path) {
  uint64_t bytes = 0;
  for (const char* suffix : {"", "-wal"}) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path + suffix, error);
    bytes += error ? 0 : size;
  }
  return bytes;
}

}  // namespace

std::optional<sqlite::Database> check_database(CheckLog& log, const std::string& name, std::string_view id) {
  const std::string path = log.data_dir() + "/" + name;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    log.add(path, missing_database(log.data_dir(), name).error(), kRestoreFile);
    return std::nullopt;
  }
  log.start(path);
  ++log.report().databases;
  auto database = sqlite::Database::open(path, sqlite::OpenMode::kRead);
  const auto found_id = database ? directory_id_of(*database) : propagate(database);
  if (!found_id) {
    log.add(path, found_id.error(), kRestoreFile);
    return std::nullopt;
  }
  if (!id.empty() && *found_id != id) {
    log.add(path, foreign_database(log.data_dir(), name, *found_id, id).error(), kRestoreFile);
  }
  const auto has_checksums = sqlite::has_page_checksums(path);
  log.report().databases_without_checksums += has_checksums && !*has_checksums ? 1 : 0;
  check_structure(log, *database);
  check_foreign_keys(log, *database);
  log.add_bytes(bytes_of(path));
  return std::move(*database);
}

void expect_none(CheckLog& log, sqlite::Database& database, std::string_view sql, std::string_view what,
                 std::string_view remedy) {
  const auto count = database.integer(sql, 0);
  if (!count) {
    log.add(database.path(), count.error(), remedy);
  } else if (*count != 0) {
    log.add(database.path(), fmt::format("{} {}", *count, what), std::string(remedy));
  }
}

}  // namespace plimsoll::store
