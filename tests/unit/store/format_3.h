// A catalogue as format 3 had it, for tests of the conversion.
#pragma once

namespace plimsoll::store {

// SQL: makes the tables that format 3 had of today's.
inline constexpr const char* kTablesOfFormat3 = R"sql(
CREATE TABLE old_function (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO old_function SELECT id, name FROM function;
DROP TABLE function;
ALTER TABLE old_function RENAME TO function;
CREATE TABLE old_frame (
  location INTEGER NOT NULL REFERENCES location(id), depth INTEGER NOT NULL,
  function INTEGER NOT NULL, file INTEGER NOT NULL, line INTEGER NOT NULL,
  PRIMARY KEY (location, depth)
) WITHOUT ROWID;
INSERT INTO old_frame SELECT location, depth, function, file, line FROM frame;
DROP TABLE frame;
ALTER TABLE old_frame RENAME TO frame;
)sql";

}  // namespace plimsoll::store
