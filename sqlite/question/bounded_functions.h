// SQLite's functions that take time by the product of their arguments' lengths, and cannot be interrupted: trim('aa...', 'bb...a') of
// two megabytes would run for days. The same functions in linear time.
#pragma once

#include "base/result.h"

struct sqlite3;

namespace plimsoll::sqlite {

// Takes the place of instr(X, Y), replace(X, Y, Z), trim(X, Y), ltrim(X, Y) and rtrim(X, Y) on a connection; and of printf() and format()
// (bounded_format.h).
Status add_bounded_functions(sqlite3* connection);

}  // namespace plimsoll::sqlite
