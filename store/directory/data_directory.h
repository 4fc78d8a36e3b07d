// The data directory: what lies where, who may write, which version it has.
//
//   FORMAT        version of the layout, a number
//   identity      the directory's ID, and which databases it must have (store/identity)
//   lock          held by the one process that writes; says which, on which machine
//   archive.db    accepted raw profiles (store/archive)
//   blocks/       rows and what they refer to, in parts that cover a span of time each (store/blocks)
//   spans/        spans of request traces, in parts likewise (store/spans)
//   bursts/       recordings of bursts (store/bursts)
//   live.db       registered machines and what runs on them (store/live)
//   draws.db      draws, who was drawn, and what became of it; definitions of experiments (store/draws)
//   access.db     machines that have enrolled, and who has asked for what (store/access)
//   copying       how far a copy of the rows is; blocks.copied/ is what it makes (store/copy)
//   building      the profile that is becoming rows (store/building/building_mark.h)
//   reserve       room for orders on a full disk (store/directory/disk_reserve.h)
//   copied.*      of a database, while it is put into an object store (store/objects), or copied for query servers (store/replica)
//   symtab/       symbol tables by build (symbolizer/worker)
//   binaries/     executables and debug files that were added (symbolizer/repository)
//   quarantine/   files that were found damaged
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "sqlite/database.h"
#include "store/access/access_store.h"
#include "store/draws/draw_store.h"
#include "store/draws/draw_writer.h"
#include "store/identity/directory_identity.h"
#include "store/live/live_machines.h"

namespace plimsoll::store {

inline constexpr int kDirectoryFormat = 10;
// A reader reads it as today's: up to 7 it lacks the identity, up to 8 labels, and no block is rolled up; up to 9 no block was merged, whose
// name an older program would pass over.
inline constexpr int kOldestReadableFormat = 7;
inline constexpr int kOldestFormatWithIdentity = 8;

inline std::string spans_path_of(const std::string& data_dir) {
  return data_dir + "/spans";
}
inline std::string bursts_path_of(const std::string& data_dir) {
  return data_dir + "/bursts";
}

class DataDirectory {
 public:
  // Creates it where it is missing, with an empty block, and takes the lock: kConflict names the process that holds it. A folder of
  // other files is kInvalid: it was not meant. One of an older format is converted: format 6 at once, since its rows become the first
  // block; formats 3 to 5 take a second for each million rows besides; format 2 loses its catalogue, which is derived, and its rows are
  // built again from the archive. kCorrupt where a database that it must have is missing, is of another directory, or is older than
  // another: the error names it, and says what would be lost.
  static Result<DataDirectory> open_for_writing(const std::string& path);
  // Needs no lock; may run beside the writer. kUnsupported for any other format but 7 to 9, which a reader reads alike. kCorrupt as above, of
  // the newest block alone; open_archive() and the stores' open_if_there() say so of theirs.
  static Result<DataDirectory> open_for_reading(const std::string& path);

  // Makes a database again that is missing, with nothing in it, for want of a copy: archive.db, live.db, draws.db or access.db. Nobody may
  // be writing the directory.
  static Status forget(const std::string& path, std::string_view database);

  // Whether open_for_writing() would take it if nobody else held it. Writes nothing.
  static Status check(const std::string& path);

  // Whether open_for_writing() would find it unlocked: kConflict names the process that writes it, and any other error says why this is no
  // data directory. Writes nothing.
  static Status expect_unlocked(const std::string& path);

  // The same paths, for a part of the process that holds the lock; it must not outlive this one.
  DataDirectory without_lock() const { return DataDirectory(path_); }

  const std::string& path() const { return path_; }
  std::string archive_path() const { return path_ + "/archive.db"; }
  std::string blocks_path() const { return path_ + "/blocks"; }
  std::string spans_path() const { return spans_path_of(path_); }
  std::string bursts_path() const { return bursts_path_of(path_); }
  std::string live_path() const { return path_ + "/live.db"; }
  std::string draws_path() const { return path_ + "/draws.db"; }
  std::string access_path() const { return path_ + "/access.db"; }
  std::string building_path() const { return path_ + "/building"; }
  std::string reserve_path() const { return path_ + "/reserve"; }

  // For reading: the one of this directory, with all profiles that have become rows.
  Result<sqlite::Database> open_archive() const;

  // For the process that writes: a connection of the caller's own. draws.db and access.db are made by the first server: from then on the
  // directory must have them. One thread. The draws carry the number of this opening (store/draws/draw_writer.h), which the first of them takes.
  Result<LiveMachines> open_machines() const;
  Result<LiveMachines> read_machines() const;  // beside others that write
  Result<DrawStore> open_draws() const;
  Result<AccessStore> open_access() const;

 private:
  explicit DataDirectory(std::string path) : path_(std::move(path)) {}
  Result<int> read_format() const;
  Status make_first_block() const;
  Status make_new() const;
  Status sync_own_name() const;
  Status make_optional(std::string_view name) const;
  Status bind(int format) const;
  Result<DirectoryIdentity> identity_of_format(int format) const;
  Status convert_from(int format) const;
  Status convert_rows() const;
  Status remove_catalogue() const;
  std::unexpected<Error> unsupported(int format) const;
  Status take_lock();

  std::string path_;
  UniqueFd lock_;
  DrawWriter writer_;  // of the process that holds the lock
};

}  // namespace plimsoll::store
