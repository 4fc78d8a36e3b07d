// Text from outside made fit for protocol strings, terminals, spreadsheets and JSON.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

// Valid UTF-8, with '?' for each byte that is none, for control characters (C0, DEL, C1), and for invisible characters or that turn
// around what stands beside them (zero-width, bidirectional, tags): names of processes, functions and paths may hold any byte, protocol
// strings may not, and terminals are told what to do by some.
std::string printable(std::string_view bytes);

// The same, line by line, where a text of ours has several.
std::string printable_lines(std::string_view text);

// printable(), and no formula: a spreadsheet computes a cell that begins with =, +, - or @, unless there is ' before it.
std::string spreadsheet_text(std::string_view bytes);

// A JSON document whose strings have escapes (\u009b) in place of characters that printable() does not let through; else unchanged.
std::string visible_json(std::string json);

}  // namespace plimsoll
