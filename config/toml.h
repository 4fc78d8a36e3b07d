// A TOML file as a flat list of values; toml++ stands behind it, in one source.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace plimsoll::config {

// A TOML value of a kind that no key has: "a date", "a list of mixed values".
struct OtherValue {
  std::string kind;
};

struct TomlTable;

using Value = std::variant<std::string, int64_t, double, bool, std::vector<std::string>,
                           std::vector<TomlTable>, OtherValue>;

struct TomlEntry {
  std::string key;  // "server.listen"; a part that is no bare key keeps its quotes
  uint32_t line = 0;
  Value value;
};

// An element of a list of tables ("[[identity.rules]]"); the keys of its entries are below it.
struct TomlTable {
  uint32_t line = 0;
  std::vector<TomlEntry> entries;
};

// In the order of their lines, likewise within a list of tables. An empty table is one entry of the kind "a table". Syntax errors and values
// given twice are kInvalid, name `file` and the line, and have the key as field where it can be told.
Result<std::vector<TomlEntry>> parse_toml(std::string_view text, std::string_view file);

// `text` as a TOML basic string, with its quotes.
std::string quote_toml(std::string_view text);

}  // namespace plimsoll::config
