// catalogue.db: dictionaries of the rows, visible segments, machines, binaries, bindings. The invariant kept here, in
// one transaction: a segment is visible together with the profiles and the dictionary entries it holds.
//
// This class owns the schema and the connection. The dictionaries are read and written by store/rows, the bindings by
// store/frames.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "proto/machine.pb.h"
#include "store/sqlite/database.h"

namespace plimsoll::store {

// A machine that has registered.
struct LiveMachine {
  wire::Machine attributes;  // newest
  int64_t first_seen_ns;     // wall clock of the server
  int64_t last_seen_ns;
};

// One connection: one thread at a time. A process that writes has one for writing and others for reading.
class Catalogue {
 public:
  static Result<Catalogue> open(const std::string& path, sqlite::OpenMode mode);

  sqlite::Database& database() { return database_; }

  // Adds the machine or brings its attributes up to date. kConflict where another live machine (heard of after
  // `live_since_ns`, another boot ID) has the same ID: a cloned image.
  Status register_machine(const wire::Machine& machine, int64_t now_ns, int64_t live_since_ns);

  // Notes that the machine is alive; false where it has not registered under this boot ID.
  Result<bool> machine_seen(std::string_view id, std::string_view boot_id, int64_t now_ns);

  Result<std::vector<LiveMachine>> machines();

 private:
  explicit Catalogue(sqlite::Database database) : database_(std::move(database)) {}
  sqlite::Database database_;
};

}  // namespace plimsoll::store
