// Which data directory a database belongs to: a random ID, in the file `identity` of the directory and in each of its databases.
//
//   directory 3f0c...   32 hexadecimal digits
//   database archive.db
//   database live.db
//   rows clickhouse://ch.example.com/plimsoll
//   rows-password-file /etc/plimsoll/clickhouse
//   rows-insert-quorum 2
//   rows-shard clickhouse://ch2.example.com/plimsoll
//   restored yes
//   checksum 9a1e...    of the lines above
//
// The list names the databases beside the blocks that the directory must have, so that one that is missing differs from one that was never
// made. Without any: the directory is being made, or converted. `restored`: until a writer opens it. Rows that are not in the directory are at the address that it names: programs of
// before that take such a file for a damaged one, and leave the directory alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sqlite/database.h"

namespace plimsoll::store {

// Where rows are that are not in the directory.
struct RowsAddress {
  std::string address =
      {};  // "clickhouse://host/database" (store/clickhouse); empty: they are in the directory
  std::string password_file = {};  // empty: no password
  std::string ca = {};             // PEM file; empty: as this machine has it
  int64_t insert_quorum = 0;       // replicas that must have each insert; 0: tables are not replicated
  // Addresses of further databases that rows are split over, in the order in which they were added; the password is the same for all.
  std::vector<std::string> shards = {};

  bool is_elsewhere() const { return !address.empty(); }
  bool is_replicated() const { return insert_quorum > 0; }
  bool operator==(const RowsAddress&) const = default;
};

struct DirectoryIdentity {
  std::string id;  // 16 bytes; empty: there is none
  std::vector<std::string> databases = {};
  RowsAddress rows = {};
  // Of rows that are elsewhere: they may have later profiles than the archive, which is a copy or a new one. The first writer that opens the directory has the
  // archive's numbers go on behind theirs (store/known_profiles.h).
  bool is_restored = false;

  bool is_there() const { return !id.empty(); }
  bool is_complete() const { return !databases.empty(); }
  bool lists(std::string_view name) const;
  bool operator==(const DirectoryIdentity&) const = default;
};

std::string identity_path(const std::string& data_dir);

// With a new random ID and no databases.
DirectoryIdentity make_identity();

// Without an ID where there is no such file. kCorrupt where it is not what was written.
Result<DirectoryIdentity> read_identity(const std::string& data_dir);
// Durably. kInvalid for names of files that have line breaks.
Status write_identity(const std::string& data_dir, const DirectoryIdentity& identity);

// Notes durably, where rows are elsewhere, that they may be newer than the archive (DirectoryIdentity::is_restored).
Status note_restored(const std::string& data_dir);

// Of a database; empty: it has none.
Result<std::string> directory_id_of(sqlite::Database& database);
// Part of the caller's transaction, if it has begun one. A database that has an ID keeps it.
Status give_directory_id(sqlite::Database& database, std::string_view id);

}  // namespace plimsoll::store
