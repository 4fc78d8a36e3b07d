// Checksums of the pages of our databases: a page that is not what was written fails whatever reads it.
//
// SQLite checks the structure of a database, and not its values: a flipped bit in a weight would change answers. So each page ends with 8
// bytes that SQLite leaves alone (its reserved bytes, byte 20 of the file's header says how many): the XXH3-64 of the page's number and of
// the rest of it. They are written when a page goes to the database file, and compared when it is read from there. Pages in a write-ahead
// log have SQLite's own checksums, which it compares when it recovers the log. Databases of an older version have no such bytes, and stay
// as they are.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace plimsoll::sqlite {

// What new databases reserve at the end of a page.
inline constexpr int kPageChecksumBytes = 8;

// The name of a layer above SQLite's way to files called `base` (null: its default), for sqlite3_open_v2(). Any thread.
const char* with_page_checksums(const char* base);

// Whether the pages of that database file have them.
Result<bool> has_page_checksums(const std::string& path);

}  // namespace plimsoll::sqlite
