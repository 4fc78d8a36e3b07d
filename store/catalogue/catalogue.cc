#include "store/catalogue/catalogue.h"

namespace plimsoll::store {
namespace {

// Dictionary IDs are dense and start at 1, so that a reader can use them as indexes. Text that is absent is '', since
// NULLs are all different under UNIQUE.
constexpr const char* kSchema = R"sql(
CREATE TABLE IF NOT EXISTS machine (
  id INTEGER PRIMARY KEY,
  machine_id TEXT NOT NULL, hostname TEXT NOT NULL, datacenter TEXT NOT NULL, cluster TEXT NOT NULL,
  platform TEXT NOT NULL, architecture TEXT NOT NULL, kernel TEXT NOT NULL, cores INTEGER NOT NULL,
  cpu_model TEXT NOT NULL, kernel_build_id TEXT NOT NULL, os TEXT NOT NULL, daemon_version TEXT NOT NULL,
  UNIQUE (machine_id, hostname, datacenter, cluster, platform, architecture, kernel, cores, cpu_model,
          kernel_build_id, os, daemon_version)
);
CREATE TABLE IF NOT EXISTS event (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE, unit INTEGER NOT NULL, kind INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS origin (
  id INTEGER PRIMARY KEY,
  profile_id BLOB NOT NULL UNIQUE,
  archive_sequence INTEGER NOT NULL,
  machine INTEGER NOT NULL REFERENCES machine(id),
  from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL,
  draw TEXT NOT NULL, stratum TEXT NOT NULL, inclusion_probability REAL NOT NULL, interval_ns INTEGER NOT NULL,
  series TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS origin_sequence ON origin(archive_sequence);
CREATE TABLE IF NOT EXISTS origin_event (
  origin INTEGER NOT NULL REFERENCES origin(id),
  event INTEGER NOT NULL REFERENCES event(id),
  scale REAL NOT NULL, hits INTEGER NOT NULL, lost INTEGER NOT NULL, throttles INTEGER NOT NULL,
  counter_total REAL NOT NULL, time_enabled_ns INTEGER NOT NULL, time_running_ns INTEGER NOT NULL,
  note TEXT NOT NULL,
  samples INTEGER NOT NULL,  -- that the hits were made of
  PRIMARY KEY (origin, event)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS workload (
  id INTEGER PRIMARY KEY,
  job TEXT NOT NULL, instance TEXT NOT NULL, app TEXT NOT NULL, image TEXT NOT NULL,
  build_id TEXT NOT NULL, revision TEXT NOT NULL, compiler TEXT NOT NULL, builder TEXT NOT NULL,
  UNIQUE (job, instance, app, image, build_id, revision, compiler, builder)
);
CREATE TABLE IF NOT EXISTS thread (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS label_set (id INTEGER PRIMARY KEY, labels BLOB NOT NULL UNIQUE);  -- store/model/label_set.h
CREATE TABLE IF NOT EXISTS binary (
  id INTEGER PRIMARY KEY,
  identity_kind INTEGER NOT NULL, identity BLOB NOT NULL, path TEXT NOT NULL,
  quality INTEGER NOT NULL DEFAULT 0,     -- of the symbols that its locations were last looked up in
  generation INTEGER NOT NULL DEFAULT 0,  -- of its bindings; 0: never looked up
  reasons TEXT NOT NULL DEFAULT '',       -- why there are no better symbols
  looked_at TEXT NOT NULL DEFAULT '',     -- what the search depended on: another text, another search
  UNIQUE (identity_kind, identity, path)
);
CREATE TABLE IF NOT EXISTS binary_machine (  -- that told of it first
  binary INTEGER PRIMARY KEY REFERENCES binary(id), machine_id TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS location (
  id INTEGER PRIMARY KEY,
  kind INTEGER NOT NULL, owner INTEGER NOT NULL, address INTEGER NOT NULL, name TEXT NOT NULL,
  UNIQUE (kind, owner, address, name)
);
CREATE TABLE IF NOT EXISTS stack (id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, location INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS segment (
  id INTEGER PRIMARY KEY,
  file TEXT NOT NULL UNIQUE, rows INTEGER NOT NULL, bytes INTEGER NOT NULL,
  from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS block (  -- the one that this is the catalogue of; no row: nothing has been written yet
  id INTEGER PRIMARY KEY CHECK (id = 1),
  is_sealed INTEGER NOT NULL,
  first_built_ns INTEGER NOT NULL,                        -- when its first profile became rows
  from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL,       -- that the windows of its profiles cover
  max_interval_ns INTEGER NOT NULL                        -- of their draws
);
CREATE TABLE IF NOT EXISTS accepted_before (  -- what earlier blocks hold, or held; no row: it is the first, or older than this table
  id INTEGER PRIMARY KEY CHECK (id = 1),
  archive_sequence INTEGER NOT NULL  -- of the last of their profiles
);
CREATE TABLE IF NOT EXISTS roll_up (  -- no row: the block has full rows
  id INTEGER PRIMARY KEY CHECK (id = 1),
  rolled_up_ns INTEGER NOT NULL,  -- wall clock
  profiles INTEGER NOT NULL       -- that the block was made of
);
CREATE TABLE IF NOT EXISTS rolled_up_event (  -- what the weights and margins of a rolled-up origin_event need besides
  origin INTEGER NOT NULL REFERENCES origin(id),
  event INTEGER NOT NULL REFERENCES event(id),
  profiles INTEGER NOT NULL,
  observed_ns INTEGER NOT NULL,      -- the sum of their windows, in which the event's counter ran
  effective_samples REAL NOT NULL,   -- that would give sum w^2 if all stood for as much
  PRIMARY KEY (origin, event)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS unbuildable (
  archive_sequence INTEGER PRIMARY KEY, reason TEXT NOT NULL
);

CREATE TABLE IF NOT EXISTS kernel_symbols (
  binary INTEGER PRIMARY KEY REFERENCES binary(id), content BLOB NOT NULL,
  is_carried_over INTEGER NOT NULL DEFAULT 0  -- from the block before
);
CREATE TABLE IF NOT EXISTS function (
  id INTEGER PRIMARY KEY,
  linkage_name TEXT NOT NULL,  -- tells clones apart; '': unknown
  name TEXT NOT NULL,          -- as people read it
  UNIQUE (linkage_name, name)
);
CREATE TABLE IF NOT EXISTS source_file (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS binding (location INTEGER PRIMARY KEY REFERENCES location(id), generation INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS binding_change (  -- what was bound, in that order, for readers that know what was before
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  location INTEGER NOT NULL  -- 0: what is known of the symbols of a binary
);
CREATE TABLE IF NOT EXISTS frame (
  location INTEGER NOT NULL REFERENCES location(id), depth INTEGER NOT NULL,
  function INTEGER NOT NULL, file INTEGER NOT NULL, line INTEGER NOT NULL,
  source_column INTEGER NOT NULL DEFAULT 0, discriminator INTEGER NOT NULL DEFAULT 0,
  start_line INTEGER NOT NULL DEFAULT 0,  -- of the function
  is_inlined INTEGER NOT NULL DEFAULT 0,  -- into the next frame
  PRIMARY KEY (location, depth)
) WITHOUT ROWID;
)sql";

// Functions had a name for people alone. Every symbol that can still be found is better than those, of whatever quality they
// were; what is not found keeps its name. (Of the vdso there is no search.)
constexpr const char* kConvertFormat3 = R"sql(
ALTER TABLE function RENAME TO function_of_format_3;
CREATE TABLE function (
  id INTEGER PRIMARY KEY, linkage_name TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (linkage_name, name)
);
INSERT INTO function (id, linkage_name, name) SELECT id, '', name FROM function_of_format_3;
DROP TABLE function_of_format_3;
ALTER TABLE frame ADD COLUMN source_column INTEGER NOT NULL DEFAULT 0;
ALTER TABLE frame ADD COLUMN discriminator INTEGER NOT NULL DEFAULT 0;
ALTER TABLE frame ADD COLUMN start_line INTEGER NOT NULL DEFAULT 0;
ALTER TABLE frame ADD COLUMN is_inlined INTEGER NOT NULL DEFAULT 0;
UPDATE binary SET quality = 0, looked_at = '' WHERE path != '[vdso]';
)sql";

}  // namespace

Status Catalogue::convert_from_format_3(const std::string& path) {
  auto database = sqlite::Database::open(path, sqlite::OpenMode::kReadWrite);
  if (!database) {
    return propagate(database);
  }
  auto transaction = sqlite::Transaction::begin(*database);
  // None where it was converted before, or nothing has been written yet.
  const auto old_tables = database->integer(
      "SELECT count(*) FROM sqlite_schema WHERE name = 'function' AND sql NOT LIKE '%linkage_name%'", 0);
  if (!transaction || !old_tables) {
    return !transaction ? propagate(transaction) : propagate(old_tables);
  }
  if (*old_tables == 0) {
    return {};
  }
  if (auto converted = database->run(kConvertFormat3); !converted) {
    return propagate(converted, "converting {}", path);
  }
  return transaction->commit();
}

Status Catalogue::add_columns_of_format_7(sqlite::Database& database) {
  const auto columns = database.integer(
      "SELECT count(*) FROM pragma_table_info('kernel_symbols') WHERE name = 'is_carried_over'", 0);
  if (!columns || *columns > 0) {
    return columns ? Status() : propagate(columns);
  }
  return database.run("ALTER TABLE kernel_symbols ADD COLUMN is_carried_over INTEGER NOT NULL DEFAULT 0");
}

Result<Catalogue> Catalogue::open(const std::string& path, sqlite::OpenMode mode) {
  auto database = sqlite::Database::open(path, mode);
  if (!database) {
    return propagate(database);
  }
  if (mode == sqlite::OpenMode::kReadWrite) {
    if (auto created = database->run(kSchema); !created) {
      return propagate(created, "creating the catalogue's tables");
    }
  }
  return Catalogue(std::move(*database));
}

}  // namespace plimsoll::store
