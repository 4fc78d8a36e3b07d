#include "store/archive/archive.h"

#include <mutex>
#include <vector>

#include "base/checksum.h"
#include "base/hex.h"

namespace plimsoll::store {
namespace {

// AUTOINCREMENT: the sequence goes on where the newest entries were removed.
constexpr const char* kSchema = R"sql(
CREATE TABLE IF NOT EXISTS ledger (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL UNIQUE,
  content_hash BLOB NOT NULL,
  received_ns INTEGER NOT NULL,
  is_imported INTEGER NOT NULL DEFAULT 1  -- Arrival
);
CREATE TABLE IF NOT EXISTS raw_profile (
  sequence INTEGER PRIMARY KEY REFERENCES ledger(sequence),
  encoded BLOB NOT NULL
);
)sql";

// Of a file that was made before retention: how its profiles came is not known, and their IDs stay as long as those of imported ones.
Status add_missing_column(sqlite::Database& database) {
  const auto columns =
      database.integer("SELECT count(*) FROM pragma_table_info('ledger') WHERE name = 'is_imported'", 0);
  if (!columns || *columns > 0) {
    return columns ? Status() : propagate(columns);
  }
  return database.run("ALTER TABLE ledger ADD COLUMN is_imported INTEGER NOT NULL DEFAULT 1");
}

}  // namespace

Result<std::unique_ptr<Archive>> Archive::open(const std::string& path, sqlite::OpenMode mode) {
  auto database = sqlite::Database::open(path, mode);
  if (!database) {
    return propagate(database);
  }
  if (mode != sqlite::OpenMode::kRead) {
    Status created = database->run(kSchema);
    created = created ? add_missing_column(*database) : created;
    if (!created) {
      return propagate(created);
    }
  }
  return std::unique_ptr<Archive>(new Archive(std::move(*database)));
}

Result<Acceptance> Archive::accept(const std::string& id, Bytes encoded, int64_t received_ns,
                                   Arrival arrival) {
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
    // Of one of add_known() the content is not known.
    const std::string known_hash = known->blob(0);
    if (known_hash == hash || known_hash.empty()) {
      const Status kept = arrival == Arrival::kImported ? keep_for_imports(id) : Status();
      const Status committed = kept ? transaction->commit() : kept;
      return committed ? Result<Acceptance>(Acceptance::kKnown) : propagate(committed, "accepting a profile");
    }
    return with_field(
        fail(ErrorCode::kConflict, "profile {} was accepted before with different content", to_hex(id)),
        "profile_id");
  }
  const Status inserted =
      database_.execute("INSERT INTO ledger (id, content_hash, received_ns, is_imported) VALUES (?, ?, ?, ?)",
                        as_bytes(id), as_bytes(hash), received_ns, arrival == Arrival::kImported);
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

// A user who has the file may import it again at any time, though a daemon sent it first.
Status Archive::keep_for_imports(const std::string& id) {
  return database_.execute("UPDATE ledger SET is_imported = 1 WHERE id = ? AND NOT is_imported",
                           as_bytes(id));
}

Status Archive::put_back(std::span<const ArchivedProfile> profiles) {
  const std::lock_guard lock(mutex_);
  auto transaction = sqlite::Transaction::begin(database_);
  Status put = transaction ? Status() : propagate(transaction);
  for (const ArchivedProfile& profile : profiles) {
    const Bytes encoded = as_bytes(profile.encoded);
    const std::string hash = content_hash(encoded);
    put = put ? database_.execute(
                    "INSERT OR IGNORE INTO ledger (sequence, id, content_hash, received_ns, is_imported) "
                    "VALUES (?, ?, ?, ?, ?)",
                    profile.sequence, as_bytes(profile.id), as_bytes(hash), profile.received_ns,
                    profile.arrival == Arrival::kImported)
              : put;
    put = put ? database_.execute("INSERT OR IGNORE INTO raw_profile (sequence, encoded) VALUES (?, ?)",
                                  profile.sequence, encoded)
              : put;
  }
  put = put ? transaction->commit() : put;
  return put ? Status() : propagate(put, "putting raw profiles back");
}

