#include "store/access/access_store.h"

#include "store/identity/listed_database.h"

namespace plimsoll::store {
namespace {

constexpr const char* kSchema = R"sql(
CREATE TABLE IF NOT EXISTS machine (
  id TEXT PRIMARY KEY, token_hash TEXT NOT NULL, enrolled_ns INTEGER NOT NULL, enrolled_by TEXT NOT NULL,
  revoked_ns INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS asked_for (
  first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, caller TEXT NOT NULL, host TEXT NOT NULL,
  request TEXT NOT NULL, status INTEGER NOT NULL, count INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS served (ns INTEGER NOT NULL);  -- for how long servers have run on it, in one row
INSERT INTO served SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM served);
CREATE INDEX IF NOT EXISTS asked_for_last ON asked_for(last_ns);
CREATE INDEX IF NOT EXISTS asked_for_in_vain ON asked_for(last_ns)
  WHERE status >= 400 AND caller IN ('unauthenticated', '(others)');
)sql";

}  // namespace

Result<AccessStore> AccessStore::open(const std::string& path, sqlite::OpenMode mode) {
  auto database = sqlite::Database::open(path, mode);
  if (!database) {
    return propagate(database);
  }
  if (mode == sqlite::OpenMode::kReadWrite) {
    AccessStore store(std::move(*database));
    const Status created = store.create_tables();
    return created ? Result<AccessStore>(std::move(store))
                   : propagate(created, "creating the tables of access");
  }
  return AccessStore(std::move(*database));
}

Status AccessStore::create_tables() {
  if (auto created = database_.run(kSchema); !created) {
    return created;
  }
  const auto has_column =
      database_.integer("SELECT count(*) FROM pragma_table_info('asked_for') WHERE name = 'served_ns'", 0);
  if (!has_column || *has_column != 0) {
    return has_column ? Status() : propagate(has_column);
  }
  // What an older version has written is as old as the wall clock says, once the server has run for as long.
  return database_.run("ALTER TABLE asked_for ADD COLUMN served_ns INTEGER NOT NULL DEFAULT 0");
}

Result<std::optional<AccessStore>> AccessStore::open_if_there(const std::string& path) {
  const auto is_there = is_database_there(path);
  if (!is_there || !*is_there) {
    return is_there ? Result<std::optional<AccessStore>>(std::nullopt) : propagate(is_there);
  }
  auto store = open(path, sqlite::OpenMode::kRead);
  return store ? Result<std::optional<AccessStore>>(std::move(*store)) : propagate(store);
}

Result<std::vector<EnrolledMachine>> AccessStore::machines() {
  std::vector<EnrolledMachine> machines;
  const Status read = sqlite::for_each_row(
      database_.query("SELECT id, token_hash, enrolled_ns, enrolled_by, revoked_ns FROM machine ORDER BY id"),
      [&](const sqlite::Statement& row) {
        machines.push_back({std::string(row.text(0)), std::string(row.text(1)), row.integer(2),
                            std::string(row.text(3)), row.integer(4)});
      });
  return read ? Result<std::vector<EnrolledMachine>>(std::move(machines)) : propagate(read);
}

Status AccessStore::keep(const EnrolledMachine& machine) {
  return database_.execute("INSERT OR REPLACE INTO machine VALUES (?, ?, ?, ?, ?)", machine.id,
                           machine.token_hash, machine.enrolled_ns, machine.enrolled_by, machine.revoked_ns);
}

Status AccessStore::forget(std::string_view machine_id) {
  return database_.execute("DELETE FROM machine WHERE id = ?", machine_id);
}

Status AccessStore::add(const std::vector<AskedFor>& asked, WrittenAt written, const KeptRequests& kept) {
  auto transaction = sqlite::Transaction::begin(database_);
  auto passed = transaction ? database_.execute("UPDATE served SET ns = ns + ?", written.passed_ns)
                            : propagate(transaction);
  const auto served_ns = passed ? database_.integer("SELECT ns FROM served", 0) : propagate(passed);
  if (!served_ns) {
    return propagate(served_ns);
  }
  for (const AskedFor& one : asked) {
    const Status added = database_.execute(
        "INSERT INTO asked_for (first_ns, last_ns, caller, host, request, status, count, "
        "served_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        one.first_ns, one.last_ns, one.caller, one.host, one.request, one.status, one.count, *served_ns);
    if (!added) {
      return added;
    }
  }
  if (auto deleted = delete_old(written.now_ns, *served_ns, kept); !deleted) {
    return deleted;
  }
  return transaction->commit();
}

Status AccessStore::delete_old(int64_t now_ns, int64_t served_ns, const KeptRequests& kept) {
  if (auto deleted = database_.execute("DELETE FROM asked_for WHERE last_ns < ? AND served_ns < ?",
                                       now_ns - kept.all_ns, served_ns - kept.all_ns);
      !deleted) {
    return deleted;
  }
  // The index is of use where its condition is there word for word.
  if (auto deleted =
          database_.execute("DELETE FROM asked_for WHERE last_ns < ? AND status >= 400 AND caller IN "
                            "('unauthenticated', '(others)') AND served_ns < ?",
                            now_ns - kept.refused_strangers_ns, served_ns - kept.refused_strangers_ns);
      !deleted) {
    return deleted;
  }
  // Rows are numbered in the order in which they came: counting five million takes longer.
  return database_.execute("DELETE FROM asked_for WHERE rowid <= (SELECT max(rowid) FROM asked_for) - ?",
                           kept.max_rows);
}

Result<std::vector<AskedFor>> AccessStore::newest(size_t limit, int64_t since_ns) {
  std::vector<AskedFor> asked;
  const Status read = sqlite::for_each_row(
      database_.query("SELECT first_ns, last_ns, caller, host, request, status, count FROM asked_for "
                      "WHERE last_ns >= ? ORDER BY last_ns DESC, rowid DESC LIMIT ?",
                      since_ns, limit),
      [&](const sqlite::Statement& row) {
        asked.push_back({row.integer(0), row.integer(1), std::string(row.text(2)), std::string(row.text(3)),
                         std::string(row.text(4)), static_cast<unsigned>(row.integer(5)),
                         static_cast<uint64_t>(row.integer(6))});
      });
  return read ? Result<std::vector<AskedFor>>(std::move(asked)) : propagate(read);
}

Result<std::vector<CallerUse>> AccessStore::callers(size_t limit, int64_t since_ns) {
  std::vector<CallerUse> callers;
  const Status read = sqlite::for_each_row(
      database_.query(
          "SELECT caller, min(first_ns), max(last_ns) AS last, sum(count), "
          "sum(CASE WHEN status BETWEEN 400 AND 499 THEN count ELSE 0 END) FROM asked_for WHERE last_ns >= ? "
          "GROUP BY caller ORDER BY last DESC, caller LIMIT ?",
          since_ns, limit),
      [&](const sqlite::Statement& row) {
        callers.push_back({std::string(row.text(0)), row.integer(1), row.integer(2),
                           static_cast<uint64_t>(row.integer(3)), static_cast<uint64_t>(row.integer(4))});
      });
  return read ? Result<std::vector<CallerUse>>(std::move(callers)) : propagate(read);
}

}  // namespace plimsoll::store
