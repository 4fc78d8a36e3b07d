#include "store/archive/archive.h"

#include "base/checksum.h"
#include "base/hex.h"

namespace plimsoll::store {
namespace {

// The ledger outlives the profiles themselves, which retention drops.
constexpr const char* kSchema = R"sql(
CREATE TABLE IF NOT EXISTS ledger (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL UNIQUE,
  content_hash BLOB NOT NULL,
  received_ns INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS raw_profile (
  sequence INTEGER PRIMARY KEY REFERENCES ledger(sequence),
  encoded BLOB NOT NULL
);
)sql";

}  // namespace

Result<std::unique_ptr<Archive>> Archive::open(const std::string& path, sqlite::OpenMode mode) {
  auto database = sqlite::Database::open(path, mode);
  if (!database) {
    return propagate(database);
  }
  if (mode == sqlite::OpenMode::kReadWrite) {
    if (auto created = database->run(kSchema); !created) {
      return propagate(created);
    }
  }
  return std::unique_ptr<Archive>(new Archive(std::move(*database)));
}

Result<Acceptance> Archive::accept(const std::string& id, Bytes encoded, int64_t received_ns) {
  const std::string hash = content_hash(encoded);
  const std::lock_guard lock(mutex_);
  auto transaction = sqlite::Transaction::begin(database_);
  if (!transaction) {
    return propagate(transaction, "accepting a profile");
  }
  auto known = database_.query("SELECT content_hash FROM ledger WHERE id = ?", as_bytes(id));
  if (!known) {
    return propagate(known);
  }
  const auto is_known = known->step();
  if (!is_known) {
    return propagate(is_known);
  }
  if (*is_known) {
    if (known->blob(0) == hash) {
      return Acceptance::kKnown;
    }
    return with_field(
        fail(ErrorCode::kConflict, "profile {} was accepted before with different content", to_hex(id)),
        "profile_id");
  }
  const Status inserted =
      database_.execute("INSERT INTO ledger (id, content_hash, received_ns) VALUES (?, ?, ?)", as_bytes(id),
                        as_bytes(hash), received_ns);
  const Status stored =
      inserted ? database_.execute(
                     "INSERT INTO raw_profile (sequence, encoded) VALUES (last_insert_rowid(), ?)", encoded)
               : inserted;
  if (!stored) {
    return propagate(stored, "accepting a profile");
  }
  if (auto committed = transaction->commit(); !committed) {
    return propagate(committed, "accepting a profile");
  }
  return Acceptance::kNew;
}

Result<std::optional<ArchivedProfile>> Archive::next_after(int64_t sequence) {
  const std::lock_guard lock(mutex_);
  auto row = database_.query(
      "SELECT sequence, id, encoded FROM raw_profile JOIN ledger USING (sequence) WHERE sequence > ? "
      "ORDER BY sequence LIMIT 1",
      sequence);
  if (!row) {
    return propagate(row);
  }
  const auto has_row = row->step();
  if (!has_row) {
    return propagate(has_row);
  }
  if (!*has_row) {
    return std::nullopt;
  }
  return ArchivedProfile{row->integer(0), row->blob(1), row->blob(2)};
}

Result<int64_t> Archive::count() {
  const std::lock_guard lock(mutex_);
  return database_.integer("SELECT count(*) FROM ledger", 0);
}

}  // namespace plimsoll::store