Status Archive::add_known(std::span<const ArchivedProfile> profiles) {
  const std::lock_guard lock(mutex_);
  auto transaction = sqlite::Transaction::begin(database_);
  Status added = transaction ? Status() : propagate(transaction);
  for (const ArchivedProfile& profile : profiles) {
    added = added ? database_.execute(
                        "INSERT OR IGNORE INTO ledger (sequence, id, content_hash, received_ns, is_imported) "
                        "VALUES (?, ?, x'', ?, ?)",
                        profile.sequence, as_bytes(profile.id), profile.received_ns,
                        profile.arrival == Arrival::kImported)
                  : added;
    const auto others = added
                            ? database_.integer("SELECT count(*) FROM ledger WHERE sequence = ? AND id <> ?",
                                                0, profile.sequence, as_bytes(profile.id))
                            : propagate(added);
    if (!others) {
      return propagate(others, "adding IDs of profiles");
    }
    if (*others > 0) {
      return fail(ErrorCode::kConflict, "number {} is another profile than {} in the archive",
                  profile.sequence, to_hex(profile.id));
    }
  }
  added = added ? transaction->commit() : added;
  return added ? Status() : propagate(added, "adding IDs of profiles");
}

Result<std::vector<SequenceRange>> Archive::unknown_up_to(int64_t up_to) {
  const std::lock_guard lock(mutex_);
  const auto oldest = database_.integer("SELECT coalesce(min(sequence), 0) FROM raw_profile", 0);
  const auto last = oldest ? last_accepted_sequence(database_) : propagate(oldest);
  if (!last) {
    return propagate(last, "looking for missing profiles");
  }
  std::vector<SequenceRange> ranges;
  if (*oldest == 0) {
    if (*last < up_to) {
      ranges.push_back({*last + 1, up_to});
    }
    return ranges;
  }
  const Status read = sqlite::for_each_row(
      database_.query(
          "SELECT sequence + 1, min(next - 1, ?1 - 1) FROM (SELECT sequence, lead(sequence, 1, ?1) OVER "
          "(ORDER BY sequence) AS next FROM ledger WHERE sequence >= ?2) WHERE next > sequence + 1 AND ?1 > "
          "sequence + 1",
          up_to + 1, *oldest),
      [&](const sqlite::Statement& row) { ranges.push_back({row.integer(0), row.integer(1)}); });
  return read ? Result<std::vector<SequenceRange>>(std::move(ranges))
              : propagate(read, "looking for missing profiles");
}

Status Archive::go_on_after(int64_t sequence) {
  const std::lock_guard lock(mutex_);
  // SQLite has no row for a table that nothing was put into.
  auto transaction = sqlite::Transaction::begin(database_);
  Status done = transaction
                    ? database_.execute(
                          "INSERT INTO sqlite_sequence (name, seq) SELECT 'ledger', 0 WHERE NOT EXISTS "
                          "(SELECT 1 FROM sqlite_sequence WHERE name = 'ledger')")
                    : propagate(transaction);
  done =
      done ? database_.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'ledger'", sequence)
           : done;
  done = done ? transaction->commit() : done;
  return done ? Status() : propagate(done, "moving the number of the next profile");
}

Result<int64_t> Archive::last_sequence() {
  const std::lock_guard lock(mutex_);
  return last_accepted_sequence(database_);
}

