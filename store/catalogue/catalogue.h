// catalogue.db of a block: its dictionaries, visible segments, binaries, bindings. The invariant kept here, in one transaction: a
// segment is visible together with the profiles and the dictionary entries it holds.
//
// This class owns the schema and the connection. The dictionaries are read and written by store/dictionaries, the bindings by
// store/frames.
#pragma once

#include <string>

#include "base/result.h"
#include "sqlite/database.h"

namespace plimsoll::store {

// One connection: one thread at a time. A process that writes has one for writing and others for reading.
class Catalogue {
 public:
  static Result<Catalogue> open(const std::string& path, sqlite::OpenMode mode);

  // Changes the tables of a data directory of format 3 into today's, in one transaction; again, or without a catalogue, it
  // does nothing. Takes seconds for millions of frames.
  static Status convert_from_format_3(const std::string& path);

  // Of the tables of an older format that has been opened for writing. Again it does nothing.
  static Status add_columns_of_format_7(sqlite::Database& database);

  sqlite::Database& database() { return database_; }

 private:
  explicit Catalogue(sqlite::Database database) : database_(std::move(database)) {}
  sqlite::Database database_;
};

}  // namespace plimsoll::store
