#include "store/blocks/block_catalogue.h"

#include "base/byte_reader.h"
#include "base/time.h"
#include "proto/profile.pb.h"
#include "store/catalogue/block_table.h"
#include "store/catalogue/catalogue.h"
#include "store/identity/directory_identity.h"

namespace plimsoll::store {
namespace {

Status carry_over_events(sqlite::Database& before, sqlite::Database& catalogue) {
  return sqlite::for_each_row(
      before.query("SELECT id, name, unit, kind FROM event ORDER BY id"), [&](const sqlite::Statement& row) {
        return catalogue.execute("INSERT INTO event VALUES (?, ?, ?, ?)", row.integer(0), row.text(1),
                                 row.integer(2), row.integer(3));
      });
}

// With the binaries that they are of, which get the first IDs.
Status carry_over_kernels(sqlite::Database& before, sqlite::Database& catalogue) {
  return sqlite::for_each_row(
      before.query(
          "SELECT identity_kind, identity, path, content FROM kernel_symbols "
          "JOIN binary ON binary.id = kernel_symbols.binary WHERE NOT is_carried_over OR "
          "EXISTS (SELECT 1 FROM location WHERE kind IN (?, ?) AND owner = binary.id) ORDER BY binary.id",
          wire::KERNEL, wire::MODULE),
      [&](const sqlite::Statement& row) {
        const Status added =
            catalogue.execute("INSERT INTO binary (identity_kind, identity, path) VALUES (?, ?, ?)",
                              row.integer(0), as_bytes(row.blob(1)), row.text(2));
        return added ? catalogue.execute(
                           "INSERT INTO kernel_symbols (binary, content, is_carried_over) "
                           "VALUES (last_insert_rowid(), ?, 1)",
                           as_bytes(row.blob(3)))
                     : added;
      });
}

// Both are of the same directory.
Status carry_over_directory_id(sqlite::Database& before, sqlite::Database& catalogue) {
  const auto id = directory_id_of(before);
  return !id ? propagate(id) : id->empty() ? Status() : give_directory_id(catalogue, *id);
}

}  // namespace

Status make_catalogue(const std::string& path, sqlite::Database* before) {
  auto catalogue = Catalogue::open(path, sqlite::OpenMode::kReadWrite);
  if (!catalogue || before == nullptr) {
    return catalogue ? Status() : propagate(catalogue);
  }
  auto transaction = sqlite::Transaction::begin(catalogue->database());
  Status carried = transaction ? carry_over_events(*before, catalogue->database()) : propagate(transaction);
  carried = carried ? carry_over_kernels(*before, catalogue->database()) : carried;
  const auto last_before = carried ? last_built_sequence(*before) : propagate(carried);
  carried = last_before ? write_accepted_before(catalogue->database(), *last_before) : propagate(last_before);
  carried = carried ? carry_over_directory_id(*before, catalogue->database()) : carried;
  return carried ? transaction->commit() : carried;
}

Status complete_catalogue(const std::string& path) {
  auto catalogue = Catalogue::open(path, sqlite::OpenMode::kReadWrite);
  if (!catalogue) {
    return propagate(catalogue);
  }
  if (const Status added = Catalogue::add_columns_of_format_7(catalogue->database()); !added) {
    return added;
  }
  const auto state = block_state_of_origins(catalogue->database(), wall_now_ns());
  const Status written = state ? write_block_state(catalogue->database(), *state) : propagate(state);
  if (!written) {
    return written;
  }
  // A question is over soon; what reads for longer has to be stopped.
  const Status impatient = catalogue->database().run("PRAGMA busy_timeout = 1000");
  const auto is_busy =
      impatient ? catalogue->database().integer("PRAGMA wal_checkpoint(TRUNCATE)", 1) : propagate(impatient);
  if (!is_busy) {
    return propagate(is_busy, "completing {}", path);
  }
  return *is_busy == 0 ? Status()
                       : with_hint(fail(ErrorCode::kUnavailable, "{} is being read", path),
                                   "stop the process that reads it, and try again");
}

}  // namespace plimsoll::store