Result<std::optional<ArchivedProfile>> Archive::next_after(int64_t sequence) {
  const std::lock_guard lock(mutex_);
  auto row = database_.query(
      "SELECT sequence, id, encoded, received_ns, is_imported FROM raw_profile JOIN ledger USING (sequence) "
      "WHERE sequence > ? ORDER BY sequence LIMIT 1",
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
  return ArchivedProfile{row->integer(0), row->blob(1), row->blob(2), row->integer(3),
                         row->integer(4) != 0 ? Arrival::kImported : Arrival::kUploaded};
}

Result<std::string> Archive::id_of(int64_t sequence) {
  const std::lock_guard lock(mutex_);
  std::string id;
  const Status read =
      sqlite::for_each_row(database_.query("SELECT id FROM ledger WHERE sequence = ?", sequence),
                           [&](const sqlite::Statement& row) { id = row.blob(0); });
  return read ? Result<std::string>(std::move(id)) : propagate(read);
}

Result<int64_t> Archive::count() {
  const std::lock_guard lock(mutex_);
  return database_.integer("SELECT count(*) FROM ledger", 0);
}

Result<int64_t> Archive::bytes_of_pages(const char* pragma) {
  const auto pages = database_.integer(pragma, 0);
  const auto page_bytes = database_.integer("PRAGMA page_size", 0);
  if (!pages || !page_bytes) {
    return !pages ? propagate(pages) : propagate(page_bytes);
  }
  return *pages * *page_bytes;
}

Result<int64_t> Archive::used_bytes() {
  const std::lock_guard lock(mutex_);
  const auto all = bytes_of_pages("PRAGMA page_count");
  const auto free = bytes_of_pages("PRAGMA freelist_count");
  if (!all || !free) {
    return !all ? propagate(all, "measuring raw profiles") : propagate(free, "measuring raw profiles");
  }
  return *all - *free;
}

Result<std::optional<ReceivedProfile>> Archive::oldest() {
  const std::lock_guard lock(mutex_);
  std::optional<ReceivedProfile> oldest;
  const Status read = sqlite::for_each_row(
      database_.query("SELECT sequence, received_ns FROM raw_profile JOIN ledger USING (sequence) "
                      "ORDER BY sequence LIMIT 1"),
      [&](const sqlite::Statement& row) { oldest = ReceivedProfile{row.integer(0), row.integer(1)}; });
  return read ? Result<std::optional<ReceivedProfile>>(oldest) : propagate(read);
}

Result<int64_t> Archive::drop_profiles(int64_t up_to_sequence, int64_t received_before_ns,
                                       int64_t max_profiles) {
  const std::lock_guard lock(mutex_);
  // The limit stands inside: where none is old enough, no more than these are looked at. They go up to the first that is too young, so that
  // those that stay have no gaps.
  const Status dropped = database_.execute(
      "WITH oldest AS (SELECT sequence FROM raw_profile ORDER BY sequence LIMIT ?1) "
      "DELETE FROM raw_profile WHERE sequence IN oldest AND sequence <= ?2 AND sequence < coalesce("
      "(SELECT min(sequence) FROM oldest JOIN ledger USING (sequence) WHERE received_ns >= ?3), ?4)",
      max_profiles, up_to_sequence, received_before_ns, INT64_MAX);
  return dropped ? database_.integer("SELECT changes()", 0) : propagate(dropped, "dropping raw profiles");
}

Result<int64_t> Archive::forget_ids(int64_t received_before_ns, int64_t imports_up_to, int64_t max_ids) {
  const std::lock_guard lock(mutex_);
  int64_t looked_at = imports_up_to == imports_up_to_ ? looked_at_ : 0;
  auto transaction = sqlite::Transaction::begin(database_);
  if (!transaction) {
    return propagate(transaction, "forgetting old profiles");
  }
  std::vector<int64_t> old;
  bool is_at_young = false;
  const Status read = sqlite::for_each_row(
      database_.query(
          "SELECT sequence, received_ns, is_imported FROM ledger WHERE sequence > ? AND sequence < "
          "coalesce((SELECT min(sequence) FROM raw_profile), ?) ORDER BY sequence LIMIT ?",
          looked_at, INT64_MAX, max_ids),
      [&](const sqlite::Statement& row) {
        const int64_t sequence = row.integer(0);
        const bool is_imported = row.integer(2) != 0;
        is_at_young = is_at_young || (!is_imported && row.integer(1) >= received_before_ns);
        if (!is_at_young && (!is_imported || sequence <= imports_up_to)) {
          old.push_back(sequence);
        }
        looked_at = is_at_young ? looked_at : sequence;
      });
  Status forgotten = read;
  for (const int64_t sequence : old) {
    forgotten = forgotten ? database_.execute("DELETE FROM ledger WHERE sequence = ?", sequence) : forgotten;
  }
  forgotten = forgotten ? transaction->commit() : forgotten;
  if (!forgotten) {
    return propagate(forgotten, "forgetting old profiles");
  }
  looked_at_ = looked_at;
  imports_up_to_ = imports_up_to;
  return static_cast<int64_t>(old.size());
}

Result<bool> Archive::can_give_back() {
  const std::lock_guard lock(mutex_);
  const auto mode = database_.integer("PRAGMA auto_vacuum", 0);
  return mode ? Result<bool>(*mode != 0) : propagate(mode);
}

Result<int64_t> Archive::newest_received_ns() {
  const std::lock_guard lock(mutex_);
  return database_.integer("SELECT received_ns FROM ledger ORDER BY sequence DESC LIMIT 1", 0);
}

Result<int64_t> Archive::give_back(int64_t max_pages) {
  const std::lock_guard lock(mutex_);
  const auto before = bytes_of_pages("PRAGMA page_count");
  const Status given =
      before ? database_.run(fmt::format("PRAGMA incremental_vacuum({})", max_pages)) : propagate(before);
  const auto after = given ? bytes_of_pages("PRAGMA page_count") : propagate(given);
  // The file gets shorter when what was committed is moved to it from the log.
  const Status moved = after && *after < *before ? database_.run("PRAGMA wal_checkpoint(PASSIVE)") : Status();
  if (!moved) {
    return propagate(moved, "giving back room of raw profiles");
  }
  return after ? Result<int64_t>(*before - *after) : propagate(after, "giving back room of raw profiles");
}

Result<int64_t> last_accepted_sequence(sqlite::Database& archive) {
  const auto last =
      archive.integer("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'ledger'", 0);
  return last ? last : propagate(last, "counting profiles");
}

}  // namespace plimsoll::store
