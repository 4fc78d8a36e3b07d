// SQLite's printf() and format() with widths that are bounded: printf('%.*c', 1e9, 'x') of SQLite's own runs for minutes, and nothing
// interrupts it.
#pragma once

struct sqlite3_context;
struct sqlite3_value;

namespace plimsoll::sqlite {

// The function itself, of any number of arguments. Answers as SQLite's own (https://sqlite.org/printf.html), but for a width or precision
// over 1,000, which is an error.
void bounded_format(sqlite3_context* context, int count, sqlite3_value** arguments);

}  // namespace plimsoll::sqlite
